"""Holes in a zygote's memory, filled so that its kernels' objects lie
together.

Importing modules leaves freed blocks between the objects that stay. Each
kernel would put its own objects into these holes, one to a page, and each page
is copied as it is written to. The blocks that fill the holes are never written
to or freed, and so cost no further pages.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from typing import Any, Callable

_BLOCK_MAX = 512  # bytes of Python's small objects; larger ones are malloc's
_PIECE_MAX = 120_000  # below what malloc asks a mapping of its own for
_STEP = 16
_FILLED_MAX = 1 << 30  # some other malloc, whatever it may do, ends there


def _statistics() -> str:
    """Return CPython's statistics of its small objects; "" if it has none."""
    write = getattr(sys, "_debugmallocstats", None)
    if write is None:
        return ""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        try:
            os.dup2(file.fileno(), 2)
            write()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode("ascii", "replace")


def blocks() -> dict[int, int]:
    """Return how many blocks are free in pages that are used, by their size.

    Reads a table with the columns class, size, pools, used and free.
    """
    found = {}
    for line in _statistics().splitlines():
        words = line.split()
        if len(words) == 5 and all(word.isdigit() for word in words):
            size, free = int(words[1]), int(words[4])
            if 0 < size <= _BLOCK_MAX:
                found[size] = free
    return found


def fill_blocks() -> None:
    """Take what is free between Python's small objects."""
    allocate = ctypes.pythonapi.PyObject_Malloc
    allocate.argtypes = [ctypes.c_size_t]
    allocate.restype = ctypes.c_void_p
    for size, free in blocks().items():
        for _ in range(free):
            allocate(size)


def fill_heap(libc: Any) -> int:
    """Take the free pieces of malloc's heap; return their number of bytes.

    From large pieces to small ones: the rest of a hole is used by the next
    size. If the heap has to grow for a piece, there is no such hole. For glibc,
    whose heap ends where sbrk() says, after malloc_trim(), which leaves its end
    short.
    """
    libc.sbrk.argtypes = [ctypes.c_ssize_t]
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.sbrk.restype = libc.malloc.restype = ctypes.c_void_p
    end = libc.sbrk(0)
    taken = 0
    size = _PIECE_MAX
    while size >= _STEP:
        at = libc.malloc(size)
        if at is not None and at < end and taken < _FILLED_MAX:
            taken += size
        else:
            libc.free(at)
            # Pieces of 8 bytes more than a multiple of 16 leave no gap.
            size = size * 3 // 4 if size > 1032 else size - _STEP
            size = size // _STEP * _STEP + 8
    return taken


def fill(libc: Any) -> None:
    """Take all holes that there are at this moment."""
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
        fill_heap(libc)
    fill_blocks()


def trimmer() -> Callable[[], object]:
    """Return a function that gives malloc's free memory back to the system, if
    there is one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: trim(0)) if trim else (lambda: None)
