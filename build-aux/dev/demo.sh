#!/usr/bin/env bash
# Builds, then shows an agent's run on real data.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/build.sh"
exec .venv/bin/python tests/demo/run.py --hearth build/hearth "$@"
