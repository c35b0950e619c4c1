#!/usr/bin/env bash
# Puts the C and Python code into its form.
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

"$DEV/deps.sh" format venv
c_files | xargs -r clang-format -i
.venv/bin/ruff format --quiet .
.venv/bin/ruff check --quiet --fix .
