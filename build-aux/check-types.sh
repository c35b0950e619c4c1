#!/bin/sh
# Fails when mypy finds a fault in the tests: check-types.sh [SOURCES [CACHE]].
# mypy keeps what it knows in CACHE (build/mypy). Exits with 77 where the tree
# has no mypy. It runs folder by folder: some have modules of the same name, and
# find those of others by the path that their tests run with. Folders that are
# left out are not typed throughout.
set -eu
cd "${1:-${srcdir:-.}}"
cache=${2:-build/mypy}
if [ ! -x .venv/bin/mypy ]; then
    echo "no .venv/bin/mypy: ./dev install-deps makes it"
    exit 77
fi
MYPYPATH=tests/system:tests/system/http:tests/lib:tests/bench:kernels
export MYPYPATH="$MYPYPATH:gateway/downloads:clients/python/src"
failed=0
for folder in bench demo docs lib mutants runner soak vm \
    system system/clone system/fetch system/http system/packages \
    system/peers system/peers/programs system/sdk; do
    .venv/bin/mypy --cache-dir "$cache" --no-error-summary \
        --follow-imports=silent "tests/$folder"/*.py || failed=1
done
exit "$failed"
