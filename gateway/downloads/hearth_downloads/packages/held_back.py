"""Finds which newer version only the cooldown has kept back, for a note.

The index's page has come anyway (status.py). Whether a young wheel would have
been taken is left to uv: it gets an empty wheel of the same name for each, also
one of the version that it has taken, and no index.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any, Callable, Optional

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.sandbox import Result
from hearth_downloads.packages.profile import Installed, make_empty_wheel
from hearth_downloads.packages.requirement import is_version, split
from hearth_downloads.packages.sentences import Young
from hearth_downloads.packages.stage import Stage
from hearth_downloads.packages.version import is_same

NAMES_MAX = 10  # of one request
FILENAME_MAX = 200
_FOLDER = "young"
_SOURCE, _OUTPUT = "held-back.in", "held-back.txt"
_SECOND = len("2026-01-01T00:00:00")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
# NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM, for a machine that runs sandboxes.
_WHEEL = re.compile(
    r"[A-Za-z0-9_.]+-[A-Za-z0-9_.!+]+(?:-[0-9][A-Za-z0-9_.]*)?"
    r"-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-(?:any|[a-z0-9_.]*linux[a-z0-9_.]*)\.whl"
)
_PYTHONS = re.compile(r"[0-9A-Za-z.,<>=!~* ]{0,200}")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
# Has uv resolve a file of the stage into another, with further options.
Compile = Callable[[str, str, list[str]], Result]


@dataclass(frozen=True)
class File:
    """A wheel that is younger than the cooldown."""

    filename: str
    published: datetime.datetime
    pythons: str  # the specifier for versions of Python; "" for all

    @property
    def version(self) -> str:
        """Return the version in its name."""
        return self.filename.split("-")[1]

    def imitate(self, name: str) -> bytes:
        """Return an empty wheel that fits the same Pythons."""
        fields = [f"Name: {name}", f"Version: {self.version}"]
        if self.pythons:
            fields.append(f"Requires-Python: {self.pythons}")
        return make_empty_wheel(self.filename, fields)


def show_file(entry: dict[str, Any], newest: str) -> list[str]:
    """Return name, time and Pythons of a page's file from after `newest`.

    Return [] for an older one, a yanked one and what is no wheel for here.
    """
    filename, time = str(entry.get("filename")), str(entry.get("upload-time"))
    pythons = str(entry.get("requires-python") or "")
    if (
        not _TIME.match(time)
        or time[:_SECOND] <= newest[:_SECOND]
        or entry.get("yanked")
        or not _is_wheel(filename, pythons)
    ):
        return []
    return [filename, time[:_SECOND], pythons]


def read_file(shown: list[str]) -> Optional[File]:
    """Return what `show_file` has returned; None for what is no such wheel."""
    filename, time, pythons = map(str, shown)
    if not _is_wheel(filename, pythons):
        return None
    try:
        published = datetime.datetime.fromisoformat(f"{time[:_SECOND]}+00:00")
    except ValueError:  # as for a leap second, which uv takes
        return None
    return File(filename, published, pythons)


def _is_wheel(filename: str, pythons: str) -> bool:
    """Return true for what a wheel for here may be called, and say it needs."""
    return (
        len(filename) <= FILENAME_MAX
        and _WHEEL.fullmatch(filename) is not None
        and is_version(filename.split("-")[1])
        and _PYTHONS.fullmatch(pythons) is not None
    )


def find_held_back(
    stage: Stage,
    compile_: Compile,
    young: dict[str, list[File]],
    asked: dict[str, str],
    taken: dict[str, str],
) -> list[Young]:
    """Return the versions that would have been taken, were they older.

    `asked` has the requirements, of packages that no other one needs, and
    `taken` the versions, by name.
    """
    names = [name for name in asked if young.get(name)][:NAMES_MAX]
    if not names:
        return []
    folder = stage.make_folder(_FOLDER)
    lines = []
    for name in names:
        lines.append(f"{name}{split(asked[name])[1]}\n")
        now = Installed(name, taken[name], (), ())
        files = {now.filename: now.make_wheel()}
        for one in young[name]:
            if normalise(one.filename.partition("-")[0]) == name:
                files.setdefault(one.filename, one.imitate(name))
        for filename, content in files.items():
            stage.write(f"{_FOLDER}/{filename}", content)
    stage.write(_SOURCE, "".join(lines).encode())
    # No made-up wheel may get into the cache.
    options = ["--no-index", "--no-cache", "--find-links", folder]
    if compile_(_SOURCE, _OUTPUT, options).code != 0:
        return []
    found = dict(_PIN.findall(stage.read(_OUTPUT)))
    return [
        Young(name, found[name], _find_time(young[name], found[name]))
        for name in names
        if found.get(name, taken[name]) != taken[name]
    ]


def _find_time(files: list[File], version: str) -> Optional[datetime.datetime]:
    """Return when the first file of that version was published."""
    times = [one.published for one in files if is_same(one.version, version)]
    return min(times, default=None)
