"""The machine misbehaves: processes are killed or stopped at any point of a
cell, clocks jump, disks are slow, packets get lost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest
from client import Turn
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from lossy import HERE, THERE
from processes import children, kill, members

LOSSY = str(Path(__file__).with_name("lossy.py"))
ROUNDS = 20 if os.environ.get("HEARTH_LONG") else 3

COUNTING = """\
import time
for number in range({count}):
    print('line', number, flush=True)
    time.sleep(0.01)
"""
# After the last line: the cell ends when a file exists, not by the clock.
UNTIL_ENOUGH = """\
import os
while not os.path.exists('enough'): time.sleep(0.01)
"""
ENDLESS = """\
import itertools, os, time
for number in itertools.count():
    print('line', number, flush=True)
    time.sleep(0.01)
    if os.path.exists('enough'): break
"""


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


@pytest.fixture
def folders() -> Iterator[Gateway]:
    """A gateway that is still to be started."""
    made = Gateway(
        "--set", "profile/python3/pool/max=0",
        "--set", "sessions/interrupt_grace=1s",
    )  # fmt: skip
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def gateway(folders: Gateway) -> Gateway:
    return folders.start()


def payloads(session: Session) -> list[int]:
    """All of a session but its pid 1."""
    first = session.show()["pid"]
    return [pid for pid in session.processes() if pid != first]


class Stopped:
    """Processes that stand still for a while."""

    def __init__(self, *pids: int) -> None:
        self.pids = pids

    def __enter__(self) -> Stopped:
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


# ---- killed ----


def kill_kernel(gateway: Gateway, session: Session) -> None:
    for pid in payloads(session):
        kill(pid)


def kill_init(gateway: Gateway, session: Session) -> None:
    os.kill(session.show()["pid"], signal.SIGKILL)


def kill_zygote(gateway: Gateway, session: Session) -> None:
    for pid in children(gateway.pid):
        kill(pid)


def kill_gateway(gateway: Gateway, session: Session) -> None:
    gateway.kill()
    gateway.start()


@pytest.mark.parametrize("kill", [kill_kernel, kill_init])
def test_a_session_killed_at_any_point_of_a_cell(
    gateway: Gateway, kill: Callable[[Gateway, Session], None]
) -> None:
    chance = random.Random(kill.__name__)
    for _ in range(ROUNDS):
        session = gateway.create()
        namespace = session.namespace()
        with session.client() as client:
            msg_id = client.kc.execute(COUNTING.format(count=100_000))
            last = chance.randrange(40)
            begun = client.stream_until(msg_id, f"line {last}\n")
            kill(gateway, session)
            turn = client.finish(msg_id, begun=begun)
            assert turn.content["ename"] == "KernelDied"
            check_beginning(turn, last + 1)
            wait_for(lambda: not members(namespace), "no process of it")
            assert recorded(session).startswith(lines(last + 1))


@pytest.mark.parametrize("kill", [kill_zygote, kill_gateway])
def test_a_cell_outlives_gateway_and_zygote(
    gateway: Gateway, kill: Callable[[Gateway, Session], None]
) -> None:
    chance = random.Random(kill.__name__)
    for _ in range(ROUNDS):
        count = 300

        def made() -> Session | None:
            # The next zygote is warming up, perhaps.
            done = gateway.run("session", "create", "--no-start")
            return gateway.create() if done.returncode == 0 else None

        session = wait_for(made, "a session")
        with session.client() as client:
            msg_id = client.kc.execute(COUNTING.format(count=count))
            last = chance.randrange(40)
            begun = client.stream_until(msg_id, f"line {last}\n")
            kill(gateway, session)
            turn = client.finish(msg_id, begun=begun)
            assert turn.status == "ok", turn.content
            assert turn.stream().startswith(lines(last + 1))
            assert recorded(session) == lines(count)


def check_beginning(turn: Turn, at_least: int) -> None:
    """In order, without a gap, and what was seen before the end."""
    text = turn.stream()
    seen = text.count("\n")
    assert seen >= at_least
    assert text == lines(seen)


def recorded(session: Session) -> str:
    return "".join(
        "".join(output["text"])
        for cell in session.notebook()["cells"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    )


# ---- stopped ----


def test_a_stopped_kernel_is_ended_by_its_time_limit(gateway: Gateway) -> None:
    """It cannot handle a signal; the last step of the escalation does not need
    it."""
    session = gateway.create()
    namespace = session.namespace()
    stopped = payloads(session)
    with session.client() as client:
        msg_id = client.send(
            "shell",
            "execute_request",
            {"code": COUNTING.format(count=100_000)},
            {"hearth": {"time_limit": 5}},
        )
        begun = client.stream_until(msg_id, "line 3\n")
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        turn = client.finish(msg_id, begun=begun)
        assert turn.status == "error"
        assert "time" in turn.content["evalue"], turn.content
        wait_for(lambda: not members(namespace), "no process of it")


def test_a_kernel_that_was_stopped_goes_on(gateway: Gateway) -> None:
    session, other = gateway.create(), gateway.create()
    with session.client() as client, other.client() as another:
        msg_id = client.kc.execute(COUNTING.format(count=50) + UNTIL_ENOUGH)
        begun = client.stream_until(msg_id, "line 3\n")
        with Stopped(*session.processes()):
            # No other client waits for it.
            assert another.run("1 + 1").result == "2"
            assert session.show()["state"] == "busy"
            (session.workspace / "enough").touch()
        turn = client.finish(msg_id, begun=begun)
        assert turn.stream() == lines(50)


def create_aside(gateway: Gateway) -> subprocess.Popen[str]:
    """Asks for a session, and waits for it in a process of its own."""
    return subprocess.Popen(
        [HEARTH, "session", "create", "--no-start", "--json"],
        env=gateway.env,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_stopped_zygote_delays_only_new_sessions(
    gateway: Gateway,
) -> None:
    session = gateway.create()
    zygotes = list(children(gateway.pid))
    with session.client() as client:
        with Stopped(*[pid for pid in zygotes if is_python(pid)]):
            waiting = create_aside(gateway)
            assert client.run("1 + 1").result == "2"
            assert len(gateway.sessions()) >= 1
        out, _ = waiting.communicate(timeout=DEADLINE)
        assert waiting.returncode == 0, out


def is_python(pid: int) -> bool:
    first = session_pids_of(pid)
    return "python" in os.readlink(f"/proc/{pid}/exe") and not first


def session_pids_of(pid: int) -> bool:
    """Whether the process is a session's pid 1 and not the zygote."""
    return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink(
        "/proc/self/ns/pid"
    )


