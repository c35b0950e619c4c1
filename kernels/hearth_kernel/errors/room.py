"""Where a session can write, what is full there, and for which file.

ENOSPC does not say which file system is full, and a write not even which file
it was for: here that is found out, as far as it can be.
"""

from __future__ import annotations

import io
import os
import tempfile
from opcode import opmap
from types import FrameType, TracebackType
from typing import NamedTuple, Optional

MORE = "or ask for a larger limit"
_FRAMES_MAX = 50  # of a traceback, from where it was raised
_PAGE = 4096
_UNITS = (
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
)
_RAISE = opmap["RAISE_VARARGS"]
_WRITERS = (io.FileIO, io.BufferedWriter, io.BufferedRandom)


class Reached(NamedTuple):
    """A limit that was reached."""

    text: str  # a sentence
    limit: str = ""  # a key of profile/<name>/limits/; "": no limit
    used: int = 0
    max: int = 0


class _Place(NamedTuple):
    """Where a session can write."""

    limit: str
    path: str


_TMP = _Place("tmp", "/tmp")
_SHM = _Place("shm", "/dev/shm")
_WORKSPACE = _Place("", "/workspace")
_PLACES = (_TMP, _SHM, _WORKSPACE)
_TERMINALS = "/dev/pts"


def amount(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f}".replace(".0", "") + f" {name}"
    return f"{size} bytes"


def _when_full(place: _Place) -> Optional[Reached]:
    """Describe the limit if the place is full."""
    try:
        seen = os.statvfs(place.path)
    except OSError:
        return None
    free = seen.f_bavail * seen.f_frsize
    size = seen.f_blocks * seen.f_frsize
    used = size - seen.f_bfree * seen.f_frsize
    figures = f"{amount(used)} of {amount(size)} used"
    has_room = free >= _PAGE or not size
    if has_room and (seen.f_ffree or not seen.f_files):
        return None
    if has_room:
        used, size = seen.f_files - seen.f_ffree, seen.f_files
        figures = f"{used} of {size} files"
    if place.limit:
        return Reached(
            f"the session's {place.path} is full: {figures} (limit "
            f"{place.limit}); delete files there, {MORE}",
            place.limit,
            used,
            size,
        )
    return Reached(
        f"the disk of the session's {place.path} is full: {figures}; "
        f"this is not a limit of the session: delete files in {place.path}, or "
        "ask the operator of the gateway"
    )


def _when_too_small(place: _Place) -> Optional[Reached]:
    """Describe the limit if there was too little room but there is some now."""
    if not place.limit:
        return Reached(
            f"the disk of the session's {place.path} had no room for "
            "this; this is not a limit of the session"
        )
    try:
        seen = os.statvfs(place.path)
    except OSError:
        return None
    size = seen.f_blocks * seen.f_frsize
    used = size - seen.f_bfree * seen.f_frsize
    return Reached(
        f"the session's {place.path} had no room for this: {amount(size)} are "
        f"the most (limit {place.limit}), {amount(used)} are used now; write "
        f"less, {MORE}",
        place.limit,
        used,
        size,
    )


def _terminals_used() -> Optional[Reached]:
    """Terminals are counted too, and their number refuses as a full disk."""
    try:
        used = len(os.listdir(_TERMINALS)) - 1  # ptmx
        with open("/proc/self/mounts", encoding="utf-8") as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    for line in lines:
        if line[1] == _TERMINALS:
            for option in line[3].split(","):
                name, _, value = option.partition("=")
                if name == "max" and value.isdigit() and used >= int(value):
                    return Reached(
                        f"all {used} terminals that a session can have are in "
                        "use; close some"
                    )
    return None


def all_full() -> list[Reached]:
    found = [_when_full(place) for place in _PLACES]
    return [one for one in (*found, _terminals_used()) if one]


def _device(path: str) -> Optional[int]:
    """The file system of a file that may not be there."""
    path = os.path.abspath(path)
    while True:
        try:
            return os.stat(path).st_dev
        except OSError:
            if path == os.path.dirname(path):
                return None
            path = os.path.dirname(path)


def _place_of(name: object) -> Optional[_Place]:
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not isinstance(name, str):
        return None
    device = _device(name)
    for place in _PLACES:
        if device is not None and device == _device(place.path):
            return place
    return None


def _file_name(value: object) -> object:
    """The name of a file that is written to; no code of the session's runs."""
    if type(value) is getattr(tempfile, "_TemporaryFileWrapper", None):
        value = value.__dict__.get("file")
    if type(value) is io.TextIOWrapper:
        value = value.buffer
    if type(value) not in _WRITERS:
        return None
    return getattr(value, "name", None)


def frames(trace: Optional[TracebackType]) -> list[FrameType]:
    """From where it was raised outwards."""
    found = []
    while trace is not None:
        found.append(trace.tb_frame)
        trace = trace.tb_next
    return found[: -_FRAMES_MAX - 1 : -1]


def _place_by_frames(trace: Optional[TracebackType]) -> Optional[_Place]:
    """Where the files lie that the innermost code with any has open."""
    for frame in frames(trace):
        local = frame.f_locals
        if local is frame.f_globals:  # a cell's: what it mentions itself
            names = frame.f_code.co_names
            values = [local[name] for name in names if name in local]
        else:
            values = list(local.values())
        files = [name for name in map(_file_name, values) if name is not None]
        if files:
            places = {_place_of(name) for name in files}
            return places.pop() if len(places) == 1 else None
    return None


def is_of_system(error: BaseException) -> bool:
    """Return true if a system call has failed, not a `raise` in the code."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code.co_code
    return 0 <= trace.tb_lasti < len(code) and code[trace.tb_lasti] != _RAISE


def explain_space(error: OSError) -> list[Reached]:
    names = [error.filename, error.filename2]
    for place in [_place_of(name) for name in names if name is not None]:
        if place is not None:
            full = _when_full(place)
            if full is None and is_of_system(error):
                full = _when_too_small(place)
            return [full] if full else []
    found = all_full()
    if found or not is_of_system(error):
        return found
    # A file that was closed and removed on the way here leaves room again.
    place = _place_by_frames(error.__traceback__)
    small = _when_too_small(place) if place else None
    return [small] if small else []


def explain_quota(error: OSError) -> list[Reached]:
    if not is_of_system(error):
        return []
    return [
        Reached(
            "a disk quota of the machine's is used up in /workspace; this is "
            "not a limit of the session: delete files there, or ask the "
            "operator of the gateway"
        )
    ]
