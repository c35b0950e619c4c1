"""Which wheel each package was installed from, by its SHA-256.

A version may have many wheels, and uv does not say which one it has taken. One
hash for all of them is the wheel's. Else uv is asked which wheels fit here, and
the tags of the one that was unpacked decide.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Invalid, clean
from hearth_downloads.core.folders import READ
from hearth_downloads.packages.generations import Account
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.requirement import is_name, is_version
from hearth_downloads.packages.resolve import Pin

WHEEL_MAX = 64 * 1024
TAGS_MAX = 1000
_HASH = "--hash=sha256:"
_WHEEL = re.compile(
    r'/([^/"]+)\.whl(?:[?#][^"]*)?"[^}]*sha256 = "([0-9a-f]{64})"'
)
_TAG = re.compile(r"^Tag:[ \t]*(\S+)[ \t]*$", re.MULTILINE)

Wheel = tuple[str, frozenset[str]]  # name-version, and the tags


def check_pins(job: Job) -> None:
    """Refuse what uv would read as anything but a package and its version."""
    for name, pin in job.pins.items():
        if (
            not is_name(name)
            or not is_version(pin[0])
            or name != normalise(name)
        ):
            raise Invalid(f"the recorded {clean(name, 40)} is no package")


def fits_pins(job: Job, account: Account) -> bool:
    """Return true if no package that is there is another than the job's."""
    for name, version in account.versions().items():
        pin = job.pins.get(name)
        if not pin:
            continue
        there = account.find_wheel(name, version)
        if version != pin[0] or (pin[1] and there and there != pin[1]):
            return False
    return True


class Wheels:
    """The wheels of one installation; `open` has what no hash decides."""

    def __init__(self, pins: list[Pin], before: Account) -> None:
        self.found: dict[str, str] = {}
        self.open: list[Pin] = []
        for pin in pins:
            hashes = {one[len(_HASH) :] for one in pin.hashes}
            known = before.find_wheel(pin.name, pin.version)
            if len(hashes) == 1:
                self.found[pin.name] = hashes.pop()
            elif known in hashes:
                self.found[pin.name] = known
            else:
                self.open.append(pin)

    def reader(self, lock: str) -> Callable[[str], dict[str, str]]:
        """Return what finds the hashes by name, of the folder that is judged.

        `lock` is uv's, as Resolver.lock returns it.
        """
        return lambda folder: {**self.found, **self._find(lock, folder)}

    def _find(self, lock: str, folder: str) -> dict[str, str]:
        found = {}
        wheels = read_lock(lock) if self.open else {}
        unpacked = read_unpacked(folder) if self.open else {}
        for pin in self.open:
            key = f"{pin.name}-{pin.version}"
            hashes = wheels.get((key, unpacked.get(key, frozenset())), set())
            if len(hashes) == 1:
                found[pin.name] = next(iter(hashes))
        return found


def read_lock(text: str) -> dict[Wheel, set[str]]:
    """Return the hashes of all wheels of a lock file, by name and tags."""
    found: dict[Wheel, set[str]] = {}
    for filename, sha256 in _WHEEL.findall(text):
        words = unquote(filename).split("-")
        parts = [word.split(".") for word in words[-3:]]
        count = math.prod(map(len, parts))
        if len(words) < 5 or count > TAGS_MAX:
            continue
        tags = itertools.product(*parts)
        wheel = (_key(words), frozenset("-".join(tag) for tag in tags))
        found.setdefault(wheel, set()).add(sha256)
    return found


def _key(words: Iterable[str]) -> str:
    name, version = list(words)[:2]
    return f"{normalise(name)}-{version}"


def read_unpacked(folder: str) -> dict[str, frozenset[str]]:
    """Return the tags that each unpacked wheel says it has."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".dist-info") and "-" in name:
            words = name[: -len(".dist-info")].split("-")
            found[_key(words)] = frozenset(
                _TAG.findall(_read(os.path.join(folder, name, "WHEEL")))
            )
    return found


def _read(path: str) -> str:
    """Return a file of a wheel; "" if it is no plain file."""
    try:
        number = os.open(path, READ)
        with open(number, "rb") as file:
            return file.read(WHEEL_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
