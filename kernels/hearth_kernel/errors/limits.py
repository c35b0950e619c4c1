"""Which limit of the session an error comes from, in words for its reader; or
that the session has no network, or lacks a package.

The system answers with a number: EMFILE does not say which limit it was, ENOSPC
not where. The text has only facts: a resource that is full or used up now, the
place of the file, the possible meanings of the failed system call. In doubt
there is no text.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Callable, Optional

from hearth_kernel.errors import missing
from hearth_kernel.errors.network import (
    explain_family,
    explain_name,
    explain_program,
    explain_route,
)
from hearth_kernel.errors.room import (
    MORE,
    Reached,
    all_full,
    amount,
    explain_quota,
    explain_space,
    frames,
    is_of_system,
)

_CHAIN_MAX = 20  # further errors in a chain that are examined
_WORDS_MAX = 10_000  # characters of an error's text
_PROBES_MAX = 1 << 16  # descriptors that are tried one by one
_TASKS_MAX = 10_000  # processes and threads that are counted
_XFSZ = int(signal.SIGXFSZ)
# Messages of libraries whose errors have no number.
_FULL_WORDS = ("no space left", "disk is full", " requested and ")

# As the sandbox has set them; code can lower its own further.
_given: dict[int, int] = {}
_reported: list[Reached] = []


def begin() -> None:
    """Learn what the session has, before any of its code runs."""
    for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
        _given[which] = resource.getrlimit(which)[0]
    _reported.clear()


def forget() -> None:
    """Begin a cell."""
    _reported.clear()


def take() -> list[dict[str, Any]]:
    """Return the limits reported since the last call; for the gateway, each
    once."""
    found = {one.limit: one for one in _reported if one.limit}
    _reported.clear()
    return [
        {"limit": one.limit, "used": one.used, "max": one.max}
        for one in found.values()
    ]


def _count_descriptors(most: int) -> int:
    """How many are open; there may be none left to look with."""
    size = os.stat("/proc/self/fd").st_size  # since Linux 6.2
    if size:
        return size
    return sum(map(_is_open, range(min(most, _PROBES_MAX))))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _is_lowered(which: int) -> Optional[int]:
    """Return the limit that the code has set itself, if it is lower than
    before."""
    soft = resource.getrlimit(which)[0]
    given = _given.get(which, soft)
    if soft in (resource.RLIM_INFINITY, given):
        return None
    return soft if given == resource.RLIM_INFINITY or soft < given else None


def _explain_files(error: OSError) -> list[Reached]:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    used = _count_descriptors(most)
    if used < most and not is_of_system(error):
        return []
    own = _is_lowered(resource.RLIMIT_NOFILE)
    if own is not None:
        return [
            Reached(
                f"this process has set itself a limit of {own} open files, "
                "lower than the session's (open_files)"
            )
        ]
    figures = f"{used} of {most} are open" if used >= most else f"{most}"
    return [
        Reached(
            "this process has reached the session's limit of open files: "
            f"{figures} (limit open_files); close some, {MORE}",
            "open_files",
            used,
            most,
        )
    ]


def _explain_size(error: OSError) -> list[Reached]:
    return size_reached() if is_of_system(error) else []


def size_reached() -> list[Reached]:
    """Describe the limit of a file that would have become too large."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most == resource.RLIM_INFINITY:
        return []
    own = _is_lowered(resource.RLIMIT_FSIZE)
    if own is not None:
        return [
            Reached(
                f"this process has set itself a limit of {amount(own)} a file, "
                "lower than the session's (file_size)"
            )
        ]
    return [
        Reached(
            f"a file of this session can have {amount(most)} at most (limit "
            f"file_size); write smaller ones, {MORE}",
            "file_size",
            most,
            most,
        )
    ]


def _count_tasks() -> int:
    """Processes and threads of the session."""
    count = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                count += len(os.listdir(f"/proc/{name}/task"))
            except OSError:
                count += 1
        if count > _TASKS_MAX:
            break
    return count


