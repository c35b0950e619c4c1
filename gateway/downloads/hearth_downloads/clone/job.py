"""A job of clone, as the gateway's first datagram describes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from hearth_downloads.fetch import job as fetch

OPERATIONS = ("clone",)


@dataclass(frozen=True)
class Job(fetch.Job):
    """One repository to copy; lists and limits are those of files."""

    ref: str = ""  # branch, tag or commit hash; empty: the server's HEAD
    branch: str = ""  # that a commit is checked out as; empty: none
    depth: int = 0  # commits of history; 0: all
    lfs: bool = False  # the contents of Git LFS come, too
    submodules: bool = False  # they come, too
    spent_bytes: int = 0  # of max_bytes, by other repositories of the job
    spent_files: int = 0
    max_files: int = 500_000  # files, folders and links of all of them
    room: int = -1  # bytes that the workspace takes; -1: it has no limit
    rate: int = 2  # a server that counts its objects sends little

    @property
    def bytes_left(self) -> int:
        """Return how many bytes this repository may have."""
        return max(0, self.max_bytes - self.spent_bytes)

    def key(self, url: str) -> str:
        """Return the name of the mirror in the cache.

        Jobs with other lists have another mirror. So all that is in one has
        come as this job's lists permit.
        """
        shallow = [self.ref, self.depth] if self.depth else []
        known = json.dumps([url, self.lists, shallow])
        return hashlib.sha256(known.encode()).hexdigest()
