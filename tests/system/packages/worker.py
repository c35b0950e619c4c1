"""Drives the packages worker over its socket, as a gateway does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
from depth import deep

ROOT = Path(__file__).parents[3]
PACKAGE = os.environ.get("HEARTH_PYTHON_PATH") or os.environ.get(
    "HEARTH_PYTHON_DIR", str(ROOT / "build" / "python")
)
LONG = 120
KINDS = (
    ["mapper", deep("root"), deep("user")] if os.geteuid() == 0 else ["user"]
)
# In `work`.
ALWAYS = ["digests", "lock", "profile-wheels", "unpacked.json", "uv"]
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


class Ended(Exception):
    """The worker has ended without an answer."""


@dataclass
class Run:
    """One worker that runs."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    progress: list[str] = field(default_factory=list)

    def answer(self, seconds: float = LONG) -> dict[str, Any]:
        """Return the members of `ok`; Refusal for a fault."""
        self.link.settimeout(seconds)
        try:
            while True:
                datagram = self.link.recv(64 * 1024)
                if not datagram:
                    raise Ended
                message = json.loads(datagram)
                if "progress" not in message:
                    break
                self.progress.append(message["progress"])
        finally:
            self.close()
        if "fault" in message:
            raise Refusal(message["fault"])
        answer: dict[str, Any] = message["ok"]
        return answer

    def await_progress(self) -> str:
        """Return the next sentence of progress."""
        self.link.settimeout(LONG)
        text: str = json.loads(self.link.recv(64 * 1024))["progress"]
        return text

    def close(self) -> None:
        """Close the gateway's end and wait for the worker's."""
        self.link.close()
        self.process.wait(LONG)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()


class Folder:
    """The folder of packages that a gateway makes, and its settings.

    `kind` is how the worker runs: "root", "mapper" (as another user by
    hearth-mapper, as zygotes do) or "user" (an ordinary user without it).
    """

    def __init__(self, path: Path, kind: str = "") -> None:
        self.path = path
        self.hook = ""  # Python that the worker runs before it begins
        self.kind = kind or ("mapper" if os.geteuid() == 0 else "user")
        self.settings: dict[str, Any] = {
            "profile": "python3",
            "hosts": ["files.example"],
            "allow": [],
            "deny": [],
            "cooldown": 7 * 86400,
            "max_bytes": 1 << 30,
            "max_files": 100_000,
            "uv": "",
            "accept": [],
            "without": [],
        }
        path.mkdir(exist_ok=True)
        path.chmod(0o711)
        for name, mode in (("work", 0o700), ("sessions", 0o311)):
            folder = path / name
            folder.mkdir()
            folder.chmod(mode)
            if os.geteuid() == 0 and self.kind != "root":
                os.chown(folder, USER, USER)

    def session(self, token: str = "0" * 32) -> Path:
        return self.path / "sessions" / token

    def profiles(self) -> Path:
        """Return the folder of all profiles, as the gateway makes it."""
        path = self.path / "profiles"
        if not path.exists():
            path.mkdir(mode=0o755)
            about = (self.path / "sessions").stat()
            os.chown(path, about.st_uid, about.st_gid)
        return path

    def current(self, token: str = "0" * 32) -> list[str]:
        """Return what a session can import."""
        return sorted(os.listdir(self.session(token) / "current"))

    def read(self, name: str, token: str = "0" * 32) -> str:
        return (self.session(token) / "current" / name).read_text()

    def start(
        self,
        order: str,
        *names: str,
        index: Optional[str] = None,
        token: str = "0" * 32,
        **settings: Any,
    ) -> Run:
        """Start a worker with this order."""
        job = {
            **self.settings,
            "order": order,
            "names": list(names),
            "session": str(self.session(token)),
            "work": str(self.path / "work"),
            **self._user(),
            **settings,
        }
        if index is not None:
            job["index"] = index
        return self.send(json.dumps(job).encode())

    def send(self, datagram: bytes) -> Run:
        """Start a worker with this as its job."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if len(datagram) <= 64 * 1024:
            mine.send(datagram)
        else:
            number = os.memfd_create("job")
            os.write(number, datagram)
            socket.send_fds(mine, [b"{}"], [number])
            os.close(number)
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
            "from hearth_downloads.packages.worker import main; main()"
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

    def do(self, order: str, *names: str, **settings: Any) -> dict[str, Any]:
        """Run one worker to its end; return its answer."""
        return self.start(order, *names, **settings).answer()


@contextmanager
def open_place() -> Iterator[Path]:
    """Make a folder that other users can enter, unlike pytest's."""
    path = Path(tempfile.mkdtemp(prefix="hearth-packages-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def refuse(folder: Folder, *names: str, **settings: Any) -> Refusal:
    """Return the refusal; the session has what it had before."""
    before = see_all(folder.session())
    with pytest.raises(Refusal) as refused:
        folder.do("add", *names, **settings)
    assert see_all(folder.session()) == before
    assert refused.value.text.isprintable()
    assert len(refused.value.text) <= 1000
    return refused.value


def refuse_by_rule(folder: Folder, why: str) -> None:
    """A rule refuses the package a; the sentence has that reason."""
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert why in refusal.text


def see_all(folder: Path) -> list[tuple[str, int, int, int]]:
    """Return what is in the folder: each path, whose and which file it is."""
    paths = [folder, *folder.rglob("*")] if folder.exists() else []
    abouts = [(str(path), path.lstat()) for path in paths]
    return sorted(
        (path, about.st_mode, about.st_uid, about.st_ino)
        for path, about in abouts
    )


def size(folder: Path) -> int:
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except FileNotFoundError:
                pass
    return total


def names(answer: dict[str, Any]) -> dict[str, str]:
    """Return the packages of an answer, and their versions."""
    return {one["name"]: one["version"] for one in answer["packages"]}
