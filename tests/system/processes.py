"""The processes of this machine, from /proc."""

from __future__ import annotations

import os
import signal
import socket
import stat
from pathlib import Path
from typing import Iterator, Optional


def processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def stat_fields(pid: int) -> list[str]:
    """The fields of its stat from the state on (proc(5)); empty without it.

    Tests look at all processes often, so not by pathlib, which takes longer
    than the rest.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(b")")[2].decode().split()


def start_time(pid: int) -> Optional[str]:
    """None when there is no such process, or only what is left of one."""
    fields = stat_fields(pid)
    return fields[19] if fields and fields[0] not in "ZX" else None


def kill(pid: int) -> None:
    """SIGKILL; a process that has gone by itself is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid: int) -> dict[int, str]:
    found = {}
    for child in processes():
        fields = stat_fields(child)
        if fields and int(fields[1]) == pid:
            found[child] = fields[19]
    return found


def descendants(root: int) -> list[int]:
    """Find the process and all that it has started, including ended ones that
    were not reaped."""
    parents: dict[int, list[int]] = {}
    for pid in processes():
        fields = stat_fields(pid)
        if fields:
            parents.setdefault(int(fields[1]), []).append(pid)
    found = [root]
    for pid in found:
        found.extend(parents.get(pid, []))
    return found


def pid_namespace(pid: int) -> Optional[str]:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def members(namespace: str) -> list[int]:
    """The processes of a session: those in its pid namespace."""
    return [
        pid
        for pid in processes()
        if pid_namespace(pid) == namespace and start_time(pid)
    ]


def peer(descriptor: int) -> object:
    """Return the peer of a socket of this process; None without one."""
    try:
        copy = os.dup(descriptor)
    except OSError:  # closed since it was listed
        return None
    if not stat.S_ISSOCK(os.fstat(copy).st_mode):
        os.close(copy)
        return None
    with socket.socket(fileno=copy) as found:
        try:
            return found.getpeername()
        except OSError:
            return None


def connected(places: set[str]) -> bool:
    """Whether a client still has a connection to one of these endpoints,
    perhaps one whose other end is closed; of Unix sockets those of this
    process are seen."""
    paths = {place[6:] for place in places if place.startswith("ipc://")}
    ports = {
        int(place.rpartition(":")[2])
        for place in places
        if place.startswith("tcp://")
    }
    if any(peer(int(item)) in paths for item in os.listdir("/proc/self/fd")):
        return True
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state = line.split()[:4]
        is_open = state in ("01", "08")  # established, close-wait
        if is_open and int(remote.rpartition(":")[2], 16) in ports:
            return True
    return False
