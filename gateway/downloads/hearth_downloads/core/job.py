"""A job, as the gateway's first datagram describes it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Optional, TypeVar

from hearth_downloads.core.faults import Failed, clean

RULE_MAX = 300  # characters of a rule in a sentence


@dataclass(frozen=True)
class BaseJob:
    """Members that jobs of all kinds have: an operation, a place and limits."""

    SECTION: ClassVar[str] = ""  # of the profile, that has the settings
    order: str = ""
    work: str = ""  # the worker's folder, with /workspace of its sandbox
    profile: str = ""
    max_bytes: int = 1 << 30
    accept: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    # Rules of the session's own: lists that count besides those of the profile,
    # and the text of each number and switch.
    own_allow: tuple[str, ...] = ()
    own_deny: tuple[str, ...] = ()
    own_texts: dict[str, str] = field(default_factory=dict)
    mapper: Optional[int] = None  # a descriptor
    uid: int = 0  # the host's user of the sandbox
    gid: int = 0
    seconds: float = 590  # for the whole job
    silence: float = 60  # for how long a server may send nothing

    def setting(self, name: str) -> str:
        """Return the name of a setting that counts, for a sentence."""
        if name in self.own_texts:
            return f"this session's own {self.SECTION}/{name}"
        return f"profile/{self.profile}/{self.SECTION}/{name}"

    def own_rule(self, name: str) -> str:
        """Return that the session was created with a rule of its own."""
        lists = {"allow": self.own_allow, "deny": self.own_deny}
        text = self.own_texts.get(name) or ", ".join(lists.get(name, ()))
        return (
            f"this session was created with {self.SECTION}/{name} = "
            f"{clean(text, RULE_MAX)}"
        )

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


def parse(
    kind: type[Kind], datagram: bytes, operations: tuple[str, ...]
) -> Kind:
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
    if job.order not in operations:
        raise Failed(f"the gateway's job has the unknown order {job.order!r}")
    return job
