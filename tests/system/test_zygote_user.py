"""Zygotes with a user of their own: no privilege, and sessions as ever."""

import errno
import json
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Callable, Optional

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, service
from processes import children, start_time

FIRST = 1879048192
COUNT = 65536
INIT = FIRST + COUNT - 1
OWN = FIRST + COUNT - 2
UNIT_USER = 64997
NO_CAPABILITY = "0000000000000000"

pytestmark = pytest.mark.skipif(
    os.getuid() != 0, reason="only root can give zygotes a user"
)


def status(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines())


def ids(pid: int) -> set[int]:
    fields = status(pid)
    return {int(n) for key in ("Uid", "Gid") for n in fields[key].split()}


def name(pid: int) -> str:
    return status(pid)["Name"]


def zygote(gateway: Gateway) -> int:
    (pid,) = children(gateway.pid)
    return pid


def begin(*settings: str, unit: bool = False) -> Gateway:
    words = [
        "profile/python3/pool/min=0",
        "profile/python3/pool/max=0",
    ]
    gateway = Gateway(
        *(
            word
            for setting in [*words, *settings]
            for word in ("--set", setting)
        )
    )
    if unit:
        gateway.be_service(UNIT_USER)
    return gateway


@pytest.fixture(params=["root", "service"])
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    # In the service it is the default, where groups are not of version 1.
    is_unit = request.param == "service"
    setting = "gateway/cgroups=none" if is_unit else "gateway/zygote_user=own"
    running = begin(setting, unit=is_unit)
    try:
        running.start()
        yield running
    finally:
        running.end()


def test_has_no_privilege(gateway: Gateway) -> None:
    session = gateway.create()
    pid = zygote(gateway)
    (mapper,) = children(pid).keys() - {session.show()["pid"]}
    assert ids(pid) == ids(mapper) == {OWN}
    for process in (pid, mapper):
        assert status(process)["Groups"].split() == []
        assert status(process)["NoNewPrivs"] == "1"
        assert status(process)["CapInh"] == NO_CAPABILITY
        assert status(process)["CapAmb"] == NO_CAPABILITY
    for sets in ("CapPrm", "CapEff"):
        assert status(pid)[sets] == NO_CAPABILITY
        assert status(mapper)[sets] == "00000000000000c0"  # SETGID, SETUID
    assert name(mapper) == "hearth-mapper"
    descriptors = os.listdir(f"/proc/{mapper}/fd")
    assert descriptors == ["4"]


def test_sessions_are_as_ever(gateway: Gateway) -> None:
    sessions = [gateway.create() for _ in range(2)]
    users = set()
    for session in sessions:
        client = session.client()
        assert client.value("6*7") == 42
        assert (
            client.value(
                "open('kept', 'w').write('x') and __import__('os').getuid()"
            )
            == 1000
        )
        client.close()
        init = session.show()["pid"]
        (payload,) = children(init)
        assert ids(init) == {INIT}
        (user,) = ids(payload)
        users.add(user)
        assert FIRST <= user < OWN
    assert len(users) == 2
    # The next kernel in the same workspace, which no other session uses.
    session = sessions[0]
    client = session.client()
    assert client.run("__import__('os').chmod('.', 0o700)").status == "ok"
    client.close()
    assert gateway.run("session", "restart", session.id).returncode == 0
    client = session.client()
    assert client.value("open('kept').read()") == "x"
    client.close()


