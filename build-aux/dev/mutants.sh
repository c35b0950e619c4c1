#!/usr/bin/env bash
# Says which changes of a C file its unit test does not notice: mutants.sh
# FILE TEST.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/deps.sh" build test venv
exec .venv/bin/python tests/mutants/mutate.py --jobs "$JOBS" "$@"
