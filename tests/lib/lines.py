"""Lines that a program says, each with a deadline."""

from __future__ import annotations

import subprocess
import threading


def next_line(process: subprocess.Popen[str], seconds: float) -> str:
    """Return the next line of its standard output, or "" at its end. A program
    that says nothing for so long is killed."""
    assert process.stdout
    late = threading.Timer(seconds, process.kill)
    late.start()
    try:
        return process.stdout.readline()
    finally:
        late.cancel()
        late.join()