def attempt(user: int, act: Callable[[], object]) -> str:
    """Return the result of an attempt as that user: an errno's name, or
    nothing."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = ""
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            act()
        except OSError as error:
            said = errno.errorcode[error.errno or 0]
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


def test_the_zygote_user_has_no_access_to_gateway_or_sessions(
    gateway: Gateway,
) -> None:
    """A zygote's user, and a session's that has escaped to its zygote, can do
    nothing to the gateway."""
    session = gateway.create()
    pid = zygote(gateway)
    (payload,) = children(session.show()["pid"])
    (user,) = ids(payload)
    for path in (
        gateway.runtime / "management.key",
        gateway.state / "journal.key",
        session.connection_file,
    ):
        assert Path(path).exists()
        assert attempt(OWN, lambda: Path(path).read_text()) == "EACCES"
    assert attempt(OWN, lambda: os.kill(gateway.pid, 0)) == "EPERM"
    (mapper,) = children(pid).keys() - {session.show()["pid"]}
    for process in (pid, mapper):
        assert attempt(user, lambda: os.kill(process, 0)) == "EPERM"
        look = f"/proc/{process}/mem"
        assert attempt(user, lambda: Path(look).read_bytes()) == "EACCES"
    # The counterpart: a process with that user can.
    assert attempt(OWN, lambda: os.kill(pid, 0)) == ""


def test_ends_with_the_gateway_and_with_the_zygote(gateway: Gateway) -> None:
    session = gateway.create()
    pid = zygote(gateway)
    (mapper,) = children(pid).keys() - {session.show()["pid"]}
    started = {process: start_time(process) for process in (pid, mapper)}
    gateway.kill()
    for process, when in started.items():
        wait_for(lambda: start_time(process) != when, f"the end of {process}")
    gateway.start()
    client = session.client()
    assert client.value("6*7") == 42
    client.close()
    # And as the zygote does, whatever ends that.
    gateway.create()
    pid = zygote(gateway)
    known = {entry["pid"] for entry in gateway.sessions()}
    (mapper,) = children(pid).keys() - known
    when = start_time(mapper)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: start_time(mapper) != when, "the end of the mapper")
    again = wait_for(
        lambda: gateway.run("session", "create").returncode == 0,
        "a session of the next zygote",
    )
    assert again


def test_a_zygote_without_its_mapper_is_replaced(gateway: Gateway) -> None:
    gateway.create()
    pid = zygote(gateway)
    known = {entry["pid"] for entry in gateway.sessions()}
    (mapper,) = children(pid).keys() - known
    os.kill(mapper, signal.SIGKILL)
    done = gateway.run("session", "create")
    assert done.returncode != 0
    wait_for(
        lambda: gateway.run("session", "create").returncode == 0,
        "a session of the next zygote",
    )


@pytest.mark.parametrize(
    ("settings", "unit", "said"),
    [
        (["gateway/cgroups=none", "gateway/uid_count=2"], True, "uid_count"),
        (["gateway/cgroups=none"], None, "CAP_SETUID"),
    ],
    ids=["few", "user"],
)
def test_refuses_impossible_settings(
    settings: list[str], unit: Optional[bool], said: str
) -> None:
    running = begin("gateway/zygote_user=own", *settings, unit=unit is True)
    if unit is None:
        for path in (running.folder, running.folder / "h"):
            os.chown(path, UNIT_USER, UNIT_USER)
        user = str(UNIT_USER)
        running.prefix = [
            "setpriv", "--reuid", user, "--regid", user, "--clear-groups",
        ]  # fmt: skip
    try:
        sentence = running.refused()
        assert "gateway/zygote_user = own" in sentence
        assert said in sentence
    finally:
        running.sweep()


@pytest.mark.parametrize(
    ("choice", "state"), [("own", "ok"), ("auto", "warning")]
)
def test_the_doctor_names_the_user_of_zygotes(
    tmp_path: Path, choice: str, state: str
) -> None:
    """Asked by root, whose gateway has them as its own only on request."""
    config = tmp_path / "hearth.cfg"
    config.write_text(f"gateway\n    zygote_user = {choice}\n")
    done = subprocess.run(
        [HEARTH, "doctor", "--json", "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert rows["zygotes"]["state"] == state
    assert (str(OWN) in rows["zygotes"]["found"]) is (state == "ok")
    advice = rows["zygotes"].get("advice", "")
    assert ("zygote_user = own" in advice) is (state != "ok")


@pytest.mark.parametrize(
    ("choice", "groups", "state"),
    [
        ("auto", "none", "ok"),
        ("auto", "auto", "warning"),
        ("own", "auto", "missing"),
        ("gateway", "none", "warning"),
    ],
)
def test_the_doctor_reports_it_as_the_service(
    tmp_path: Path, choice: str, groups: str, state: str
) -> None:
    """A user that is not root and has groups of version 1 cannot give zygotes a
    user."""
    if groups == "auto" and not os.path.isdir("/sys/fs/cgroup/memory"):
        pytest.skip("no control groups of version 1")
    config = tmp_path / "hearth.cfg"
    config.write_text(
        f"gateway\n    zygote_user = {choice}\n    cgroups = {groups}\n"
    )
    config.chmod(0o644)
    done = subprocess.run(
        [*service(UNIT_USER), HEARTH, "doctor", "--json", "--config", config],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    rows = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert rows["zygotes"]["state"] == state, rows["zygotes"]
    said = rows["zygotes"]["found"] + rows["zygotes"].get("advice", "")
    assert ("version 1" in said) is (groups == "auto")


def test_names_a_python_that_it_cannot_reach(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    python = tmp_path / "python3"
    python.symlink_to("/usr/bin/python3")
    running = begin(
        "gateway/zygote_user=own", f"profile/python3/python={python}"
    )
    try:
        running.start()
        done = running.run("session", "create")
        assert done.returncode != 0
        assert f"cannot start {python} as user {OWN}" in done.stderr
        assert "open to others" in done.stderr
    finally:
        running.end()


# Played by the program that the mapper starts: a child in a new user namespace
# whose maps are asked for.
ASKS = """
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
mapper = socket.socket(fileno=4)
for text in sys.argv[1:]:
    ids = list(map(int, text.split(",")))
    begun, end = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end[1])
        said = b"." if libc.unshare(0x10000000) == 0 else b"!"
        os.write(begun[1], said)
        os.read(end[0], 1)
        os._exit(0)
    assert os.read(begun[0], 1) == b"."
    mapper.send(struct.pack("i4I", pid, *ids))
    code = struct.unpack_from("i", mapper.recv(256))[0]
    lines = open(f"/proc/{pid}/uid_map").read().split()
    print(code, *lines)
    os.close(end[1])
    os.waitpid(pid, 0)
