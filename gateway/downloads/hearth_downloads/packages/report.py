"""The answer of a job: what the session has, and what has changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Refused, clean
from hearth_downloads.core.gateway import DATAGRAM_MAX
from hearth_downloads.packages.generations import Account
from hearth_downloads.packages.requirement import is_name, is_version

NOTES_MAX = 20
NOTE_MAX = 300  # letters
_NO_LISTS = ("notes", "environment")
Answer = dict[str, Any]


def report(
    before: Account,
    after: Account,
    profile: dict[str, str],
    asked: list[str],
    notes: Sequence[str] = (),
    modules: Optional[dict[str, list[str]]] = None,
) -> Answer:
    """Return the members of the answer; `profile` has its versions.

    `modules` has what is imported of a package that has another name.
    """
    old, new = before.versions(), after.versions()
    modules = modules or {}
    return {
        "packages": [
            {
                "name": one.name,
                "version": one.version,
                "requested": one.requested,
                **({"sha256": one.sha256} if one.sha256 else {}),
            }
            for one in after.packages
        ],
        "added": [
            {
                **_show(name, new),
                **({"modules": modules[name]} if name in modules else {}),
            }
            for name in new
            if name not in old
        ],
        "changed": [
            {"name": name, "from": old[name], "to": new[name]}
            for name in new
            if name in old and old[name] != new[name]
        ],
        "removed": [_show(name, old) for name in old if name not in new],
        "present": [
            _show(name, profile)
            for name in map(normalise, asked)
            if name in profile and name in after.requested
        ],
        "notes": [clean(note, NOTE_MAX) for note in notes[:NOTES_MAX]],
    }


def _show(name: str, versions: dict[str, str]) -> dict[str, str]:
    return {"name": name, "version": versions[name]}


def encode(answer: Answer) -> bytes:
    """Return the datagram of an answer, before the work is shown.

    Refuse one that the gateway would not take: the session would have packages
    that no list could name (gateway/registry/downloads/packages_answer.c).
    """
    for member, entries in answer.items():
        for entry in () if member in _NO_LISTS else entries:
            _check_entry(entry)
    datagram = json.dumps({"ok": answer}).encode()
    if len(datagram) > DATAGRAM_MAX:
        datagram = _encode_shortly(answer)
    if len(datagram) > DATAGRAM_MAX:
        raise Refused(
            f"the list of the session's packages would have {len(datagram)} "
            f"bytes, and the most is {DATAGRAM_MAX}: ask for fewer packages"
        )
    return datagram


def _encode_shortly(answer: Answer) -> bytes:
    """Return the datagram without what a long list leaves out."""
    added = [
        {name: value for name, value in one.items() if name != "modules"}
        for one in answer["added"]
    ]
    packages = [
        {name: value for name, value in one.items() if name != "sha256"}
        for one in answer["packages"]
    ]
    return json.dumps(
        {"ok": {**answer, "packages": packages, "added": added}}
    ).encode()


def _check_entry(entry: dict[str, Any]) -> None:
    for member, word in entry.items():
        if member in ("requested", "sha256", "modules"):
            continue
        permits = is_name if member == "name" else is_version
        if not permits(word):
            raise Refused(
                f"the package {clean(entry['name'], 40)} has the {member} "
                f"{clean(word, 40)}, which the gateway does not take"
            )
