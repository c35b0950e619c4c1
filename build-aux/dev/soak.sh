#!/usr/bin/env bash
# Runs random agents for an hour, or for SECONDS: soak.sh [SECONDS];
# HEARTH_ASAN=1: under AddressSanitizer.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/build.sh"
export HEARTH_SOAK=${1:-3600}
mkdir -p "$LOGS"
soak=(
    "$PWD/.venv/bin/python" -m pytest -o cache_dir="$PWD/$LOGS/soak.cache"
    --junitxml="$PWD/$LOGS/soak.xml" -ra --timeout=900 -s
    tests/system/test_soak.py
)
if [ -n "${HEARTH_ASAN:-}" ]; then
    "$DEV/build.sh" asan
    # Of what was freed ASan keeps 256 MB, which would look like growth.
    QUARANTINE=16 build-aux/sanitized.sh build-asan "${soak[@]}" |
        tee "$LOGS/soak.log"
else
    HEARTH=$PWD/build/hearth "${soak[@]}" | tee "$LOGS/soak.log"
fi
