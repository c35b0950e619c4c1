"""Paths as the mounts of other processes name them (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os


def root_of(path: str) -> str:
    """Return the path below the root of its own file system.

    So the fourth field of a mount of it begins, also where /tmp is a file
    system of its own.
    """
    place = os.path.dirname(path)
    while not os.path.ismount(place):
        place = os.path.dirname(place)
    return os.path.join("/", os.path.relpath(path, place))
