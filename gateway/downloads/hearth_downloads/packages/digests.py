"""Notes what the files of a wheel are, by the SHA-256 of the wheel.

    digests/SHA256      in the work folder, where uv cannot write

uv fills a session's folder from its cache. A uv that was taken over can change
a file there, and which entry is whose. So what a wheel brings is noted when it
is first seen, and compared each time that it is seen again. The uv that fetches
a wheel is believed. A wheel of the cache without a note is fetched again: an
earlier uv may have put it there, or have changed by which hash it is found.

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
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Callable, Optional

from hearth_downloads.core.folders import (
    NEW,
    READ,
    look_at,
    open_folder,
    read_plain,
    remove,
)
from hearth_downloads.packages.generations import Package
from hearth_downloads.packages.metadata import find_owner, read_record
from hearth_downloads.packages.stage import DIGESTS, Stage

# A wheel of which several wheels have more files than this is not compared, nor
# one with more files that are on no list (docs/guide/packages.md).
ODD_MAX = 1000
SHARED_MAX = 100_000  # entries of all lists that are kept
BYTES_MAX = 64 << 20  # of a note; a wheel that would need more is not compared
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
    is_open: bool = False  # it is too large for a note

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

    def _is_plain(self) -> bool:
        """Return true if few of its files are odd."""
        shared = sum(digest is None for digest in self.files.values())
        return max(shared, len(self.others)) <= ODD_MAX

    def encode(self) -> str:
        """Return its note, in ASCII; that of one that is too large is empty."""
        text = json.dumps([self.files, self.others]) if self._is_plain() else ""
        return text if 0 < len(text) <= BYTES_MAX else "[]"


class Digests:
    """The notes of one work folder; `work` is its descriptor.

    A job that is offline cannot fetch a wheel without a note. It believes one
    of whose version no file has a note.
    """

    def __init__(self, work: int, is_offline: bool = False) -> None:
        self.work = work
        self.is_offline = is_offline
        self.new: dict[str, Wheel] = {}  # to be noted, by the notes' names

    def find_changed(
        self,
        folder: int,
        packages: Iterable[Package],
        check: Callable[[], None],
        fetched: Collection[str],
        hashes: dict[str, set[str]],
    ) -> list[str]:
        """Return the packages whose files are not those of their notes.

        The folder has only what `judge` has permitted. `check` is called for
        each folder in it and may raise. `fetched` has the packages whose wheels
        have come in this job: others have to have a note. `hashes` are those of
        all files of a version, by the package's name.
        """
        there: dict[str, str] = {}
        _hash_all(folder, "", there, check)
        wheels = _find_wheels(folder, there)
        notes: dict[str, Wheel] = {}
        doubtful: list[str] = []
        self.new = {}
        for one in packages:
            wheel = wheels.setdefault(one.name, Wheel())
            possible = hashes.get(one.name, set())
            is_known = bool(_SHA256.fullmatch(one.sha256))
            note = one.sha256 if is_known else _name(one, wheel, possible)
            noted = self._read(note)
            if noted is not None and (is_known or one.name not in fetched):
                notes[one.name] = wheel if noted.is_open else noted
            elif one.name in fetched:
                notes[one.name] = wheel
                self.new[note] = wheel
            elif (is_known and not self.is_offline) or self._has_any(possible):
                doubtful.append(one.name)
            elif is_known:
                self.new[note] = wheel
        explained = _explain(wheels, notes, there)
        # Files on no list that a note has.
        expected: set[tuple[str, Optional[str]]] = set()
        for noted in notes.values():
            expected.update(noted.others.items())
        return doubtful + [
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
                part = f"{name}.next"
                remove(part, folder, self.work)
                number = os.open(part, NEW, 0o600, dir_fd=folder)
                with open(number, "w") as file:
                    file.write(wheel.encode())
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)

    def _has_any(self, hashes: Iterable[str]) -> bool:
        """Return true if a file of these has a note.

        A package of an unknown hash may be that one, with other tags.
        """
        folder = open_folder(DIGESTS, self.work)
        try:
            return any(
                _SHA256.fullmatch(one)
                and look_at(one, folder)
                and self._read(one)
                for one in hashes
            )
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
        if found == []:
            return Wheel(is_open=True)
        is_note = isinstance(found, list) and [type(one) for one in found] == [
            dict,
            dict,
        ]
        return Wheel(*found) if is_note else None


def find_fetched(stage: Stage) -> set[str]:
    """Return the packages whose wheels uv has unpacked in this job."""
    archive = stage.open_archive()
    found: set[str] = set()
    if archive is None:
        return found
    try:
        for name in set(os.listdir(archive)) - stage.before.wheels:
            if stage.is_folder(name, archive):
                found.update(_find_owners(name, archive))
    finally:
        os.close(archive)
    return found


def _find_owners(name: str, archive: int) -> list[str]:
    folder = open_folder(name, archive)
    try:
        names = os.listdir(folder)
    finally:
        os.close(folder)
    return [
        find_owner(one) for one in names if one.lower().endswith(".dist-info")
    ]


def _name(package: Package, wheel: Wheel, hashes: Collection[str]) -> str:
    """Return the name of the note of a wheel whose hash is not known.

    It has one of these hashes, and another note if its file WHEEL is another.
    Two that have the same one take turns: the last that was fetched has it.
    """
    about = sorted(
        digest or ""
        for path, digest in wheel.files.items()
        if path.endswith(".dist-info/WHEEL")
    )
    key = json.dumps([package.name, package.version, sorted(hashes), about])
    return hashlib.sha256(key.encode()).hexdigest()


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
            if path not in there and not path.startswith(_PROGRAMS):
                own[path] = ""
                continue
            other = owners.setdefault(path, owner)
            if other == owner:
                own[path] = there.get(path, "")
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
        if digest is None
        and noted.files.get(path, "") in (None, there.get(path, ""))
    }


def _module(path: str) -> str:
    return path.partition("/")[0].partition(".")[0]
