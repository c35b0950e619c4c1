# shellcheck shell=bash disable=SC2034
# What the scripts of this folder have in common; they read it first. All of
# them work in the root of the tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Debian's interpreter, whatever comes first in PATH: the environment must be
# there under the same path inside a kernel's sandbox.
readonly PYTHON=/usr/bin/python3
readonly LOGS=build/logs
readonly DEV=build-aux/dev
JOBS=${JOBS:-$(nproc)}
export JOBS

say() {
    printf '\n== %s\n' "$*"
}

die() {
    printf 'dev: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# The C files that git knows or would take.
c_files() {
    git ls-files --cached --others --exclude-standard '*.c' '*.h'
}