"""


def lent(program_user: str, first: int, orders: Iterable[str]) -> list[str]:
    """Return the results of the requests, with three users from the first."""
    mapper = Path(HEARTH).parent / "python/hearth_kernel/hearth-mapper"
    done = subprocess.run(
        [mapper, program_user, program_user, str(first), "3",
         "/usr/bin/python3", "-I", "-c", ASKS, *orders],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_mapper_lends_sessions_users_alone() -> None:
    user, first, other = "90002", 90000, 90001
    orders = {
        f"{first},{first},{other},{other}": f"0 1000 {first} 1 999 {other} 1",
        f"{first},{first},0,0": f"0 1000 {first} 1",
        "0,0,0,0": "1",
        f"{first},{first},{user},{user}": "1",  # its own
        f"{user},{user},0,0": "1",
        f"{first},0,0,0": "1",
        f"{first - 1},{first - 1},0,0": "1",
        f"{first + 3},{first + 3},0,0": "1",
        f"{first},{first},65534,65534": "1",
    }
    assert lent(user, first, orders) == list(orders.values())


def test_the_mapper_lends_an_ordinary_users_own() -> None:
    """The program's user is not in the range."""
    user, first, init = 80000, 90000, 90002
    orders = {
        f"{user},{user},{init},{init}": f"0 1000 {user} 1 999 {init} 1",
        f"{user},{user},0,0": f"0 1000 {user} 1",
        f"{init},{init},0,0": f"0 1000 {init} 1",
        f"{user},{first},0,0": "1",
        f"{first},{user},0,0": "1",
        f"{first},{first},{user},{user}": "1",  # it is no pid 1's
        f"{user + 1},{user + 1},0,0": "1",
    }
    assert lent(str(user), first, orders) == list(orders.values())
