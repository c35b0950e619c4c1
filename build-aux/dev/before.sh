#!/usr/bin/env bash
# Builds the version that build-aux/version-before names, out of the history,
# and prints its program's path: the tests of upgrades take its sessions over.
# Prints nothing where the history does not have it.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

revision=$(cat build-aux/version-before)
folder=$PWD/build/before
program=$folder/build/hearth

build() {
    rm -rf "$folder"
    mkdir -p "$folder/build"
    git archive "$revision" | tar -x -C "$folder"
    cd "$folder"
    autoreconf --install
    cd build
    ../configure --quiet
    make --no-print-directory -j"$JOBS" all
}

if ! git cat-file -e "$revision^{commit}" 2>/dev/null; then
    echo "dev: the history has no $revision: no upgrade is tested" >&2
    exit
fi
if [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$revision" ]; then
    mkdir -p "$LOGS"
    (build) >"$LOGS/before.log" 2>&1 || {
        tail -n 20 "$LOGS/before.log" >&2
        die "the version before, $revision, cannot be built"
    }
    echo "$revision" >"$folder/.stamp"
fi
echo "$program"
