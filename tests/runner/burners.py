"""A noisy machine: an endless loop for each processor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Iterator


@contextlib.contextmanager
def burners(wanted: bool) -> Iterator[None]:
    """Keep every processor busy meanwhile, if that is wanted."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range((os.cpu_count() or 1) if wanted else 0)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
