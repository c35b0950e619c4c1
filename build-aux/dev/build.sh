#!/usr/bin/env bash
# Installs what is missing, configures and builds: build.sh [CONFIGURATION
# [ARGUMENT OF make...]]. The table is what continuous integration builds, each
# in a folder of its own; without a name the first.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

configuration=${1:-gcc}
[ "$#" -eq 0 ] || shift
folder=build-$configuration
case $configuration in
gcc) folder=build arguments=(--enable-werror) ;;
clang) arguments=(--enable-werror CC=clang) ;;
asan)
    arguments=(--enable-werror '--enable-sanitizer=address,undefined'
        CC=clang CFLAGS='-O1 -g')
    ;;
tsan)
    arguments=(--enable-werror --enable-sanitizer=thread
        CC=clang CFLAGS='-O1 -g')
    ;;
fuzz)
    arguments=(--enable-fuzz '--enable-sanitizer=address,undefined'
        CC=clang CFLAGS='-O1 -g')
    ;;
# What only x86 has is left out. CC is the argument of make: no library of another
# architecture is there, so that configure would find none.
aarch64) arguments=(--enable-werror --disable-hardening) ;;
*)
    die "there is no configuration $configuration:" \
        "gcc, clang, asan, tsan, fuzz, aarch64"
    ;;
esac

bootstrap() {
    local newest
    newest=$(find . -maxdepth 4 \( -name configure.ac -o -name Makefile.am \
        -o -name Makemodule.am \) -newer configure 2>/dev/null || true)
    if [ ! -e configure ] || [ -n "$newest" ]; then
        mkdir -p "$LOGS"
        autoreconf --install >"$LOGS/autoreconf.log" 2>&1 || {
            cat "$LOGS/autoreconf.log"
            die 'autoreconf failed'
        }
        touch configure
    fi
}

# Once, and again when the arguments change or cmocka comes, which the unit
# tests are made with.
configure() {
    local stamp
    stamp="${arguments[*]} cmocka $(pkg-config --modversion cmocka || true)"
    if [ "$(cat "$folder/.configured" 2>/dev/null)" != "$stamp" ]; then
        rm -f "$folder/.configured"
        (cd "$folder" && ../configure --quiet "${arguments[@]}") ||
            die "configure failed; see $folder/config.log"
        printf '%s\n' "$stamp" >"$folder/.configured"
    fi
}

"$DEV/deps.sh" build
# The environment of the tests is filled while the compiler runs. A shell's
# background process ignores interrupts unless their default action is restored.
env --default-signal=INT --default-signal=QUIT "$DEV/deps.sh" venv &
environment=$!
trap 'wait "$environment"' EXIT
[ "$configuration" = gcc ] || "$DEV/deps.sh" clang
mkdir -p build "$folder"
# One at a time: two calls of dev share the tree, and a folder of it.
(
    flock 9
    bootstrap 9>&-
) 9>build/.bootstrap.lock
(
    flock 9
    configure 9>&-
    make -C "$folder" --no-print-directory -j"$JOBS" "${@:-all}" 9>&-
) 9>"$folder/.lock"
trap - EXIT
wait "$environment"
[ "$#" -gt 0 ] || echo "built: $folder/hearth"