def test_a_stopped_gateway_loses_nothing(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            COUNTING.format(count=50) + "open('done', 'w').close()"
        )
        begun = client.stream_until(msg_id, "line 3\n")
        with Stopped(gateway.pid):
            queued = client.kc.execute("1 + 1")
            wait_for((session.workspace / "done").exists, "the end of the cell")
        assert client.finish(msg_id, begun=begun).stream() == lines(50)
        assert client.finish(queued).result == "2"


def test_a_cell_goes_on_while_its_pid_1_is_stopped(gateway: Gateway) -> None:
    """And what pid 1 is asked to pass on is not what an end depends on."""
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        msg_id = client.kc.execute(COUNTING.format(count=50))
        begun = client.stream_until(msg_id, "line 3\n")
        with Stopped(session.show()["pid"]):
            turn = client.finish(msg_id, begun=begun)
            assert turn.stream() == lines(50)
            msg_id = client.send(
                "shell",
                "execute_request",
                {"code": ENDLESS},
                {"hearth": {"time_limit": 2}},
            )
            turn = client.finish(msg_id)
            assert turn.content["ename"] == "TimeLimitExceeded", turn.content
            wait_for(lambda: not members(namespace), "no process of it")


# ---- no descriptor left ----


def holds_open(gateway: Gateway, session: Session) -> bool:
    """Whether the session's journal is open."""
    folder = str(gateway.state / "sessions" / session.id)
    fds = Path(f"/proc/{gateway.pid}/fd")
    links = []
    for fd in fds.iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            links.append(os.readlink(fd))
    return any(link.startswith(folder) for link in links)


def lowest_free(gateway: Gateway) -> int:
    """Return a limit at which no descriptor can be opened any more. (Not lower:
    the system polls no more than that at a time.)"""
    taken = {int(fd) for fd in os.listdir(f"/proc/{gateway.pid}/fd")}
    return min(set(range(len(taken) + 1)) - taken)


def test_no_descriptor_left_for_a_journal(gateway: Gateway) -> None:
    """The session was idle: working ones keep their journal open."""
    rested, works = gateway.create(), gateway.create()
    limits = resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)
    with rested.client() as client, works.client() as worker:
        assert client.run("kept = 1").status == "ok"
        wait_for(lambda: not holds_open(gateway, rested), "its rest")
        assert worker.run("1").status == "ok"
        none = lowest_free(gateway), limits[1]
        resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, none)
        try:
            refused = client.run("kept = 2")
            assert worker.run("1 + 1").result == "2"
        finally:
            resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, limits)
        assert refused.content["ename"] == "JournalError", refused.content
        assert client.run("kept").result == "1"


# ---- clock, disk, network ----


DAYS = 24 * 3600


def test_clocks_jump(folders: Gateway, shim: Path) -> None:
    """Deadlines are measured, not read from the wall."""
    clock = folders.folder / "clock"
    clock.write_text("0")
    folders.env.update(LD_PRELOAD=str(shim), CHAOS_CLOCK=str(clock))
    folders.start(
        "--set", "sessions/cell_time_limit=10m", "--set", "sessions/lifetime=1d"
    )
    session = folders.create("--idle-timeout", "1h")
    with session.client() as client:
        msg_id = client.kc.execute(ENDLESS)
        begun = client.stream_until(msg_id, "line 3\n")
        for days in (400, -400, 3):
            clock.write_text(str(days * DAYS))
            begun += client.stream_until(msg_id, "line ")
        (session.workspace / "enough").touch()
        turn = client.finish(msg_id, begun=begun)
        assert turn.status == "ok", turn.content
        count = turn.stream().count("\n")
        assert turn.stream() == lines(count)
        assert client.run("1 + 1").result == "2"
        assert session.show()["state"] == "idle"
        assert recorded(session).startswith(lines(count))


