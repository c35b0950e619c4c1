"""What a zygote shares with its kernels counts no references any more.

To use an object is to count a reference, up and down again, and so to write to
its page, which a kernel then has for itself. From CPython 3.12 on there are
objects without a count. Whoever drops one in a kernel frees nothing; the page
is the zygote's, so nothing would come of that either.
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
    """Behind a collection, before the freeze; how many objects it were."""
    if sys.version_info[:2] not in _TRIED:
        return 0
    objects = gc.get_objects()
    kept = {kind for kind in set(map(type, objects)) if not _ends(kind)}
    return _sandbox.immortal([each for each in objects if type(each) in kept])
