#!/usr/bin/env bash
# Runs tests in Debian with systemd and control groups of version 2, hearth by
# `make install`: vm.sh [PART...]; tests/vm/run.py says what there is.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/deps.sh" vm
"$DEV/build.sh" gcc all
mkdir -p "$LOGS"
as_root PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/vm/run.py build \
    "${HEARTH_VM_FOLDER:-build/vm}" "$@" | tee "$LOGS/vm.log"
