"""What a profile says about the walls, through real sessions."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway

SECCOMP = "open('/proc/self/status').read().split('Seccomp:')[1].split()[0]"
FAMILY = """
import errno, socket
try:
    answer = socket.socket(socket.AF_INET) and 'made'
except OSError as error:
    answer = errno.errorcode[error.errno]
answer
"""
DESCRIPTORS = """
import os
[os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')
 if os.path.islink(f'/proc/self/fd/{fd}')]
"""

UNREAD = """
import os, socket
found = []
for fd in map(int, os.listdir('/proc/self/fd')):
    try:
        with socket.socket(fileno=os.dup(fd)) as each:
            how = socket.MSG_PEEK | socket.MSG_DONTWAIT
            found.append(each.recv(1, how))
    except OSError:
        pass
found
"""


@contextmanager
def gateway_with(*settings: str) -> Iterator[Gateway]:
    """Settings of profile python3, besides that no session waits."""
    running = Gateway(
        *(
            word
            for setting in ("pool/min=0", "pool/max=0", *settings)
            for word in ("--set", f"profile/python3/{setting}")
        )
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """One with the settings of profile python3 that the test names."""
    with gateway_with(*request.param) as running:
        yield running


@pytest.fixture(scope="module")
def plain() -> Iterator[Gateway]:
    with gateway_with() as running:
        yield running


@pytest.fixture(scope="module")
def fresh() -> Iterator[Gateway]:
    with gateway_with("fresh=true", "preload=json") as running:
        yield running


@pytest.fixture(scope="module")
def fresh_pooled() -> Iterator[Gateway]:
    settings = ("fresh=true", "preload=json", "pool/min=1", "pool/max=2")
    with gateway_with(*settings) as running:
        yield running


def test_has_no_network_and_every_wall(plain: Gateway) -> None:
    client = plain.create().client()
    assert client.value(SECCOMP) == "2"
    assert client.value(FAMILY) == "EAFNOSUPPORT"
    client.close()


@pytest.mark.parametrize("gateway", [["network=loopback"]], indirect=True)
def test_has_a_loopback_when_asked(gateway: Gateway) -> None:
    client = gateway.create().client()
    assert client.value(FAMILY) == "made"
    client.close()


@pytest.mark.parametrize(
    "gateway", [["accept=seccomp", "without=seccomp"]], indirect=True
)
def test_accepted_walls_are_left_out(gateway: Gateway, tmp_path: Path) -> None:
    client = gateway.create().client()
    assert client.value(SECCOMP) == "0"
    client.close()
    # And it does not go unseen by who asks with that configuration.
    report = doctor(gateway, tmp_path, "accept = seccomp\nwithout = seccomp")
    row = find(report, "wall seccomp")
    assert row["state"] == "warning"
    assert "left out by python3" in row["found"]
    plain = json.loads(gateway.run("doctor", "--json").stdout)
    assert find(plain, "wall seccomp")["state"] == "ok"


Report = dict[str, Any]


def find(report: Report, name: str) -> Report:
    (row,) = [row for row in report["checks"] if row["name"] == name]
    return dict(row)


def doctor(
    gateway: Gateway, folder: Path, settings: str, *prefix: str, status: int = 0
) -> Report:
    """Its report on a configuration, with that exit status."""
    config = folder / "doctor.cfg"
    lines = "".join(f"        {line}\n" for line in settings.splitlines())
    config.write_text("profile\n    python3\n" + lines)
    done = subprocess.run(
        [*prefix, HEARTH, "doctor", "--json", "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=gateway.env,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


CALLS = {"landlock": "landlock_create_ruleset", "seccomp": "seccomp"}


def without(call: str) -> list[str]:
    """As on a system without the call. The process that is started is the
    program's, not the tracer's. By a filter no other call is stopped at."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    return [
        "strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null",
        "-e", f"trace={call}", "-e", f"inject={call}:error=ENOSYS",
    ]  # fmt: skip


@pytest.mark.parametrize("wall", CALLS)
def test_doctor_misses_a_wall(tmp_path: Path, wall: str) -> None:
    idle = Gateway()
    try:
        whole = doctor(idle, tmp_path, "network = none")
        assert find(whole, f"wall {wall}")["state"] == "ok"
        report = doctor(
            idle, tmp_path, "network = none", *without(CALLS[wall]), status=5
        )
        row = find(report, f"wall {wall}")
        assert row["state"] == "missing"
        if wall == "seccomp":
            assert "no sandbox without it" in row["advice"]
        else:
            assert f"accept = {wall}" in row["advice"]
    finally:
        idle.end()


@pytest.mark.parametrize("gateway", [[]], indirect=True)
@pytest.mark.parametrize("wall", CALLS)
def test_an_unavailable_wall(gateway: Gateway, wall: str) -> None:
    """Nothing is started without it, and nothing is left of the attempt; who
    accepts that by name gets a session without Landlock, and none without
    filters."""
    gateway.terminate()
    gateway.prefix = without(CALLS[wall])
    gateway.start()
    done = gateway.run("session", "create", "--json")
    assert done.returncode == 1
    assert wall in done.stderr
    assert gateway.sessions() == []
    gateway.terminate()
    gateway.start("--set", f"profile/python3/accept={wall}")
    if wall == "seccomp":
        done = gateway.run("session", "create", "--json")
        assert done.returncode == 1
        assert "filter: seccomp" in done.stderr
        assert gateway.sessions() == []
        return
    client = gateway.create().client()
    assert client.value("1 + 1") == 2
    client.close()


