"""The answer of a mirror's server, for the time when it is away.

The worker alone writes it: the program in the sandbox never sees the file.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Optional

from hearth_downloads.clone.ref import is_hash, is_ref_name
from hearth_downloads.clone.refs import NAME_MAX
from hearth_downloads.core.folders import read_plain
from hearth_downloads.fetch.about import parse_object

ASKED = "asked"  # the file in the mirror
# Two names, and the rest. JSON has up to 12 bytes for one letter.
_BYTES_MAX = 2 * 12 * NAME_MAX + 1024
_AT_MAX = 1 << 37  # a time that has a year with four digits


@dataclass(frozen=True)
class Asked:
    """The server's answer of the last job that asked it."""

    at: int  # seconds since 1970
    digits: int  # of its hashes
    head: str  # its branch, or the commit of a HEAD without; "": not known
    branch: str  # that was checked out; "" if it was a tag or a commit

    def encode(self) -> bytes:
        """Return the content of the file."""
        return json.dumps(asdict(self)).encode()

    def say(self) -> str:
        """Return the sentence for a copy that this mirror has made."""
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.at))
        return (
            "the server cannot be reached; this is the mirror's state of "
            f"{when}"
        )


def read_asked(mirror: int) -> Optional[Asked]:
    """Return what a mirror has; None if it has nothing that can be read."""
    try:
        found = parse_object(read_plain(ASKED, mirror, _BYTES_MAX)) or {}
        made = Asked(**found)
    except (OSError, TypeError, ValueError):
        return None
    is_one = (
        type(made.at) is int
        and 0 <= made.at < _AT_MAX
        and type(made.digits) is int
        and made.digits in (40, 64)
        and _is_name(made.head)
        and _is_name(made.branch)
    )
    return made if is_one else None


def _is_name(name: object) -> bool:
    return isinstance(name, str) and (
        not name or is_hash(name) or is_ref_name(name)
    )
