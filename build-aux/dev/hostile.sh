#!/usr/bin/env bash
# Runs the hostile snippets outside of pytest: hostile.sh [OPTION...] [ID...].
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/build.sh"
HEARTH=$PWD/build/hearth \
    exec .venv/bin/python tests/sandbox/hostile/run.py "$@"