def test_a_start_takes_no_year_because_the_clock_was_set(
    folders: Gateway, shim: Path
) -> None:
    clock = folders.folder / "clock"
    clock.write_text("0")
    folders.env.update(LD_PRELOAD=str(shim), CHAOS_CLOCK=str(clock))
    folders.start()
    folders.create()
    with Stopped(*[pid for pid in children(folders.pid) if is_python(pid)]):
        waiting = create_aside(folders)
        wait_for(lambda: len(folders.sessions()) == 2, "a start that waits")
        clock.write_text(str(400 * DAYS))
    waiting.communicate(timeout=DEADLINE)
    starts = folders.info()["counted"]["starts"]
    assert starts["count"] == 2
    assert 0 < starts["seconds"] < DAYS


def test_the_clock_was_set_back_between_two_gateways(
    folders: Gateway, shim: Path
) -> None:
    clock = folders.folder / "clock"
    clock.write_text("0")
    folders.env.update(LD_PRELOAD=str(shim), CHAOS_CLOCK=str(clock))
    kept = ("--set", "sessions/gone_keep=2s", "--set", "sessions/lifetime=1d")
    folders.start(*kept)
    alive, gone = folders.create(), folders.create()
    with alive.client() as client:
        client.run("x = 1")
        gone.delete()
        gone.wait_state("gone")
        folders.kill()
        clock.write_text(str(-400 * DAYS))
        folders.start(*kept)
        assert client.run("x").result == "1"
    folder = folders.runtime / "sessions" / gone.id
    wait_for(lambda: not folder.exists(), "the end of its ports")


def ended_earlier(session: Session, seconds: int) -> None:
    """In its file; who reads it next takes it for the truth."""
    path = Path(session.model["journal"]).parent / "session.json"
    state = json.loads(path.read_text())
    state["ended_us"] = int((time.time() - seconds) * 1e6)
    path.write_text(json.dumps(state))


def test_a_clock_set_ahead_makes_no_recording_due(
    folders: Gateway, shim: Path
) -> None:
    clock = folders.folder / "clock"
    clock.write_text("0")
    folders.env.update(LD_PRELOAD=str(shim), CHAOS_CLOCK=str(clock))
    folders.start(
        "--set", "sessions/gone_keep=0", "--set", "sessions/journal_keep=100s"
    )
    kept, due = folders.create(), folders.create()
    for session in (kept, due):
        session.delete()
        ports = folders.runtime / "sessions" / session.id
        wait_for(lambda: not ports.exists(), "the end of its ports")
    clock.write_text(str(400 * DAYS))
    ended_earlier(due, 200)
    ended_earlier(kept, 0)  # however slow this machine is
    journal = Path(due.model["journal"])
    wait_for(lambda: not journal.exists(), "the end of what is due")
    assert Path(kept.model["journal"]).exists()


def test_a_journal_on_a_slow_disk(folders: Gateway, shim: Path) -> None:
    folders.env.update(LD_PRELOAD=str(shim), CHAOS_DISK_MS="100")
    folders.start()
    session = folders.create()
    with session.client() as client:
        turn = client.run("for n in range(2000): print('line', n)")
        assert turn.status == "ok", turn.content
        assert turn.stream() == lines(2000)
        assert client.run("1 + 1").result == "2"
    assert recorded(session) == lines(2000)


def test_packets_get_lost(folders: Gateway) -> None:
    lost = folders.folder / "lost"
    lossy = ["unshare", "--net", sys.executable, LOSSY, str(lost)]
    try:
        subprocess.run([*lossy, "true"], check=True, capture_output=True)
    except FileNotFoundError as error:
        pytest.skip(f"no unshare here: {error}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no tunnel here: {error.stderr.decode().strip()}")
    folders.prefix = lossy
    folders.start(
        "--set", "gateway/transport=tcp", "--set", f"gateway/ip={HERE}"
    )
    session = folders.create()
    connect_from_there(session)
    done = subprocess.run(
        [
            "nsenter", "--net", "--target", str(folders.pid), HEARTH, "exec",
            session.id, "-c", "for n in range(20000): print('line', n)",
        ],
        env=folders.env,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == lines(20000)
    assert lost.stat().st_size > 0


def connect_from_there(session: Session) -> None:
    """Its clients go the long way round."""
    path = Path(session.model["connection_file"])
    about = json.loads(path.read_text())
    assert about["ip"] == HERE
    path.write_text(json.dumps({**about, "ip": THERE}))
