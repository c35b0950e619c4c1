"""A job with packages, as the gateway's first datagram describes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hearth_kernel.packages.names import matches

from hearth_downloads.core.job import BaseJob

OPERATIONS = ("add", "remove", "list", "profile")


@dataclass(frozen=True)
class Job(BaseJob):
    """The task for one session, and its limits."""

    SECTION: ClassVar[str] = "packages"
    names: list[str] = field(default_factory=list)
    # The version and the wheel's SHA-256 (or "") that a name has to have.
    pins: dict[str, list[str]] = field(default_factory=dict)
    repeated: bool = False  # by a replay or a revival: it was done before
    # The session's folder, whose last part is its token; or the one with the
    # packages of profiles, by their keys.
    session: str = ""
    # The packages that all sessions of the profile have; "": there are none.
    preinstalled: str = ""
    index: str = ""
    hosts: tuple[str, ...] = ()
    # Each has `host`, `user` and `password`.
    credentials: tuple[dict[str, str], ...] = field(default=(), repr=False)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    cooldown: int = 0  # seconds
    require_hashes: bool = False  # nothing comes without
    offline: bool = False  # the cache alone is asked
    pth: bool = False  # files that Python runs at its start may come
    shadow: bool = False  # modules that the profile's Python has may come
    max_files: int = 100_000
    # Bounds of what all jobs have added; 0: four times max_bytes, max_files.
    cache_bytes: int = 0
    cache_files: int = 0
    advisories: str = ""  # path of a file with malicious versions; "": none
    uv: str = ""

    @property
    def whose(self) -> str:
        """Return whose packages they are, for sentences."""
        return "profile" if self.order == "profile" else "session"

    @property
    def is_copied(self) -> bool:
        """Return true if its files share none with uv's cache."""
        return self.order == "profile"

    def find_user(self, host: str) -> str:
        """Return USER:PASSWORD for that host, or nothing."""
        for one in self.credentials:
            if one["host"].lower() == host.lower():
                return f"{one['user']}:{one['password']}"
        return ""

    def hide(self, text: str) -> str:
        """Return a text from outside without passwords, which it may repeat.

        A password in the request stays: hiding it would say that it is one.
        """
        for one in self.credentials:
            if not any(one["password"] in name for name in self.names):
                text = text.replace(one["password"], "***")
        return text

    def permits(self, name: str) -> bool:
        """Return true if the lists of profile and session permit it."""
        lists = ((self.allow, self.deny), (self.own_allow, self.own_deny))
        return not any(
            matches(name, deny) or (allow and not matches(name, allow))
            for allow, deny in lists
        )
