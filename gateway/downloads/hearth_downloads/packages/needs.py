"""Judges whether wheels need what the index has said that they need.

uv resolves by metadata that the index serves beside a wheel (PEP 658), and no
hash of a request holds that. So it could leave out a dependency, which then no
rule would have judged, or add one to a wheel whose hash the user knows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Callable

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Refused, clean
from hearth_downloads.packages.generations import Package
from hearth_downloads.packages.metadata import read_fields
from hearth_downloads.packages.profile import METADATA_MAX
from hearth_downloads.packages.requirement import NAME

_FIELDS = ("name", "requires-dist")
_HEAD_END = re.compile(r"\r\n\r\n|\r\r|\n\n")
_FOLDED = re.compile(r"(?:\r\n|\r|\n)[ \t]+")
_NAME = re.compile(NAME, re.ASCII)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class _Needs:
    """The names that one wheel's own metadata has."""

    names: frozenset[str]
    always: frozenset[str]  # those without a condition


def judge_needs(
    folder: int,
    packages: Iterable[Package],
    there: Collection[str],
    check: Callable[[], None],
) -> None:
    """Refuse wheels that need more or less than was resolved for them.

    The folder has only what `judge_metadata` has permitted. `there` has the
    names that were resolved, and those that need no wheel. `check` is called
    for each one and may raise.
    """
    found = _read_all(folder, check)
    for one in packages:
        needs = found.get(one.name)
        hidden = sorted(needs.always.difference(there)) if needs else []
        if hidden:
            raise Refused(
                f"the wheel of {one.name} needs {clean(hidden[0], 100)}, and "
                "the index's metadata of it does not say so"
            )
        for above in one.via:
            if above in found and one.name not in found[above].names:
                raise Refused(
                    f"the index says that {above} needs {one.name}, and the "
                    f"wheel of {above} does not need it"
                )


def _read_all(folder: int, check: Callable[[], None]) -> dict[str, _Needs]:
    found = {}
    for name in os.listdir(folder):
        if name.lower().endswith(".dist-info"):
            check()
            try:
                number = os.open(f"{name}/METADATA", _READ, dir_fd=folder)
            except OSError:
                continue
            with open(number, "rb") as file:
                text = file.read(METADATA_MAX).decode("utf-8", "replace")
            found[normalise(name.partition("-")[0])] = _read(text)
    return found


def _read(text: str) -> _Needs:
    names, always = set(), set()
    head = _HEAD_END.split(text.lstrip("\r\n"), 1)[0]
    for field, value in read_fields(_FOLDED.sub(" ", head), _FIELDS):
        start = _NAME.match(value)
        if field == "requires-dist" and start:
            names.add(normalise(start[0]))
            if ";" not in value:
                always.add(normalise(start[0]))
    return _Needs(frozenset(names), frozenset(always))
