"""Packages that are imported in another version than the session has now.

Asked after packages were added or changed, of these alone. The objects that are
looked at are those of the session's code, which may lie or raise anything: it
gets no say here. None means that it is not known.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, Optional

from hearth_kernel.packages import record

# Reads the dict of a module itself, whatever its class overrides.
_members = vars(ModuleType)["__dict__"].__get__

# The version of each package when the folder was looked at last.
_seen: dict[str, str] = {}
# The version that is imported of those that were changed since.
_held: dict[str, str] = {}


@contextlib.contextmanager
def passing_over() -> Iterator[None]:
    """Pass over what the session's code raises, but an interrupt of a cell."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:  # it must not end the kernel
        pass


def _module(path: str) -> str:
    """Return the name of a file's module."""
    *parts, last = path.split("/")
    stem = last.partition(".")[0]
    return ".".join(parts if stem == "__init__" else [*parts, stem])


def _is_from(module: Any, place: str) -> bool:
    # A module that loads itself when it is used is not used here, and one that
    # overrides what it is made of is not asked.
    if not issubclass(type(module), ModuleType):
        return False
    file = dict.get(_members(module), "__file__")
    return type(file) is str and file.startswith(place)


def _is_imported(folder: str, entry: str) -> Optional[bool]:
    """Return true if a module of the package came from the folder."""
    text, is_whole = record.read(folder, entry)
    place = os.path.join(folder, "")
    for path in record.modules(text):
        module = dict.get(sys.modules, _module(path))
        if module is not None and _is_from(module, place):
            return True
    return False if is_whole else None


def _note(folder: str) -> None:
    for name, version, entry in record.entries(folder):
        before = _seen.setdefault(name, version)
        if before == version:
            continue
        if _is_imported(folder, entry) is False:
            _held.pop(name, None)
        else:
            _held.setdefault(name, before)
        # Last: what an interrupt leaves is looked at again.
        _seen[name] = version


def note(folder: str) -> None:
    """Note which versions there are, after they have changed."""
    with passing_over():
        _note(folder)


def _find(folder: str, names: Iterable[str]) -> Optional[list[str]]:
    _note(folder)
    there = {name: rest for name, *rest in record.entries(folder)}
    found = []
    for name in [name for name in names if name in there]:
        version, entry = there[name]
        is_imported = _is_imported(folder, entry)
        if is_imported is None:
            return None
        if is_imported and _held.get(name, version) != version:
            found.append(name)
    return found


def find(folder: str, names: Iterable[str]) -> Optional[list[str]]:
    """Return the packages that a restart gives in their new version.

    None if that is not known. The names are normalised.
    """
    with passing_over():
        return _find(folder, names)
    return None
