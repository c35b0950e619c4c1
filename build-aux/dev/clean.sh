#!/usr/bin/env bash
# Removes what was built; .venv stays.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

rm -rf build build-asan build-clang build-fuzz build-tsan
