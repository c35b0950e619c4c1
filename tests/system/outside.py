"""A gateway and the servers that it may bring packages, files and repositories
from. All servers are the tests' own."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any, Iterator

from deadline import wait_for
from fake_files import FakeFiles
from fake_index import FakeIndex
from git_server import GitServer, Repository
from harness import Gateway, Session
from lfs_server import LfsServer
from packages_gateway import open_place

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
            "--set", "profile/python3/fetch/submodules=yes",
            *options,
        )  # fmt: skip

    def forget(self) -> None:
        """Remove what the gateway keeps of files and repositories.

        A worker that ends may remove some of it at the same time.
        """
        work = self.folder / "fetched" / "work"

        def is_empty() -> bool:
            for path in list(work.iterdir()) if work.exists() else []:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            return not work.exists() or not list(work.iterdir())

        wait_for(is_empty, "an empty folder")

    def end(self) -> None:
        self.gateway.end()
        self.index.close()
        self.files.__exit__()
        self.repositories.__exit__()


@contextlib.contextmanager
def made_outside() -> Iterator[Outside]:
    with open_place() as folder:
        made = Outside(folder)
        try:
            made.gateway.start()
            yield made
        finally:
            made.end()


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


def repositories(session: Session) -> list[dict[str, Any]]:
    """Return those that a notebook lists, without sizes: the history of one
    may have grown, whatever its commit is."""
    listed = own(session)["repositories"]
    return [{k: v for k, v in one.items() if k != "size"} for one in listed]


def make_repository(outside: Outside, name: str) -> tuple[Repository, str]:
    made = outside.repositories.make(name)
    return made, made.commit({"about": "old\n"})


MODULES = '[submodule "sub"]\n\tpath = sub\n\turl = {}\n'
RULE = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
WHOLE = ("--lfs", "--submodules")


class WholeRepository:
    """One with a content of Git LFS and a submodule, both at their old state
    until they move on."""

    def __init__(self, outside: Outside, name: str) -> None:
        self.lfs = LfsServer(outside.repositories)
        self.made = outside.repositories.make(f"{name}.git")
        self.lfs.serve(self.made)
        self.inner, self.inner_old = make_repository(outside, f"{name}-in.git")
        self.old = self._commit(b"content", self.inner_old)

    def _commit(self, content: bytes, inner: str) -> str:
        return self.made.commit(
            {
                ".gitattributes": RULE,
                ".gitmodules": MODULES.format(self.inner.url),
                "net.bin": self.lfs.put(content),
                "sub": ("160000", inner),
            }
        )

    def move_on(self) -> None:
        self._commit(b"another", self.inner.commit({"about": "new\n"}))

    def check_old(self, tree: Path) -> None:
        """Look whether all of it is there, and as it was."""
        assert (tree / "net.bin").read_bytes() == b"content"
        assert git(tree, "rev-parse", "HEAD") == self.old
        assert git(tree / "sub", "rev-parse", "HEAD") == self.inner_old
        assert (tree / "sub" / "about").read_text() == "old\n"
        assert git(tree, "status", "--porcelain") == ""


def bring(
    session: Session, asks: str, url: str, path: str, *options: str
) -> None:
    """Let a cell, or a client, clone a repository."""
    if asks == "cell":
        run(session, f"%clone {url} {path} {' '.join(options)}")
    else:
        words = ("clone", "--json", session.id, url, "--into", path, *options)
        session.gateway.json(*words)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()
