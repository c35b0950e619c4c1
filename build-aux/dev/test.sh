#!/usr/bin/env bash
# Builds hearth and runs its tests: test.sh [OPTION...] [LAYER...]. tests/runner
# does it, with the Python that building needs.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

case "${1:-} ${2:-}" in
'vm '*) exec "$DEV/vm.sh" "${@:2}" ;;
'sandbox --without') exec "$DEV/hostile.sh" "${@:2}" ;;
esac
command -v "$PYTHON" >/dev/null || "$DEV/deps.sh" build
exec "$PYTHON" -m tests.runner "$@"
