"""What recordings cost: a big one exported, beside nbformat's own write of
the same notebook, and what a record of a `1+1` takes to append."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SESSION = "00000000-0000-4000-8000-000000000000"
CELLS = 10_000
BYTES = 100_000_000

# Its own time, without what reading took.
WRITE = """
import sys, time, nbformat
with open(sys.argv[1], encoding="utf-8") as file:
    notebook = nbformat.read(file, as_version=4)
began = time.perf_counter()
nbformat.write(notebook, sys.argv[2])
print(time.perf_counter() - began)
"""


# What a process that was forked from a big one has used counts from the big
# one's memory on (getrusage(2)): between the two there is a small one.
RUN = """
import os, sys, time
began = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print()  # behind what it printed
print(time.perf_counter() - began, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def timed(
    arguments: list[str], env: dict[str, str]
) -> tuple[float, float, str]:
    """Seconds, the most memory in MB, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", RUN, *arguments],
        env=env,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    printed, _, last = done.stdout.rstrip("\n").rpartition("\n")
    seconds, kib = last.split()
    return float(seconds), int(kib) / 1000, printed


class Result:
    """Of all rounds."""

    def __init__(self) -> None:
        self.append_us: list[float] = []
        self.seconds: dict[str, list[float]] = {"hearth": [], "nbformat": []}
        self.megabytes: dict[str, list[float]] = {"hearth": [], "nbformat": []}
        self.size = 0

    def note(self, side: str, seconds: float, megabytes: float) -> None:
        self.seconds[side].append(seconds)
        self.megabytes[side].append(megabytes)


def measure(
    hearth: Path, scratch: Path, rounds: int, cells: int = CELLS
) -> Result:
    result = Result()
    state = scratch / "recorded"
    state.mkdir()
    env = {**os.environ, "HEARTH_STATE_DIR": str(state)}
    filler = hearth.parent / "tests/bench/fill_journal"
    _, _, printed = timed(
        [str(filler), str(state), str(cells), str(BYTES)], env
    )
    result.append_us.append(float(printed))
    notebook = scratch / "big.ipynb"
    for _ in range(rounds):
        seconds, memory, _ = timed(
            [str(hearth), "notebook", "export", SESSION, "-o", str(notebook)],
            env,
        )
        result.note("hearth", seconds, memory)
        _, memory, printed = timed(
            [sys.executable, "-c", WRITE, str(notebook), str(scratch / "w")],
            env,
        )
        result.note("nbformat", float(printed), memory)
    result.size = notebook.stat().st_size
    return result
