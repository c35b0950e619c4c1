"""The packages that all sessions of the profile have from an index.

The gateway names their folder to the zygote, which is in no sandbox. So the
zygote imports nothing of it but what `preload` names: the folder is among the
places of modules only while that is imported, and in kernels.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder

_folder = ""  # "": the profile has none


def configure(folder: str) -> None:
    """Have that folder, or none."""
    global _folder
    _folder = folder


def folders() -> list[str]:
    """Return what a kernel has to see of it."""
    return [_folder] if _folder else []


def has(name: str) -> bool:
    """Whether the module is one of these packages'; nothing is imported."""
    top = name.partition(".")[0]
    return bool(_folder) and PathFinder.find_spec(top, [_folder]) is not None


def add_place() -> None:
    """Have the folder among the places of modules, before the profile's own."""
    if not _folder:
        return
    own = (n for n, path in enumerate(sys.path) if "-packages" in path)
    sys.path.insert(next(own, len(sys.path)), _folder)


@contextmanager
def visible() -> Iterator[None]:
    """Have it there for a while."""
    add_place()
    try:
        yield
    finally:
        if _folder in sys.path:
            sys.path.remove(_folder)
        sys.path_importer_cache.pop(_folder, None)
        importlib.invalidate_caches()
