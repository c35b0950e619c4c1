"""What the next gateway finds half done: a fresh kernel on its way, a cell with
a time limit, clients that come back late."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from processes import children, kill, members

HOUR = 3600
KILLS = 200 if os.environ.get("HEARTH_LONG") else 10
MOMENTS = 0.12  # seconds; a restart takes less, mostly


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Not started yet."""
    made = Gateway(
        "--set", "profile/python3/pool/max=0",
        "--set", "sessions/restart=auto",
        "--set", "sessions/interrupt_grace=2s",
    )  # fmt: skip
    try:
        yield made
    finally:
        made.end()


@contextmanager
def without_forks(gateway: Gateway) -> Iterator[None]:
    """Its zygotes stand still, and are killed."""
    zygotes = list(children(gateway.pid))
    for pid in zygotes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in zygotes:
            kill(pid)


def test_a_gateway_is_killed_while_a_fresh_kernel_is_on_its_way(
    gateway: Gateway,
) -> None:
    gateway.start()
    session = gateway.create()
    with session.client() as client:
        assert client.run("x = 1").status == "ok"
        with without_forks(gateway):
            died = client.run("import os; os._exit(3)")
            assert "a fresh kernel takes over" in died.content["evalue"]
            waits = client.kc.execute("'x' in globals()", allow_stdin=False)
            session.wait_journaled([waits])
            gateway.kill()
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
        # Its reply reaches the client, although its subscription is missing.
        client.kc.iopub_channel.stop()
        gateway.start()
        (session.workspace / "go").touch()
        assert client.reply(msg_id, DEADLINE)["content"]["status"] == "ok"

        client.kc._iopub_channel = None
        client.kc.iopub_channel.start()
        client.until_idle(msg_id, DEADLINE)


def find_state(session: Session, state: str) -> Optional[tuple[Path, int]]:
    """The journal's file with such a record, and where that ends. Its type is
    filled with zeros, and its body is content alone."""
    word = state.encode().ljust(40, b"\0")
    for path in Path(session.model["journal"]).glob("journal-*.log"):
        data = path.read_bytes()
        at = data.rfind(word)
        if at >= 0:
            size = int.from_bytes(data[at + 56 : at + 60], "little")
            return path, at - 40 + 128 + size
    return None


def stop_kernel(session: Session) -> None:
    """It cannot leave when it is asked to."""
    for pid in children(session.show()["pid"]):
        os.kill(pid, signal.SIGSTOP)


def test_a_gateway_is_killed_while_the_old_kernel_of_a_restart_ends(
    gateway: Gateway,
) -> None:
    gateway.options += ["--set", "sessions/restart=never"]
    gateway.start()
    session = gateway.create("--limit", "processes=50")
    with session.client() as client:
        assert client.run("x = 1; open('kept', 'w').close()").status == "ok"
        before, old = session.show(), session.namespace()
        stop_kernel(session)
        gateway.run("session", "restart", session.id)
        assert find_state(session, "leaving")
        waits = client.kc.execute("'x' in globals()", allow_stdin=False)
        session.wait_journaled([waits])
        gateway.kill()
        gateway.start()
        turn = client.finish(waits)
        assert turn.result == "False", (turn.content, turn.types)
        assert client.run("open('kept').read()").result == "''"
    after = session.wait_state("idle")
    for name in ("id", "workspace", "limits", "connection_file"):
        assert after[name] == before[name]
    assert after["pid"] != before["pid"]
    wait_for(lambda: not members(old), "the end of the old kernel")


def test_requests_of_the_old_kernel_do_not_run_in_the_fresh_one(
    gateway: Gateway,
) -> None:
    """A gateway that was killed before it had answered them: its journal is cut
    after the request."""
    gateway.start()
    session = gateway.create("--restart", "never")
    with session.client() as client:
        runs = client.kc.execute("print('on', flush=True)\nwhile True: pass")
        queued = client.kc.execute("1 + 1")
        client.stream_until(runs, "on")
        session.wait_journaled([queued])
        gateway.run("session", "restart", session.id)
        for msg_id in (runs, queued):
            content = client.reply(msg_id)["content"]
            assert content["ename"] == "KernelDied", content
        gateway.kill()
        found = find_state(session, "leaving")
        assert found
        os.truncate(*found)
        gateway.start()
        for msg_id in (runs, queued):
            content = client.reply(msg_id)["content"]
            assert content["ename"] == "KernelDied", content
            assert "a fresh kernel takes over" in content["evalue"]
        assert client.run("2 + 2").result == "4"


