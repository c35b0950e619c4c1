"""Drives the packages worker over its socket, as a gateway does."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Optional

import downloading
import pytest
from downloading import (
    KINDS,
    LONG,
    PACKAGE,
    ROOT,
    USER,
    Ended,
    Refusal,
    Starter,
    Worker,
)

__all__ = ["KINDS", "LONG", "PACKAGE", "ROOT", "USER", "Ended", "Refusal"]

# In `work`.
ALWAYS = ["digests", "lock", "profile-wheels", "unpacked.json", "uv"]


class Run(Worker):
    """One worker of packages that runs."""

    def answer(self, seconds: float = LONG) -> dict[str, Any]:
        """Return the members of `ok`; Refusal for a fault."""
        answer, numbers = self.reply(seconds)
        assert not numbers
        return answer


class Folder(Starter):
    """The folder of packages that a gateway makes, and its settings."""

    order = "packages"

    def __init__(self, path: Path, kind: str = "") -> None:
        super().__init__(kind)
        self.path = path
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
            **self.user(),
            **settings,
        }
        if index is not None:
            job["index"] = index
        return self.send(json.dumps(job).encode())

    def send(self, datagram: bytes) -> Run:
        """Start a worker with this as its job."""
        return Run(*self.spawn(datagram))

    def do(self, order: str, *names: str, **settings: Any) -> dict[str, Any]:
        """Run one worker to its end; return its answer."""
        return self.start(order, *names, **settings).answer()


def open_place() -> AbstractContextManager[Path]:
    return downloading.open_place("hearth-packages-")


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
