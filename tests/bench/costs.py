"""What a `1+1` costs, counted: system calls, times that a thread went to
sleep, processor time. A busy machine makes times longer, not counts."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from figures import Figure
from processes import descendants
from sides import Hearth, Kernel, Side, kernel_of

CELLS = 200
ATTACH_S = 1.0  # strace has no word for "attached"


@dataclass
class Spent:
    """By all threads of some processes, so far."""

    nanoseconds: int = 0
    sleeps: int = 0


def spent(pids: list[int]) -> Spent:
    found = Spent()
    for pid in pids:
        with suppress(OSError):  # it may have ended
            for task in Path(f"/proc/{pid}/task").iterdir():
                spent_by_task(task, found)
    return found


def spent_by_task(task: Path, found: Spent) -> None:
    status = (task / "status").read_text()
    sleeps = status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]
    found.nanoseconds += int((task / "schedstat").read_text().split()[0])
    found.sleeps += int(sleeps)


def run_cells(kernel: Kernel) -> None:
    for _ in range(CELLS):
        kernel.client.execute("1+1")


def count_calls(pid: int, kernel: Kernel) -> tuple[float, str]:
    """System calls a cell in one process, and which most of them are."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-c", "-U", "calls,syscall", "-p", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(ATTACH_S)
    run_cells(kernel)
    tracer.send_signal(signal.SIGINT)
    _, table = tracer.communicate()
    calls = {
        name: int(count) / CELLS
        for count, name in re.findall(r"^\s*(\d+) (\w+)$", table, re.MULTILINE)
    }
    total = calls.pop("total", float("nan"))
    most = sorted(calls.items(), key=lambda item: -item[1])[:6]
    return total, ", ".join(f"{name} {count:.1f}" for name, count in most)


def measure_calls(side: Hearth) -> list[Figure]:
    figures = []
    with kernel_of(side) as kernel:
        run_cells(kernel)
        for name, pid in (
            ("gateway", side.process.pid),
            ("kernel", descendants(kernel.pid)[-1]),
        ):
            figure = Figure(f"system calls of a 1+1, the {name}", "", "")
            total, figure.note = count_calls(pid, kernel)
            figure.add(side.name, total)
            figures.append(figure)
    return figures


def measure_costs(sides: list[Side], rounds: int) -> list[Figure]:
    time_spent = Figure("processor time of a 1+1, all processes", "us", "")
    sleeps = Figure("wake-ups of a 1+1, all threads", "", "")
    for side in sides:
        with kernel_of(side) as kernel:
            pids = side.processes([kernel])
            run_cells(kernel)
            times, counts = [], []
            for _ in range(rounds):
                before = spent(pids)
                run_cells(kernel)
                after = spent(pids)
                times.append((after.nanoseconds - before.nanoseconds) / 1000)
                counts.append(after.sleeps - before.sleeps)
            for value in times:
                time_spent.add(side.name, value / CELLS)
            sleeps.add(side.name, median(counts) / CELLS)
    figures = [time_spent, sleeps]
    for side in sides:
        if isinstance(side, Hearth) and shutil.which("strace"):
            figures += measure_calls(side)
    return figures
