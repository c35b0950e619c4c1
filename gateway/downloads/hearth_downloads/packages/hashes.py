"""The hashes of the files that a requirement permits: NAME==V --hash=sha256:…

A file that is pinned so is the one that the user has seen, however young it is.
With `packages/require_hashes` nothing else comes.
"""

from __future__ import annotations

from dataclasses import replace

from hearth_downloads.core.faults import Refused
from hearth_downloads.packages.generations import Account
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.requirement import find_hashes
from hearth_downloads.packages.resolve import Pin, find_chain, say_needed

OPTION = "--hash=sha256:"
_SHOWN = 2  # hashes in a sentence


class Hashes:
    """The hashes of one job; `before` is what the session has."""

    def __init__(
        self, job: Job, requested: dict[str, str], before: Account
    ) -> None:
        self.job = job
        self.before = before
        found = {name: find_hashes(text) for name, text in requested.items()}
        self.wanted = {name: one for name, one in found.items() if one}

    def narrow(self, pins: list[Pin]) -> list[Pin]:
        """Return the packages with the hashes that uv is to require."""
        graph = {pin.name: pin.via for pin in pins}
        return [self._narrow(pin, graph) for pin in pins]

    def _narrow(self, pin: Pin, graph: dict[str, tuple[str, ...]]) -> Pin:
        wanted = self.wanted.get(pin.name)
        if wanted:
            return self._take(pin, wanted)
        if not self.job.require_hashes or self._is_recorded(pin):
            return pin
        if self._has(pin):
            return self._stay(pin)
        hashes = {one[len(OPTION) :] for one in pin.hashes}
        example = hashes.pop() if len(hashes) == 1 else "…"
        chain = find_chain(pin.name, graph)
        raise Refused(
            f'"{pin.name}" {pin.version}{say_needed(chain)} refused: '
            f"{self.job.setting('require_hashes')} is set, and no hash was "
            f"given: ask for {pin.name}=={pin.version} {OPTION}{example}"
            f"{' in the same request' * bool(chain)}",
            rule="require_hashes",
        )

    def keep(self, pins: list[Pin]) -> list[Pin]:
        """Return the packages with the hashes of the files that are there."""
        return [self._stay(pin) if self._has(pin) else pin for pin in pins]

    def are_there(self, pins: list[Pin]) -> bool:
        """Return true if the session has no other files than these permit."""
        return all(
            self._has(pin) or not (self._find(pin) or pin.name in self.wanted)
            for pin in pins
        )

    def _is_recorded(self, pin: Pin) -> bool:
        """Return true if a record names that file."""
        version, sha256 = [*self.job.pins.get(pin.name, ()), "", ""][:2]
        return bool(sha256) and version == pin.version

    def _find(self, pin: Pin) -> str:
        return self.before.find_wheel(pin.name, pin.version)

    def _has(self, pin: Pin) -> bool:
        """Return true if the session has a file that the hashes permit."""
        return bool(self._find(pin)) and OPTION + self._find(pin) in pin.hashes

    def _stay(self, pin: Pin) -> Pin:
        return replace(pin, hashes=(OPTION + self._find(pin),))

    def _take(self, pin: Pin, wanted: frozenset[str]) -> Pin:
        hashes = tuple(
            one for one in pin.hashes if one[len(OPTION) :] in wanted
        )
        if hashes:
            return replace(pin, hashes=hashes)
        got = [one[len(OPTION) :] for one in pin.hashes]
        raise Refused(
            f"the index has another file of {pin.name} {pin.version}: its "
            f"SHA-256 was to be {' or '.join(sorted(wanted)[:_SHOWN])}, and is "
            f"{', '.join(got[:_SHOWN])}",
            rule="hash",
        )
