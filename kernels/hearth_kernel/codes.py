"""The code that every kernel runs lies together in its zygote's memory.

To run a function writes to its code's page: it counts references there, and how
often it ran. From its start to its first cell a kernel runs some 250 functions
out of 30,000, each with its code where its module was loaded, most of them in a
page that nothing else of them is in.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from types import CodeType, FunctionType
from typing import Any, Callable

from hearth_kernel import holes


def _watch(run: Callable[[], object]) -> dict[int, CodeType]:
    """The code that runs, by its id."""
    found: dict[int, CodeType] = {}

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            found[id(frame.f_code)] = frame.f_code

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def gather(run: Callable[[], object]) -> int:
    """Give the functions that `run` calls copies of their code.

    In the zygote, before the freeze, and with nothing in the holes that a copy
    would otherwise be put into. How many functions it were. The code is as new:
    CPython 3.11 and later adapts it once more.
    """
    used = _watch(run)
    functions = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType and id(each.__code__) in used
    ]
    holes.fill(ctypes.CDLL(None))
    copies = {key: code.replace() for key, code in used.items()}
    for each in functions:
        each.__code__ = copies[id(each.__code__)]
    return len(functions)
