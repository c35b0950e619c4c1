"""Each step of a launch made to fail in turn, in a real gateway.

Whatever fails: who asked for the session gets a sentence and an exit code, no
half-open session is listed, nothing of it is left on the machine, and the
gateway makes the next one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import pytest
from faults import MAPPED_STEPS, STEPS, Step, Turn, name, strace

sys.path.insert(0, str(Path(__file__).parents[1] / "lib"))
sys.path.insert(0, str(Path(__file__).parents[1] / "system"))

from deadline import DEADLINE, wait_for
from harness import Gateway
from leftovers import groups, inside, known
from processes import children, kill

USER = 64995
OPTIONS = [
    *("--set", "profile/python3/pool/max=0"),
    *("--set", "sessions/gone_keep=0"),
    *("--set", "sessions/ready_timeout=5s"),
]


@contextmanager
def running(*options: str, prefix: tuple[str, ...] = ()) -> Iterator[Gateway]:
    if os.geteuid() != 0:
        pytest.skip("only root looks into a zygote that has launched")
    gateway = Gateway(*OPTIONS, *options)
    gateway.prefix = list(prefix)
    try:
        gateway.start()
        # What is opened or made once is there from now on.
        gateway.create().delete()
        yield gateway
    finally:
        gateway.end()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with running("--set", "gateway/zygote_user=gateway") as made:
        yield made


@pytest.fixture(scope="module")
def mapped() -> Iterator[Gateway]:
    """Its zygotes have a user of their own, and a mapper beside them."""
    with running("--set", "gateway/zygote_user=own") as made:
        yield made


def program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def zygote_of(gateway: Gateway) -> int:
    """The warm interpreter that is the gateway's now."""

    def look() -> int:
        profile = gateway.info()["profiles"][0]
        found = [
            pid
            for pid in children(gateway.pid)
            if program(pid).startswith("python")
        ]
        is_ready = profile["state"] == "ready" and len(found) == 1
        return found[0] if is_ready else 0

    return wait_for(look, "a zygote that is ready")


def is_followed(pid: int) -> bool:
    """Whether a tracer that was attached has had the process stop once and go
    on: it waits in a call again, or has ended in that call."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "SZX"


@contextmanager
def failing(
    pid: int, call: str, turn: Turn, what: str, alone: bool = False
) -> Iterator[None]:
    """The nth such call of that process, and of each that it makes; or of its
    first thread alone.

    strace says that it is attached when it has asked for the stop. On a busy
    machine the process could still finish the call that it waits in, and the
    first one that fails would be another's.
    """
    words = [word for word in strace(call, turn, what) if word != "-f"]
    tracer = subprocess.Popen(
        [*words, *([] if alone else ["-f"]), "-p", str(pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        assert f"Process {pid} attached" in line, line
        wait_for(lambda: is_followed(pid), "a process that strace follows")
        yield
    finally:
        tracer.terminate()
        tracer.communicate(timeout=DEADLINE)


class Trace:
    """What a gateway and the machine have of sessions."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        # With the socket of a zygote: a test before this one may have ended it.
        zygote_of(gateway)
        # With what it makes ahead.
        next_one = gateway.runtime / "next/init.sock"
        wait_for(next_one.exists, "what the next session needs")
        gateway.info()
        self.descriptors = self.count_descriptors()
        self.files = self.list_files()

    def count_descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.gateway.pid}/fd"))

    def list_files(self) -> set[str]:
        """List the files of sessions in the runtime folder; one waits there as
        `next`."""
        folder = self.gateway.runtime / "sessions"
        return {path.name for path in folder.glob("*")} - {"next"}

    def list_mounts(self) -> list[str]:
        """Outside of sessions there is none for them."""
        text = Path("/proc/self/mountinfo").read_text()
        folder = str(self.gateway.folder)
        return [line for line in text.splitlines() if folder in line]

    def is_clean(self) -> bool:
        return (
            not inside(self.gateway.state)
            and not groups(known(self.gateway))
            and self.list_files() <= self.files
            and self.count_descriptors() <= self.descriptors
            and not self.list_mounts()
        )

    def what_is_left(self) -> str:
        return repr(
            (
                inside(self.gateway.state),
                groups(known(self.gateway)),
                self.list_files() - self.files,
                self.list_mounts(),
                self.count_descriptors() - self.descriptors,
            )
        )

    def must_be_clean(self) -> None:
        assert self.gateway.sessions() == []
        try:
            wait_for(self.is_clean, "nothing left of it")
        except AssertionError:
            raise AssertionError(self.what_is_left()) from None


