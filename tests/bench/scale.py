"""Many sessions: what the start, the round trip and the memory of one are by
how many are alive, and what those that do nothing cost.

Up to fifty of them are asked, one after the other, so that it is the number
of sessions and not the work that grows. Fifty others are asked all at the same
time, and beside them a session is started and one more is asked.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from clients import BenchError
from crowd import crowd_at_work
from figures import OURS, Figure, percentile
from measures import IMPORTS, QUICK, first_results, pss
from sides import Hearth, Kernel, Side, kernel_of

ASKED = 50
FEW = 10
OTHERS = [1, 4, 16]  # each has all of its memory for itself
LOOKS = 5
FLAT = "<= 1.2x"
DESCRIPTORS = 1 << 17
CALM_S = 40  # until looks at idle sessions are as far apart as they get
IDLE_S = 20


@dataclass
class Point:
    """Figures with a number of sessions alive."""

    sessions: int
    start_ms: float
    trip_ms: float
    memory_mb: float


@dataclass
class Busy:
    """Figures with a number of sessions alive, of which fifty execute."""

    sessions: int
    cell_ms: float  # of all of them together, a cell
    cell_p99_ms: float  # from asking one of them to its `idle`
    start_ms: float
    trip_ms: float


@dataclass
class Held:
    """What the gateway's process has."""

    descriptors: int
    threads: int
    resident_mb: float
    cpu_s: float
    wakeups: int