READ_DATA = """
import os
def attempt(call, *arguments):
    try:
        return call(*arguments)
    except OSError as error:
        return error.strerror
(attempt(lambda: open('/data/deep/table').read()), os.listdir('/data'),
 attempt(open, '/data/deep/table', 'a'), attempt(os.mkdir, '/data/new'),
 attempt(os.listdir, SOURCE), open('/one').read())
"""


def test_shows_data_elsewhere(tmp_path: Path) -> None:
    """Read-only, at the place named, and not at its own."""
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "deep/table").write_text("1,2")
    (tmp_path / "file").write_text("one")
    # Nothing but the mount keeps a session from writing.
    (data / "deep/table").chmod(0o666)
    data.chmod(0o777)
    running = Gateway(
        "--set", "profile/python3/pool/min=0",
        "--set", f"profile/python3/mount={data}:/data,{tmp_path}/file:/one",
    )  # fmt: skip
    try:
        running.start()
        client = running.create().client()
        assert client.value(READ_DATA.replace("SOURCE", repr(str(data)))) == (
            "1,2",
            ["deep"],
            "Read-only file system",
            "Read-only file system",
            "No such file or directory",
            "one",
        )
        client.close()
    finally:
        running.end()


@pytest.mark.parametrize("gateway", [["zygote_forks=2"]], indirect=True)
def test_replaces_a_zygote_that_is_spent(gateway: Gateway) -> None:
    """Two sessions of one zygote have one hash seed, the third another."""
    clients = [gateway.create().client() for _ in range(3)]
    seeds = [client.value("hash('seed')") for client in clients]
    assert seeds[0] == seeds[1]
    assert seeds[2] != seeds[1]
    # The first two have survived their zygote.
    assert [client.value("1+1") for client in clients] == [2, 2, 2]
    for client in clients:
        client.close()


# What a session says of its own process: the hash seed, where a library and
# the stack lie (Debian's interpreter itself is at a fixed place, and of heaps
# one in 8,192 is where another one is), and what the stack guard is made of:
# AT_RANDOM, from the kernel's exec.
LAYOUT = """
import ctypes
lines = open('/proc/self/maps').read().splitlines()
places = {name: next((line.split('-')[0] for line in lines if name in line), '')
          for name in ('libc.so', '[stack]')}
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
random = ctypes.string_at(libc.getauxval(25), 16).hex()
[hash('seed'), *places.values(), random]
"""


@pytest.mark.parametrize("kind", ["fresh", "fresh_pooled"])
def test_has_an_interpreter_of_its_own(
    request: pytest.FixtureRequest, kind: str
) -> None:
    """Two fresh sessions have nothing of their layout in common."""
    gateway = request.getfixturevalue(kind)
    clients = [gateway.create().client() for _ in range(2)]
    layouts = [client.value(LAYOUT) for client in clients]
    for one, other in zip(*layouts):
        assert one != other
    # The walls are the same: the sandbox was verified before it was handed
    # out, and from inside it is no other session.
    for client in clients:
        assert client.value(SECCOMP) == "2"
        assert client.value(FAMILY) == "EAFNOSUPPORT"
        assert client.value("__import__('os').getcwd()") == "/workspace"
        assert client.value("__import__('sys').argv") == [""]
        assert client.value("'json' in __import__('sys').modules") is True
        descriptors = client.value(DESCRIPTORS)
        assert not [text for text in descriptors if text.startswith("/usr")]
        client.close()


@pytest.mark.parametrize("kind", ["plain", "fresh"])
def test_has_heard_that_pid_1_is_out_of_reach(
    request: pytest.FixtureRequest, kind: str
) -> None:
    """Before any code of the session's; where it said so is nothing left."""
    client = request.getfixturevalue(kind).create().client()
    assert client.value(UNREAD) == []
    client.close()


def test_forks_share_a_layout(plain: Gateway) -> None:
    """The counterpart: what `fresh` changes is there to be changed."""
    clients = [plain.create().client() for _ in range(2)]
    layouts = [client.value(LAYOUT) for client in clients]
    assert layouts[0] == layouts[1]
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("gateway", "said"),
    [
        (["without=seccomp"], "accept"),
        (["accept=moat"], 'no wall "moat"'),
        (["accept=user"], "there is no sandbox"),
        (["readonly=/usr,/no/data"], "profile/python3/readonly names /no/data"),
        (["mount=/no/data:/data"], "profile/python3/mount names /no/data"),
    ],
    indirect=["gateway"],
)
def test_refuses_a_hole(gateway: Gateway, said: str) -> None:
    done = gateway.run("session", "create", "--json")
    assert done.returncode != 0
    assert said in done.stderr
