"""Asks the gateway to bring something from outside: a kernel has no network."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from IPython.core.error import UsageError

from hearth_kernel.tools import calls

CALL = "hearth:fetch"
VARIABLE = "HEARTH_FETCH"  # "cells": the profile permits hosts, and cells ask

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class FetchError(UsageError):  # type: ignore[misc]
    """Nothing came from outside; the text says why."""


def is_for_cells() -> bool:
    """Whether a cell can ask, as far as the kernel knows."""
    return os.environ.get(VARIABLE) == "cells"


def size_text(count: float) -> str:
    """Write a size as `hearth fetch` does."""
    unit = 0
    while count >= 1024 and unit + 1 < len(_UNITS):
        count /= 1024
        unit += 1
    return f"{count:.{1 if unit else 0}f} {_UNITS[unit]}"


def read(
    line: str, magic: str, usage: str, needs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the words of a line as members of a call.

    `needs` has the magic's options, as `--ref`, and what follows each; "" if
    nothing does.
    """
    asked: dict[str, Any] = {}
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{magic}: {error}") from None
    places = []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word in needs and not needs[word]:
            asked[word[2:]] = True
        elif needs.get(name):
            if not equals and not words:
                raise UsageError(f"{magic}: {name} needs {needs[name]}")
            asked[name[2:]] = value if equals else words.pop(0)
        elif word.startswith("-"):
            raise UsageError(f"{magic}: there is no option {name}; {usage}")
        else:
            places.append(word)
    if not 1 <= len(places) <= 2:
        raise UsageError(usage)
    asked.update(zip(("url", "path"), places))
    return asked


def ask(
    magic: str, things: str, later: str, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return the reply when what was asked for is there, however long that
    takes.

    `things` is what the magic brings, and `later` what an interrupt says of it.
    """
    try:
        calls.check_process(f"fetch {things}", "fetch them")
        reply: dict[str, Any] = calls.wait(
            CALL, {"order": "fetch", **asked}, None
        )
    except calls.CallError as error:
        raise FetchError(f"{magic}: {error}") from None
    except KeyboardInterrupt:
        print(f"{magic}: it goes on outside; {later}", file=sys.stderr)
        raise
    if reply.get("status") != "ok":
        raise FetchError(f"{magic}: {reply.get('evalue')}")
    return reply
