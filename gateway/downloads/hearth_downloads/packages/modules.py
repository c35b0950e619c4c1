"""Which modules a package has, by the RECORD of its files.

They are for the answer alone: what can be imported is decided by the files. A
RECORD may be hostile. Only the first parts of each path count.
"""

from __future__ import annotations

from typing import Optional

from hearth_kernel.packages import record
from hearth_kernel.packages.names import normalise

MODULES_MAX = 8
NAME_MAX = 100  # letters
DEPTH = 3  # of a namespace package's parts


def find_modules(folder: str, names: set[str]) -> dict[str, list[str]]:
    """Return what is to be imported of these packages, by the package's name.

    One whose only module has its name is left out.
    """
    found = {}
    for name, _, entry in record.entries(folder):
        if name in names:
            modules = _find(record.read(folder, entry)[0])
            if modules and list(map(normalise, modules)) != [name]:
                found[name] = modules[:MODULES_MAX]
    return found


def _find(text: str) -> list[str]:
    """Return the names of all modules outside of other packages, sorted."""
    files = []
    packages = set()
    for path in record.modules(text):
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
