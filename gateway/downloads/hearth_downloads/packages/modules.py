"""Which modules a package has, by the RECORD of its files.

They are for the answer alone: what can be imported is decided by the files. A
RECORD may be hostile. So it is read within bounds, a line at a time, and only
the first parts of each path count.
"""

from __future__ import annotations

import os
from typing import Optional

from hearth_kernel.packages.names import normalise

RECORD_MAX = 4 << 20  # bytes; of a longer one the beginning counts
MODULES_MAX = 8
NAME_MAX = 100  # letters
DEPTH = 3  # of a namespace package's parts
_SUFFIXES = (".py", ".so")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_modules(folder: str, names: set[str]) -> dict[str, list[str]]:
    """Return what is to be imported of these packages, by the package's name.

    One whose only module has its name is left out.
    """
    found = {}
    for entry in os.listdir(folder):
        stem, dot, kind = entry.rpartition(".")
        name = normalise(stem.partition("-")[0])
        if dot and kind == "dist-info" and name in names:
            modules = _find(_read(os.path.join(folder, entry, "RECORD")))
            if modules and list(map(normalise, modules)) != [name]:
                found[name] = modules[:MODULES_MAX]
    return found


def _read(path: str) -> str:
    try:
        number = os.open(path, _READ)
        with open(number, "rb") as file:
            return file.read(RECORD_MAX).decode("utf-8", "replace")
    except OSError:
        return ""


def _find(record: str) -> list[str]:
    """Return the names of all modules outside of other packages, sorted."""
    files = []
    packages = set()
    for line in record.split("\n"):
        path = line.partition(",")[0].strip('"')
        if path.endswith(_SUFFIXES):
            parts = path.split("/", DEPTH)
            files.append(parts)
            if parts[-1].partition(".")[0] == "__init__":
                packages.add(tuple(parts[:-1]))
    names = {_name(parts, packages) for parts in files}
    return sorted(name for name in names if name)


def _name(parts: list[str], packages: set[tuple[str, ...]]) -> Optional[str]:
    """Return the name to import for a file; None for one that has none."""
    for depth in range(1, len(parts)):
        if tuple(parts[:depth]) in packages:
            break
    else:
        depth = len(parts) if "/" not in parts[-1] else 1
    words = [*parts[: depth - 1], parts[depth - 1].partition(".")[0]]
    name = ".".join(words)
    is_shown = all(
        word.isascii() and word.isidentifier() and word[0] != "_"
        for word in words
    )
    return name if is_shown and len(name) <= NAME_MAX else None
