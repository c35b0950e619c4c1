"""The code that every kernel runs is gathered in its zygote's memory.

Running a function writes to its code's page: CPython counts references there,
and how often the code ran. From its start to its first cell a kernel runs some
230 functions out of 30,000. The code of each is where its module was loaded,
mostly in a page without code of the others.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import sys
from contextlib import suppress
from types import FunctionType
from typing import Any, Callable

from hearth_kernel.forking import forks, holes

_PATIENCE = 5.0  # seconds; it takes some ms


def _note_calls(run: Callable[[], object]) -> set[int]:
    """The code that runs, by its id."""
    found: set[int] = set()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            found.add(id(frame.f_code))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def _watch(run: Callable[[], object]) -> set[int]:
    """Run it in a child, where everything has the same address as here.

    After any use of the watch, CPython 3.12 and later write to all code that
    runs.
    """
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "w") as pipe:
                pipe.write(json.dumps(list(_note_calls(run))))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        if not select.select([pipe], [], [], _PATIENCE)[0]:
            os.kill(pid, signal.SIGKILL)
        text = pipe.read()
    with suppress(ChildProcessError):  # where the system reaps
        os.waitpid(pid, 0)
    return set(json.loads(text)) if text.endswith("]") else set()


def gather(run: Callable[[], object]) -> int:
    """Give the functions that `run` calls copies of their code.

    In the zygote, before the freeze, and with nothing in the holes that a copy
    would otherwise be put into. How many functions it were: none where `run`
    fails, or takes too long. The code is as new: CPython 3.11 and later adapts
    it once more.
    """
    if forks.count_threads() != 1:
        return 0  # a fork beside a thread may hang
    used = _watch(run)
    functions = [
        each
        for each in gc.get_objects()
        if type(each) is FunctionType and id(each.__code__) in used
    ]
    holes.fill(ctypes.CDLL(None))
    # All there before the first one is let go, whose place would be taken.
    kept = {id(each.__code__): each.__code__ for each in functions}
    copies = {key: code.replace() for key, code in kept.items()}
    for each in functions:
        each.__code__ = copies[id(each.__code__)]
    return len(functions)
