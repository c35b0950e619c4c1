"""The gateway or a zygote is killed while sessions come and go.

At random moments of launches and ends, which no orderly stop would ever hit.
After the next start, and the end of all sessions that it found, there is no
process, mount, control group or file of any session, also of those that no
client knew.
"""

import os
import random
import subprocess
import time
from collections.abc import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway
from leftovers import groups, inside, known
from processes import children, kill

ROUNDS = 200 if os.environ.get("HEARTH_LONG") else 9
LATEST = 0.5  # seconds after the request


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
def test_a_kill_at_any_moment_leaves_no_process(gateway: Gateway) -> None:
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
                reported = "lost" in done.stderr or "is gone" in done.stderr
                assert done.stdout == "42\n" or reported, (turn, done)
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
