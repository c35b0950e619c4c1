"""A job of fetch, as the gateway's first datagram describes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import ClassVar

from hearth_downloads.core.job import BaseJob

OPERATIONS = ("fetch",)
CACHE_FACTOR = 4  # times max_bytes, for all files together


@dataclass(frozen=True)
class Job(BaseJob):
    """One file to download, and the limits of its profile and session."""

    SECTION: ClassVar[str] = "fetch"
    url: str = ""
    sha256: str = ""  # which the file has to have; empty: any
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    private: tuple[str, ...] = ()  # networks
    cache_bytes: int = 0  # of all files; 0: CACHE_FACTOR times max_bytes
    ca_file: str = ""  # empty: the system's certificates
    seconds: float = 7190
    rate: int = 1024  # bytes a second, the least for a time of `silence`
    tries: int = 5  # without progress

    @property
    def cache_most(self) -> int:
        """Return how many bytes all files together may have."""
        return self.cache_bytes or CACHE_FACTOR * self.max_bytes

    @property
    def lists(self) -> str:
        """Return a text that only jobs with the same lists share."""
        lists = [self.allow, self.deny, self.private]
        if self.own_allow or self.own_deny:
            lists += [self.own_allow, self.own_deny]
        return hashlib.sha256(json.dumps(lists).encode()).hexdigest()
