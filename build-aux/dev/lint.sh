#!/usr/bin/env bash
# Looks at the form of the tree and at what static analysis finds. clang-tidy
# compiles as the build does: `make compile_commands.json` writes down how.
# The functions are what `lint` calls.
# shellcheck disable=SC2317
# shellcheck source=build-aux/dev/lib.sh
. "$(dirname "$0")/lib.sh"

failed=0

# One check: its name, then its command.
lint() {
    local name=$1
    shift
    if "$@"; then
        printf 'ok    %s\n' "$name"
    else
        printf 'FAIL  %s\n' "$name"
        failed=1
    fi
}

clang_format() {
    c_files | xargs -r clang-format --dry-run --Werror
}

shell() {
    git ls-files -z --cached --others --exclude-standard dev .ci/run '*.sh' \
        '*.tap' ':!build-aux/tap-driver.sh' | xargs -0 shellcheck -x
}

manuals() {
    find man -name '*.[1-8]' -print0 |
        xargs -0 -r mandoc -T lint -W warning
}

python() {
    .venv/bin/ruff check --quiet . && .venv/bin/ruff format --quiet --check .
}

# A finding fails.
tidy() {
    sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build-clang/compile_commands.json |
        sort -u | xargs -r -n 1 -P "$JOBS" clang-tidy --quiet -p build-clang \
        2>/dev/null
}

# The objects of the sandbox that need no library but C's.
bare_objects() {
    local sources
    sources=$(grep -L '<seccomp.h>' sandbox/*/*.c)
    awk -F '"' -v root="$PWD/" -v sources="$sources" '
        BEGIN {
            count = split(sources, names, "\n")
            for (i = 1; i <= count; i++)
                bare[root names[i]] = 1
        }
        $2 == "file" { is_bare = $4 in bare }
        $2 == "output" && is_bare { print $4 }
    ' build-aarch64/compile_commands.json
}

# What has an entry or a system call of its own for each architecture, for the
# one that this machine may not be: pid 1, which the build refuses with
# relocations, and what needs no library but C's.
aarch64() {
    local objects
    mapfile -t objects < <(bare_objects)
    [ "${#objects[@]}" -gt 0 ] &&
        "$DEV/build.sh" aarch64 CC=aarch64-linux-gnu-gcc \
            sandbox/init/hearth-init "${objects[@]}"
}

"$DEV/deps.sh" lint
"$DEV/build.sh" clang compile_commands.json
"$DEV/build.sh" aarch64 compile_commands.json
lint client build-aux/check-client.sh .
lint layers build-aux/check-layers.sh .
lint headers build-aux/check-headers.sh .
lint bans build-aux/check-bans.sh .
lint prose build-aux/check-prose.sh .
lint dist build-aux/check-dist.sh .
lint mutants build-aux/check-mutants.sh .
lint documents build-aux/check-docs.sh .
lint clang-format clang_format
lint shellcheck shell
lint mandoc manuals
lint ruff python
lint mypy .venv/bin/mypy
lint mypy-client .venv/bin/mypy --config-file clients/python/pyproject.toml \
    clients/python/src/hearth examples/codeact/agent.py
lint mypy-tests build-aux/check-types.sh .
lint aarch64 aarch64
lint clang-tidy tidy
exit "$failed"
