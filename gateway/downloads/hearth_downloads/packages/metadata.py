"""Judges which packages the metadata of a filled folder claims to be.

Programs believe the name of a `.dist-info` folder, and the text in it. A wheel
can bring such a folder for a package that it is not, or write over its own. So
only what was resolved may be named, by the folder and by the text. Each package
has one such folder, in which no other wheel has written.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from collections.abc import Collection
from typing import BinaryIO, Callable, NoReturn, Optional

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Refused, clean
from hearth_downloads.core.folders import READ
from hearth_downloads.packages.judge import show
from hearth_downloads.packages.profile import METADATA_MAX
from hearth_downloads.packages.version import is_same

_KINDS = (".dist-info", ".egg-info")
# setuptools finds packages by these, too. An index's wheel needs none.
_OTHERS = (".egg", ".egg-link")
_TEXTS = ("METADATA", "PKG-INFO")
_RECORD_MAX = 64 << 20  # bytes; it has one line a file
_FIELDS = ("name", "version")
_LINE_END = re.compile(r"\r\n|\r|\n")  # as email.parser has it


def judge_metadata(
    folder: int, versions: dict[str, str], check: Callable[[], None]
) -> None:
    """Refuse metadata of what is no package of `versions`, or another version.

    The folder has only what `judge` has permitted. Names are normalised.
    `check` is called for each entry and may raise.
    """
    own = []
    for name in os.listdir(folder):
        check()
        stem, dot, kind = name.lower().rpartition(".")
        kind = dot + kind
        if kind in _OTHERS:
            raise Refused(
                f"a package has {show(name)}, by which a program would find "
                "other packages; only the metadata of its own is taken",
                rule="metadata",
            )
        if kind in _KINDS:
            _judge_entry(folder, name, stem, kind, versions)
        if kind == ".dist-info":
            own.append(name)
    found: dict[str, str] = {}
    for name in sorted(own):
        check()
        _judge_owner(folder, name, found)


def _judge_entry(
    folder: int, name: str, stem: str, kind: str, versions: dict[str, str]
) -> None:
    words = stem.split("-", 2)
    package = normalise(words[0])
    version = versions.get(package)
    if version is None:
        _refuse(show(name), words, "which was not resolved")
    # The folder of an egg may have no version, or Python's after it.
    if not (
        is_same(words[1], version) if len(words) > 1 else kind == ".egg-info"
    ):
        _refuse(show(name), words, f"and {version} was resolved")
    for path in _find_texts(folder, name):
        _judge_text(folder, path, package, version)


def _find_texts(folder: int, name: str) -> list[str]:
    """Return the files in which a program looks for the package's name."""
    about = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISDIR(about.st_mode):
        return [name]
    return [f"{name}/{text}" for text in _TEXTS]


def _judge_owner(folder: int, name: str, found: dict[str, str]) -> None:
    """Refuse a wheel that has written metadata of another package.

    uv writes the list of a wheel's files after them. A wheel that comes later
    may write over that list; then its own list, which is later still, says so.
    `found` has the folders by their packages.
    """
    package = find_owner(name)
    other = found.setdefault(package, name)
    if other != name:
        raise Refused(
            f"{package} has {show(other)} and {show(name)}, and one of them "
            "is not its own; only the metadata of its own is taken",
            rule="metadata",
        )
    for one in read_record(folder, name):
        top = one.partition("/")[0]
        is_metadata = top.lower().endswith(".dist-info") and top != one
        if is_metadata and find_owner(top) != package:
            raise Refused(
                f"the wheel of {package} has {show(one)}, which is that of "
                "another; only the metadata of its own is taken",
                rule="metadata",
            )


def read_record(folder: int, name: str) -> list[str]:
    """Return the files that uv lists of a wheel; `name` is its `.dist-info`.

    There are none without a list; one that cannot be read is refused.
    """
    path = f"{name}/RECORD"
    file = _open_text(folder, path, _RECORD_MAX)
    if file is None:
        return []
    with io.TextIOWrapper(file, "utf-8", "replace", newline="") as text:
        try:
            return [row[0] for row in csv.reader(text) if row]
        except csv.Error as error:
            raise Refused(
                f"{show(path)} cannot be read: {error}", rule="metadata"
            ) from None


def find_owner(name: str) -> str:
    """Return the package that the name of a `.dist-info` folder claims."""
    return normalise(name.partition("-")[0])


def _open_text(folder: int, path: str, most: int) -> Optional[BinaryIO]:
    """Return a file of metadata; None if it is not there."""
    try:
        number = os.open(path, READ, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    about = os.fstat(number)
    if stat.S_ISREG(about.st_mode) and about.st_size <= most:
        return open(number, "rb")
    os.close(number)
    if stat.S_ISDIR(about.st_mode):
        raise Refused(
            f"{show(path)} of a package is a folder, and not a text",
            rule="metadata",
        )
    raise Refused(
        f"{show(path)} has {about.st_size} bytes, and the most is {most}",
        rule="metadata",
    )


def _judge_text(folder: int, path: str, package: str, version: str) -> None:
    file = _open_text(folder, path, METADATA_MAX)
    if file is None:
        return
    with file:
        text = file.read(METADATA_MAX).decode("utf-8", "replace")
    for field, value in read_fields(text, _FIELDS):
        if field == "name" and normalise(value) != package:
            _refuse(show(path), [value], f"and it is that of {package}")
        if field == "version" and not is_same(value, version):
            _refuse(show(path), [package, value], f"and {version} was resolved")


def read_fields(text: str, fields: Collection[str]) -> list[tuple[str, str]]:
    """Return all of these fields of its head; a program may take the first.

    Lines that begin with a space go on with the field before them. A value that
    begins on such a line is empty here, and as a name it is refused.
    """
    found = []
    for line in _LINE_END.split(text):
        field, colon, value = line.partition(":")
        if colon and field.lower() in fields:
            found.append((field.lower(), value.strip()))
        elif not line and found:
            break
    return found


def _refuse(where: str, words: list[str], why: str) -> NoReturn:
    which = clean(" ".join(words[:2]), 100)
    raise Refused(
        f"a package has {where}, by which it would pass as {which}, {why}; "
        "only the metadata of its own is taken",
        rule="metadata",
    )
