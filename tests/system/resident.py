"""How much memory a process takes."""

from __future__ import annotations

import re
import threading


def resident(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read())
    assert found
    return int(found.group(1)) * 1024


class Peak:
    """The largest resident size of a process while it is looked at."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.before = self.most = resident(pid)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self) -> None:
        while not self.over.wait(0.005):
            self.most = max(self.most, resident(self.pid))

    def __enter__(self) -> Peak:
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        self.thread.join()

    @property
    def growth(self) -> int:
        return self.most - self.before
