"""Files of the session's packages that Python would run at its start.

The packages worker refuses them unless the operator permits them by
profile/<name>/packages/pth. They come while the kernel runs, and run as a part
of its next cell: what they print is the cell's, and an interrupt ends both. A
file that hangs, or ends the kernel, is so in no one's way at a restart, until a
cell runs. A revival runs cells, so a file that ends the kernel ends it again.
"""

from __future__ import annotations

import importlib
import os
import site
import sys
import traceback
from importlib.machinery import PathFinder
from typing import Optional

_MODULES = ("sitecustomize", "usercustomize")

_looked: Optional[str] = None  # where the folder led when all of it had run
_ran: dict[str, bytes] = {}  # the content with which each file has run


def run(folder: str, target: Optional[str]) -> None:
    """Run those that have not run here, if the folder leads elsewhere now.

    A file is noted before it runs: one that does not end is not run again.
    """
    global _looked
    if target is None or target == _looked:
        return
    for name in sorted(os.listdir(folder)):
        # As Python itself has it, but for the case of the name.
        if name.endswith(".pth") and not name.startswith("."):
            _process(folder, name)
    for name in _MODULES:
        _import(folder, name)
    _looked = target


def _process(folder: str, name: str) -> None:
    """Do what site does: run lines of imports, and add the others as places.

    site writes an error of a line to stderr, and leaves out the rest of the
    file. It leaves out what is no file, and raises what it cannot decode.
    """
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        content = file.read()
    if _ran.get(name) == content:
        return
    _ran[name] = content
    try:
        site.addpackage(folder, name, None)
    except Exception:
        traceback.print_exc()


def _import(folder: str, name: str) -> None:
    """Import it, unless the profile's Python has one: there is one alone."""
    if name in _ran or PathFinder.find_spec(name, [folder]) is None:
        return
    _ran[name] = b""
    if name in sys.modules:
        return
    try:
        importlib.import_module(name)
    except Exception:  # as Python itself does it
        traceback.print_exc()
