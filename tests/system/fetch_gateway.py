"""A gateway whose workers for files and repositories from outside are
fake_fetch_worker.py."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from deadline import wait_for
from fake_fetch_worker import AWAY, COMMIT, PLAIN, README, REPOSITORY
from harness import HEARTH, Gateway
from notes import read_notes
from processes import start_time

__all__ = [
    "ALLOW",
    "AWAY",
    "COMMIT",
    "HOST",
    "PLAIN",
    "README",
    "REPOSITORY",
    "Fetching",
]

WORKER = Path(__file__).with_name("fake_fetch_worker.py")
ALLOW = "profile/python3/fetch/allow"
HOST = "https://data.example"


class Fetching(Gateway):
    def __init__(self, *options: str) -> None:
        super().__init__()
        self.noted = self.folder / "n"
        self.options += [
            "--set",
            f"fetch/dir={self.folder / 'f'}",
            "--set",
            f"{ALLOW}=data.example",
            *options,
        ]
        self.place_workers()

    def place_workers(self) -> None:
        """The program finds its Python packages beside itself."""
        here = self.folder / "bin"
        python = here / "python"
        downloads = python / "hearth_downloads"
        workers = [downloads / kind for kind in ("fetch", "clone")]
        for worker in workers:
            worker.mkdir(parents=True)
        for path in (self.folder, here, python, downloads, *workers):
            os.chmod(path, 0o755)
        real = Path(HEARTH).resolve()
        shutil.copy2(real, here / "hearth")
        os.symlink(
            real.parent / "python" / "hearth_kernel", python / "hearth_kernel"
        )
        for package in (downloads, *workers):
            (package / "__init__.py").touch()
        for worker in workers:
            shutil.copy(WORKER, worker / "worker.py")
        self.command = (str(here / "hearth"), "serve")
        # The worker may be another user.
        self.noted.mkdir()
        os.chmod(self.noted, 0o777)

    def notes(self) -> list[dict[str, Any]]:
        """Return the notes of workers, in the order in which they were made."""
        return read_notes(self.noted / "log")

    def order(self, what: str) -> list[str]:
        return [note["name"] for note in self.notes() if note["what"] == what]

    def wait_note(self, what: str, name: str) -> dict[str, Any]:
        def look() -> Any:
            return next(
                (
                    note
                    for note in self.notes()
                    if note["what"] == what and note["name"] == name
                ),
                None,
            )

        found: dict[str, Any] = wait_for(look, f"{name} {what}")
        return found

    def let(self, name: str) -> None:
        """A slow fetch of that name goes on."""
        (self.noted / name).touch()

    def wait_ended(self, pid: int) -> None:
        wait_for(lambda: start_time(pid) is None, f"the end of {pid}")
