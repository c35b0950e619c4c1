"""The gateway or a zygote killed while sessions come and go.

At random moments of launches and ends, which no orderly stop would ever hit:
behind the next start and the end of what it found there is no process, mount,
control group or file of any session, also of those that nobody heard of.
"""

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway
from processes import children, kill, processes

ROUNDS = 200 if os.environ.get("HEARTH_LONG") else 9
LATEST = 0.5  # seconds behind the request


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway(
        *("--set", "profile/python3/preload="),
        *("--set", "profile/python3/pool/min=1"),
        *("--set", "profile/python3/pool/max=2"),
        *("--set", "sessions/gone_keep=0"),
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


def inside(folder: Path) -> list[int]:
    """Processes whose mounts have a place below the folder.

    No session of this gateway is without its workspace, so that none is
    missed, whether or not anybody has been told of it.
    """
    own = os.readlink("/proc/self/ns/mnt")
    found = []
    for pid in processes():
        try:
            if os.readlink(f"/proc/{pid}/ns/mnt") == own:
                continue
            mounts = Path(f"/proc/{pid}/mountinfo").read_text()
        except OSError:
            continue
        if f"{folder}/" in mounts:
            found.append(pid)
    return found


def groups(ids: set[str]) -> list[str]:
    """Control groups of these sessions, of either version."""
    return [
        folder
        for folder, _, _ in os.walk("/sys/fs/cgroup")
        if any(id in os.path.basename(folder) for id in ids)
    ]


def known(gateway: Gateway) -> set[str]:
    """Every session that has left a trace in the state folder."""
    return {
        path.name
        for path in gateway.state.rglob("*")
        if len(path.name) == 36 and path.name.count("-") == 4
    }


def begin_some(gateway: Gateway) -> list[subprocess.Popen[bytes]]:
    return [
        subprocess.Popen(
            [HEARTH, "session", "create"],
            env=gateway.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]


@pytest.mark.timeout(3600 if ROUNDS > 9 else 900)
def test_nothing_is_left_whenever_it_is_killed(gateway: Gateway) -> None:
    chance = random.Random(20261122)
    ids: set[str] = set()
    for turn in range(ROUNDS):
        asked = begin_some(gateway)
        time.sleep(chance.uniform(0, LATEST))  # the random moment itself
        # The gateway has the request, or never will: a command that found no
        # gateway would start one.
        for client in asked:
            client.kill()
            client.wait(DEADLINE)
        if turn % 3 == 2:
            for pid in children(gateway.pid):
                kill(pid)
        if turn % 3 != 2 or chance.random() < 0.5:
            gateway.kill()
        ids |= known(gateway)
        if gateway.process is None:
            gateway.start()
        # The sessions that it found answer, those of a killed zygote too, or
        # say that their launch was not finished.
        for model in gateway.sessions():
            if model["state"] != "gone":
                done = gateway.run("exec", model["id"], "-c", "print(6 * 7)")
                told = "lost" in done.stderr or "is gone" in done.stderr
                assert done.stdout == "42\n" or told, (turn, done)
                gateway.run("session", "delete", model["id"])
        ids |= known(gateway)
    gateway.run("gateway", "stop", "--end-sessions")
    assert gateway.process is not None
    gateway.process.wait(DEADLINE)
    wait_for(lambda: not inside(gateway.state), "the end of all processes")
    wait_for(lambda: not groups(ids), "the end of all groups")
    left = [path for path in gateway.runtime.rglob("*") if path.is_socket()]
    assert not left
    assert ids