def refused(gateway: Gateway, folder: Optional[Path] = None) -> str:
    """The sentence with which no session is made, in a folder or its own."""
    wanted = ["--workspace", str(folder)] if folder else []
    done = gateway.run("session", "create", "--no-start", *wanted)
    if done.returncode == 0:  # which must not disturb the next test
        gateway.run("session", "delete", done.stdout.strip())
    assert done.returncode in (1, 5), done
    assert not done.stdout, done
    (line,) = done.stderr.splitlines()
    assert line.startswith("hearth: "), done
    return line


def must_go_on(gateway: Gateway, pid: int) -> None:
    assert gateway.pid == pid
    zygote_of(gateway)
    session = gateway.create()
    assert session.exec("print(6 * 7)").stdout == "42\n"
    session.delete()
    session.wait_state("gone")


def fail_launch(
    gateway: Gateway, call: str, turn: Turn, what: str, alone: bool = False
) -> str:
    trace, pid = Trace(gateway), gateway.pid
    who = pid if alone else zygote_of(gateway)
    # What the gateway makes ahead it does not make now: for one with a folder
    # of its own there is nothing.
    folder = gateway.folder / "own" if alone else None
    if folder:
        folder.mkdir(exist_ok=True)
    with failing(who, call, turn, what, alone):
        line = refused(gateway, folder)
    trace.must_be_clean()
    must_go_on(gateway, pid)
    return line


@pytest.mark.parametrize("step", STEPS, ids=[name(step) for step in STEPS])
def test_a_step_that_fails(gateway: Gateway, step: Step) -> None:
    call, turn, error, said = step
    assert said in fail_launch(gateway, call, turn, f"error={error}")


@pytest.mark.parametrize("turn", [1, 2])
def test_an_answer_that_cannot_be_sent(gateway: Gateway, turn: int) -> None:
    """Neither can the zygote's own: it ends. If the gateway hears of the step
    first, the launch has failed; else the next zygote makes the session."""
    trace, pid = Trace(gateway), gateway.pid
    ends = gateway.log.read_text().count("zygote gone")
    with failing(zygote_of(gateway), "sendmsg", turn, "error=ENOBUFS"):
        done = gateway.run("session", "create", "--no-start")
    if done.returncode == 0:
        assert gateway.log.read_text().count("zygote gone") == ends + 1
        gateway.run("session", "delete", done.stdout.strip())
        wait_for(lambda: not gateway.sessions(), "the session's end")
    else:
        assert "call: " in done.stderr or "send a datagram" in done.stderr
    trace.must_be_clean()
    must_go_on(gateway, pid)


@pytest.mark.parametrize(
    "step", MAPPED_STEPS, ids=[name(step) for step in MAPPED_STEPS]
)
def test_a_mapped_step_that_fails(mapped: Gateway, step: Step) -> None:
    call, turn, error, said = step
    assert said in fail_launch(mapped, call, turn, f"error={error}")


# Call, the nth one, who makes it and is killed there, and what is said then.
KILLED = [
    ("pivot_root", 1, "builder", "the kernel "),
    ("execveat", 1, "pid 1", "the kernel "),
    ("capset", 1, "pid 1 or payload", "the kernel "),
    ("landlock_restrict_self", 1, "payload", "the kernel "),
    ("epoll_create1", 1, "kernel", "the kernel "),
]


@pytest.mark.parametrize(
    ("call", "turn", "who", "said"),
    KILLED,
    ids=[row[2].replace(" ", "-") for row in KILLED],
)
def test_a_process_that_is_killed(
    gateway: Gateway, call: str, turn: int, who: str, said: str
) -> None:
    line = fail_launch(gateway, call, turn, "signal=SIGKILL")
    # Or its session's thread came when the process had ended.
    assert said in line or "ended while it was made" in line


# Call, the nth one, and what happens there to the zygote itself.
ENDED = [
    ("recvmsg", 1, "error=ENOBUFS"),
    ("clone", 1, "signal=SIGKILL"),
    ("sendmsg", 1, "signal=SIGKILL"),
]


@pytest.mark.parametrize(
    ("call", "turn", "what"), ENDED, ids=[row[0] for row in ENDED]
)
def test_a_zygote_that_ends(
    gateway: Gateway, call: str, turn: int, what: str
) -> None:
    """The launch is asked of the next one."""
    trace, pid = Trace(gateway), gateway.pid
    zygote = zygote_of(gateway)
    ends = gateway.log.read_text().count("zygote gone")
    with failing(zygote, call, turn, what):
        session = gateway.create()
    assert session.exec("print(6 * 7)").stdout == "42\n"
    session.delete()
    session.wait_state("gone")
    trace.must_be_clean()
    assert gateway.log.read_text().count("zygote gone") == ends + 1
    assert zygote_of(gateway) != zygote
    must_go_on(gateway, pid)


