"""A job, as the gateway's first datagram describes it."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, Optional

from hearth_packages.faults import Failed
from hearth_packages.requirement import matches

ORDERS = ("add", "remove", "list")


@dataclass(frozen=True)
class Job:
    """The order for one session, and its limits."""

    order: str
    names: list[str]
    session: str  # the session's folder, whose last part is its token
    work: str  # the folder that has /workspace of uv's sandbox
    profile: str = ""
    index: str = ""
    hosts: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    cooldown: int = 0  # seconds
    max_bytes: int = 1 << 30
    max_files: int = 100_000
    uv: str = ""
    accept: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    mapper: Optional[int] = None  # a descriptor
    uid: int = 0  # the host's user of uv's sandbox
    gid: int = 0
    seconds: float = 590  # for the whole job
    silence: float = 60  # for how long a server may send nothing

    def setting(self, name: str) -> str:
        """Return the name of a setting, as the configuration has it."""
        return f"profile/{self.profile}/packages/{name}"

    def permits(self, name: str) -> bool:
        """Return true if the operator's lists permit that package."""
        return not matches(name, self.deny) and (
            not self.allow or matches(name, self.allow)
        )


def parse(datagram: bytes) -> Job:
    """Return the job. Members that are not known are left alone."""
    try:
        found: dict[str, Any] = json.loads(datagram)
        known = {
            field.name: found[field.name]
            for field in fields(Job)
            if field.name in found
        }
        for name in ("hosts", "allow", "deny", "accept", "without"):
            known[name] = tuple(known.get(name) or ())
        job = Job(**known)
    except (ValueError, TypeError, AttributeError) as error:
        raise Failed(f"the gateway's job cannot be read: {error}") from None
    if job.order not in ORDERS:
        raise Failed(f"the gateway's job has the unknown order {job.order!r}")
    return job
