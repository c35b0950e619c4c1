"""`%fetch` in a kernel: the gateway is asked to bring a file from outside.

Nothing is fetched here: a kernel has no network.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any

from IPython.core.error import UsageError

from hearth_kernel.tools import calls

CALL = "hearth:fetch"
VARIABLE = "HEARTH_FETCH"  # "cells": the profile permits hosts, and cells ask

_USAGE = "%fetch: name a URL: `%fetch URL [PATH] [--sha256 HASH]`"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class FetchError(UsageError):  # type: ignore[misc]
    """No file was fetched; the text says why."""


def is_for_cells() -> bool:
    """Whether a cell can ask for files, as far as the kernel knows."""
    return os.environ.get(VARIABLE) == "cells"


def _size(count: float) -> str:
    """Write a size as `hearth fetch` does."""
    unit = 0
    while count >= 1024 and unit + 1 < len(_UNITS):
        count /= 1024
        unit += 1
    return f"{count:.{1 if unit else 0}f} {_UNITS[unit]}"


def _read(line: str) -> dict[str, Any]:
    """Return the arguments of the call that a line means."""
    asked: dict[str, Any] = {"order": "fetch"}
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%fetch: {error}") from None
    places = []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if name == "--sha256":
            if not equals and not words:
                raise UsageError("%fetch: --sha256 needs a hash")
            asked["sha256"] = value if equals else words.pop(0)
        elif word.startswith("-"):
            raise UsageError(f"%fetch: there is no option {name}; {_USAGE}")
        else:
            places.append(word)
    if not 1 <= len(places) <= 2:
        raise UsageError(_USAGE)
    asked.update(zip(("url", "path"), places))
    return asked


def _line(reply: dict[str, Any]) -> str:
    """Describe a file as `hearth fetch` does."""
    encoding = reply["encoding"]
    return (
        f"{reply['path']}  {_size(reply['size'])}  sha256 {reply['sha256']}"
        f"{'  (cached)' if reply['cached'] else ''}"
        f"{f'  compressed: {encoding}' if encoding else ''}"
    )


def serve(line: str) -> None:
    """Fetch what a line asks for; wait for it, however long that takes."""
    asked = _read(line)
    try:
        calls.check_process("fetch files", "fetch them")
        reply = calls.wait(CALL, asked, None)
    except calls.CallError as error:
        raise FetchError(f"%fetch: {error}") from None
    except KeyboardInterrupt:
        print(
            "%fetch: the fetch goes on outside; the same line waits for it",
            file=sys.stderr,
        )
        raise
    if reply.get("status") != "ok":
        raise FetchError(f"%fetch: {reply.get('evalue')}")
    print(_line(reply))
