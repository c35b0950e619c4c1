"""How many files and bytes each wheel had that uv has unpacked in its cache.

    unpacked.json       in the work folder, where uv cannot write

uv links a wheel into each session that asks for it, and does not look whether
it is whole. A machine that lost its power has files that are empty. So a wheel
that is not as it was noted is removed, and uv unpacks it again.

A worker that was killed has noted nothing of its own wheels. They count until
the machine is started again.
"""

from __future__ import annotations

import json
import os
from typing import Optional

from hearth_downloads.core.folders import (
    NEW,
    Content,
    read_plain,
    remove,
)

UNPACKED = "unpacked.json"
_NEXT = UNPACKED + ".next"
_BYTES_MAX = 64 << 20
_BOOT = "/proc/sys/kernel/random/boot_id"


class Unpacked:
    """The note of one job; `work` is a descriptor of the work folder."""

    def __init__(self, work: int) -> None:
        self.work = work
        self.boot = _read_boot()
        self.noted = self._read()

    def _read(self) -> Optional[dict[str, object]]:
        """Return the note; None if no job has written one yet."""
        try:
            os.stat(UNPACKED, dir_fd=self.work, follow_symlinks=False)
        except FileNotFoundError:
            return None
        text = read_plain(UNPACKED, self.work, _BYTES_MAX)
        try:
            found = json.loads(text or b"")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def find_damaged(self, there: dict[str, Content]) -> list[str]:
        """Return the wheels that are not as they were noted."""
        if self.noted is None:
            return []
        known = self.noted.get("wheels")
        known = known if isinstance(known, dict) else {}
        is_new = self.noted.get("boot") != self.boot
        return [
            name
            for name, content in there.items()
            if (is_new if name not in known else known[name] != content)
        ]

    def write(self, there: dict[str, Content]) -> None:
        """Note what is there; this is not waited for on the disk.

        A note that a power loss has cut names no wheel.
        """
        note = {"boot": self.boot, "wheels": there}
        if note == self.noted:
            return
        remove(_NEXT, self.work, self.work)
        number = os.open(_NEXT, NEW, 0o600, dir_fd=self.work)
        with open(number, "w") as file:
            json.dump(note, file)
        os.rename(_NEXT, UNPACKED, src_dir_fd=self.work, dst_dir_fd=self.work)


def _read_boot() -> str:
    with open(_BOOT) as file:
        return file.read().strip()
