"""Leaves out work of threading in a fork that a kernel does not need.

threading makes all locks of threads anew in a fork, since a thread that is
gone may have held them. A zygote has one thread, which holds none, and each
kernel would copy pages for it before it has begun. The forks of a session's
own code find everything as it is.
"""

from __future__ import annotations

import os
import threading
from types import CodeType, FunctionType
from typing import Optional

_kept: Optional[tuple[FunctionType, CodeType]] = None


def count_threads() -> int:
    """Count the threads of this process, whatever library made them."""
    return len(os.listdir("/proc/self/task"))


def _nothing() -> None:
    """Stand in for the hook."""


def spare() -> None:
    """From here on threading does nothing in a fork; in a zygote."""
    global _kept
    hook = getattr(threading, "_after_fork", None)
    if not isinstance(hook, FunctionType) or hook.__closure__:
        return
    # threading may still list a thread that was not Python's and has ended.
    if threading.active_count() != 1:
        return
    _kept = hook, hook.__code__
    hook.__code__ = _nothing.__code__


def restore() -> None:
    """Have the hook again, in the kernel."""
    global _kept
    if _kept is not None:
        hook, code = _kept
        hook.__code__ = code
        _kept = None