def permit_descriptors() -> None:
    """A thousand sessions need more than some machines permit; what is set
    here the gateway inherits."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in ((DESCRIPTORS, max(hard, DESCRIPTORS)), (hard, hard)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, wanted)
            return
        except (ValueError, OSError):
            continue


def memory_each(side: Side, kernels: list[Kernel], count: int) -> float:
    """Return the memory of all for each, gateway and warm Python included."""
    for _ in range(LOOKS):
        try:
            return pss(side.processes(kernels)) / count
        except PermissionError:
            break
        except OSError:  # the process has just ended
            continue
    return float("nan")


def held_by(pid: int) -> Held:
    folder = Path(f"/proc/{pid}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    tasks = list((folder / "task").iterdir())
    wakeups = 0
    for task in tasks:
        try:
            lines = (task / "status").read_text().splitlines()
        except OSError:
            continue  # it has ended
        wakeups += sum(
            int(line.split()[1])
            for line in lines
            if line.startswith("voluntary_ctxt_switches")
        )
    return Held(
        descriptors=len(list((folder / "fd").iterdir())),
        threads=len(tasks),
        resident_mb=int(fields[21]) * resource.getpagesize() / 1e6,
        cpu_s=(int(fields[11]) + int(fields[12])) / 100,
        wakeups=wakeups,
    )


def round_trip(kernels: list[Kernel], rounds: int) -> float:
    """One after the other, p50 of all."""
    asked = kernels[:ASKED]
    return median(
        1000 * asked[number % len(asked)].client.execute("1+1").seconds
        for number in range(rounds)
    )


def measure_busy(
    side: Hearth, kernels: list[Kernel], count: int, rounds: int
) -> Busy:
    """The fifty are such as have no other client."""
    ours = {kernel.pid for kernel in kernels}
    files = [
        session["connection_file"]
        for session in side.ask("session_list", {})["sessions"]
        if session["state"] == "idle" and session["pid"] not in ours
    ]
    with crowd_at_work(files[:ASKED]) as crowd:
        starts = first_results(side, QUICK)
        trip = round_trip(kernels[:1], 50 * rounds)
    if len(files) < ASKED:
        raise BenchError(f"{len(files)} sessions are there to execute")
    return Busy(
        sessions=count,
        cell_ms=crowd.milliseconds_each(),
        cell_p99_ms=percentile(crowd.times, 0.99),
        start_ms=median(starts),
        trip_ms=trip,
    )


def grow(
    side: Side, kernels: list[Kernel], count: int, stack: ExitStack
) -> None:
    """Grow to that number: those in `asked` with a client, others without."""
    have = len(kernels)
    while have < min(count, ASKED):
        kernel = stack.enter_context(kernel_of(side))
        kernel.client.execute(IMPORTS)
        kernels.append(kernel)
        have += 1
    if not isinstance(side, Hearth):
        return
    while side.alive() < count:
        side.ask("session_create", {})


def starts_at_rest(side: Side, rounds: int) -> list[float]:
    """Not in the wake of the many that have just been made: a pool that
    shrinks again ends its members meanwhile."""
    if not isinstance(side, Hearth):
        return first_results(side, rounds)
    side.wait_until_settled()
    return first_results(side, QUICK * rounds)


def measure_points(
    side: Side, counts: list[int], rounds: int, stack: ExitStack
) -> tuple[list[Point], list[Busy]]:
    points: list[Point] = []
    busy: list[Busy] = []
    kernels: list[Kernel] = []
    for count in counts:
        grow(side, kernels, count, stack)
        round_trip(kernels, 2 * len(kernels))
        points.append(
            Point(
                sessions=count,
                start_ms=median(starts_at_rest(side, rounds)),
                trip_ms=round_trip(kernels, 100 * rounds),
                memory_mb=memory_each(side, kernels, count),
            )
        )
        if isinstance(side, Hearth) and count >= 2 * ASKED:
            busy.append(measure_busy(side, kernels, count, rounds))
    return points, busy


def measure_idle(side: Hearth) -> list[Figure]:
    """Measure the work and the memory of a gateway without requests."""
    alive = side.alive()
    time.sleep(CALM_S)
    before = held_by(side.process.pid)
    begun = time.monotonic()
    time.sleep(IDLE_S)
    seconds = time.monotonic() - begun
    after = held_by(side.process.pid)
    rows = (
        ("processor", "%", "< 1", 100 * (after.cpu_s - before.cpu_s) / seconds),
        (
            "wakeups a second",
            "",
            "",
            (after.wakeups - before.wakeups) / seconds,
        ),
        ("descriptors a session", "", "<= 19", after.descriptors / alive),
        ("threads a session", "", "1", after.threads / alive),
        ("memory a session", "MB", "", after.resident_mb / alive),
    )
    figures = []
    for name, unit, must, value in rows:
        figure = Figure(f"the gateway's {name}, {alive} idle", unit, must)
        figure.add(side.name, value)
        figures.append(figure)
    return figures


ROWS = (
    ("create -> first result", "start_ms"),
    ("1+1 round trip, p50", "trip_ms"),
)
BUSY_ROWS = (
    ("a cell of 50 that execute", "cell_ms"),
    ("a cell of 50 that execute, p99", "cell_p99_ms"),
    ("create -> first result beside 50", "start_ms"),
    ("1+1 round trip beside 50, p50", "trip_ms"),
)


def compare(
    few: Sequence[Point | Busy],
    many: Point | Busy,
    rows: tuple[tuple[str, str], ...],
) -> list[Figure]:
    """Compare as ratios of few to many: 1 is flat, less is worse. The few may
    have been measured before and after the many: the machine changes, too."""
    figures = []
    for name, key in rows:
        figure = Figure(f"{name}, {many.sessions} alive", "ms", FLAT)
        figure.add(OURS, getattr(many, key))
        for each in few:
            figure.add(f"{OURS} with {each.sessions}", getattr(each, key))
        figures.append(figure)
    return figures


def measure_again(
    side: Hearth, many: int, rounds: int
) -> tuple[list[Point], list[Busy]]:
    """Measure again with few, once the many are gone."""
    side.discard_all()
    counts = [count for count in (FEW, 2 * ASKED) if count < many]
    with ExitStack() as stack:
        return measure_points(side, counts, rounds, stack)


Series = dict[str, list[dict[str, float]]]


def measure_scale(
    sides: list[Side], many: int, rounds: int
) -> tuple[list[Figure], Series]:
    series: Series = {}
    figures: list[Figure] = []
    for side in sides:
        ours = isinstance(side, Hearth)
        counts = [n for n in (1, FEW, 100, many) if ours and n <= many]
        with ExitStack() as stack:
            try:
                points, busy = measure_points(
                    side, sorted(set(counts)) or OTHERS, rounds, stack
                )
            except BenchError as error:
                if ours:
                    raise
                print(f"bench: {side.name}: {error}", file=sys.stderr)
                continue
            idle = measure_idle(side) if isinstance(side, Hearth) else []
        if isinstance(side, Hearth):
            again, busy_again = measure_again(side, many, rounds)
            few = next(p for p in points if p.sessions >= min(FEW, many))
            figures += compare([few, *again[:1]], points[-1], ROWS)
            if len(busy) > 1:
                figures += compare([busy[0], *busy_again], busy[-1], BUSY_ROWS)
            figures += idle
            side.discard_all()
        series[side.name] = [asdict(point) for point in points]
    return figures, series
