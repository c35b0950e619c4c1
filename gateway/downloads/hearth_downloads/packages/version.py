"""Compares versions as PEP 440 has it, without a package for that.

The profile's Python need not have one, and no version that cannot be compared
may pass as harmless: for such a text there is no key.
"""

from __future__ import annotations

import re
from typing import Any, Optional

LENGTH_MAX = 128
_PARTS = re.compile(
    r"v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(alpha|beta|preview|pre|a|b|c|rc)[-_.]?([0-9]*))?"
    r"(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]*))?"
    r"(?:[-_.]?(dev)[-_.]?([0-9]*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.ASCII,
)
_PHASES = {"alpha": 0, "a": 0, "beta": 1, "b": 1}  # all others are candidates
_CANDIDATE, _FINAL = 2, 3
Key = tuple[Any, ...]


def key_of(version: str) -> Optional[Key]:
    """Return what versions are sorted by, None if the text is no version."""
    if len(version) > LENGTH_MAX:
        return None
    found = _PARTS.fullmatch(version.strip().lower())
    if found is None:
        return None
    epoch, release, phase, number, dashed, post, after, dev, early, local = (
        found.groups()
    )
    numbers = [int(one) for one in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return (
        int(epoch or 0),
        tuple(numbers),
        _key_of_phase(phase, number, bool(dev and not post and not dashed)),
        int(dashed or after or 0) if post or dashed else -1,
        (0, int(early or 0)) if dev else (1, 0),
        _key_of_local(local),
    )


def _key_of_phase(
    phase: Optional[str], number: Optional[str], is_dev_alone: bool
) -> tuple[int, int]:
    """Return the key of a1, b1 or rc1; 1.dev1 is older than 1a1."""
    if phase is None:
        return (-1, 0) if is_dev_alone else (_FINAL, 0)
    return _PHASES.get(phase, _CANDIDATE), int(number or 0)


def _key_of_local(local: Optional[str]) -> tuple[tuple[int, int, str], ...]:
    """Return the key of what follows `+`; a number is newer than a word."""
    if local is None:
        return ()
    return tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split(r"[-_.]", local)
    )


def is_same(one: str, other: str) -> bool:
    """Return true if both are one version, or one text that is no version."""
    key = key_of(one)
    if key is None:
        return one == other
    return key == key_of(other)
