"""Objects that a zygote shares with its kernels have no reference count.

Each use of an object counts a reference up and down, and so writes to its page,
which the kernel then has to copy. Since CPython 3.12 there are objects without
a count. A kernel that drops one frees nothing; the page is the zygote's, so a
free would not help either.
"""

from __future__ import annotations

import gc
import sys
import types

from hearth_kernel import _sandbox

_TRIED = ((3, 12), (3, 13))

# Something happens at their end: a file is closed, a `finally` is run.
_ENDING = {
    types.AsyncGeneratorType,
    types.CoroutineType,
    types.FrameType,
    types.GeneratorType,
    types.TracebackType,
}
_ENDING_MODULES = {"_asyncio", "_io", "_socket", "_ssl", "_thread", "select"}


def _ends(kind: type) -> bool:
    return (
        kind in _ENDING
        or any(base.__module__ in _ENDING_MODULES for base in kind.__mro__)
        or hasattr(kind, "__del__")
    )


def make() -> int:
    """Make objects immortal, after a collection and before the freeze; return
    how many."""
    if sys.version_info[:2] not in _TRIED:
        return 0
    objects = gc.get_objects()
    kept = {kind for kind in set(map(type, objects)) if not _ends(kind)}
    return _sandbox.immortal([each for each in objects if type(each) in kept])
