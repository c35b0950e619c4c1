#!/usr/bin/env python3
"""Writes the synchronous half of the client from the asynchronous one.

src/hearth/_async is the source. Each of its files becomes one of the same name
in src/hearth/_sync, by the replacements below. The version is configure.ac's.
With --check nothing is written, and a file that is out of date is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "hearth"
CONFIGURE = HERE.parents[1] / "configure.ac"

NOTE = "# Made by generate.py from {source}; change that instead.\n"
REPLACED = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\b__aiter__\b", "__iter__"),
    (r"\b__anext__\b", "__next__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\baiter_(lines|bytes)\b", r"iter_\1"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"\basync_(\w+)", r"sync_\1"),
    (r"\bhearth\._async\b", "hearth._sync"),
    (r"\bhearth\.aio\b", "hearth"),
    # The classes of this package, of httpx, and of collections.abc.
    (r"\bAsync([A-Z]\w*)", r"\1"),
]


def synchronous(name: str, text: str) -> str:
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    return NOTE.format(source=f"_async/{name}") + text


def version() -> str:
    found = re.search(
        r"AC_INIT\(\[hearth\], \[(.+?)\]\)", CONFIGURE.read_text()
    )
    if not found:
        raise SystemExit(f"{CONFIGURE} has no AC_INIT with a version")
    return (
        NOTE.format(source="configure.ac") + f'\n__version__ = "{found[1]}"\n'
    )


def wanted() -> dict[Path, str]:
    files = {PACKAGE / "_version.py": version()}
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        text = synchronous(source.name, source.read_text())
        files[PACKAGE / "_sync" / source.name] = text
    return files


def main() -> int:
    files = wanted()
    stale = [
        path
        for path in {*files, *(PACKAGE / "_sync").glob("*.py")}
        if not path.exists() or path.read_text() != files.get(path)
    ]
    if "--check" in sys.argv[1:]:
        for path in sorted(stale):
            print(f"{path.relative_to(HERE)} is out of date: run generate.py")
        return 1 if stale else 0
    for path in stale:
        if path in files:
            path.write_text(files[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
