"""How a process that the benchmark has started ends."""

from __future__ import annotations

import subprocess
from typing import Any

from processes import descendants, kill

STOP_S = 10


def end(process: subprocess.Popen[Any]) -> None:
    """By itself, or killed when that takes long."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_family(process: subprocess.Popen[Any]) -> None:
    """End the process and all that it has started."""
    pids = descendants(process.pid)[1:]
    end(process)
    for pid in pids:
        kill(pid)
