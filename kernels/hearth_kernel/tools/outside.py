"""Asks the gateway to bring something from outside: a kernel has no network."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from time import monotonic
from typing import Any, Optional

from IPython.core.error import UsageError

from hearth_kernel.messaging import streams
from hearth_kernel.tools import calls

CALL = "hearth:fetch"
VARIABLE = "HEARTH_FETCH"  # "cells": the profile permits hosts, and cells ask

_FIRST = 1.0  # seconds before the first line of progress
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


class _Progress:
    """Shows how far a download has come, in a line that is written anew.

    It says what `hearth fetch` says, as often. The line is blanked in the end:
    what is printed next takes its place. Nothing is shown where that would
    erase what the cell has printed, or where its output is captured.
    """

    def __init__(self) -> None:
        self._made = self._begun = monotonic()
        self._next = self._made + _FIRST
        self._width = 0
        self._line = 0  # bytes of the line, with what was written over

    def _write(self, line: str) -> None:
        # Not all front ends know the sequence that erases a line.
        print(f"\r{line:{self._width}}", end="", flush=True)
        self._width = len(line)
        self._line = streams.line() or 0

    def show(self, said: Optional[dict[str, Any]]) -> None:
        """Show it if it is time for that."""
        now = monotonic()
        done = said["bytes"] if said else 0
        if not said or not done:
            self._begun = now
            return
        if now < self._next or streams.line() not in (0, self._line):
            return
        total = f" of {size_text(said['total'])}" if said["total"] else ""
        rate = size_text(done / max(now - self._begun, _FIRST))
        self._write(f"{said['path']}: {size_text(done)}{total}, {rate}/s")
        # An hour has some seventy lines.
        self._next = now + max((now - self._made) / 10, _FIRST)

    def end(self) -> None:
        """Blank the line, if there is one."""
        if self._line and streams.line() == self._line:
            self._write("")
            print("\r", end="", flush=True)


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
    progress = _Progress()
    try:
        calls.check_process(f"fetch {things}", "fetch them")
        try:
            reply: dict[str, Any] = calls.watch(
                CALL, {"order": "fetch", **asked}, progress.show
            )
        finally:
            progress.end()
    except calls.CallError as error:
        raise FetchError(f"{magic}: {error}") from None
    except KeyboardInterrupt:
        print(f"{magic}: it goes on outside; {later}", file=sys.stderr)
        raise
    if reply.get("status") != "ok":
        raise FetchError(f"{magic}: {reply.get('evalue')}")
    return reply
