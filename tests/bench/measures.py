"""One kernel at a time: start, round trip, memory, output."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Optional

from clients import BenchError, Outcome
from figures import OURS, Figure, percentile
from sides import Hearth, Kernel, Side, kernel_of, kernel_of_each, permitted

IMPORTS = "import pandas\nimport matplotlib.pyplot"

QUICK = 10  # starts of ours in a round: what is rare is seen in many alone

TEN_MEGABYTES = 10_000_000
TWENTY_MEGABYTES = 20_000_000
PREPARE_PICTURE = f"""\
import os
from IPython.display import Image, display
picture = Image(b"\\x89PNG\\r\\n\\x1a\\n" + os.urandom({TWENTY_MEGABYTES}),
                format="png")
"""


def pss(pids: list[int]) -> float:
    """Proportional set size, MB: what is shared counts in parts."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
        for line in text.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total * 1024 / 1e6


def first_result(side: Side) -> float:
    """From asking for a kernel to the end of its first cell, ms."""
    side.settle()
    started = time.perf_counter()
    with kernel_of(side) as kernel:
        kernel.client.execute(IMPORTS)
        return 1000 * (time.perf_counter() - started)


def first_results(side: Side, count: int) -> list[float]:
    """Fewer when others' kernels do not come up."""
    times = []
    for _ in range(count):
        with permitted(side.name):
            times.append(first_result(side))
    return times


def measure_first_result(
    sides: list[Side], rounds: int, forking: Optional[Hearth] = None
) -> list[Figure]:
    """Out of the pool, and from a gateway that has none; the others beside
    both are the same."""
    pooled = Figure("create -> first result, with imports", "ms", "30x (500x)")
    forked = Figure("the same by a fork", "ms", "30x (100x)")
    for number in range(rounds + 1):
        for side in sides:
            times = first_results(side, QUICK if side.name == OURS else 1)
            if number:  # the first round warms the disk's cache
                for value in times:
                    pooled.add(side.name, value)
        times = first_results(forking, QUICK) if forking else []
        if number:
            for value in times:
                forked.add(OURS, value)
    if not forking:
        return [pooled, slowest(pooled, "create -> first result, p99")]
    for name, values in pooled.values.items():
        if name != OURS:
            forked.values[name] = values
    return [
        pooled,
        slowest(pooled, "create -> first result, p99"),
        forked,
        slowest(forked, "the same by a fork, p99"),
    ]


def slowest(figure: Figure, name: str) -> Figure:
    """Its 99th percentile; of a few values that is the longest."""
    row = Figure(name, figure.unit, "")
    for side, values in figure.values.items():
        row.add(side, percentile(values, 0.99))
    row.note = "of " + ", ".join(
        f"{len(values)} {side}" for side, values in figure.values.items()
    )
    return row


def round_trips(name: str, kernel: Kernel, count: int) -> list[float]:
    """Return the duration of each, in ms; none if another kernel does not
    answer."""
    times = []
    with permitted(name):
        for _ in range(count):
            outcome = kernel.client.execute("1+1")
            if outcome.result != "2":
                raise BenchError(f"{name}: 1+1 is {outcome.result!r}")
            times.append(1000 * outcome.seconds)
        return times
    return []


def measure_round_trip(sides: list[Side], rounds: int) -> list[Figure]:
    middle = Figure("1+1 round trip, p50", "ms", "4x (8x)")
    slow = Figure("1+1 round trip, p99", "ms", "")
    with kernel_of_each(sides) as kernels:
        answering = [pair for pair in kernels if round_trips(*pair, 20)]
        for _ in range(rounds):
            for name, kernel in answering[:]:
                times = round_trips(name, kernel, 200)
                if not times:
                    answering.remove((name, kernel))
                    continue
                middle.add(name, median(times))
                slow.add(name, percentile(times, 0.99))
    return [middle, slow]


