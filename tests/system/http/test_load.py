"""Many WebSockets on one gateway: a thousand that wait, fifty that work, and
those that read nothing. HEARTH_LONG=1 makes it ten minutes."""

from __future__ import annotations

import os
import resource
import threading
import time
from pathlib import Path
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Kernel, Socket, Web, text_of

OF_A_REQUEST = 200  # bytes: a session knows each request's id as it lives
LONG = 600.0 if os.environ.get("HEARTH_LONG") else 0.0
IDLE = 1000
BUSY = 50
ROUNDS = 20
MB = 1_000_000

pytestmark = pytest.mark.alone


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """Start a gateway with room for few sessions: the other descriptors are for
    clients."""
    running = Gateway("--set", "sessions/sessions_max=20")
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture
def kernels(web: Web) -> Iterator[list[Kernel]]:
    made: list[Kernel] = []
    try:
        for _ in range(7):
            made.append(Kernel(web, web.create()))
        yield made
    finally:
        for kernel in made:
            kernel.close()


def work(sockets: list[Socket], rounds: int) -> None:
    """Run that many cells on each socket, each in a thread of its own."""
    wrong: list[object] = []

    def one(ws: Socket) -> None:
        try:
            for i in range(rounds):
                found = ws.run(f"print({i} + 1)")
                if text_of(found) != f"{i + 1}\n":
                    wrong.append(found)
                ws.seen.clear()
        except Exception as failure:
            wrong.append(failure)

    threads = [threading.Thread(target=one, args=(ws,)) for ws in sockets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]


@pytest.mark.timeout(int(LONG) + 300)
def test_a_thousand_wait_while_fifty_work(
    gateway: Gateway, web: Web, kernels: list[Kernel]
) -> None:
    idle = [kernels[i % 2].socket() for i in range(IDLE)]
    busy = [kernels[2 + i % 5].socket() for i in range(BUSY)]
    assert web.get("/api/status").json["connections"] == IDLE + BUSY
    work(busy, ROUNDS)  # what is taken once is taken
    before = resident(gateway.pid)
    begun = time.monotonic()
    rounds = minute = 0
    while rounds < 2 * ROUNDS or time.monotonic() < begun + LONG:
        work(busy, ROUNDS)
        rounds += ROUNDS
        if time.monotonic() > begun + 60 * minute:
            grown = resident(gateway.pid) - before
            print(f"{minute} min: {rounds * BUSY} cells, {grown / MB:.1f} MB")
            minute += 1
    # Who answers no ping for minutes, as he does not read, is still there.
    assert web.get("/api/status").json["connections"] == IDLE + BUSY
    grown = resident(gateway.pid) - before
    print(f"{rounds * BUSY} cells, {grown / MB:.1f} MB more")
    assert grown < 16 * MB + rounds * BUSY * OF_A_REQUEST
    # Those that waited are as good as new.
    for ws in (idle[0], idle[1], idle[-1]):
        assert text_of(ws.run("print('still')")) == "still\n"
    for kernel in kernels:
        for ws in kernel.sockets:
            ws.drop()
        kernel.sockets.clear()


def test_a_client_that_reads_nothing_is_bounded_and_delays_no_other(
    gateway: Gateway, kernel: Kernel
) -> None:
    """Sixty megabytes past ten that sleep."""
    sleeping = [kernel.socket().ready() for _ in range(10)]
    reader = kernel.socket().ready()
    before = resident(gateway.pid)
    for _ in range(3):
        found = reader.run(
            "for i in range(20): print('x' * 1_000_000, flush=True)"
        )
        assert len(text_of(found)) == 20_000_020
        reader.seen.clear()
    # http/queue_max for each, and the operating system's own share.
    assert resident(gateway.pid) - before < 10 * 4 * MB + 64 * MB
    # When one wakes up, it gets all of it, out of the journal.
    seen = 0
    while seen < 3 * 20_000_020:
        message = sleeping[0].receive()
        sleeping[0].seen.clear()
        if message["header"]["msg_type"] == "stream":
            seen += len(message["content"]["text"])
    assert seen == 3 * 20_000_020


def test_sockets_that_go_take_their_memory_along(
    gateway: Gateway, web: Web, kernel: Kernel
) -> None:
    def crowd() -> None:
        sockets = [kernel.socket() for _ in range(300)]
        for i, ws in enumerate(sockets):
            ws.drop() if i % 2 else ws.close()
        kernel.sockets.clear()
        wait_for(
            lambda: web.get("/api/status").json["connections"] == 0,
            "no connection",
            DEADLINE,
        )

    crowd()
    before = resident(gateway.pid)
    for _ in range(3):
        crowd()
    assert resident(gateway.pid) - before < 8 * MB
