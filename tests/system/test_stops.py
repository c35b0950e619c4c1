"""What an orderly stop leaves: sessions that a client has, and nothing else.

It comes at random moments of a start, of a refill of the pool and of a delete.
Afterwards there is no process, control group or folder of a session that no
client has, while there is no other gateway that would take it away.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable, Iterator, Optional

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from leftovers import Groups, inside
from processes import children

LATEST = 0.3  # seconds after a request

Command = subprocess.Popen[str]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway(
        *("--set", "profile/python3/pool/min=1"),
        *("--set", "profile/python3/pool/max=2"),
        *("--set", "sessions/gone_keep=0"),
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


def mounts(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/mountinfo").read_text()
    except OSError:  # it has ended meanwhile
        return ""


class Clients:
    """The requests of clients, and the answers that they got."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.groups = Groups(gateway)
        self.alive: set[str] = set()
        self.deleted: set[str] = set()
        self.deleting: Optional[tuple[str, Command]] = None
        self.starting: Optional[Command] = None

    def create(self) -> str:
        session = self.gateway.create()
        self.alive.add(session.id)
        return session.id

    def delete(self, name: str) -> None:
        done = self.gateway.run("session", "delete", name)
        assert done.returncode == 0, done
        self.alive.remove(name)
        self.deleted.add(name)

    def settle(self) -> None:
        """Read the answers to what was under way."""
        if self.starting is not None:
            made, fault = self.starting.communicate(timeout=DEADLINE)
            if self.starting.returncode == 0:
                self.alive.add(made.split()[0])
            else:  # it was refused, or the gateway had gone before
                assert "gateway" in fault, fault
        if self.deleting is not None:
            name, command = self.deleting
            command.communicate(timeout=DEADLINE)
            if command.returncode == 0:
                self.alive.remove(name)
                self.deleted.add(name)
        self.starting = self.deleting = None

    def left(self) -> list[str]:
        """Find what belongs to no client."""
        folder = self.gateway.folder
        found = [
            f"process {pid} ({mounted.splitlines()[0]})"
            for pid in inside(folder)
            if (mounted := mounts(pid))
            and not any(name in mounted for name in self.alive)
        ]
        found += [
            f"group of {name}"
            for name in self.groups.ids()
            if name not in self.alive
        ]
        for place in (self.gateway.runtime, self.gateway.state):
            if (place / "next").exists():
                found.append(str(place / "next"))
            found += [
                str(path)
                for path in place.glob("sessions/*")
                if path.name not in self.alive | self.deleted
            ]
        return found


def start(clients: Clients) -> None:
    clients.starting = clients.gateway.begin(
        "session", "create", "--no-start",
        *("--transport", "tcp"),
    )  # fmt: skip


def refill(clients: Clients) -> None:
    clients.delete(clients.create())


def delete(clients: Clients) -> None:
    name = clients.create()
    clients.gateway.run("exec", name, "-c", "1")
    clients.deleting = (name, clients.gateway.begin("session", "delete", name))


DEEDS: list[Callable[[Clients], None]] = [start, refill, delete]


def is_filled(gateway: Gateway) -> bool:
    pool = gateway.info()["profiles"][0]["pool"]
    return bool(pool["ready"] >= pool["target"] > 0)


def is_warm(gateway: Gateway) -> bool:
    state: str = gateway.info()["profiles"][0]["state"]
    return state == "ready"


def play(gateway: Gateway, rounds: int) -> None:
    """Stop it so often; a failure names the seed, which HEARTH_SEED sets."""
    seed = int(os.environ.get("HEARTH_SEED") or time.time_ns())
    chance = random.Random(seed)
    clients = Clients(gateway)
    for number in range(rounds):
        deed = DEEDS[number % len(DEEDS)]
        where = f"round {number} ({deed.__name__}), HEARTH_SEED={seed}"
        if chance.random() < 0.7:
            wait_for(lambda: is_warm(gateway), "a zygote that can fork")
        deed(clients)
        time.sleep(chance.uniform(0, LATEST))  # the random moment itself
        gateway.terminate()
        clients.settle()
        wait_for(lambda: not clients.left(), f"nothing left: {where}")
        gateway.start()
        shown = {
            model["id"]: model["state"] for model in gateway.sessions("--all")
        }
        for name in set(clients.alive):
            # A delete may have been carried out and not answered.
            if deed is not delete:
                assert shown.get(name, "") != "gone", where
            gateway.run("session", "delete", name)
        for name in clients.deleted:
            assert shown.get(name, "gone") == "gone", where
        clients.deleted |= clients.alive
        clients.alive.clear()


@pytest.mark.timeout(600)
def test_a_stop_leaves_nothing_without_an_owner(gateway: Gateway) -> None:
    """Takes long: ten gateways, one after the other, each of them stopped while
    it works."""
    play(gateway, 10)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_many_stops_leave_nothing_without_an_owner(gateway: Gateway) -> None:
    play(gateway, 200)


def test_a_stop_waits_for_a_kernel_that_leaves(gateway: Gateway) -> None:
    session = gateway.create()
    session.exec("import atexit, time; atexit.register(time.sleep, 0.5)")
    command = gateway.begin("session", "delete", session.id)
    session.wait_state("stopping")
    gateway.terminate()
    command.communicate(timeout=DEADLINE)
    assert not inside(gateway.folder)


def test_a_stop_refuses_a_start_that_takes_long(gateway: Gateway) -> None:
    """Its zygote is stopped by a signal: the stop is bounded all the same."""
    for pid in children(gateway.pid):
        os.kill(pid, signal.SIGSTOP)
    asked = [
        gateway.begin("session", "create", "--no-start", "--transport", "tcp")
        for _ in range(2)
    ]
    wait_for(
        lambda: len(list(gateway.runtime.glob("sessions/*"))) >= 1,
        "a start that is under way",
    )
    gateway.terminate()
    for command in asked:
        _, fault = command.communicate(timeout=DEADLINE)
        assert command.returncode == 4
        assert "gateway" in fault, fault
    assert not list(gateway.state.glob("sessions/*"))


def test_a_second_signal_changes_nothing(gateway: Gateway) -> None:
    session = gateway.create()
    session.exec("import atexit, time; atexit.register(time.sleep, 0.5)")
    command = gateway.begin("session", "delete", session.id)
    session.wait_state("stopping")
    os.kill(gateway.pid, signal.SIGTERM)
    gateway.terminate()
    command.communicate(timeout=DEADLINE)
    assert not inside(gateway.folder)


def test_a_killed_gateway_leaves_no_pool(gateway: Gateway) -> None:
    """A session that was never handed out does not wait for another gateway."""
    kept = gateway.create()
    wait_for(lambda: is_filled(gateway), "a pool that is full")
    gateway.kill()
    wait_for(
        lambda: all(kept.id in mounts(pid) for pid in inside(gateway.folder)),
        "the end of the pool",
    )
    assert inside(gateway.folder)
