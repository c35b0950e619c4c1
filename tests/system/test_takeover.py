"""What the next gateway finds half done: a fresh kernel on its way, a cell with
a time limit, clients that come back late."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Iterator

import pytest
from deadline import DEADLINE
from harness import Gateway
from processes import children, kill

HOUR = 3600


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Not started yet."""
    made = Gateway(
        "--set", "profile/python3/preload=",
        "--set", "profile/python3/pool/max=0",
        "--set", "sessions/restart=auto",
        "--set", "sessions/interrupt_grace=2s",
    )  # fmt: skip
    try:
        yield made
    finally:
        made.end()


def test_a_gateway_is_killed_while_a_fresh_kernel_is_on_its_way(
    gateway: Gateway,
) -> None:
    gateway.start()
    session = gateway.create()
    with session.client() as client:
        assert client.run("x = 1").status == "ok"
        zygotes = list(children(gateway.pid))
        for pid in zygotes:  # so that no fork comes
            os.kill(pid, signal.SIGSTOP)
        try:
            died = client.run("import os; os._exit(3)")
            assert "a fresh kernel takes over" in died.content["evalue"]
            waits = client.kc.execute("'x' in globals()", allow_stdin=False)
            session.wait_journaled([waits])
            gateway.kill()
        finally:
            for pid in zygotes:
                kill(pid)
        gateway.start()
        turn = client.finish(waits)
        assert turn.result == "False", (turn.content, turn.types)
    assert session.show()["state"] == "idle"


def test_a_time_limit_goes_on_under_the_next_gateway(
    gateway: Gateway, shim: Path
) -> None:
    clock = gateway.folder / "clock"
    clock.write_text("0")
    gateway.env.update(LD_PRELOAD=str(shim), CHAOS_CLOCK=str(clock))
    limit = ("--set", "sessions/cell_time_limit=1h")
    gateway.start(*limit)
    over, within = gateway.create(), gateway.create()
    code = "import time\nprint('on', flush=True)\n"
    with over.client() as first, within.client() as second:
        long = first.kc.execute(code + "time.sleep(600)", allow_stdin=False)
        short = second.kc.execute(
            "import os\n" + code + "while not os.path.exists('go'):\n"
            "    time.sleep(0.1)\nprint('done')",
            allow_stdin=False,
        )
        long_begun = first.stream_until(long, "on")
        short_begun = second.stream_until(short, "on")
        gateway.kill()
        clock.write_text(str(HOUR // 2))
        gateway.start(*limit)
        (within.workspace / "go").touch()
        turn = second.finish(short, begun=short_begun)
        assert turn.status == "ok", turn.content
        assert turn.stream().endswith("done\n")
        gateway.kill()
        clock.write_text(str(2 * HOUR))
        gateway.start(*limit)
        turn = first.finish(long, begun=long_begun)
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "preserved" in turn.content["evalue"]
        assert first.run("1 + 1").result == "2"


def test_a_subscriber_that_comes_back_late_gets_the_last_idle(
    gateway: Gateway,
) -> None:
    gateway.start()
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import os, time\nprint('on', flush=True)\n"
            "while not os.path.exists('go'): time.sleep(0.1)",
            allow_stdin=False,
        )
        client.stream_until(msg_id, "on")
        gateway.kill()
        # Its reply comes to whom is there, although the subscriber is not.
        client.kc.iopub_channel.stop()
        gateway.start()
        (session.workspace / "go").touch()
        assert client.reply(msg_id, DEADLINE)["content"]["status"] == "ok"

        client.kc._iopub_channel = None
        client.kc.iopub_channel.start()
        client.until_idle(msg_id, DEADLINE)