def measure_memory(sides: list[Side], more: int) -> list[Figure]:
    """Beside one session that is there already, `more` others.

    A page that several processes share counts in parts that sum up to one
    page, so what one more session costs is by how much the sum over all
    processes grows: its own and the gateway's pages, and none twice.
    """
    growth = Figure("memory of one more idle session", "MB", "12x (20x)")
    total = Figure(f"memory of all, with {more + 1} sessions", "MB", "")
    for side in sides:
        with permitted(side.name), ExitStack() as stack:

            def one_more(side: Side = side, stack: ExitStack = stack) -> Kernel:
                kernel = stack.enter_context(kernel_of(side))
                kernel.client.execute(IMPORTS)
                return kernel

            kernels = [one_more()]
            time.sleep(0.5)
            try:
                before = pss(side.processes(kernels))
                kernels += [one_more() for _ in range(more)]
                time.sleep(0.5)
                after = pss(side.processes(kernels))
            except PermissionError as error:
                print(f"bench: memory not measured: {error}", file=sys.stderr)
                return []
            growth.add(side.name, (after - before) / more)
            total.add(side.name, after)
    return [growth, total]


WORK = """\
import numpy
frame = pandas.DataFrame(
    {{"key": numpy.arange(1000) % 7, "value": numpy.random.rand(1000)}}
)
table_{number} = frame.groupby("key").value.describe()
if {number} % 10 == 0:
    figure, axes = matplotlib.pyplot.subplots()
    axes.plot(frame.value[:50])
    matplotlib.pyplot.show()
table_{number}"""
CELLS = 100
REST_S = 3  # a session's memory is what it has when it rests


def measure_growth(sides: list[Side]) -> list[Figure]:
    """Measure a session before its first hundred cells, and idle after them."""
    growth = Figure(f"memory more after {CELLS} cells of work", "MB", "")
    for side in sides:
        with kernel_of(side) as kernel:
            kernel.client.execute("%matplotlib inline\n" + IMPORTS)
            try:
                time.sleep(REST_S)
                before = pss(side.processes([kernel]))
                for number in range(CELLS):
                    kernel.client.execute(WORK.format(number=number))
                time.sleep(REST_S)
                after = pss(side.processes([kernel]))
            except PermissionError as error:
                print(f"bench: growth not measured: {error}", file=sys.stderr)
                return []
            growth.add(side.name, after - before)
    return [growth]


def check_lines(outcome: Outcome, count: int) -> None:
    text = "".join(outcome.text)
    if text != "".join(f"{number}\n" for number in range(count)):
        raise BenchError(f"{len(text)} characters of {count} lines came")


def measure_prints(sides: list[Side], rounds: int) -> list[Figure]:
    figures = []
    with kernel_of_each(sides) as kernels:
        for count in (20_000, 100_000):
            figure = Figure(f"{count:,} prints", "ms", "1x")
            messages = {}
            for number in range(rounds + 1):
                for name, kernel in kernels:
                    outcome = kernel.client.execute(
                        f"for number in range({count}):\n    print(number)"
                    )
                    check_lines(outcome, count)
                    messages[name] = outcome.messages
                    if number:
                        figure.add(name, 1000 * outcome.seconds)
            figure.note = "messages: " + ", ".join(
                f"{name} {many}" for name, many in messages.items()
            )
            figures.append(figure)
    return figures


def measure_large(sides: list[Side], rounds: int) -> list[Figure]:
    text = Figure("10 MB in one print", "ms", "1x")
    lines = Figure("10 MB in lines of 100 bytes", "ms", "1x")
    picture = Figure("a display of a 20 MB PNG", "ms", "1x")
    with kernel_of_each(sides) as kernels:
        for _, kernel in kernels:
            kernel.client.execute(PREPARE_PICTURE)
        for number in range(rounds + 1):
            for name, kernel in kernels:
                whole = kernel.client.execute(f"print('x' * {TEN_MEGABYTES})")
                if len("".join(whole.text)) != TEN_MEGABYTES + 1:
                    raise BenchError(f"{name}: not 10 MB came")
                many = kernel.client.execute(
                    f"for _ in range({TEN_MEGABYTES // 100}):\n"
                    "    print('x' * 99)"
                )
                if len("".join(many.text)) != TEN_MEGABYTES:
                    raise BenchError(f"{name}: not 10 MB of lines came")
                shown = kernel.client.execute("display(picture)")
                size = len(shown.pictures[0].strip())
                if not TWENTY_MEGABYTES * 4 / 3 <= size < 28_000_000:
                    raise BenchError(f"{name}: a picture of {size} came")
                if number:
                    text.add(name, 1000 * whole.seconds)
                    lines.add(name, 1000 * many.seconds)
                    picture.add(name, 1000 * shown.seconds)
    return [text, lines, picture]
