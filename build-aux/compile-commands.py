"""Prints compile_commands.json from what `make -n` would do.

compile-commands.py SOURCES <output of make: how each C file is compiled, in
this folder, for clang-tidy and editors.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

# Libtool is before the compiler where a library is made; where a target has
# flags of its own the source's folder is a question to the shell.
COMPILE = re.compile(
    r"(?:.*--mode=compile )?(?P<command>.*) -c -o (?P<object>\S+) "
    r"(?:`test -f '[^']*' \|\| echo '[^']*'`)?(?P<source>\S+\.c)\b"
)
DEPENDENCIES = re.compile(r" -MT \S+ -MD -MP -MF \S+")


def main() -> None:
    sources, here = Path(sys.argv[1]).resolve(), Path.cwd()
    rows = []
    for line in sys.stdin:
        found = COMPILE.match(line)
        if not found:
            continue
        source = here / found["source"]
        if not source.exists():
            source = sources / found["source"]
        if not source.exists():  # made by the build
            continue
        command = DEPENDENCIES.sub("", found["command"])
        rows.append(
            {
                "directory": str(here),
                "file": str(source.resolve()),
                "output": found["object"],
                "arguments": [
                    *shlex.split(command),
                    *("-c", "-o", found["object"], str(source.resolve())),
                ],
            }
        )
    json.dump(rows, sys.stdout, indent=1)
    print()


main()
