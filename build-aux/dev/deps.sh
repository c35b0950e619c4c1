#!/usr/bin/env bash
# Installs what is missing: deps.sh [GROUP...], of the table at the end; all
# groups without one. A second call does nothing twice.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

readonly BUILD_PACKAGES=(
    build-essential autoconf automake libtool pkg-config
    libczmq-dev libzmq3-dev libjansson-dev libsodium-dev libssl-dev
    libseccomp-dev libwebsockets-dev
    python3-dev python3-venv
)
readonly TEST_PACKAGES=(
    libcmocka-dev strace util-linux mandoc uidmap zsh fish
    # Kernels of Debian's own Python, with Debian's own packages.
    python3-ipython python3-comm python3-numpy python3-pandas python3-matplotlib
)
readonly CLANG_PACKAGES=(clang libclang-rt-14-dev llvm)
readonly VM_PACKAGES=(qemu-system-x86 qemu-utils mmdebstrap e2fsprogs)
readonly LINT_PACKAGES=(
    clang-format clang-tidy shellcheck mandoc
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
)
# What the environments have, by name (.in) and pinned (.lock).
readonly REQUIREMENTS=tests/requirements

missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
            grep -qx installed || printf '%s\n' "$package"
    done
}

packages() {
    local missing
    # Elsewhere than on Debian, configure names what it misses.
    command -v dpkg-query >/dev/null || return 0
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "packages are missing and there is no sudo; as root, run:" \
            "apt-get install ${missing[*]}"
    fi
    say "installing ${missing[*]}"
    as_root apt-get update -q || true
    as_root apt-get -o DPkg::Lock::Timeout=600 install -q -y \
        --no-install-recommends "${missing[@]}" ||
        die "apt-get could not install: ${missing[*]}"
}

# venv FOLDER LOCK [PYTHON PACKAGE...]: a virtual environment with exactly
# what LOCK pins; or, of another Python, with these packages in the versions
# that it pins. The hashes in it are those of CPython 3.11's wheels; another
# interpreter gets the same versions without them.
venv() {
    local folder=$1 lock=$2 python=${3:-$PYTHON} stamp version pins
    shift 2
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    stamp="$version $(sha256sum <"$lock")${2:+ ${*:2}}"
    [ "$(cat "$folder/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    say "making $folder"
    if [ "$("$folder/bin/python3" -c \
        'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" \
        != "$version" ]; then
        rm -rf "$folder"
        "$python" -m venv "$folder"
    fi
    pins=$(mktemp)
    if [ "$version" = 3.11 ]; then
        cat "$lock" >"$pins"
    else
        sed -e '/^ *--hash/d' -e 's/ *\\$//' "$lock" >"$pins"
    fi
    if [ $# -gt 1 ]; then
        set -- --constraint "$pins" "${@:2}"
    else
        set -- --requirement "$pins"
    fi
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" ||
        die "pip could not install what $lock pins"
    rm -f "$pins"
    printf '%s\n' "$stamp" >"$folder/.stamp"
}

# The newest Python that kernels are tested with, where there is one.
newer_python() {
    local python
    for python in python3.13 "${HOME:-}"/.pyenv/versions/3.13.*/bin/python3 \
        python3.12 "${HOME:-}"/.pyenv/versions/3.12.*/bin/python3; do
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    return 1
}

newer_venv() {
    local python
    python=$(newer_python) || return 0
    venv .venv-newer "$REQUIREMENTS/tests.lock" "$python" \
        ipython comm debugpy matplotlib-inline numpy pandas matplotlib
}

# sources VENV LOCK: in VENV/src the source archives that LOCK pins, unpacked.
# The environment has what pip must import to look at them (hatchling).
sources() {
    local venv=$1 lock=$2 stamp archive
    stamp=$(sha256sum <"$lock")
    [ "$(cat "$venv/src/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    say "filling $venv/src"
    rm -rf "$venv/src"
    "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --no-build-isolation --no-binary :all: --require-hashes \
        --dest "$venv/src" --requirement "$lock" ||
        die "pip could not fetch what $lock pins"
    for archive in "$venv"/src/*.tar.gz; do
        tar -xzf "$archive" -C "$venv/src"
        rm "$archive"
    done
    printf '%s\n' "$stamp" >"$venv/src/.stamp"
}

# node FOLDER: Node, and in the folder what its package-lock.json pins.
# No package's own script is run.
node() {
    local folder=$1 stamp
    command -v npm >/dev/null || packages nodejs npm
    stamp="$(command node --version) $(sha256sum <"$folder/package-lock.json")"
    [ "$(cat "$folder/node_modules/.stamp" 2>/dev/null)" = "$stamp" ] &&
        return 0
    say "filling $folder/node_modules"
    npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund ||
        die "npm could not install what $folder/package-lock.json pins"
    printf '%s\n' "$stamp" >"$folder/node_modules/.stamp"
}

[ "$#" -gt 0 ] || set -- build venv test clang lint newer jc7 peers
for group in "$@"; do
    case $group in
    # git: the demo and the tests clone a repository.
    build) packages "${BUILD_PACKAGES[@]}" git ;;
    venv) venv .venv "$REQUIREMENTS/tests.lock" ;;
    test) packages "${TEST_PACKAGES[@]}" ;;
    clang) packages "${CLANG_PACKAGES[@]}" ;;
    lint) packages "${LINT_PACKAGES[@]}" ;;
    format) packages clang-format ;;
    newer) newer_venv ;;
    jc7) venv .venv-jc7 "$REQUIREMENTS/jc7.lock" ;;
    peers)
        packages chromium
        venv .venv-peers "$REQUIREMENTS/peers.lock"
        venv .venv-clients "$REQUIREMENTS/clients.lock"
        sources .venv-peers "$REQUIREMENTS/suites.lock"
        node tests/system/peers/node
        ;;
    bench)
        packages bubblewrap
        venv .venv-tokens "$REQUIREMENTS/tokens.lock"
        ;;
    vm) packages "${VM_PACKAGES[@]}" ;;
    *) die "there is no group $group of packages" ;;
    esac
done
