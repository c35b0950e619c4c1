"""Start and round trip for a client that takes next to nothing itself.

The client of the other rows is Python's, with libzmq and its thread: of what a
session out of the pool takes to its first result it is about half. This one is
`quick_client.c`, the same for both sides.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from pathlib import Path

from clients import BenchError
from figures import OURS, Figure
from measures import QUICK
from sides import Hearth, Ipykernel, Side

ROWS = (
    "the answer to create, a client in C",
    "and its subscription is there, a client in C",
    "create -> first result, imports, a client in C",
    "1+1 round trip, p50, a client in C",
)
GOALS = ("", "", "30x (500x)", "4x (8x)")
OURS_ALONE = 2  # rows: where a kernel is a process, nobody answers


class Quick:
    """The client's process."""

    def __init__(self, program: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [str(program), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self) -> list[float]:
        """One start, in the order of ROWS."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise BenchError("the client in C gave up")
        return [float(value) for value in json.loads(line)]

    def stop(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def ask_gateway(program: Path, side: Hearth, count: int) -> list[list[float]]:
    """So many starts, one after the other."""
    rows = []
    quick = Quick(
        program,
        "gateway",
        str(side.runtime / "management.sock"),
        str(side.runtime / "management.key"),
    )
    try:
        for _ in range(count):
            side.settle()
            rows.append(quick.ask())
    finally:
        quick.stop()
    return rows


def ask_kernel(program: Path, side: Ipykernel) -> list[list[float]]:
    """One start of a process."""
    path = side.scratch / f"quick-{uuid.uuid4().hex}.json"
    path.touch(0o600)
    path.write_text(json.dumps(side.connection()))
    quick = Quick(program, "kernel", str(path), *side.command(path))
    try:
        return [quick.ask()]
    finally:
        quick.stop()
        path.unlink()


def measure_quick(
    hearth: Hearth, others: list[Side], rounds: int
) -> list[Figure]:
    figures = [Figure(name, "ms", goal) for name, goal in zip(ROWS, GOALS)]
    program = hearth.program.parent / "tests/bench/quick_client"
    for number in range(rounds + 1):
        asked = [(OURS, ask_gateway(program, hearth, QUICK))]
        asked += [
            (side.name, ask_kernel(program, side))
            for side in others
            if isinstance(side, Ipykernel)
        ]
        for name, rows in asked:
            for row in rows if number else []:
                for at, figure in enumerate(figures):
                    if name == OURS or at >= OURS_ALONE:
                        figure.add(name, row[at])
    return figures
