"""A gateway and the servers that it may bring packages, files and repositories
from. All servers are the tests' own."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator

from fake_files import FakeFiles
from fake_index import FakeIndex
from git_server import GitServer, Repository
from harness import Gateway, Session

OLD, NEW = b"a,b\n1,2\n", b"a,b\n3,4\n"


class Outside:
    """The servers, and a gateway that may ask them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = FakeIndex()
        self.files = FakeFiles()
        (folder / "git").mkdir()
        self.repositories = GitServer(folder / "git")
        self.gateway = self.make_gateway()

    def make_gateway(self, *options: str) -> Gateway:
        place = self.repositories.url("").split("/")[2]
        return Gateway(
            "--set", f"profile/python3/packages/index={self.index.url}",
            "--set", f"packages/dir={self.folder / 'packages'}",
            "--set", f"fetch/dir={self.folder / 'fetched'}",
            "--set",
            f"profile/python3/fetch/allow={self.files.place}, {place}",
            "--set", "profile/python3/fetch/private=127.0.0.0/8",
            *options,
        )  # fmt: skip

    def forget(self) -> None:
        """Remove what the gateway keeps of files and repositories."""
        work = self.folder / "fetched" / "work"
        for path in list(work.iterdir()) if work.exists() else []:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def end(self) -> None:
        self.gateway.end()
        self.index.close()
        self.files.__exit__()
        self.repositories.__exit__()


@contextlib.contextmanager
def made_outside() -> Iterator[Outside]:
    folder = Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    folder.chmod(0o711)
    made = Outside(folder)
    try:
        made.gateway.start()
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)


def run(session: Session, code: str) -> str:
    done = session.exec(code)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def add(session: Session, *names: str) -> None:
    session.gateway.json("packages", "add", "--json", session.id, *names)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def own(session: Session) -> dict[str, Any]:
    metadata: dict[str, Any] = session.notebook()["metadata"]["hearth"]
    return metadata


def make_repository(outside: Outside, name: str) -> tuple[Repository, str]:
    made = outside.repositories.make(name)
    return made, made.commit({"about": "old\n"})


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()
