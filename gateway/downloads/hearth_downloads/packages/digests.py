"""Notes what the files of a wheel are, by the SHA-256 of the wheel.

    digests/SHA256      in the work folder, where uv cannot write

uv fills a session's folder from its cache. A uv that was taken over can change
a file there, and which entry is whose. So what a wheel brings is noted when it
is first seen, and compared each time that it is seen again. That first uv is
believed in what it says of that wheel alone: a wheel without a note explains no
change of another one's files unless both have just been fetched.

Not compared is what uv itself writes beside a wheel's files. A file that
several wheels of a job have does not show which one has won: it has to be what
one of them has brought before. Which files a wheel lists is compared, or a
change of one list would hide a change of another wheel's file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Callable, Optional

from hearth_downloads.core.folders import (
    NEW,
    READ,
    open_folder,
    read_plain,
    remove,
)
from hearth_downloads.packages.generations import Package
from hearth_downloads.packages.metadata import find_owner, read_record
from hearth_downloads.packages.stage import DIGESTS

# A wheel of which several wheels have more files than this has no note, nor one
# with more files that are on no list (docs/guide/packages.md).
ODD_MAX = 1000
SHARED_MAX = 100_000  # entries of all lists that are kept
BYTES_MAX = 64 << 20  # of a note; a wheel that would need more has none
_PIECE = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")
# Files of a wheel for PATH. uv writes scripts for entry points, and the first
# line of others; programs of machine code are as the wheel has them.
_PROGRAMS = "bin/"
_SCRIPT = b"#!"
_WRITTEN = {
    "INSTALLER",
    "RECORD",
    "REQUESTED",
    "direct_url.json",
    "uv_cache.json",
}

# Digests by the paths of files: None for a file that others have, too. One that
# is listed and has no digest, as uv writes it or it was not there, has "".
Files = dict[str, Optional[str]]


@dataclass
class Wheel:
    """The files that one wheel has brought, or those of its note."""

    files: Files = field(default_factory=dict)  # that it lists
    others: Files = field(default_factory=dict)  # beside them, of no wheel

    def differs(self, noted: Wheel, explained: set[str]) -> bool:
        """Return true if a file is another, or only one of them has it.

        `explained` has the files of several wheels that may be as they are.
        """
        for path in noted.files.keys() | self.files.keys():
            before, now = noted.files.get(path, ""), self.files.get(path, "")
            if now is None:
                if path not in noted.files or (
                    before and path not in explained
                ):
                    return True
            elif before is not None and before != now:
                return True
        return False

    def is_plain(self) -> bool:
        """Return true if few of its files are odd."""
        shared = sum(digest is None for digest in self.files.values())
        return max(shared, len(self.others)) <= ODD_MAX

    def encode(self) -> str:
        """Return its note, in ASCII."""
        return json.dumps([self.files, self.others])


class Digests:
    """The notes of one work folder; `work` is its descriptor."""

    def __init__(self, work: int) -> None:
        self.work = work
        self.new: dict[str, Wheel] = {}  # to be noted, by their hashes

    def find_changed(
        self,
        folder: int,
        packages: Iterable[Package],
        check: Callable[[], None],
        is_fresh: bool = False,
    ) -> list[str]:
        """Return the packages whose files are not those of their notes.

        The folder has only what `judge` has permitted. `check` is called for
        each folder in it and may raise. `is_fresh`: all wheels were fetched for
        this job, so those without a note may have changed files of the others.
        """
        there: dict[str, str] = {}
        _hash_all(folder, "", there, check)
        wheels = _find_wheels(folder, there)
        notes: dict[str, Wheel] = {}
        self.new = {}
        for one in packages:
            wheel = wheels.setdefault(one.name, Wheel())
            is_known = bool(_SHA256.fullmatch(one.sha256))
            noted = self._read(one.sha256) if is_known else None
            if noted is not None:
                notes[one.name] = noted
            elif is_known:
                self.new[one.sha256] = wheel
            if noted is None and is_fresh:
                notes[one.name] = wheel
        explained = _explain(wheels, notes, there)
        # Files on no list that a note has.
        expected: set[tuple[str, Optional[str]]] = set()
        for noted in notes.values():
            expected.update(noted.others.items())
        return [
            name
            for name, noted in notes.items()
            if wheels[name].differs(noted, explained)
            or wheels[name].others.items() - expected
        ]

    def note(self) -> None:
        """Note what was new; this is not waited for on the disk.

        A note that a power loss has cut does not count.
        """
        if not self.new:
            return
        folder = open_folder(DIGESTS, self.work)
        try:
            for name, wheel in self.new.items():
                text = wheel.encode() if wheel.is_plain() else ""
                if not text or len(text) > BYTES_MAX:
                    continue
                part = f"{name}.next"
                remove(part, folder, self.work)
                number = os.open(part, NEW, 0o600, dir_fd=folder)
                with open(number, "w") as file:
                    file.write(text)
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)

    def _read(self, name: str) -> Optional[Wheel]:
        """Return the note of a wheel; None if there is none."""
        folder = open_folder(DIGESTS, self.work)
        try:
            found = json.loads(read_plain(name, folder, BYTES_MAX) or b"")
        except (ValueError, RecursionError):
            return None
        finally:
            os.close(folder)
        is_note = isinstance(found, list) and [type(one) for one in found] == [
            dict,
            dict,
        ]
        return Wheel(*found) if is_note else None


def _hash_all(
    folder: int, path: str, found: dict[str, str], check: Callable[[], None]
) -> None:
    """Add the digests of all files, but for those that uv has written."""
    check()
    with os.scandir(folder) as entries:
        for entry in entries:
            inner = f"{path}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                if not _is_written(inner):
                    digest = _hash(entry.name, folder, path == _PROGRAMS)
                    found.update({inner: digest} if digest else {})
                continue
            opened = open_folder(entry.name, folder)
            try:
                _hash_all(opened, f"{inner}/", found, check)
            finally:
                os.close(opened)


def _hash(name: str, folder: int, is_program: bool) -> str:
    """Return the digest; "" for a program that is a script."""
    number = os.open(name, READ, dir_fd=folder)
    try:
        digest = hashlib.sha256()
        while piece := os.read(number, _PIECE):
            if is_program and piece.startswith(_SCRIPT):
                return ""
            is_program = False
            digest.update(piece)
        return digest.hexdigest()
    finally:
        os.close(number)


def _is_written(path: str) -> bool:
    """Return true for what uv writes."""
    top, _, rest = path.partition("/")
    return top.lower().endswith(".dist-info") and rest in _WRITTEN


def _find_wheels(folder: int, there: dict[str, str]) -> dict[str, Wheel]:
    """Return what each package has brought, by the lists that uv writes.

    A file that is on no list may hide a module beside it. So it belongs to all
    packages that have such a module, which may be those of a namespace. No more
    of them are kept than show that there are too many.
    """
    wheels: dict[str, Wheel] = {}
    owners: dict[str, str] = {}
    shared = 0
    for name in sorted(os.listdir(folder)):
        if not name.lower().endswith(".dist-info"):
            continue
        owner = find_owner(name)
        own = wheels.setdefault(owner, Wheel()).files
        for path in read_record(folder, name):
            if path not in there:
                own[path] = ""
                continue
            other = owners.setdefault(path, owner)
            if other == owner:
                own[path] = there[path]
                continue
            shared += 1
            if shared <= SHARED_MAX:
                own[path] = wheels[other].files[path] = None
    others: dict[str, Files] = {}
    for path, digest in there.items():
        if path not in owners:
            others.setdefault(_module(path), {})[path] = digest
    for wheel in wheels.values():
        for module in sorted({_module(path) for path in wheel.files}):
            most = ODD_MAX + 1 - len(wheel.others)
            wheel.others.update(islice(others.get(module, {}).items(), most))
    return wheels


def _explain(
    wheels: dict[str, Wheel], notes: dict[str, Wheel], there: dict[str, str]
) -> set[str]:
    """Return the files of several wheels that are what one of them may bring.

    A note that has none for it, as others had that file, permits any digest.
    """
    return {
        path
        for name, noted in notes.items()
        for path, digest in wheels[name].files.items()
        if digest is None and noted.files.get(path, "") in (None, there[path])
    }


def _module(path: str) -> str:
    return path.partition("/")[0].partition(".")[0]
