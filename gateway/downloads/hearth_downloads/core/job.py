"""A job, as the gateway's first datagram describes it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from typing import Any, Optional, TypeVar

from hearth_downloads.core.faults import Failed


@dataclass(frozen=True)
class BaseJob:
    """Members that jobs of all kinds have: an order, a place and limits."""

    order: str = ""
    work: str = ""  # the worker's folder, with /workspace of its sandbox
    profile: str = ""
    max_bytes: int = 1 << 30
    accept: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    mapper: Optional[int] = None  # a descriptor
    uid: int = 0  # the host's user of the sandbox
    gid: int = 0
    seconds: float = 590  # for the whole job
    silence: float = 60  # for how long a server may send nothing

    def check_user(self) -> None:
        """Refuse a user of the sandbox that this worker cannot give it."""
        if os.geteuid() != 0 and self.uid != os.geteuid():
            raise Failed(
                f"the sandbox is to have the user {self.uid}, and the worker "
                f"has {os.geteuid()}: only root can give it another one"
            )

    def own(self, number: int) -> None:
        """Give a file to the sandbox's user, which only root has to."""
        if os.geteuid() == 0:
            os.fchown(number, self.uid, self.gid)


Kind = TypeVar("Kind", bound=BaseJob)


def parse(kind: type[Kind], datagram: bytes, orders: tuple[str, ...]) -> Kind:
    """Return a job of that kind. Members that are not known are left alone."""
    try:
        found: dict[str, Any] = json.loads(datagram)
        known = {
            field.name: found[field.name]
            for field in fields(kind)
            if field.name in found
        }
        for name, value in known.items():
            if isinstance(getattr(kind, name, None), tuple):
                known[name] = tuple(value or ())
        job = kind(**known)
    except (ValueError, TypeError, AttributeError) as error:
        raise Failed(f"the gateway's job cannot be read: {error}") from None
    if job.order not in orders:
        raise Failed(f"the gateway's job has the unknown order {job.order!r}")
    return job
