"""A program beside the kernel: from the request over REST to its end."""

from __future__ import annotations

import time
from statistics import median

from clients import BenchError
from figures import OURS, Figure, percentile
from sides import Hearth
from views import Rest

COUNT = 100
WARM = 10


def run_true(rest: Rest) -> float:
    """Returns how long it took, in ms."""
    path = f"/hearth/sessions/{rest.kernel}/processes?wait=60"
    began = time.perf_counter()
    answer = rest.ask("POST", path, {"argv": ["true"]})
    took = 1000 * (time.perf_counter() - began)

    if answer["process"].get("exit_code") != 0:
        raise BenchError(f"`true` beside the kernel: {answer}")
    return took


def measure_beside(side: Hearth, rounds: int) -> list[Figure]:
    middle = Figure(
        "`true` beside the kernel, p50", "ms", "5 ms at most", most=5
    )
    slow = Figure("`true` beside the kernel, p99", "ms", "")
    rest = Rest(side)

    for _ in range(WARM):
        run_true(rest)
    for _ in range(rounds):
        times = [run_true(rest) for _ in range(COUNT)]
        middle.add(OURS, median(times))
        slow.add(OURS, percentile(times, 0.99))
    rest.ask("DELETE", f"/api/kernels/{rest.kernel}")
    return [middle, slow]
