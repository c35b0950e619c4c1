"""What one session at its limits costs another: the round trip of `1+1`.

Each hog runs in a session of its own while a second session is asked; quiet
and noisy rounds take turns, so that the machine's other work meets both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from figures import percentile

# Every one lasts until its session is ended, by its limit or by us.
HOGS = {
    "processor": (
        "import os, threading\n"
        "for _ in range(2 * os.cpu_count()):\n"
        "    if os.fork() == 0:\n"
        "        while True: pass\n"
        "while True: pass"
    ),
    "memory": (
        "kept = []\nwhile True:\n"
        "    kept.append(bytearray(1 << 20))\n"
        "    if len(kept) > 1500: kept.clear()"
    ),
    "disk": (
        "import os\nblock = os.urandom(1 << 20)\nwhile True:\n"
        "    with open('big', 'wb') as file:\n"
        "        for _ in range(256):\n"
        "            file.write(block)\n"
        "        os.fsync(file.fileno())"
    ),
    "output": "while True: print('x' * 200)",
    "forks": (
        "import os\nwhile True:\n    try:\n"
        "        if os.fork() == 0:\n            continue\n"
        "    except OSError:\n        pass"
    ),
}
ROUNDS = 5
ASKED = 60


def trips(kernel: Any) -> tuple[float, float]:
    """p50 and p95 of the round trip, in ms."""
    times = [1000 * kernel.client.execute("1+1").seconds for _ in range(ASKED)]
    return median(times), percentile(times, 0.95)


def measure(
    start: Callable[[], Any], begin: Callable[[Any, str], None]
) -> Iterator[tuple[str, list[float], list[float], float]]:
    """Name, quiet p50s, noisy p50s, ratio of the p95s; a hog at a time.

    `start` makes a kernel, `begin` sends it a cell and does not wait.
    """
    kernel = start()
    try:
        for _ in range(ASKED):
            kernel.client.execute("1+1")
        for name, code in HOGS.items():
            quiet, noisy = [], []
            for _ in range(ROUNDS):
                quiet.append(trips(kernel))
                hog = start()
                begin(hog, code)
                settle(kernel)
                noisy.append(trips(kernel))
                hog.end()
            yield (
                name,
                [p50 for p50, _ in quiet],
                [p50 for p50, _ in noisy],
                median(p95 for _, p95 in noisy)
                / median(p95 for _, p95 in quiet),
            )
    finally:
        kernel.end()


def settle(kernel: Any) -> None:
    """Half a second of round trips: the hog is at work by then."""
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        kernel.client.execute("1+1")
