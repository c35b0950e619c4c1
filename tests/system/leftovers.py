"""Possible remains of sessions on this machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from harness import Gateway
from mounted import root_of
from processes import processes


def inside(folder: Path) -> list[int]:
    """Find processes whose mounts have a place below the folder.

    Each session of this gateway has its workspace there, so none is missed,
    also if no client knows it.
    """
    own = os.readlink("/proc/self/ns/mnt")
    place = f"{root_of(str(folder))}/"
    found = []
    for pid in processes():
        try:
            if os.readlink(f"/proc/{pid}/ns/mnt") == own:
                continue
            mounts = Path(f"/proc/{pid}/mountinfo").read_text()
        except OSError:
            continue
        if place in mounts:
            found.append(pid)
    return found


def groups(ids: set[str]) -> list[str]:
    """Control groups of these sessions, of either version."""
    return [
        folder
        for folder, _, _ in os.walk("/sys/fs/cgroup")
        if any(id in os.path.basename(folder) for id in ids)
    ]


def known(gateway: Gateway) -> set[str]:
    """Every session that has left a trace in the state folder."""
    return {
        path.name
        for path in gateway.state.rglob("*")
        if len(path.name) == 36 and path.name.count("-") == 4
    }


class Groups:
    """The control groups of a gateway's sessions: groups.c names them after
    the state folder."""

    def __init__(self, gateway: Gateway) -> None:
        info = gateway.info()
        self.where: str = info["limits"]["where"]
        name = hashlib.blake2b(info["state_dir"].encode(), digest_size=16)
        self.prefix = f"hearth-{name.hexdigest()[:12]}."

    def ids(self) -> list[str]:
        """Return the ids of the sessions."""
        if not self.where.startswith("/"):
            return []
        return [
            leaf[len(self.prefix) :].partition(".")[0]
            for leaf in os.listdir(self.where)
            if leaf.startswith(self.prefix)
        ]
