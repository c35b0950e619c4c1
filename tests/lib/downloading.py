"""Drives a worker of downloads over its socket, as a gateway does."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Callable, Iterator

import pytest
from depth import deep

ROOT = Path(__file__).parents[2]
PACKAGE = os.environ.get("HEARTH_PYTHON_PATH") or os.environ.get(
    "HEARTH_PYTHON_DIR", str(ROOT / "build" / "python")
)
LONG = 120
SOON = 20  # well below the time of a pid 1 without a gateway
# The only authority that workers trust; it signs nothing. They would read the
# 140 of a machine at each start, which takes a fifth of their time.
AUTHORITY = Path(__file__).with_name("authority.pem")
KINDS = (
    ["mapper", deep("root"), deep("user")] if os.geteuid() == 0 else ["user"]
)
USER = 64320  # the zygotes', where the tests run as root
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",
}


class Refusal(Exception):
    """The worker's fault, with its name."""

    def __init__(self, fault: dict[str, str]) -> None:
        super().__init__(f"{fault['ename']}: {fault['text']}")
        self.ename = fault["ename"]
        self.text = fault["text"]
        self.rule = fault.get("rule", "")  # by which it was refused


class Ended(Exception):
    """The worker has ended without an answer."""


@dataclass
class Worker:
    """One worker that runs."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    progress: list[Any] = field(default_factory=list)

    def reply(self, seconds: float = LONG) -> tuple[dict[str, Any], list[int]]:
        """Return the answer and its descriptors; Refusal for a fault."""
        self.link.settimeout(seconds)
        try:
            while True:
                text, numbers, flags, _ = socket.recv_fds(
                    self.link, 64 * 1024, 8
                )
                if not text:
                    raise Ended
                assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
                message = json.loads(text)
                if "progress" not in message:
                    break
                assert not numbers
                self.progress.append(message["progress"])
            if "fault" in message:
                assert not numbers
                raise Refusal(message["fault"])
            return message["ok"], numbers
        finally:
            self.close()

    def await_progress(self) -> Any:
        """Return the next progress."""
        self.link.settimeout(LONG)
        found = json.loads(self.link.recv(64 * 1024))
        assert "progress" in found, found
        return found["progress"]

    def close(self) -> None:
        """Close the gateway's end and wait for the worker's."""
        self.link.close()
        self.process.wait(LONG)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()


def open_received(number: int) -> BinaryIO:
    """Check a descriptor as a gateway has to, and open the file."""
    about = os.fstat(number)
    assert stat.S_ISREG(about.st_mode)
    assert os.get_blocking(number)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(number, b"x")
    return open(number, "rb")


class Starter:
    """Starts workers of one order.

    `kind` is how they run: "root", "mapper" (as another user by hearth-mapper,
    as zygotes do) or "user" (an ordinary user without it).
    """

    order = ""

    def __init__(self, kind: str = "") -> None:
        self.kind = kind or ("mapper" if os.geteuid() == 0 else "user")
        self.hook = ""  # Python that the worker runs before it begins

    def user(self) -> dict[str, int]:
        """Return the members of a job that name its user."""
        if os.geteuid() != 0:
            return {"uid": os.geteuid(), "gid": os.getegid()}
        user = {"uid": USER, "gid": USER}
        return {**user, "mapper": 4} if self.kind == "mapper" else user

    def spawn(self, datagram: bytes) -> tuple[Any, socket.socket]:
        """Start a worker with this as its job; return it and the socket."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if len(datagram) <= 64 * 1024:
            mine.send(datagram)
        else:
            number = os.memfd_create("job")
            os.write(number, datagram)
            socket.send_fds(mine, [b"{}"], [number])
            os.close(number)
        with theirs:
            return self._spawn(theirs), mine

    def _spawn(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        start = (
            f"import sys; sys.path.insert(0, {PACKAGE!r})\n"
            f"{self.hook}\n"
            f"from hearth_downloads.{self.order}.worker import main; main()"
        )
        arguments = [sys.executable, "-I", "-c", start]
        if self.kind == "mapper":
            mapper = f"{PACKAGE}/hearth_kernel/hearth-mapper"
            # A range without the user: its sandbox has the worker's.
            user = [str(USER), str(USER), str(USER + 1), "1"]
            arguments = [mapper, *user, *arguments]
        number = theirs.fileno()
        if number == 3:
            number = os.dup(number)

        def place() -> None:
            os.dup2(number, 3)
            if os.geteuid() == 0 and self.kind == "user":
                os.setgroups([])
                os.setresgid(USER, USER, USER)
                os.setresuid(USER, USER, USER)

        return subprocess.Popen(
            arguments,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            preexec_fn=place,  # noqa: PLW1509
            pass_fds=[3],
        )


class WorkFolder(Starter):
    """The folder that a gateway makes for files from outside, and a profile."""

    always: tuple[str, ...] = ()  # what is in `work` after each job

    def __init__(self, path: Path, kind: str = "") -> None:
        super().__init__(kind)
        self.path = path
        self.work = path / "work"
        self.settings: dict[str, Any] = {
            "profile": "python3",
            "allow": [],
            "deny": [],
            "private": [],
            "max_bytes": 64 << 20,
            "ca_file": str(AUTHORITY),
            "accept": [],
            "without": [],
        }
        path.mkdir(exist_ok=True)
        path.chmod(0o711)
        self.work.mkdir(mode=0o700)
        if os.geteuid() == 0 and self.kind != "root":
            os.chown(self.work, USER, USER)

    def job(self, url: str, **settings: Any) -> bytes:
        """Return the datagram of a job for that URL."""
        job = {
            **self.settings,
            "order": self.order,
            "url": url,
            "work": str(self.work),
            **self.user(),
            **settings,
        }
        return json.dumps(job).encode()

    def check_refusal(self, fault: Refusal) -> Refusal:
        """Return the fault, which leaves nothing that runs or lies about."""
        assert fault.text.isprintable()
        assert len(fault.text) <= 1000
        if self.work.is_dir() and os.listdir(self.work):
            assert tuple(sorted(os.listdir(self.work))) == self.always
            assert self.names("jobs") == []
        return fault

    def names(self, name: str) -> list[str]:
        """Return what is in one of the folders."""
        return sorted(os.listdir(self.work / name))


@contextmanager
def open_place(prefix: str = "hearth-fetch-") -> Iterator[Path]:
    """Make a folder that other users can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def await_that(
    true: Callable[[], bool], what: str, seconds: float = LONG
) -> None:
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, what
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Return the processes below that one."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(name), *children(int(name))]
    return found


def are_gone(pids: list[int]) -> bool:
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)