def test_a_gateway_is_killed_before_a_restart_has_its_fresh_kernel(
    gateway: Gateway,
) -> None:
    gateway.options += ["--set", "sessions/restart=never"]
    gateway.start()
    session = gateway.create()
    with session.client() as client:
        assert client.run("x = 1").status == "ok"
        with without_forks(gateway):
            gateway.run("session", "restart", session.id)
            wait_for(
                lambda: find_state(session, "restart"), "the old kernel's end"
            )
            gateway.kill()
        gateway.start()
        assert client.run("'x' in globals()").result == "False"


def test_a_gateway_is_killed_before_it_knows_the_fresh_process(
    gateway: Gateway,
) -> None:
    """The kernel said that it is ready before its process was written down."""
    gateway.start()
    session = gateway.create("--restart", "never")
    gateway.run("session", "restart", session.id)
    with session.client() as client:
        assert client.run("x = 1").status == "ok"
        gateway.kill()
        path = gateway.state / "sessions" / session.id / "session.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"pid": 0, "start_time": 0}))
        gateway.start()
        assert client.run("'x' in globals()").result == "False"


def test_a_gateway_is_killed_while_it_ends_a_session(gateway: Gateway) -> None:
    """The client knows that the session ends: it does, and not as lost."""
    gateway.start()
    session = gateway.create("--restart", "never")
    old = session.namespace()
    stop_kernel(session)
    session.delete()
    gateway.kill()
    gateway.start()
    gone = session.wait_state("gone")
    assert (gone["reason"], gone["detail"]) == ("deleted", "ended on request")
    wait_for(lambda: not members(old), "the end of its kernel")


def test_a_session_is_deleted_while_it_is_restarted(gateway: Gateway) -> None:
    gateway.start()
    session = gateway.create("--restart", "never")
    stop_kernel(session)
    gateway.run("session", "restart", session.id)
    session.delete()
    gone = session.wait_state("gone")
    assert (gone["reason"], gone["detail"]) == ("deleted", "ended on request")


@pytest.mark.deep
def test_a_gateway_is_killed_at_random_moments_of_restarts(
    gateway: Gateway,
) -> None:
    """The old kernel or a fresh one, and never none; nothing else changes."""
    chance = random.Random(20261122)
    gateway.start()
    session = gateway.create("--restart", "never")
    with session.client() as client:
        client.run("open('kept', 'w').close()")
        for turn in range(KILLS):
            client.run(f"mark = {turn}")
            old = session.namespace()
            asked = subprocess.Popen(
                [HEARTH, "session", "restart", session.id],
                env=gateway.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.random() * MOMENTS)
            gateway.kill()
            asked.kill()
            asked.wait(DEADLINE)
            gateway.start()
            found = client.run("globals().get('mark')")
            assert found.status == "ok", found.content
            assert found.result in (None, str(turn))
            assert client.run("open('kept').read()").result == "''"
            assert session.show()["state"] == "idle"
            if found.result is None:
                wait_for(lambda: not members(old), "the end of the old kernel")


def test_a_damaged_journal_costs_one_session(gateway: Gateway) -> None:
    """Its kernel is killed, and the others are taken over."""
    gateway.start()
    other, session = gateway.create(), gateway.create()
    for one in (other, session):
        one.exec("a = 'kept'")
    namespace = session.namespace()
    gateway.kill()
    folder = gateway.state / "sessions" / session.id / "journal"
    (journal,) = folder.glob("journal-*.log")
    content = bytearray(journal.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    journal.write_bytes(content)
    for _ in range(2):
        gateway.start()
        assert session.show()["reason"] == "lost"
        assert "it could not be taken over" in session.show()["detail"]
        assert other.exec("print(a)").stdout == "kept\n"
        gateway.kill()
    wait_for(lambda: not members(namespace), "no process of the session")
