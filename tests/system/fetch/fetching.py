"""Drives the fetch worker over its socket, as a gateway does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from downloading import (
    ENVIRONMENT,
    KINDS,
    LONG,
    PACKAGE,
    ROOT,
    SOON,
    USER,
    Ended,
    Refusal,
    Worker,
    WorkFolder,
    are_gone,
    await_that,
    children,
    digest,
    open_place,
    open_received,
)

__all__ = [
    "ENVIRONMENT",
    "FOLDERS",
    "KINDS",
    "LONG",
    "PACKAGE",
    "ROOT",
    "SOON",
    "USER",
    "Ended",
    "Fetched",
    "Folder",
    "Refusal",
    "Run",
    "are_gone",
    "await_that",
    "children",
    "digest",
    "open_place",
]
FOLDERS = ["entries", "jobs", "lock", "objects", "partial"]


@dataclass
class Fetched:
    """A file as a gateway gets it, read from the descriptor."""

    sha256: str
    size: int
    cached: bool
    encoding: str
    content: bytes
    mode: int


class Run(Worker):
    """One worker that runs."""

    def answer(self, seconds: float = LONG) -> Fetched:
        """Return the file; Refusal for a fault."""
        ok, (number,) = self.reply(seconds)
        mode = os.fstat(number).st_mode & 0o7777
        with open_received(number) as file:
            content = file.read()
        assert digest(content) == ok["sha256"]
        assert len(content) == ok["size"]
        return Fetched(**ok, content=content, mode=mode)


class Folder(WorkFolder):
    """The folder that a gateway makes for fetched files, and a profile."""

    order = "fetch"
    always = tuple(FOLDERS)

    def __init__(self, path: Path, kind: str = "") -> None:
        super().__init__(path, kind)
        self.settings["sha256"] = ""

    def start(self, url: str, **settings: Any) -> Run:
        """Start a worker for that URL."""
        return self.send(self.job(url, **settings))

    def send(self, datagram: bytes) -> Run:
        """Start a worker with this as its job."""
        return Run(*self.spawn(datagram))

    def fetch(self, url: str, **settings: Any) -> Fetched:
        """Run one worker to its end; return what it hands over."""
        return self.start(url, **settings).answer()

    def refuse(self, url: str, **settings: Any) -> Refusal:
        """Return the fault, which leaves nothing that runs or lies about."""
        with pytest.raises(Refusal) as refused:
            self.fetch(url, **settings)
        return self.check_refusal(refused.value)

    def objects(self) -> list[str]:
        return self.names("objects")
