"""Where what comes from outside is served and written, for the benchmark.

All servers are the benchmark's own, on 127.0.0.1. Files and repositories are
served from memory and written to it (/dev/shm), if there is room for them. So
no disk is measured. Packages lie on the disk, and those of pip and uv beside
them: no sandbox shows what is below /dev.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from clients import BenchError

MEMORY = Path("/dev/shm")
FILE_BYTES = 1_000_000_000
ROOM = 6  # large files that are there at once, and a little more
# pip asks rustc for its version, and rustup makes folders in a home.
NO_HOME = {"HOME": "/dev/null/home", "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Place:
    """A folder for what is written, and how large a file may be there."""

    path: Path
    file_bytes: int
    note: str


@contextmanager
def open_place(scratch: Path) -> Iterator[Place]:
    """Make the folder; where there is less room, the file is smaller."""
    is_memory = MEMORY.is_dir() and free(MEMORY) >= ROOM * FILE_BYTES
    top, what = (MEMORY, "memory") if is_memory else (scratch, "disk")
    size = min(FILE_BYTES, round_down(free(top) // ROOM))
    path = Path(tempfile.mkdtemp(prefix="hearth-bench-", dir=top))
    path.chmod(0o711)  # workers may be other users
    try:
        yield Place(path, size, f"{size / 1e6:.0f} MB, in {what}")
    finally:
        shutil.rmtree(path, ignore_errors=True)


def round_down(size: int) -> int:
    return size // 1_000_000 * 1_000_000


def free(top: Path) -> int:
    """Return how many bytes can be written there; memory is memory."""
    about = os.statvfs(top)
    room = about.f_bavail * about.f_frsize
    if top != MEMORY:
        return room
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return min(room, 1024 * int(line.split()[1]))
    return 0


def timed(do: Callable[[], object]) -> float:
    """Return how long it took, in ms."""
    began = time.perf_counter()
    do()
    return 1000 * (time.perf_counter() - began)


def run(*words: object, **environment: str) -> None:
    """Run a program to its end, with an environment made from nothing."""
    done = subprocess.run(
        [str(word) for word in words],
        env={"PATH": os.environ["PATH"], **NO_HOME, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise BenchError(f"{words[:3]}: {done.stdout[-500:]!r}")


def find(name: str) -> Optional[str]:
    """Return a program; say that it is left out if there is none."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        print(f"bench: {name} is left out: it is missing", file=sys.stderr)
    return found
