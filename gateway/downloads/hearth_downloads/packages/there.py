"""Finds requirements that need no index, because their package is there.

These have one of three forms: a name alone, NAME==V of the very version that is
there, and the text that was requested before. The meaning of other texts is
left to uv, so no versions are compared here.
"""

from __future__ import annotations

from typing import Optional

from hearth_downloads.packages.generations import Account
from hearth_downloads.packages.requirement import (
    find_hashes,
    split,
    with_extras,
)
from hearth_downloads.packages.resolve import parse


def find_requested(
    new: dict[str, str], before: Account, profile: dict[str, str]
) -> Optional[dict[str, str]]:
    """Return all that is requested with these; None if uv has to resolve.

    `profile` has its versions. Where the profile's Python is another one since
    uv has resolved, uv has to do it again.
    """
    session = before.versions()
    there = {**session, **profile}
    resolved = {pin.name: pin.version for pin in parse(before.resolved)}
    if any(there.get(name) != resolved[name] for name in resolved):
        return None
    requested = dict(before.requested)
    for name, text in new.items():
        old = requested.get(name, "")
        whole = with_extras(text, old)
        extras, clauses = split(text)
        is_exact = clauses == f"=={there.get(name)}"
        if name in session and not _has_hash(text, name, before):
            return None
        is_same = whole == old and name in resolved
        if (name in profile) == (name in session):
            return None  # there are none, or two
        if extras and (name in profile or not extras <= split(old)[0]):
            return None
        if clauses and not is_exact and not is_same:
            return None
        if is_exact or not old:
            requested[name] = whole
    return requested


def _has_hash(text: str, name: str, before: Account) -> bool:
    """Return true if the session's file is one that the text permits."""
    hashes = find_hashes(text)
    there = before.find_wheel(name, before.versions()[name])
    return not hashes or there in hashes