def _is_of_fork(error: BaseException) -> bool:
    """Whether what refused can have been a fork: sockets say the same."""
    return is_of_system(error) and any(
        "fork" in name or "spawn" in name
        for frame in frames(error.__traceback__)[:1]
        for name in frame.f_code.co_names
    )


def _explain_fork(error: OSError) -> list[Reached]:
    return _explain_tasks() if _is_of_fork(error) else []


def _explain_tasks() -> list[Reached]:
    """Where a control group counts, it has half of the process' own limit."""
    most = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    try:
        used = _count_tasks()
    except OSError:
        return []
    for limit in (most, most // 2):
        if 0 <= used - limit <= 1:
            return [
                Reached(
                    "the session has as many processes and threads as it may "
                    f"have: {limit} of {limit} (limit processes); end some, "
                    f"{MORE}",
                    "processes",
                    limit,
                    limit,
                )
            ]
    return []


def _explain_memory(_: BaseException) -> list[Reached]:
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return []
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return []
    return [
        Reached(
            f"this process may map {amount(most)} (address_space of the "
            f"session's limits) and has mapped {amount(mapped)} now"
        )
    ]


def of_program(code: int, command: object) -> list[Reached]:
    """Describe the failure of a program: its signal, which resource is full,
    and a network that it needs.

    The code is the program's own, or a shell's.
    """
    if code in (-_XFSZ, 128 + _XFSZ):
        return size_reached()
    return all_full() + explain_program(command) if code else []


_BY_NUMBER: dict[int, Callable[[OSError], list[Reached]]] = {
    errno.ENOSPC: explain_space,
    errno.EDQUOT: explain_quota,
    errno.EMFILE: _explain_files,
    errno.EFBIG: _explain_size,
    errno.EAGAIN: _explain_fork,
    errno.ENOMEM: _explain_memory,
    errno.EAFNOSUPPORT: explain_family,
    errno.ENETUNREACH: explain_route,
}


_BY_KIND: tuple[tuple[type, Callable[[Any], list[Reached]]], ...] = (
    (
        subprocess.CalledProcessError,
        lambda error: of_program(error.returncode, error.cmd),
    ),
    (MemoryError, _explain_memory),
    (ModuleNotFoundError, missing.explain),
)


def _explain_words(error: BaseException) -> list[Reached]:
    words = str(error)[:_WORDS_MAX].lower()
    return all_full() if any(one in words for one in _FULL_WORDS) else []


def _explain(error: BaseException) -> list[Reached]:
    if isinstance(error, OSError) and error.errno is not None:
        explain = _BY_NUMBER.get(error.errno)
        if isinstance(error, socket.gaierror):  # with numbers of its own
            explain = explain_name
        return explain(error) if explain else []
    for kind, explain_kind in _BY_KIND:
        if isinstance(error, kind):
            return explain_kind(error)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return _explain_tasks()
    if isinstance(error, OSError) or type(error).__module__ == "sqlite3":
        return _explain_words(error)
    return []


def _chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    """The error, what it was raised from, and what groups hold."""
    waiting, seen = [error], 0
    while waiting and seen < _CHAIN_MAX:
        one = waiting.pop(0)
        if one is None:
            continue
        seen += 1
        yield one
        waiting.append(
            one.__cause__
            if one.__cause__ is not None or one.__suppress_context__
            else one.__context__
        )
        members = getattr(one, "exceptions", None)
        if isinstance(members, tuple):
            waiting.extend(
                member
                for member in members
                if isinstance(member, BaseException)
            )


def report(found: list[Reached]) -> list[str]:
    """Their sentences, each once."""
    _reported.extend(found)
    return list(dict.fromkeys(one.text for one in found))


def explain(error: Optional[BaseException]) -> list[str]:
    """Sentences that say which limit an error comes from; most have none."""
    found: list[Reached] = []
    for one in _chain(error):
        # Whatever a class of the session's does: the traceback comes.
        with suppress(Exception):
            found.extend(_explain(one))
    return report(found)
