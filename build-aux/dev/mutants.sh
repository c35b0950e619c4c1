#!/usr/bin/env bash
# Says which changes of a C or Python file its tests do not notice: mutants.sh
# FILE [TEST...].
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/deps.sh" build test venv
# Tests of Python files use the packages of the build.
case " $* " in
*.py\ *) "$DEV/build.sh" ;;
esac
exec .venv/bin/python tests/mutants/mutate.py --jobs "$JOBS" "$@"
