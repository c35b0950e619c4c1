"""Explains errors by the network that a session has or lacks.

"Name or service not known" sends its reader to look for another name. Whether
there is a network is looked up for each error, never assumed. In doubt the
error has no text.
"""

from __future__ import annotations

import errno
import re
import socket
from typing import Optional
from urllib.parse import urlsplit

from hearth_kernel.errors.room import Reached, is_of_system
from hearth_kernel.tools import outside

_INSTEAD = (
    "what is needed from outside can come as a file in /workspace, or through "
    "a host tool"
)
_FETCH = (
    "; `%fetch URL` brings a file, and `%clone URL` a repository, of a host "
    "that the operator permits"
)
_NONE = (
    "this session has no network and no loopback (network = none in its "
    f"profile): {_INSTEAD}"
)
_LOOPBACK = (
    "this session has no network beyond its own loopback (network = loopback "
    f"in its profile): {_INSTEAD}"
)
_WORDS_MAX = 10_000  # characters of a command that are looked at
_NEXT = re.compile(r"[|;&\n]+")  # a shell's next command
_BY_SSH = re.compile(r"[\w.-]+@([\w.-]+):")  # as git@host.example:path
_NEAR = re.compile(r"localhost\Z|127\.|::1\Z|\Z")
# Codes of getaddrinfo(3): a name has no address, or no server answered.
_UNKNOWN_NAMES = {
    socket.EAI_NONAME,
    socket.EAI_AGAIN,
    socket.EAI_FAIL,
    getattr(socket, "EAI_NODATA", socket.EAI_NONAME),
}


def _has_family() -> Optional[bool]:
    """Whether sockets of the Internet can be made; None: not known now."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        return False if error.errno == errno.EAFNOSUPPORT else None
    return True


def _has_loopback_alone() -> bool:
    """By netdevice(7): /proc/net/dev has two lines, then one a device."""
    try:
        with open("/proc/net/dev", encoding="ascii") as file:
            lines = file.read().splitlines()[2:]
    except (OSError, ValueError):
        return False
    return {line.partition(":")[0].strip() for line in lines} <= {"lo"}


def _reached() -> list[Reached]:
    has_family = _has_family()
    if has_family is None or not _has_loopback_alone():
        return []
    more = _FETCH if outside.is_for_cells() else ""
    return [Reached((_LOOPBACK if has_family else _NONE) + more)]


def explain_name(error: OSError) -> list[Reached]:
    """A name that was not found, since no server can be asked for it."""
    if error.errno not in _UNKNOWN_NAMES or not is_of_system(error):
        return []
    return _reached()


def explain_route(error: OSError) -> list[Reached]:
    """An address to which no way leads."""
    return _reached() if is_of_system(error) else []


def _is_far(word: str) -> bool:
    """Whether a word is the address of a repository on another machine."""
    by_ssh = _BY_SSH.match(word)
    try:
        host = by_ssh[1] if by_ssh else urlsplit(word).hostname
    except ValueError:  # it is no URL
        return False
    return not _NEAR.match(host or "")


def _clones(command: str) -> bool:
    """Whether one of a shell's commands clones such a repository by git."""
    for part in _NEXT.split(command):
        words = [word.strip("()'\"`") for word in part.split()]
        names = [word.rpartition("/")[2] for word in words]
        if "git" not in names:
            continue
        rest = words[names.index("git") :]
        if "clone" in rest and any(map(_is_far, rest)):
            return True
    return False


def explain_program(command: object) -> list[Reached]:
    """A program that failed, if it was git and had a repository to clone."""
    if isinstance(command, (list, tuple)):
        command = " ".join(word for word in command if isinstance(word, str))
    elif isinstance(command, bytes):  # what IPython's %%bash has run
        command = command.decode(errors="replace")
    if not isinstance(command, str) or not _clones(command[:_WORDS_MAX]):
        return []
    return _reached()


def explain_family(error: OSError) -> list[Reached]:
    """A socket of a kind that cannot be made here."""
    if not is_of_system(error) or _has_family() is not False:
        return []
    return _reached()
