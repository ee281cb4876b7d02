#!/bin/sh
# app.sh credential APP | use APP ID <PASSWORD | restore APP ID | health APP ACCOUNT: an application that is a directory.
# It logs in with what is in current/; with a file `only` that names a credential, it can do so with that one alone.
set -eu
umask 077
command=$1 app=$2

case $command in
  credential) cat "$app/current/id" ;;
  use)
    if [ "$(cat "$app/current/id" 2>/dev/null)" = "$3" ]; then exit 0; fi
    rm -rf "$app/next" && mkdir -p "$app/next"
    cat >"$app/next/password"
    echo "$3" >"$app/next/id"
    rm -rf "$app/before"
    if [ -d "$app/current" ]; then mv "$app/current" "$app/before"; fi
    mv "$app/next" "$app/current"
    ;;
  restore)
    if [ "$(cat "$app/current/id" 2>/dev/null)" = "$3" ]; then exit 0; fi
    rm -rf "$app/current" && mv "$app/before" "$app/current"
    ;;
  health)
    id=$(cat "$app/current/id") only=$(cat "$app/only" 2>/dev/null || echo "$id")
    if [ "$id" = "$only" ] && sh "$(dirname "$0")/accounts.sh" login "$3" "$id" <"$app/current/password" 2>/dev/null; then
      echo well
    else
      echo ill && exit 1
    fi
    ;;
  *) echo "no such command: $command" >&2 && exit 2 ;;
esac
