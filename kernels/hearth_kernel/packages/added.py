"""The packages that were added to the session: a folder that others change.

The gateway names it in HEARTH_PACKAGES. It is read-only here, and is a symbolic
link: a process outside makes it lead to another folder when packages are added
or removed, so that no cell sees half of them.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterable
from typing import Optional

from hearth_kernel.packages import outdated, start_files
from hearth_kernel.packages.names import matches, normalise

VARIABLE = "HEARTH_PACKAGES"
LISTS_VARIABLE = "HEARTH_PACKAGES_LISTS"  # JSON; missing: no list is known
CELLS_VARIABLE = "HEARTH_PACKAGES_CELLS"  # "no": only clients add packages
PTH_VARIABLE = "HEARTH_PACKAGES_PTH"  # "yes": what runs at the start does
SHADOW_VARIABLE = "HEARTH_PACKAGES_SHADOW"  # "yes": they are found first
_SHOWN_MAX = 300  # characters of a list in a sentence

_folder = ""  # "": the profile has no packages
_is_for_cells = True
_runs_start_files = False
_shadows = False  # they are to be found before the profile's
# Each has "allow" or "deny", the setting, and its names.
_lists: list[tuple[str, str, list[str]]] = []
_seen: Optional[str] = None  # where the link led; None: there was none


def _target() -> Optional[str]:
    try:
        return os.readlink(_folder)
    except OSError:
        return None


def _add(name: str, path: str, is_first: bool) -> None:
    """To a list of places in the environment, which programs inherit."""
    before = os.environ.get(name)
    places = [before, path] if before else [path]
    os.environ[name] = os.pathsep.join(places[::-1] if is_first else places)


def begin() -> None:
    """Find the folder, and let programs find what is in it.

    Before the link begins, whose programs beside the kernel have the
    environment of that moment. Programs find these packages first, so none may
    have a name that the profile has, unless the operator permits it.
    """
    global _folder, _is_for_cells, _lists, _runs_start_files, _shadows
    _folder = os.environ.get(VARIABLE, "")
    _is_for_cells = os.environ.get(CELLS_VARIABLE) != "no"
    _lists = json.loads(os.environ.get(LISTS_VARIABLE, "[]"))
    if not _folder:
        return
    _runs_start_files = os.environ.get(PTH_VARIABLE) == "yes"
    _shadows = os.environ.get(SHADOW_VARIABLE) == "yes"
    _add("PYTHONPATH", _folder, _shadows)
    _add("PATH", os.path.join(_folder, "bin"), False)


def add_place() -> None:
    """Have the folder among the places of modules.

    Last: what the profile's Python has is found before.
    """
    if _folder:
        sys.path.append(_folder)


def enter() -> None:
    """Do in a cell of the session's what the operator permits its packages.

    No sooner: what the kernel imports for its start is the profile's, so it can
    start whatever the packages have.
    """
    global _shadows
    if _shadows:
        _shadows = False
        while _folder in sys.path:
            sys.path.remove(_folder)
        sys.path.insert(int(sys.path[:1] == [""]), _folder)
    if _runs_start_files:
        start_files.run(_folder, _seen)


def folder() -> str:
    """Return the folder's path, or "" if the profile has no packages."""
    return _folder


def is_for_cells() -> bool:
    """Whether a cell can ask for packages."""
    return bool(_folder) and _is_for_cells


def find_rule(package: str) -> str:
    """Return the rule by which the lists do not permit it, or "".

    The lists are those of the kernel's start. The gateway judges each request.
    """
    name = normalise(package)
    for kind, setting, names in _lists:
        if kind == "deny" and matches(name, names):
            return f"{setting} names it"
        if kind == "allow" and not matches(name, names):
            return f"{setting} permits {', '.join(names)[:_SHOWN_MAX]}"
    return ""


def advise(command: str) -> str:
    """Say how to get a package, after a command that does not install one."""
    if not _folder:
        return (
            f"{command}: this kernel has no network and its Python is "
            "read-only. Packages are installed into the profile's "
            "environment, outside."
        )
    if not _is_for_cells:
        return (
            f"{command}: this kernel has no network. A client can add a "
            "package: `hearth packages add SESSION NAME`; the next cell can "
            "import it."
        )
    return (
        f"{command}: this kernel has no network. `%pip install NAME` asks for "
        "a package from outside; the next line can import it."
    )


def _forget() -> None:
    """Forget what the folder had.

    An import that found no folder is not tried there again. One that found it
    looks only at its time, which has a coarse clock. A namespace package that
    is imported looks for its parts again after invalidate_caches() alone.
    """
    sys.path_importer_cache.pop(_folder, None)
    importlib.invalidate_caches()
    metadata = sys.modules.get("importlib.metadata")
    if metadata is not None:  # Pythons before 3.12 leave it out
        metadata.MetadataPathFinder().invalidate_caches()


def look() -> None:
    """Forget what the folder had, if it leads elsewhere than at the last look.

    The next look does what an interrupt of this one has left.
    """
    global _seen
    if not _folder:
        return
    target = _target()
    if target != _seen:
        outdated.note(_folder)
        with outdated.passing_over():
            _forget()
        _seen = target


def find_old(names: Iterable[str]) -> Optional[list[str]]:
    """Return the packages that are imported in another version than is there.

    None if that is not known.
    """
    look()
    return outdated.find(_folder, names)
