#!/bin/sh
# fleet.sh COMMAND FLEET HOST [RELEASE]: servers that are directories, to try the runbook without any.
# A server comes into being when it is first named, with release 41 and two connections. Drained, it loses one
# connection each time it is asked. It takes two looks to get well after an update, and never does where its
# directory has a file `allergic` that names the release.
set -eu
command=$1 server=$2/$3 release=${4:-}

if [ ! -e "$server/release" ]; then
  mkdir -p "$server"
  echo 41 >"$server/release"
  echo 2 >"$server/connections"
  echo 0 >"$server/starting"
fi

count_down() { # FILE: print the number in it, then leave one less
  number=$(cat "$1")
  if [ "$number" -gt 0 ]; then echo $((number - 1)) >"$1"; fi
  echo "$number"
}

case $command in
  drain) touch "$server/drained" ;;
  undrain) rm -f "$server/drained" && echo 2 >"$server/connections" ;;
  connections) if [ -e "$server/drained" ]; then count_down "$server/connections"; else cat "$server/connections"; fi ;;
  update) echo "$release" >"$server/release" && echo 1 >"$server/starting" ;;
  health)
    runs=$(cat "$server/release")
    state=ok
    if [ "$(count_down "$server/starting")" -gt 0 ]; then state=starting; fi
    if [ "$(cat "$server/allergic" 2>/dev/null)" = "$runs" ]; then state=down; fi
    echo "{\"release\": \"$runs\", \"state\": \"$state\"}"
    [ "$state" = ok ]
    ;;
  *) echo "no such command: $command" >&2 && exit 2 ;;
esac
