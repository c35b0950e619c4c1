"""Drives the fetch worker over its socket, as a gateway does."""

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
from typing import Any, Callable, Iterator

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = os.environ.get("HEARTH_PYTHON_PATH") or os.environ.get(
    "HEARTH_PYTHON_DIR", str(ROOT / "build" / "python")
)
LONG = 120
SOON = 20  # well below the time of a pid 1 without a gateway
KINDS = ["mapper", "root", "user"] if os.geteuid() == 0 else ["user"]
USER = 64320  # the zygotes', where the tests run as root
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",
}
FOLDERS = ["entries", "jobs", "lock", "objects", "partial"]


class Refusal(Exception):
    """The worker's fault, with its name."""

    def __init__(self, fault: dict[str, str]) -> None:
        super().__init__(f"{fault['ename']}: {fault['text']}")
        self.ename = fault["ename"]
        self.text = fault["text"]


class Ended(Exception):
    """The worker has ended without an answer."""


@dataclass
class Fetched:
    """A file as a gateway gets it, read from the descriptor."""

    sha256: str
    size: int
    cached: bool
    encoding: str
    content: bytes
    mode: int


@dataclass
class Run:
    """One worker that runs."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    progress: list[Any] = field(default_factory=list)

    def answer(self, seconds: float = LONG) -> Fetched:
        """Return the file; Refusal for a fault."""
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
            return self.read(message["ok"], numbers)
        finally:
            self.close()

    def read(self, ok: dict[str, Any], numbers: list[int]) -> Fetched:
        """Check the descriptor as a gateway has to, and read the file."""
        (number,) = numbers
        about = os.fstat(number)
        assert stat.S_ISREG(about.st_mode)
        assert os.get_blocking(number)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(number, b"x")
        with open(number, "rb") as file:
            content = file.read()
        assert hashlib.sha256(content).hexdigest() == ok["sha256"]
        assert len(content) == ok["size"]
        return Fetched(**ok, content=content, mode=about.st_mode & 0o7777)

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


class Folder:
    """The folder that a gateway makes for fetched files, and a profile.

    `kind` is how the worker runs: "root", "mapper" (as another user by
    hearth-mapper, as zygotes do) or "user" (an ordinary user without it).
    """

    def __init__(self, path: Path, kind: str = "") -> None:
        self.path = path
        self.work = path / "work"
        self.kind = kind or ("mapper" if os.geteuid() == 0 else "user")
        self.hook = ""  # Python that the worker runs before it begins
        self.settings: dict[str, Any] = {
            "profile": "python3",
            "sha256": "",
            "allow": [],
            "deny": [],
            "private": [],
            "max_bytes": 64 << 20,
            "ca_file": "",
            "accept": [],
            "without": [],
        }
        path.mkdir(exist_ok=True)
        path.chmod(0o711)
        self.work.mkdir(mode=0o700)
        if os.geteuid() == 0 and self.kind != "root":
            os.chown(self.work, USER, USER)

    def start(self, url: str, **settings: Any) -> Run:
        """Start a worker for that URL."""
        job = {
            **self.settings,
            "order": "fetch",
            "url": url,
            "work": str(self.work),
            **self._user(),
            **settings,
        }
        return self.send(json.dumps(job).encode())

    def send(self, datagram: bytes) -> Run:
        """Start a worker with this as its job."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.send(datagram)
        with theirs:
            return Run(self._spawn(theirs), mine)

    def _user(self) -> dict[str, int]:
        if os.geteuid() != 0:
            return {"uid": os.geteuid(), "gid": os.getegid()}
        user = {"uid": USER, "gid": USER}
        return {**user, "mapper": 4} if self.kind == "mapper" else user

    def _spawn(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        start = (
            f"import sys; sys.path.insert(0, {PACKAGE!r})\n"
            f"{self.hook}\n"
            "from hearth_downloads.fetch.worker import main; main()"
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

    def fetch(self, url: str, **settings: Any) -> Fetched:
        """Run one worker to its end; return what it hands over."""
        return self.start(url, **settings).answer()

    def refuse(self, url: str, **settings: Any) -> Refusal:
        """Return the fault, which leaves nothing that runs or lies about."""
        with pytest.raises(Refusal) as refused:
            self.fetch(url, **settings)
        text = refused.value.text
        assert text.isprintable()
        assert len(text) <= 1000
        if self.work.is_dir() and os.listdir(self.work):
            assert sorted(os.listdir(self.work)) == FOLDERS
            assert self.names("jobs") == []
        return refused.value

    def names(self, name: str) -> list[str]:
        """Return what is in one of the folders."""
        return sorted(os.listdir(self.work / name))

    def objects(self) -> list[str]:
        return self.names("objects")


@contextmanager
def open_place() -> Iterator[Path]:
    """Make a folder that other users can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="hearth-fetch-"))
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
