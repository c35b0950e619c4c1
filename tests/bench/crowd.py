"""Clients that all execute at the same time, each its next cell when the last
one is done. As a program they are in a process of their own, so that a
measurement beside them shares no interpreter with them:

    crowd.py CONNECTION_FILE...

prints `ready` when all are connected, works until its standard input ends, and
writes the duration of each cell, in ms, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import zmq
from clients import PATIENCE_MS, BenchError, Client, is_idle

WITHOUT_END = 1 << 62


class Walker:
    """A client that sends its next request when the last one is done."""

    def __init__(self, client: Client, cells: int) -> None:
        self.client = client
        self.left = cells
        self.mark = b""
        self.results = 0
        self.asked = 0.0
        self.times: list[float] = []

    def ask(self) -> None:
        msg_id, frames = self.client.execute_request("1+1")
        self.mark = f'"{msg_id}"'.encode()
        self.asked = time.perf_counter()
        self.client.shell.send_multipart(frames)
        self.left -= 1

    def take(self) -> bool:
        """Takes one message; whether all its cells are done."""
        frames = self.client.iopub.recv_multipart()
        if b'"execute_result"' in frames[-4] and b'"2"' in frames[-1]:
            self.results += 1
        if not is_idle(frames, self.mark):
            return False
        answer = self.client.shell.recv_multipart()
        if self.mark not in answer[-3] or b'"ok"' not in answer[-1]:
            raise BenchError("a reply of another request")
        self.times.append(1000 * (time.perf_counter() - self.asked))
        if self.left > 0:
            self.ask()
            return False
        return True


def walk(clients: list[Client], cells: int, until_fd: int = -1) -> list[float]:
    """Each client its cells, all at a time, or fewer when something comes on
    that descriptor; what each cell took, ms."""
    waiting = zmq.Poller()
    walkers = {client.iopub: Walker(client, cells) for client in clients}
    for socket in walkers:
        waiting.register(socket, zmq.POLLIN)
    if until_fd >= 0:
        waiting.register(until_fd, zmq.POLLIN)
    active = len(walkers)
    for walker in walkers.values():
        walker.ask()
    while active:
        ready = waiting.poll(PATIENCE_MS)
        if not ready:
            raise BenchError(f"{active} clients wait")
        for socket, _ in ready:
            if socket == until_fd:
                waiting.unregister(until_fd)
                for walker in walkers.values():
                    walker.left = 0
            else:
                active -= walkers[socket].take()
    if any(walker.results != len(walker.times) for walker in walkers.values()):
        raise BenchError("results are missing")
    return [taken for walker in walkers.values() for taken in walker.times]


@dataclass
class Crowd:
    """What came of one that was started by `crowd_at_work`."""

    times: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def milliseconds_each(self) -> float:
        """Return the time per cell of all together."""
        return 1000 * self.seconds / len(self.times)


@contextmanager
def crowd_at_work(connection_files: list[str]) -> Iterator[Crowd]:
    """Run a crowd; its figures are there after the block."""
    crowd = Crowd()
    process = subprocess.Popen(
        [sys.executable, __file__, *connection_files],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        if process.stdout.readline() != "ready\n":
            raise BenchError("the crowd did not come together")
        started = time.perf_counter()
        yield crowd
        text, _ = process.communicate()
        crowd.seconds = time.perf_counter() - started
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise BenchError(f"the crowd ended with {process.returncode}")
    crowd.times = json.loads(text)


def main() -> None:
    context = zmq.Context()
    clients = [
        Client(context, json.loads(Path(name).read_text()))
        for name in sys.argv[1:]
    ]
    for client in clients:
        client.wait_for_welcome()
    walk(clients, 2)
    print("ready", flush=True)
    print(json.dumps(walk(clients, WITHOUT_END, sys.stdin.fileno())))
    context.destroy(linger=0)


if __name__ == "__main__":
    main()
