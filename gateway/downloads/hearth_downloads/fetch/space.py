"""One job's folder, of which the sandbox has a part as /workspace.

    jobs/NAME/url       the URL's key: whose partial file it may leave
    jobs/NAME/space/    /workspace (client.py)

Another job's program never has this folder, and at its end the worker ends
all of its own. So a file that is read after that is changed by no program.
"""

from __future__ import annotations

import os
import stat
from typing import Optional

from hearth_downloads.core.faults import Failed
from hearth_downloads.core.folders import (
    NEW,
    Measure,
    Size,
    look_at,
    open_folder,
    open_plain,
    permit,
    read_plain,
)
from hearth_downloads.fetch.about import (
    ABOUT,
    ABOUT_MAX,
    BODY,
    REPORT,
    About,
    parse_about,
    parse_object,
)
from hearth_downloads.fetch.job import Job

SPACE = "space"
KEY = "url"
REPORT_MAX = 32 * 1024
FILES_MAX = 16
SPARE_BYTES = 1 << 20  # besides the file


class Space:
    """The folder of the job that runs."""

    def __init__(self, job: Job, folder: int, path: str, key: str) -> None:
        """Make what is in the folder."""
        self.job = job
        self.path = os.path.join(path, SPACE)
        write_new(KEY, folder, key.encode())
        os.mkdir(SPACE, 0o700, dir_fd=folder)
        self.space = open_folder(SPACE, folder)
        self.job.own(self.space)

    def create(self, name: str) -> int:
        """Make a file for the client; return a descriptor."""
        number = os.open(name, NEW, 0o644, dir_fd=self.space)
        self.job.own(number)
        return number

    def put_about(self, about: About) -> None:
        """Write the facts of a file that was begun before."""
        with open(self.create(ABOUT), "w", encoding="utf-8") as file:
            file.write(about.encode())

    def is_over(self) -> bool:
        """Return true if there is more than one file could need."""
        most = Size(self.job.max_bytes + SPARE_BYTES, FILES_MAX)
        measure = Measure(most)
        measure.add(self.space)
        return measure.is_over

    def size(self) -> int:
        """Return how much of the file is there, as far as it is a file."""
        about = look_at(BODY, self.space)
        if about is None or not stat.S_ISREG(about.st_mode):
            return 0
        return about.st_size

    def read_about(self) -> Optional[About]:
        """Return what the client says of the file; None before it does."""
        return read_about(ABOUT, self.space)

    def read_report(self) -> Optional[bytes]:
        """Return the client's report, None if it has left none."""
        return read_plain(REPORT, self.space, REPORT_MAX)

    def take_back(self) -> None:
        """Let the worker read the folder, whatever its mode."""
        os.fchmod(self.space, 0o700)

    def open_body(self) -> int:
        """Return a descriptor of the file, which no program writes to."""
        number = open_plain(BODY, self.space)
        if number is None:
            raise Failed(
                "the client has left no plain file in its folder: it may have "
                "been taken over by what the server has sent"
            )
        return number


def write_new(name: str, folder: int, content: bytes) -> None:
    """Write a file that is not there yet."""
    number = os.open(name, NEW, 0o600, dir_fd=folder)
    with open(number, "wb") as file:
        file.write(content)


def read_about(name: str, folder: int) -> Optional[About]:
    """Return the facts in a file; None if it has none that can be read."""
    try:
        return parse_about(parse_object(read_plain(name, folder, ABOUT_MAX)))
    except (ValueError, TypeError):
        return None


def open_left(jobs: int, name: str) -> tuple[str, Optional[int]]:
    """Return the key and the open /workspace that a job has left."""
    folder = open_folder(name, jobs)
    try:
        key = read_plain(KEY, folder, 64) or b""
        try:
            permit(SPACE, folder)
            return key.decode("ascii", "replace"), open_folder(SPACE, folder)
        except OSError:
            return "", None
    finally:
        os.close(folder)
