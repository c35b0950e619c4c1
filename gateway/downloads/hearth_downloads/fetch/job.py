"""A job of fetch, as the gateway's first datagram describes it."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_downloads.core.job import BaseJob

ORDERS = ("fetch",)


@dataclass(frozen=True)
class Job(BaseJob):
    """One file to download, and the limits of its profile."""

    url: str = ""
    sha256: str = ""  # which the file has to have; empty: any
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    private: tuple[str, ...] = ()  # networks
    ca_file: str = ""  # empty: the system's certificates
    seconds: float = 7190
    rate: int = 1024  # bytes a second, the least for a time of `silence`
    tries: int = 5  # without progress

    def setting(self, name: str) -> str:
        """Return the name of a setting, as the configuration has it."""
        return f"profile/{self.profile}/fetch/{name}"
