#!/bin/sh
# Runs a command where other users can reach the checkout: reachable.sh CHECKOUT
# COMMAND... Tests start its programs as other users. Root's home is closed to
# these (0700 in Debian). If such a folder is above the checkout, the command
# runs in a mount namespace of its own, in which that folder is open and has
# nothing but the checkout, at the same path.
set -eu
checkout=$1
shift
closed=
folder=$checkout
[ "$(id -u)" = 0 ] || folder=/ # an ordinary user's sessions are that user's
while [ "$folder" != / ]; do
    folder=$(dirname "$folder")
    case $(stat -c %A "$folder") in
    *[xt]) ;;
    *) closed=$folder ;;
    esac
done
[ -n "$closed" ] || exec "$@"
# shellcheck disable=SC2016 # the inner shell expands these
exec unshare --mount sh -euc '
    closed=$1 checkout=$2 folder=$(pwd)
    shift 2
    cd "$checkout"
    mount -t tmpfs -o mode=0755,size=1M hearth-tests "$closed"
    (umask 022 && mkdir -p "$checkout")
    mount --no-canonicalize --bind . "$checkout"
    cd "$folder"
    exec "$@"' sh "$closed" "$checkout" "$@"
