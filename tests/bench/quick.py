"""Start and round trip for a client that takes next to no time itself.

The client of the other rows is Python's, with libzmq and its thread: it takes
about half of the time from a pooled session to its first result. This one is
`quick_client.c`, the same for both sides. Beside them is a server that only
answers (`bare_server.c`): the time that libzmq, the system and the client take
by themselves.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import Optional, Union

from clients import BenchError
from figures import OURS, Figure
from measures import QUICK
from sides import REST_S, Hearth, Ipykernel, Side

ROWS = (
    "the answer to create, a client in C",
    "and its subscription is there, a client in C",
    "create -> first result, imports, a client in C",
    "1+1 round trip, p50, a client in C",
    "1+1 round trip, p99, a client in C",
)
GOALS = ("", "", "30x (500x)", "4x (8x)", "")
RESULT = 2  # the row of the first result
FORKED = "the same by a fork, a client in C"
OURS_ALONE = 2  # rows: with a process as kernel, no server answers
BARE = "libzmq alone"


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


class Bare:
    """The server that does nothing, in a folder of its own."""

    def __init__(self, program: Path, scratch: Path, transport: str) -> None:
        self.runtime = Path(tempfile.mkdtemp(dir=scratch))
        self.process = subprocess.Popen(
            [str(program), str(self.runtime), transport],
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout
        if not self.process.stdout.readline():
            raise BenchError("the bare server did not start")

    def settle(self) -> None:
        """As long a rest as a gateway has."""
        time.sleep(REST_S)

    def stop(self) -> None:
        assert self.process.stdout
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def ask_gateway(
    program: Path, side: Union[Hearth, Bare], count: int
) -> list[list[float]]:
    """Make that many starts, one after the other."""
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
    hearth: Hearth,
    others: list[Side],
    rounds: int,
    forking: Optional[Hearth] = None,
) -> list[Figure]:
    """`forking`: a gateway without a pool, for a row more."""
    figures = [Figure(name, "ms", goal) for name, goal in zip(ROWS, GOALS)]
    forked = Figure(FORKED, "ms", "30x (100x)")
    programs = hearth.program.parent / "tests/bench"
    program = programs / "quick_client"
    bare = Bare(programs / "bare_server", hearth.scratch, hearth.transport)
    try:
        for number in range(rounds + 1):
            asked = [
                (OURS, ask_gateway(program, hearth, QUICK)),
                (BARE, ask_gateway(program, bare, QUICK)),
            ]
            asked += [
                (side.name, ask_kernel(program, side))
                for side in others
                if isinstance(side, Ipykernel)
            ]
            for name, rows in asked:
                for row in rows if number else []:
                    for at, figure in enumerate(figures):
                        if name in (OURS, BARE) or at >= OURS_ALONE:
                            figure.add(name, row[at])
            rows = ask_gateway(program, forking, QUICK) if forking else []
            for row in rows if number else []:
                forked.add(OURS, row[RESULT])
    finally:
        bare.stop()
    if not forking:
        return figures
    for name, values in figures[RESULT].values.items():
        if name != OURS:
            forked.values[name] = values
    return [*figures, forked]
