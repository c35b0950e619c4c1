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
from hearth_downloads.core.folders import READ
from hearth_downloads.packages.generations import Package
from hearth_downloads.packages.metadata import read_fields
from hearth_downloads.packages.profile import METADATA_MAX
from hearth_downloads.packages.requirement import NAME

_FIELDS = ("name", "requires-dist")
_HEAD_END = re.compile(r"\r\n\r\n|\r\r|\n\n")
_FOLDED = re.compile(r"(?:\r\n|\r|\n)[ \t]+")
_NAME = re.compile(NAME, re.ASCII)
# Finds what a whole text says, whose lines may all be empty.
_NEEDED = re.compile(
    rf"(?:^|[\r\n])requires-dist:[ \t]*({NAME})", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True)
class _Needs:
    """The names that one wheel's own metadata has."""

    names: frozenset[str]
    always: frozenset[str]  # those without a condition
    unread: frozenset[str]  # those after the end of its head


def judge_needs(
    folder: int,
    packages: Iterable[Package],
    there: Collection[str],
    several: Collection[str],
    check: Callable[[], None],
) -> None:
    """Refuse wheels that need more or less than was resolved for them.

    The folder has only what `judge_metadata` has permitted. `there` has the
    names that were resolved, and those that need no wheel; `several` those of
    which the index has more files of the version. `check` is called for each
    one and may raise.
    """
    found = _read_all(folder, check)
    for one in packages:
        needs = found.get(one.name)
        hidden = sorted(needs.always.difference(there)) if needs else []
        if hidden:
            raise _refuse_hidden(one.name, hidden[0], one.name in several)
        for above in one.via:
            if above in found and one.name not in found[above].names:
                raise _refuse_added(
                    above, one.name, found[above], above in several
                )


def _refuse_hidden(name: str, needed: str, is_of_several: bool) -> Refused:
    """Return the fault of a wheel that needs more.

    uv takes the metadata of one file for all files of its version. So that of
    another one need be no lie of the index.
    """
    start = f"the wheel of {name} needs {clean(needed, 100)}, and "
    if not is_of_several:
        return Refused(
            f"{start}the index's metadata of it does not say so",
            rule="metadata",
        )
    return Refused(
        f"{start}the metadata that it was resolved by does not say so: its "
        "version has several files, which may differ in that; ask for "
        f"{clean(needed, 100)}, too",
        rule="metadata",
    )


def _refuse_added(
    above: str, name: str, needs: _Needs, is_of_several: bool
) -> Refused:
    """Return the fault of a wheel that needs less."""
    if name in needs.unread:
        return Refused(
            f"the METADATA in the wheel of {above} cannot be relied on: it "
            f"says that it needs {name} after an empty line, where programs "
            "do not read on; lines that end in \\r\\r\\n have one after each",
            rule="metadata",
        )
    if not is_of_several:
        return Refused(
            f"the index says that {above} needs {name}, and the wheel of "
            f"{above} does not need it",
            rule="metadata",
        )
    return Refused(
        f"{above} was resolved by metadata that needs {name}, and its wheel "
        "does not need it: its version has several files, which may differ in "
        "that; ask for another version",
        rule="metadata",
    )


def _read_all(folder: int, check: Callable[[], None]) -> dict[str, _Needs]:
    found = {}
    for name in os.listdir(folder):
        if name.lower().endswith(".dist-info"):
            check()
            try:
                number = os.open(f"{name}/METADATA", READ, dir_fd=folder)
            except OSError:
                continue
            with open(number, "rb") as file:
                text = file.read(METADATA_MAX).decode("utf-8", "replace")
            found[normalise(name.partition("-")[0])] = _read(text)
    return found


def _read(text: str) -> _Needs:
    head, *rest = _HEAD_END.split(text.lstrip("\r\n"), maxsplit=1)
    needs = _find_needs(head)
    names = frozenset(name for name, _ in needs)
    return _Needs(
        names,
        frozenset(name for name, value in needs if ";" not in value),
        frozenset(
            normalise(one[1]) for text in rest for one in _NEEDED.finditer(text)
        )
        - names,
    )


def _find_needs(head: str) -> list[tuple[str, str]]:
    """Return each name that the head needs, with the whole requirement."""
    found = []
    for field, value in read_fields(_FOLDED.sub(" ", head), _FIELDS):
        start = _NAME.match(value)
        if field == "requires-dist" and start:
            found.append((normalise(start[0]), value))
    return found