def test_a_mapper_that_is_killed(mapped: Gateway) -> None:
    """All launches of its zygote fail with it; the next ones succeed."""
    trace, pid = Trace(mapped), mapped.pid
    zygote = zygote_of(mapped)
    (mapper,) = (
        child
        for above in (pid, zygote)
        for child in children(above)
        if program(child) == "hearth-mapper"
    )
    kill(mapper)
    assert "map" in refused(mapped)
    trace.must_be_clean()
    must_go_on(mapped, pid)


def test_a_link_that_is_closed(gateway: Gateway) -> None:
    """The link never answers there; the kernel runs, and is ended."""
    line = fail_launch(gateway, "accept4", "1+", "error=EBADF")
    assert "ready" in line


# Steps that say that they were done and were not, and how it shows.
SKIPPED = [
    ("seccomp", 1, "differs from its plan: pid 1: Seccomp is 0"),
    (
        "prlimit64",
        4,
        "differs from its plan: pid 1: Max file size is unlimited",
    ),
    ("capset", 1, "capabilities of pid 1"),
    ("setresuid", 1, "sandbox: "),
    ("setresgid", 1, "sandbox: "),
]


@pytest.mark.parametrize(
    ("call", "turn", "said"), SKIPPED, ids=[row[0] for row in SKIPPED]
)
def test_a_step_that_is_left_out(
    gateway: Gateway, call: str, turn: int, said: str
) -> None:
    assert said in fail_launch(gateway, call, turn, "retval=0")


# What the gateway itself does for a launch.
OWN = [
    ("socket", 1, "EMFILE", "Too many open files"),
    ("bind", 1, "EADDRINUSE", "link.sock"),
    ("bind", 2, "EACCES", "init.sock"),
    ("listen", 2, "EADDRINUSE", "init.sock"),
    ("pipe2", 1, "EMFILE", "pipe: Too many open files"),
    ("sendmsg", 1, "ENOBUFS", "send a datagram"),
]


@pytest.mark.parametrize("step", OWN, ids=[name(step) for step in OWN])
def test_a_call_of_the_gateway_that_fails(gateway: Gateway, step: Step) -> None:
    call, turn, error, said = step
    line = fail_launch(gateway, call, turn, f"error={error}", alone=True)
    assert said in line


def test_control_groups_that_cannot_be_written_to() -> None:
    """The real thing: they are read-only from a moment on."""

    def mount(gateway: Gateway, how: str) -> int:
        lines = Path(f"/proc/{gateway.pid}/mountinfo").read_text()
        places = [
            line.split()[4]
            for line in lines.splitlines()
            if line.partition(" - ")[2].startswith("cgroup")
        ]
        for place in places:
            subprocess.run(
                [
                    *("nsenter", "-t", str(gateway.pid), "-m", "mount"),
                    *("-o", f"remount,bind,{how}", place),
                ],
                check=True,
            )
        return len(places)

    prefix = ("unshare", "--mount", "--propagation", "private")
    with running(prefix=prefix) as gateway:
        if gateway.info()["limits"]["by"] == "watchdog":
            pytest.skip("there are no control groups")
        # The one that was deleted takes its groups along.
        wait_for(lambda: not groups(known(gateway)), "no group")
        trace, pid = Trace(gateway), gateway.pid
        assert mount(gateway, "ro")
        try:
            line = refused(gateway)
            assert "Read-only file system" in line
        finally:
            mount(gateway, "rw")
        trace.must_be_clean()
        must_go_on(gateway, pid)


@pytest.fixture
def closed() -> Iterator[Gateway]:
    """An ordinary user's, in a place where no namespace can be made."""
    if os.geteuid() != 0:
        pytest.skip("only root takes namespaces from another user")
    gateway = Gateway(*OPTIONS, user=USER)
    gateway.prefix = [
        "unshare", "--user", "--map-current-user", "--keep-caps",
        "sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && "
        "exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"",
        "sh",
    ]  # fmt: skip
    try:
        yield gateway.start()
    finally:
        gateway.end()


def test_where_no_namespace_can_be_made(closed: Gateway) -> None:
    """The real thing, as some machines are set up."""
    for _ in range(2):
        trace = Trace(closed)
        line = refused(closed)
        assert "max_user_namespaces" in line, line
        trace.must_be_clean()
