#!/bin/sh
# accounts.sh create ACCOUNT | login ACCOUNT ID <PASSWORD | revoke ACCOUNT ID: an account that is a directory, with one
# file per credential, to try the runbook without a directory service.
set -eu
umask 077
command=$1 account=$2 id=${3:-}

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

case $command in
  create)
    id=key-$(random 4) password=$(random 16)
    mkdir -p "$account"
    printf %s "$password" >"$account/$id"
    printf '{"id": "%s", "password": "%s"}\n' "$id" "$password"
    ;;
  login)
    if [ "$(cat)" != "$(cat "$account/$id" 2>/dev/null)" ]; then echo "login refused" >&2 && exit 1; fi
    ;;
  revoke) rm -f -- "$account/$id" ;;
  *) echo "no such command: $command" >&2 && exit 2 ;;
esac
