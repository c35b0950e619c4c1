"""Which packages a folder has, and the files that the RECORD of each names.

A RECORD is a stranger's: it is read within bounds, and a line at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from hearth_kernel.packages.names import normalise

RECORD_MAX = 4 << 20  # bytes; of a longer one the beginning counts
_SUFFIXES = (".py", ".so")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def entries(folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each package, its version, and its metadata's name."""
    try:
        found = os.listdir(folder)
    except FileNotFoundError:  # it has none
        return
    for entry in found:
        stem, dot, kind = entry.rpartition(".")
        if dot and kind == "dist-info":
            name, _, version = stem.partition("-")
            yield normalise(name), version, entry


def read(folder: str, entry: str) -> tuple[str, bool]:
    """Return the RECORD, and whether it is whole."""
    try:
        number = os.open(os.path.join(folder, entry, "RECORD"), _READ)
    except OSError:
        return "", False
    try:
        with open(number, "rb", closefd=False) as file:
            text = file.read(RECORD_MAX + 1)
    except OSError:  # as of a folder, which `open` would not close
        return "", False
    finally:
        os.close(number)
    return text[:RECORD_MAX].decode("utf-8", "replace"), len(text) <= RECORD_MAX


def modules(text: str) -> Iterator[str]:
    """Yield the paths of the files that are modules."""
    for line in text.split("\n"):
        path = line.partition(",")[0].strip('"')
        if path.endswith(_SUFFIXES):
            yield path
