"""hearth beside ipykernel: the same Python, the same packages, one run.

The client is made of raw ZeroMQ sockets, the same for both sides: the waits
and the costs of a friendlier client would hide what is measured. Rounds of
both sides take turns, so that a busy moment of the machine meets both. Every
cell's output is checked to be whole before its time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import hogs
import recordings
import zmq
from clients import BenchError
from figures import Figure, say
from measures import (
    measure_crowd,
    measure_first_result,
    measure_large,
    measure_memory,
    measure_prints,
    measure_round_trip,
)
from sides import Hearth, Ipykernel, Kernel, Side

ROOT = Path(__file__).resolve().parents[2]


def machine() -> dict[str, Any]:
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cpu": model or platform.machine(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        **{
            name: version(name)
            for name in ("ipykernel", "ipython", "pyzmq", "pandas")
        },
    }


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Short, since paths of sockets are; on disk, since journals are."""
    folder = tempfile.mkdtemp(prefix="hearth-bench-", dir="/var/tmp")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_hogs(side: Hearth) -> list[Figure]:
    """The round trip beside sessions at their limits; 2x is permitted."""

    def begin(kernel: Kernel, code: str) -> None:
        _, frames = kernel.client.signer.request(
            "execute_request", {"code": code, "silent": False}
        )
        kernel.client.shell.send_multipart(frames)

    figures = []
    for name, quiet, noisy, slow in hogs.measure(side.start, begin):
        figure = Figure(f"1+1 beside a hog: {name}, p50", "ms", "2x of alone")
        figure.hearth = noisy
        figure.note = (
            f"alone {median(quiet):.2f} ms: "
            f"{median(noisy) / median(quiet):.2f}x; p95 {slow:.2f}x"
        )
        say([figure])
        figures.append(figure)
    return figures


def measure_notebooks(side: Hearth, rounds: int) -> list[Figure]:
    """A recording of 10,000 cells and 100 MB; the other side is nbformat."""
    result = recordings.measure(side.program, side.scratch, rounds)
    figures = [
        Figure("export 10,000 cells, 100 MB (and nbformat)", "s", "seconds"),
        Figure("the most memory of it (and nbformat)", "MB", "bounded"),
        Figure("a record of a 1+1 in the journal", "us", "1.25 % of 1+1"),
    ]
    for figure, values in zip(figures, (result.seconds, result.megabytes)):
        figure.hearth = values["hearth"]
        figure.ipykernel = values["nbformat"]
    figures[0].note = f"{result.size / 1e6:.0f} MB written"
    figures[2].hearth = result.append_us
    figures[2].note = "four records are written for one"
    return figures


GROUPS = ("create", "trip", "memory", "prints", "large", "hogs", "notebooks")


def run(options: argparse.Namespace) -> list[Figure]:
    figures: list[Figure] = []

    def add(more: list[Figure]) -> None:
        say(more)
        figures.extend(more)

    with scratch_folder() as scratch:
        context = zmq.Context()
        hearth = Hearth(
            context, options.hearth.resolve(), scratch, options.cgroups
        )
        sides: list[Side] = [hearth]
        if not options.alone:
            sides.append(Ipykernel(context, scratch))
        rounds = options.rounds
        try:
            if "create" in options.only:
                add(measure_first_result(sides, rounds))
            if "trip" in options.only:
                add(measure_round_trip(sides, rounds))
            if "memory" in options.only:
                add(measure_memory(sides, 4))
            if "prints" in options.only:
                add(measure_prints(sides, rounds))
            if "large" in options.only:
                add(measure_large(sides, rounds))
            if "hogs" in options.only:
                figures.extend(measure_hogs(hearth))
            if "notebooks" in options.only:
                add(measure_notebooks(hearth, min(rounds, 3)))
            if options.sessions:
                add(measure_crowd(hearth, options.sessions))
        finally:
            hearth.stop()
            context.destroy(linger=0)
            if options.log:
                shutil.copy(scratch / "gateway.log", options.log)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hearth", default=ROOT / "build/hearth", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument(
        "--sessions", type=int, default=0, help="also beside so many idle ones"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, default=list(GROUPS)
    )
    parser.add_argument(
        "--cgroups",
        default="auto",
        choices=("auto", "v2", "v1", "none"),
        help="the gateway's setting",
    )
    parser.add_argument(
        "--alone", action="store_true", help="hearth without ipykernel"
    )
    parser.add_argument("--log", type=Path, help="keep the gateway's log there")
    options = parser.parse_args()

    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(
        f"{'median [min..max]':<50} {'hearth':<32} {'ipykernel':<32}"
        f" {'ratio':>8}  {'to reach':<12}"
    )
    try:
        figures = run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    if options.json:
        document = {
            "machine": about,
            "figures": [figure.as_json() for figure in figures],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
