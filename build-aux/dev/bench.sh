#!/usr/bin/env bash
# Measures hearth beside ipykernel and others: bench.sh [OPTION...].
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/deps.sh" bench
# One after the other: `all` is a make of its own, and both would link at once.
"$DEV/build.sh" gcc all
"$DEV/build.sh" gcc tests/bench/bare_server tests/bench/fill_journal \
    tests/bench/quick_client tests/bench/view_output
exec .venv/bin/python tests/bench/bench.py --hearth build/hearth "$@"
