"""System calls of a process that strace changes."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from typing import Iterator

import pytest


@contextmanager
def injected(pid: int, calls: str, what: str, *options: str) -> Iterator[None]:
    """Run with these calls of the process changed."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    tracer = subprocess.Popen(
        [
            "strace", *options, "-p", str(pid), "-e", f"trace={calls}",
            "-e", f"inject={calls}:{what}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert tracer.stderr is not None
        line = tracer.stderr.readline().decode()
        if "attached" not in line:
            pytest.skip(f"nothing can be traced here: {line}")
        yield
    finally:
        tracer.terminate()
        tracer.communicate()
