"""The packages of the profile's Python, which is the Python that runs this.

Packages of a session are added to it and replace nothing of it. So uv is given
the packages that are there as constraints, and as wheels of their own in a
folder: a version that no index has can be resolved too. These wheels are empty
but for their names. They depend on nothing, because the profile is taken as it
is. Only requirements of their extras are listed.
"""

from __future__ import annotations

import io
import os
import re
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from typing import Optional, Protocol

from hearth_kernel.packages.names import normalise

from hearth_downloads.packages.requirement import is_name, is_version

_EXTRA = re.compile(r"\bextra\s*==")
_FIELD = re.compile(
    r"^(name|version|provides-extra|requires-dist):[ \t]*(.*(?:\n[ \t].*)*)",
    re.IGNORECASE | re.MULTILINE,
)
METADATA_MAX = 4 << 20  # bytes, of a package that came from an index
# Modules that hearth gives to kernels without such a file in sys.path.
OWN = frozenset(("hearth", "hearth_kernel", "hearth_downloads"))


@dataclass(frozen=True)
class Installed:
    """One package of the profile's Python."""

    name: str  # normalised
    version: str
    extras: tuple[str, ...]
    needs: tuple[str, ...]  # of extras

    @property
    def constraint(self) -> str:
        """Return the requirement that only this version satisfies."""
        return f"{self.name}=={self.version}"

    @property
    def filename(self) -> str:
        """Return the name of its wheel."""
        stem = self.name.replace("-", "_")
        return f"{stem}-{self.version.replace('-', '.')}-py3-none-any.whl"

    def make_wheel(self) -> bytes:
        """Return a wheel with nothing but the metadata."""
        return make_empty_wheel(
            self.filename,
            [
                f"Name: {self.name}",
                f"Version: {self.version}",
                *(f"Provides-Extra: {extra}" for extra in self.extras),
                *(f"Requires-Dist: {need}" for need in self.needs),
            ],
        )


def make_empty_wheel(filename: str, fields: list[str]) -> bytes:
    """Return a wheel of that name with nothing but these lines of metadata."""
    folder = "-".join(filename.split("-")[:2]) + ".dist-info"
    members = {
        "METADATA": "\n".join(["Metadata-Version: 2.1", *fields, "", ""]),
        "WHEEL": (
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        "RECORD": "",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            # Without the time: the wheels of each job are the same.
            archive.writestr(zipfile.ZipInfo(f"{folder}/{name}"), text)
    return out.getvalue()


def find_installed(preinstalled: str = "") -> dict[str, Installed]:
    """Return the packages by name; of two the one that is imported.

    Count what is in the folder `preinstalled` as the profile's, too. It came
    from an index: it is read, and never among the places of modules here.
    """
    found: dict[str, Installed] = {}
    for distribution in _find_distributions(preinstalled):
        try:
            one = _read(distribution)
        except Exception:  # noqa: S112  a broken package is no package
            continue
        if one is not None:
            found.setdefault(one.name, one)
    return found


class _Distribution(Protocol):
    """The part of one of importlib.metadata that is read."""

    def read_text(self, filename: str) -> Optional[str]:
        """Return that file of its metadata, None if there is none."""

    @property
    def requires(self) -> Optional[list[str]]:
        """Return its requirements, with those of extras."""


class _Folder:
    """One in a folder, where most are.

    To import importlib.metadata takes longer than to read them all.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def read_text(self, filename: str) -> Optional[str]:
        path = os.path.join(self.path, filename) if filename else self.path
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except (
            FileNotFoundError,
            IsADirectoryError,
            NotADirectoryError,
            PermissionError,
        ):
            return None

    @property
    def requires(self) -> Optional[list[str]]:
        if self.path.lower().endswith(".dist-info"):
            return []  # all are in the metadata
        from importlib.metadata import Distribution
        from pathlib import Path

        return Distribution.at(Path(self.path)).requires


def _find_distributions(preinstalled: str) -> Iterable[_Distribution]:
    """Return all in the order of importlib.metadata."""
    own = [preinstalled] if preinstalled else []
    finders = [one for one in sys.meta_path if one is not PathFinder]
    if any(hasattr(one, "find_distributions") for one in finders):
        yield from _ask_importlib(own) if own else ()
        yield from _ask_importlib(None)
        return
    for place in own + sys.path:
        yield from _find_in(place or ".")


def _find_in(place: str) -> Iterable[_Distribution]:
    if place.endswith(".egg") or os.path.isfile(place):  # or a zip file
        yield from _ask_importlib([place])
        return
    try:
        names = os.listdir(place)
    except OSError:
        return
    for name in names:
        if name.lower().endswith((".dist-info", ".egg-info")):
            yield _Folder(os.path.join(place, name))


def _ask_importlib(path: Optional[list[str]]) -> Iterable[_Distribution]:
    from importlib.metadata import distributions

    return distributions() if path is None else distributions(path=path)


def _read(distribution: _Distribution) -> Optional[Installed]:
    about = _read_fields(distribution)
    name = "".join(about["name"][:1])
    version = "".join(about["version"][:1])
    if not is_name(name) or not is_version(version):
        return None
    extras = about["provides-extra"]
    needs = about["requires-dist"]
    if extras and not needs:
        needs = distribution.requires or []  # a file of its own has them
    needs = [
        need
        for need in needs
        if _EXTRA.search(need.partition(";")[2])
        and "\n" not in need
        and "@" not in need
    ]
    return Installed(
        normalise(name),
        _canonical(version),
        tuple(extra for extra in extras if is_name(extra)),
        tuple(needs),
    )


def _read_fields(distribution: _Distribution) -> dict[str, list[str]]:
    """Return the values of these fields of its metadata.

    `distribution.metadata` would also parse the description, each time that it
    is asked, and that is most of the text.
    """
    found: dict[str, list[str]] = {
        "name": [],
        "version": [],
        "provides-extra": [],
        "requires-dist": [],
    }
    for filename in ("METADATA", "PKG-INFO", ""):
        text = distribution.read_text(filename)
        if text:
            head = text.partition("\n\n")[0]
            for name, value in _FIELD.findall(head):
                found[name.lower()].append(value.strip())
            break
    return found


def _canonical(version: str) -> str:
    """Return the version as the name of a wheel can have it."""
    version = version.lower().lstrip("v")
    return re.sub(r"-([0-9]+)(?=$|[+.])", r".post\1", version)


@dataclass(frozen=True)
class Module:
    """A module of the profile's."""

    folders: tuple[str, ...] = ()  # of a namespace package, which can be shared


def find_module(
    name: str, inside: tuple[str, ...] = (), preinstalled: str = ""
) -> Optional[Module]:
    """Return the module of that name; `inside` has its namespace's folders."""
    if not inside and name in OWN:
        return Module()
    if inside:
        return _to_module(PathFinder.find_spec(name, list(inside)))
    found = _to_module(_find_top(name))
    if not preinstalled:
        return found
    other = _to_module(PathFinder.find_spec(name, [preinstalled]))
    if found is None or other is None:
        return found or other
    if found.folders and other.folders:
        return Module(found.folders + other.folders)
    return Module()


def _to_module(spec: Optional[ModuleSpec]) -> Optional[Module]:
    if spec is None:
        return None
    if spec.origin is None:
        return Module(tuple(spec.submodule_search_locations or ()))
    return Module()


def _find_top(name: str) -> Optional[ModuleSpec]:
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        spec: Optional[ModuleSpec] = find_spec and find_spec(name, None)
        if spec is not None:
            return spec
    return None
