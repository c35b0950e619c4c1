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
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# After the folder of this file, which has modules of the same names.
sys.path.append(str(Path(__file__).resolve().parents[1] / "system"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "lib"))

import drawing
import hogs
import record
import recordings
import zmq
from agent_servers import measure_servers
from agents import measure_agents
from beside import measure_beside
from clients import BenchError
from costs import measure_costs
from downloads import measure_downloads
from figures import OURS, THEIRS, Figure, say
from gateways import measure_gateways
from local import measure_local
from measures import (
    measure_first_result,
    measure_growth,
    measure_large,
    measure_memory,
    measure_prints,
    measure_round_trip,
)
from others import others
from quick import measure_quick
from scale import Series, measure_scale, permit_descriptors
from sides import Hearth, Ipykernel, Kernel, Side
from throughput import measure_throughput
from views import measure_views

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


def measure_hogs(side: Hearth) -> list[Figure]:
    """The round trip beside sessions at their limits; 2x is permitted."""

    def begin(kernel: Kernel, code: str) -> None:
        _, frames = kernel.client.signer.request(
            "execute_request", {"code": code, "silent": False}
        )
        kernel.client.shell.send_multipart(frames)

    figures = []
    for name, quiet, noisy, slow in hogs.measure(side.start, begin):
        figure = Figure(
            f"1+1 beside a hog: {name}, p50", "ms", "2x of alone", least=0.5
        )
        figure.values = {OURS: noisy, "hearth alone": quiet}
        figure.note = f"p95 {slow:.2f}x"
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
        figure.values["hearth"] = values["hearth"]
        figure.values[THEIRS] = values["nbformat"]
    figures[0].note = f"{result.size / 1e6:.0f} MB written"
    figures[2].values["hearth"] = result.append_us
    figures[2].note = "four records are written for one"
    return figures


def measure_entering(program: Path) -> list[Figure]:
    """In a process of its own, which forks and is a warm interpreter."""
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("entering.py")),
            str(program.parent / "python/hearth_kernel"),
            "--json",
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    row = json.loads(done.stdout)[0]
    figures = [
        Figure("entering the sandbox, beside a fork", "ms", "3 ms"),
        Figure("numpy and pandas inside, of outside", "", "0.97"),
    ]
    figures[0].add(OURS, row["added"])
    figures[0].note = (
        f"of forks of {row['fork']:.2f} ms; by lowest quartiles "
        f"{row['added_quartile']:.2f}, by the least {row['added_least']:.2f}"
    )
    figures[1].add(OURS, row["speed"])
    figures[1].note = (
        f"by lowest quartiles {row['speed_quartile']:.3f}, by the least "
        f"{row['speed_best']:.3f}"
    )
    return figures


GROUPS = (
    "create",
    "entering",
    "trip",
    "ipc",
    "memory",
    "prints",
    "large",
    "throughput",
    "costs",
    "hogs",
    "notebooks",
    "views",
    "agents",
    "beside",
    "packages",
    "scale",
    "http",
)


