"""The answer of a job: what the session has, and what has changed."""

from __future__ import annotations

from typing import Any

from hearth_packages.generations import Account
from hearth_packages.requirement import normalise

Answer = dict[str, Any]


def report(
    before: Account,
    after: Account,
    profile: dict[str, str],
    asked: list[str],
) -> Answer:
    """Return the members of the answer; `profile` has its versions."""
    old, new = before.versions(), after.versions()
    return {
        "packages": [
            {
                "name": one.name,
                "version": one.version,
                "requested": one.requested,
            }
            for one in after.packages
        ],
        "added": [_show(name, new) for name in new if name not in old],
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
    }


def _show(name: str, versions: dict[str, str]) -> dict[str, str]:
    return {"name": name, "version": versions[name]}
