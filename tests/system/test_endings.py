"""However a kernel ends, its clients hear of it at once and nothing stays."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from ends import expect_gone, expect_no_process, patient_gateway
from harness import Gateway, Session
from processes import kill, members

SOON = DEADLINE

DEATHS = {
    "exit": "import os; os._exit(3)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
    "kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "descriptors": (
        "import os, time\nos.closerange(0, 4096)\nwhile True: time.sleep(1)"
    ),
    "descriptors_loop": "import os; os.closerange(0, 4096)",
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with patient_gateway() as running:
        yield running


@pytest.fixture
def own() -> Iterator[Gateway]:
    """For a test that starts it again, with settings of its own."""
    with patient_gateway() as running:
        yield running


def test_idle_timeout(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "3s")
    namespace = session.namespace()
    with session.client() as client:
        client.run("x = 1")
        model = session.wait_state("gone")
        assert model["reason"] == "idle"
        assert "idle" in model["detail"]
        expect_no_process(session, namespace)
        expect_gone(client, session, "idle")
    # Also for those who come later, by a new connection.
    with session.client(ready=False) as late:
        expect_gone(late.subscribed(), session, "idle")


def test_busy_is_not_idle(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "5s")
    with session.client() as client:
        turn = client.run("import time; time.sleep(7); 'done'")
        assert turn.result == "'done'"


def test_looking_is_not_working(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "2s")
    with session.client() as client:

        def look() -> bool:
            msg_id = client.kc.kernel_info()
            client.finish(msg_id)
            return session.show()["state"] == "gone"

        wait_for(look, "the end of a session that is only looked at", SOON)


PRINTS = """
import threading, time
def talk():
    for _ in range({times}):
        print('.', end='', flush=True)
        time.sleep(0.3)
threading.Thread(target=talk, daemon=True).start()
"""


def prints_until_its_end(
    session: Session, times: int
) -> tuple[list[datetime], datetime]:
    """Return when a thread of the session has printed, and its end."""
    with session.client() as client:
        assert client.run(PRINTS.format(times=times)).status == "ok"
        client.others.clear()
        client.iopub(
            DEADLINE,
            lambda m: m["content"].get("execution_state") == "dead",
        )
        printed = [
            m["header"]["date"]
            for m in client.others
            if m["msg_type"] == "stream"
        ]
    model = session.show()
    assert model["reason"] == "idle"
    return printed, datetime.fromisoformat(model["ended"])


def test_output_is_activity(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "3s")
    printed, ended = prints_until_its_end(session, 15)
    assert ended - printed[-1] > timedelta(seconds=2.9)


@pytest.mark.parametrize("seconds", [0, 3])
def test_output_alone_keeps_no_session(own: Gateway, seconds: int) -> None:
    own.terminate()
    own.start("--set", f"sessions/output_timeout={seconds}s")
    session = own.create("--idle-timeout", "2s")
    printed, ended = prints_until_its_end(session, 100000)
    assert ended - printed[0] > timedelta(seconds=seconds)
    assert ended - printed[-1] < timedelta(seconds=2)
    assert "sessions/output_timeout" in session.show()["detail"]


def test_output_alone_over_a_restart(own: Gateway) -> None:
    """The next gateway counts from the last request, which is made an hour
    old here, and not from its own start."""
    settings = ("--set", "sessions/output_timeout=10m")
    own.terminate()
    own.start(*settings)
    session = own.create("--idle-timeout", "5s")
    path = own.state / "sessions" / session.id / "session.json"
    before_us = time.time() * 1e6
    with session.client() as client:
        assert client.run(PRINTS.format(times=100000)).status == "ok"
    wait_for(
        lambda: json.loads(path.read_text())["asked_us"] >= before_us,
        "the time of the request on disk",
    )
    own.kill()
    kept = json.loads(path.read_text())
    kept["asked_us"] -= 3600 * 1000 * 1000
    path.write_text(json.dumps(kept))
    own.start(*settings)
    assert "sessions/output_timeout" in session.wait_state("gone")["detail"]


def test_keepalive(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "60s")
    before = session.show()["expires_at"]
    reported = gateway.json("session", "keepalive", "--json", session.id)

    after = reported.get("session", reported)
    assert after["expires_at"] > before


def test_time_limit_of_a_well_behaved_cell(gateway: Gateway) -> None:
    session = gateway.create("--time-limit", "3s")
    with session.client() as client:
        client.run("kept = 5")
        turn = client.run("import time; time.sleep(600)", timeout=SOON)
        assert turn.status == "error"
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "variables: preserved" in turn.content["evalue"]
        assert turn.contents("error")[0]["ename"] == "TimeLimitExceeded"
        assert client.run("kept").result == "5"


SLOW_TRACEBACK = """
import time
ip = get_ipython()
whole = ip.InteractiveTB.structured_traceback
def slowly(*arguments, **options):
    time.sleep(2)
    return whole(*arguments, **options)
