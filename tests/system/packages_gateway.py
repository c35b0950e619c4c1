"""Gateways with an index: one whose packages worker is fake_packages_worker.py,
and one with uv."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from deadline import wait_for
from harness import HEARTH, Gateway, Session, started
from notes import read_notes
from processes import start_time

WORKER = Path(__file__).with_name("fake_packages_worker.py")
PACKAGES = "profile/python3/packages"
KEY = f"{PACKAGES}/index"


class Packaged(Gateway):
    def __init__(self, *options: str) -> None:
        super().__init__()
        self.packages = self.folder / "p"
        self.work = self.packages / "work"
        self.options += [
            "--set",
            f"packages/dir={self.packages}",
            "--set",
            f"{KEY}=http://127.0.0.1:9/simple/",
            *options,
        ]
        self.place_worker()

    def place_worker(self) -> None:
        """The program finds its Python packages beside itself."""
        here = self.folder / "bin"
        python = here / "python"
        downloads = python / "hearth_downloads"
        (downloads / "packages").mkdir(parents=True)
        for path in (self.folder, here, python, downloads):
            os.chmod(path, 0o755)
        os.chmod(downloads / "packages", 0o755)
        real = Path(HEARTH).resolve()
        shutil.copy2(real, here / "hearth")
        os.symlink(
            real.parent / "python" / "hearth_kernel", python / "hearth_kernel"
        )
        (downloads / "__init__.py").touch()
        (downloads / "packages" / "__init__.py").touch()
        shutil.copy(WORKER, downloads / "packages" / "worker.py")
        self.command = (str(here / "hearth"), "serve")

    def notes(self) -> list[dict[str, Any]]:
        """Return the notes of workers, in the order in which they were made."""
        return read_notes(self.work / "log")

    def order(self) -> list[tuple[str, str]]:
        return [
            (note["what"], ",".join(note["job"]["names"]))
            for note in self.notes()
        ]

    def wait_note(self, what: str, name: str) -> dict[str, Any]:
        def look() -> Any:
            return next(
                (
                    note
                    for note in self.notes()
                    if note["what"] == what and name in note["job"]["names"]
                ),
                None,
            )

        found: dict[str, Any] = wait_for(look, f"{name} {what}")
        return found

    def let(self, name: str) -> None:
        """A slow job of that name goes on."""
        (self.work / name).touch()

    def wait_ended(self, pid: int) -> None:
        wait_for(lambda: start_time(pid) is None, f"the end of {pid}")


@contextmanager
def open_place() -> Iterator[Path]:
    """Make a folder for packages, which users of sessions reach by its path."""
    made = Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    made.chmod(0o711)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def gateway_with_uv(index: str, **rules: str) -> Iterator[Gateway]:
    """Run one with that index, and rules of its profile, as deny="NAME"."""
    with open_place() as place:
        made = Gateway(
            "--set", f"{KEY}={index}",
            "--set", f"packages/dir={place / 'packages'}",
        )  # fmt: skip
        for name, value in rules.items():
            made.options += ["--set", f"{PACKAGES}/{name}={value}"]
        with started(made):
            yield made


def printed(session: Session, code: str) -> str:
    done = session.exec(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
