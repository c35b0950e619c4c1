"""A session at its limits: it is held, it hears why, and others go on."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from harness import Gateway, Session

GROUPS = Path("/sys/fs/cgroup")
PROFILE = "profile/python3/"
SET = [
    *("--set", PROFILE + "limits/memory=192M"),
    *("--set", PROFILE + "limits/shm=512M"),
    *("--set", PROFILE + "limits/processes=40"),
]
FORKS = """
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(600)
except OSError as error:
    print(error.errno)
"""
# A page at a time, kept; in a child, so that the interpreter is not the one
# that grows.
GROW = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
GROW_IN_CHILD = (
    f"import os, time\nif os.fork() == 0:\n    exec({GROW!r})\ntime.sleep(600)"
)
FILL_TMPFS = """
for number in range(400):
    with open(f'/dev/shm/{number}', 'wb') as file:
        file.write(b'x' * (1 << 20))
import time; time.sleep(600)
"""


def has_groups() -> bool:
    """Control groups that this user can make."""
    if (GROUPS / "cgroup.controllers").exists():
        return os.environ.get("HEARTH_HAS_CGROUPS") == "1"
    return os.access(GROUPS / "memory", os.W_OK)


def begin(kind: str, *options: str) -> Gateway:
    wish = "none"
    if kind == "groups":
        if not has_groups():
            pytest.skip("no control groups can be made here")
        wish = "auto"
    running = Gateway(*SET, "--set", f"gateway/cgroups={wish}", *options)
    try:
        return running.start()
    except BaseException:
        running.sweep()
        raise


@pytest.fixture(scope="module", params=["groups", "watchdog"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def gateway(kind: str) -> Iterator[Gateway]:
    running = begin(kind)
    try:
        yield running
    finally:
        running.end()


@pytest.fixture
def mortal(kind: str, gateway: Gateway) -> Iterator[Gateway]:
    """Start a gateway for a test that kills it.

    By emulation that takes minutes: there it is the one of all tests.
    """
    if limits_by(gateway) == "watchdog":
        pytest.skip("there are no control groups")
    if os.environ.get("HEARTH_FEW_GATEWAYS"):
        yield gateway
        return
    running = begin(kind)
    try:
        yield running
    finally:
        running.end()


@pytest.fixture
def hurried(kind: str) -> Iterator[Gateway]:
    """Start a gateway with little processor time for a session."""
    running = begin(kind, "--set", PROFILE + "limits/cpu_seconds=3")
    try:
        yield running
    finally:
        running.end()


def limits_by(gateway: Gateway) -> str:
    word: str = gateway.info()["limits"]["by"]
    return word


def has_peaks(gateway: Gateway) -> bool:
    """Version 2 resets them since Linux 6.12."""
    release = tuple(int(n) for n in os.uname().release.split(".")[:2])
    return limits_by(gateway) == "v1" or release >= (6, 12)


def groups_of(session: Session) -> list[Path]:
    """The session's folders in every hierarchy."""
    # os.walk does not mind folders that vanish meanwhile, as glob does.
    return [
        Path(folder)
        for folder, _, _ in os.walk(GROUPS)
        if fnmatch(os.path.basename(folder), f"hearth-*.{session.id}.*")
    ]


def session_is_listed(session: Session) -> bool:
    return any(
        model["id"] == session.id and model["state"] != "gone"
        for model in session.gateway.sessions()
    )


def notes(session: Session, kind: str) -> list[dict[str, Any]]:
    """The facts of that kind in the journal, read through an export."""
    folder = Path(session.show()["journal"])
    found = []
    for segment in sorted(folder.glob("*")):
        if not segment.is_file():
            continue
        for line in segment.read_bytes().split(b"{"):
            if b'"limit":"%s"' % kind.encode() in line:
                found.append(json.loads(b"{" + line.split(b"}")[0] + b"}"))
    return found


@pytest.mark.parametrize(
    "code",
    [GROW, GROW_IN_CHILD, FILL_TMPFS],
    ids=["interpreter", "child", "tmpfs"],
)
def test_memory(gateway: Gateway, code: str) -> None:
    hog, other = gateway.create(), gateway.create()
    with hog.client() as client, other.client() as neighbour:
        client.run("1")
        msg_id = client.kc.execute(code)
        assert neighbour.run("1+1").result == "2"
        turn = client.finish(msg_id)
        assert turn.status == "error"
        assert turn.content["ename"] == "KernelDied"
        evalue = turn.content["evalue"]
        assert evalue.startswith("memory: 192 MiB reached"), evalue
        assert "while running cell 2" in evalue
        model = hog.wait_state("gone")
        assert model["reason"] == "memory"
        assert "192 MiB reached while running cell 2" in model["detail"]
        later = client.run("1")
        assert later.content["ename"] == "SessionGone"
        assert "memory: 192 MiB" in later.content["evalue"]
        assert neighbour.run("1+1").result == "2"