@dataclass
class Run:
    """What one run of the benchmark measures."""

    options: argparse.Namespace
    figures: list[Figure] = field(default_factory=list)
    series: Series = field(default_factory=dict)

    def add(self, more: list[Figure]) -> None:
        say(more)
        self.figures.extend(more)

    def document(self, about: dict[str, Any]) -> dict[str, Any]:
        return {
            "machine": about,
            "figures": [figure.as_json() for figure in self.figures],
            "series": self.series,
        }

    def measure(self, hearth: Hearth, sides: list[Side]) -> None:
        """Others than hearth and ipykernel only where it is about a kernel's
        place, not about its code."""
        rounds, only = self.options.rounds, self.options.only
        pair = sides[:2]
        if "create" in only:
            with hearth.another(has_pool=False) as forking:
                self.add(measure_first_result(sides, rounds, forking))
                self.add(measure_quick(hearth, pair[1:], rounds, forking))
        if "entering" in only:
            self.add(measure_entering(hearth.program))
        if "trip" in only:
            self.add(measure_round_trip(sides, rounds))
        if "ipc" in only:
            with hearth.another(transport="ipc") as local:
                self.add(measure_local(local, pair[1:], rounds))
        if "memory" in only:
            self.add(measure_memory(sides, 4))
            self.add(measure_growth(pair))
        if "prints" in only:
            self.add(measure_prints(pair, rounds))
        if "large" in only:
            self.add(measure_large(pair, rounds))
        if "throughput" in only:
            self.add(measure_throughput(pair, rounds))
        if "costs" in only:
            self.add(measure_costs(pair, rounds))
        if "hogs" in only:
            self.figures.extend(measure_hogs(hearth))
        if "notebooks" in only:
            self.add(measure_notebooks(hearth, min(rounds, 3)))
        if "views" in only:
            self.add(measure_views(hearth, pair, rounds))
        if "agents" in only:
            self.add(measure_agents(hearth, rounds))
            self.add(measure_servers(hearth, rounds))
        if "beside" in only:
            self.add(measure_beside(hearth, rounds))
        if "packages" in only:
            for more in measure_downloads(hearth, rounds):
                self.add(more)
        if "http" in only:
            self.add(measure_gateways(hearth.program, hearth.scratch, rounds))
        if "scale" in only:
            figures, self.series = measure_scale(
                sides, self.options.sessions, min(rounds, 5)
            )
            self.add(figures)


def run(options: argparse.Namespace) -> Run:
    done = Run(options)
    permit_descriptors()
    with ExitStack() as stack:
        # Short, since paths of sockets are; on disk, since journals are.
        scratch = Path(
            stack.enter_context(
                TemporaryDirectory(
                    prefix="hearth-bench-",
                    dir="/var/tmp",
                    ignore_cleanup_errors=True,
                )
            )
        )
        context = zmq.Context()
        hearth = Hearth(
            context, options.hearth.resolve(), scratch, options.cgroups
        )
        sides: list[Side] = [hearth]
        try:
            if not options.alone:
                sides.append(Ipykernel(context, scratch))
                sides += others(context, scratch, stack)
            done.measure(hearth, sides)
        finally:
            hearth.stop()
            context.destroy(linger=0)
            if options.log:
                shutil.copy(scratch / "gateway.log", options.log)
    return done


def judge(document: dict[str, Any], options: argparse.Namespace) -> int:
    """Writes what was asked for; 1 when a figure is worse than it may be."""
    status = 0
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    if options.draw:
        drawing.draw(document, options.draw)
        print(f"drawn: {options.draw}")
    if options.check:
        worse = record.regressions(document)
        past = record.past_bounds(document)
        for sentence in worse:
            print(f"worse: {sentence}")
        for sentence in past:
            print(f"past its bound: {sentence}")
        print(
            f"{len(worse)} ratios are worse, "
            f"{len(past)} figures past their bounds"
        )
        status = 1 if worse or past else 0
    if options.record:
        record.keep(document)
        print(f"kept: {record.RECORD}")
    return status


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hearth", default=ROOT / "build/hearth", type=Path)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument(
        "--sessions",
        type=int,
        default=1000,
        help="how many there are in the part `scale`",
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
        "--alone", action="store_true", help="hearth without the others"
    )
    parser.add_argument(
        "--draw",
        type=Path,
        nargs="?",
        const=ROOT / "docs/design/bench.png",
        help="draw the part `scale`",
    )
    parser.add_argument(
        "--record", action="store_true", help="keep the ratios of this run"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="fail when a ratio is worse than the kept one by a quarter, or a "
        "figure past its bound",
    )
    parser.add_argument("--log", type=Path, help="keep the gateway's log there")
    options = parser.parse_args()
    if options.draw and "scale" not in options.only:
        parser.error("--draw needs the part `scale`")
    if options.check and not record.RECORD.exists():
        parser.error(f"--check needs {record.RECORD}, which --record writes")
    return options


def end_in_order(number: int, _: object) -> None:
    """Gateway, kernels and folder go as they do at the end; once is enough."""
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main() -> int:
    options = parse()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, end_in_order)
    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(
        f"{'median [min..max]':<50} {'hearth':<32} {'ipykernel':<32}"
        f" {'ratio':>8}  {'to reach':<12}"
    )
    try:
        done = run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return judge(done.document(about), options)


if __name__ == "__main__":
    sys.exit(main())