ip.InteractiveTB.structured_traceback = slowly
kept = 5
"""


def test_a_traceback_may_take_its_time(own: Gateway) -> None:
    """More than the grace: the cell's own code is over, and that was said."""
    own.terminate()
    own.start("--set", "sessions/interrupt_grace=1s")
    session = own.create()
    with session.client() as client:
        client.run(SLOW_TRACEBACK)
        turn = client.ask(
            "shell",
            "execute_request",
            {"code": "while True: pass"},
            {"hearth": {"time_limit": 0.5}},
        )
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "variables: preserved" in turn.content["evalue"]
        assert client.run("kept").result == "5"


def test_time_limit_of_one_request(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("kept = 5")
        turn = client.ask(
            "shell",
            "execute_request",
            {"code": "while True: pass"},
            {"hearth": {"time_limit": 0.5}},
        )
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert client.run("kept").result == "5"


def test_time_limit_that_a_cell_catches(gateway: Gateway) -> None:
    """It ends as its code lets it end, and says that it was cut short."""
    session = gateway.create("--time-limit", "1s")
    with session.client() as client:
        turn = client.run(
            "import time\n"
            "try:\n"
            "    print('go', flush=True)\n"
            "    time.sleep(600)\n"
            "except KeyboardInterrupt:\n"
            "    print('caught')",
            timeout=SOON,
        )
        assert turn.status == "ok"
        assert turn.stream() == "go\ncaught\n"
        assert turn.stream("stderr") == (
            "[hearth: the cell ran past its time limit of 1 s and was "
            "interrupted, which it caught]\n"
        )
        assert turn.types[-1] == "status"
        assert client.run("1").stream("stderr") == ""


def test_time_limit_of_a_stubborn_cell(gateway: Gateway) -> None:
    session = gateway.create("--time-limit", "1s")
    namespace = session.namespace()
    with session.client() as client:
        turn = client.run(
            "import signal, time\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "while True: time.sleep(1)",
            timeout=SOON,
        )
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "variables are lost" in turn.content["evalue"]
        model = session.wait_state("gone")
        assert model["reason"] == "wall"
        expect_no_process(session, namespace)
        expect_gone(client, session, "wall")


@pytest.mark.parametrize("code", DEATHS.values(), ids=DEATHS.keys())
def test_death(gateway: Gateway, code: str) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        client.run("x = 1")
        first = client.kc.execute(f"print('go')\n{code}")
        waiting = client.kc.execute("x")
        turn = client.finish(first, timeout=SOON)
        assert turn.status == "error"
        assert turn.content["ename"] == "KernelDied"
        assert "variables are lost" in turn.content["evalue"]
        assert turn.stream() == "go\n"
        other = client.finish(waiting, timeout=SOON)
        assert other.status in ("error", "aborted")
        session.wait_state("gone")
        expect_no_process(session, namespace)
        expect_gone(client, session, session.show()["reason"])


@pytest.mark.parametrize(
    ("code", "reason", "detail"),
    [
        (DEATHS["exit"], "exit", "3"),
        (DEATHS["segfault"], "signal", "11"),
        (DEATHS["kill"], "signal", "9"),
    ],
)
def test_the_cause_is_reported(
    gateway: Gateway, code: str, reason: str, detail: str
) -> None:
    session = gateway.create()
    with session.client() as client:
        turn = client.run(code, timeout=SOON)
        assert detail in turn.content["evalue"]
        model = session.wait_state("gone")
        assert model["reason"] == reason
        assert detail in model["detail"]


def test_killed_from_outside(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import subprocess, time\n"
            "p = subprocess.Popen(['sleep', '600'])\n"
            "print('go')\ntime.sleep(600)"
        )
        begun = client.stream_until(msg_id, "go")
        # All but pid 1: the payload and its child, as the OOM killer would.
        first = session.show()["pid"]
        for pid in members(namespace):
            if pid != first:
                kill(pid)
        turn = client.finish(msg_id, timeout=SOON, begun=begun)
        assert turn.content["ename"] == "KernelDied"
        expect_no_process(session, namespace)
        session.wait_state("gone")


def test_pid_one_killed(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        msg_id, begun = client.begin_long()
        os.kill(session.show()["pid"], signal.SIGKILL)
        turn = client.finish(msg_id, timeout=SOON, begun=begun)
        assert turn.content["ename"] == "KernelDied"
        expect_no_process(session, namespace)
        session.wait_state("gone")


def test_death_between_cells(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("import os, threading")
        client.run("threading.Timer(0.5, lambda: os._exit(1)).start()")
        session.wait_state("gone")
        expect_gone(client, session, "exit")


@pytest.mark.parametrize("code", DEATHS.values(), ids=DEATHS.keys())
def test_restart_auto(gateway: Gateway, code: str) -> None:
    session = gateway.create("--restart", "auto")
    namespace = session.namespace()
    with session.client() as client:
        client.run("x = 1")
        turn = client.run(code, timeout=SOON)
        assert turn.content["ename"] == "KernelDied"
        assert "lost" in turn.content["evalue"]
        after = client.run("'x' in globals()", timeout=SOON)
        assert after.result == "False"
        assert after.content["execution_count"] == 1
        expect_no_process(session, namespace)
        assert session.show()["state"] in ("idle", "busy")


def test_memory_limit(own: Gateway) -> None:
    own.terminate()
    own.start("--set", "profile/python3/limits/address_space=2G")
    session = own.create()
    with session.client() as client:
        turn = client.run("x = bytearray(8 << 30)", timeout=SOON)
        assert turn.content["ename"] == "MemoryError"
        assert client.run("1").result == "1"


def test_processor_time_limit(own: Gateway) -> None:
    own.terminate()
    own.start("--set", "profile/python3/limits/cpu_seconds=2")
    session = own.create()
    with session.client() as client:
        turn = client.run("while True: pass", timeout=DEADLINE)
        assert turn.status == "error"
        model = session.wait_state("gone")
        assert model["reason"] == "cpu"


def test_lifetime(own: Gateway) -> None:
    own.terminate()
    own.start("--set", "sessions/lifetime=10s")
    session = own.create()
    with session.client() as client:
        turn = client.run("import time; time.sleep(600)", timeout=SOON)
        assert turn.content["ename"] == "SessionGone"
        assert session.wait_state("gone")["reason"] == "lifetime"


def test_gateway_rests(gateway: Gateway) -> None:
    """No loop is left that turns for a kernel that is no more."""

    def used() -> int:
        stat = Path(f"/proc/{gateway.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    for code in DEATHS.values():
        session = gateway.create()
        with session.client() as client:
            client.run(code, timeout=SOON)
        session.wait_state("gone")
    alive = gateway.create("--restart", "auto")
    with alive.client() as client:
        client.run(DEATHS["exit"], timeout=SOON)
        assert client.run("1").result == "1"
    before = used()
    time.sleep(2)
    ticks = os.sysconf("SC_CLK_TCK")
    assert used() - before < ticks / 2


def test_gone_session_still_answers_everything(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        session.delete()
        session.wait_state("gone")
        for send in (
            client.kc.kernel_info,
            lambda: client.kc.complete("a"),
            lambda: client.kc.inspect("a"),
            lambda: client.kc.history(n=1),
        ):
            turn = client.finish(send(), timeout=SOON)
            assert turn.status == "error"
            assert turn.content["ename"] == "SessionGone"
        # A client that waits for the kernel gets the sentence, not a KeyError.
        client.kc.wait_for_ready(timeout=DEADLINE)
        assert client.run("1").content["ename"] == "SessionGone"


def test_a_question_in_the_moment_of_the_end_is_answered() -> None:
    """Without time for a tombstone the actor ends during the question."""
    running = Gateway("--set", "sessions/gone_keep=0")
    try:
        running.start()
        for _ in range(10):
            session = running.create()
            done = session.exec("import os; os._exit(1)", timeout=DEADLINE)
            assert done.returncode == 3, done.stderr
            assert session.show()["reason"] == "exit"
    finally:
        running.end()


def test_two_interrupts_are_both_answered(session: Session) -> None:
    with session.client() as client:
        client.kc.execute("import time\nwhile True: time.sleep(0.01)")
        session.wait_state("busy")
        with ThreadPoolExecutor(3) as many:
            done = list(
                many.map(
                    lambda _: session.gateway.run(
                        "session", "interrupt", session.id
                    ),
                    range(3),
                )
            )
        for run in done:
            assert run.returncode in (0, 1), run.stderr
            assert run.stdout.strip()


def test_a_restart_that_was_asked_for_is_no_death(gateway: Gateway) -> None:
    """Clients take the status `restarting` for a kernel that died."""
    session = gateway.create()
    with session.client() as client:
        assert gateway.run("session", "restart", session.id).returncode == 0
        states = []
        while "starting" not in states:
            message = client.iopub(DEADLINE, lambda m: True)
            if message["msg_type"] == "status":
                states.append(message["content"]["execution_state"])
        assert "restarting" not in states