def test_memory_between_cells(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("import threading")
        client.run(
            f"threading.Timer(0.3, lambda: exec({GROW!r}, {{}})).start()"
        )
        model = session.wait_state("gone")
        assert model["reason"] == "memory"
        assert "192 MiB reached" in model["detail"]


def test_proc_tree(gateway: Gateway) -> None:
    hog, other = gateway.create(), gateway.create()
    with hog.client() as client, other.client() as neighbour:
        turn = client.run(FORKS)
        assert turn.status == "ok"
        assert turn.stream() == "11\n"  # EAGAIN
        assert client.run("'alive'").result == "'alive'"
        assert neighbour.run("1+1").result == "2"
        if limits_by(gateway) != "watchdog":
            found = wait_for(lambda: notes(hog, "processes"), "a note")
            assert found[0]["max"] == 40
            assert found[0]["refused"] >= 1


def test_processor_time_of_the_whole_session(hurried: Gateway) -> None:
    session = hurried.create()
    with session.client() as client:
        evalue = client.last_words(
            "import os, time\n"
            "for _ in range(4):\n"
            "    if os.fork() == 0:\n"
            "        while True: pass\n"
            "time.sleep(600)"
        )
        assert evalue.startswith("cpu: 3 s of processor time reached"), evalue
        assert "while running cell 1" in evalue
        assert session.wait_state("gone")["reason"] == "cpu"


def test_groups_go_with_their_session(gateway: Gateway) -> None:
    if limits_by(gateway) == "watchdog":
        pytest.skip("there are none")
    session = gateway.create()
    with session.client() as client:
        client.run("1")
        assert groups_of(session)
        gateway.run("session", "restart", session.id)
        assert client.run("1").status == "ok"
        wait_for(
            lambda: len({path.name for path in groups_of(session)}) == 1,
            "one group for one kernel",
        )
        session.delete()
        session.wait_state("gone")
        wait_for(lambda: not groups_of(session), "no group")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can move it")
def test_a_session_outside_its_group(mortal: Gateway) -> None:
    """The next gateway looks where its processes are, and keeps none that got
    out."""
    session, other = mortal.create(), mortal.create()
    session.exec("1")
    other.exec("x = 1")
    processes = session.processes()
    # Beside it: of version 2, a group that has others has no members.
    elsewhere = {group.parent / "elsewhere" for group in groups_of(session)}
    mortal.kill()
    for group in elsewhere:
        group.mkdir()
        name = "tasks" if (group / "tasks").exists() else "cgroup.procs"
        for pid in processes:
            (group / name).write_text(str(pid))
    mortal.start()
    gone = session.wait_state("gone")
    assert "is not in the control group" in gone["detail"], gone
    wait_for(lambda: not running(processes), "no process of it")
    for group in elsewhere:
        wait_for(lambda: is_removed(group), "a group without members")
    assert other.exec("print(x)").stdout == "1\n"


def is_removed(group: Path) -> bool:
    with contextlib.suppress(OSError):  # it has a zombie as yet
        group.rmdir()
    return not group.exists()


def running(processes: list[int]) -> list[int]:
    """Return the existing processes, without zombies."""
    found = []
    for pid in processes:
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if text.rpartition(")")[2].split()[0] not in "ZX":
            found.append(pid)
    return found


def test_group_that_could_not_be_removed_at_once(gateway: Gateway) -> None:
    """As when processes take long to die: it is removed when it can be."""
    if limits_by(gateway) == "watchdog":
        pytest.skip("there are none")
    session, other = gateway.create(), gateway.create()
    with session.client() as client, other.client() as neighbour:
        client.run("1")
        kept = [group / "kept" for group in groups_of(session)]
        for folder in kept:
            folder.mkdir()
        session.delete()
        wait_for(lambda: not session_is_listed(session), "no session")
        # Another group, which no session keeps, shows that it is tried again.
        for group in groups_of(session):
            group.with_name(f"{group.name}1").mkdir()
        wait_for(lambda: len(groups_of(session)) == len(kept), "a second try")
        for folder in kept:
            folder.rmdir()
        wait_for(lambda: not groups_of(session), "no group")
        assert neighbour.run("1+1").result == "2"
        assert groups_of(other)


def test_groups_of_a_killed_gateway(mortal: Gateway) -> None:
    """The living keep theirs, the dead leave none."""
    lives, dies = mortal.create(), mortal.create()
    with lives.client() as client:
        client.run("1")
        first = dies.show()["pid"]
        mortal.kill()
        os.kill(first, signal.SIGKILL)
        mortal.start()
        wait_for(lambda: not groups_of(dies), "no group of the dead")
        assert groups_of(lives)
        turn = client.run(GROW)
        assert turn.content["evalue"].startswith("memory: 192 MiB reached")
        lives.wait_state("gone")
        wait_for(lambda: not groups_of(lives), "no group")


def test_cost_of_a_cell(gateway: Gateway) -> None:
    if limits_by(gateway) == "watchdog":
        pytest.skip("only a control group tells it")
    session = gateway.create()
    with session.client() as client:
        turn = client.run(
            "x = bytearray(64 << 20)\n"
            "import time; t = time.process_time()\n"
            "while time.process_time() - t < 0.2: pass\n"
            "del x"
        )
        cost = turn.reply["metadata"]["hearth"]
        assert cost["cpu_ms"] >= 150
        assert cost["duration_ms"] >= 150
        small = client.run("1").reply["metadata"].get("hearth", {})
        if not has_peaks(gateway):
            assert "peak_memory_kib" not in cost
            return
        assert 64 << 10 <= cost["peak_memory_kib"] <= 192 << 10
        assert small.get("peak_memory_kib", 0) < 64 << 10


def test_sessions_are_the_first_to_go(gateway: Gateway) -> None:
    """When the machine's memory is short, before the gateway."""
    session = gateway.create()

    def score(pid: int) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    first = session.show()["pid"]
    others = [pid for pid in session.processes() if pid != first]
    assert others
    for pid in others:
        assert score(pid) > score(gateway.pid)


def test_wish_that_cannot_be_had() -> None:
    unified = (GROUPS / "cgroup.controllers").exists()
    wish = "v1" if unified else "v2"
    running = Gateway("--set", f"gateway/cgroups={wish}")
    try:
        with pytest.raises(AssertionError, match="control groups: version"):
            running.start()
    finally:
        shutil.rmtree(running.folder)
