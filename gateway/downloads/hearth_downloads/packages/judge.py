"""Judges the folder that uv has filled, when nothing of uv runs any more.

Its files came from an index. Only plain files and folders are shown to a
session, and only under names that mean the same to every program. A file is
refused if Python would run it without an import, or if it replaces a module of
the profile's. An operator can permit both to sessions.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass
from typing import Callable, Optional

from hearth_downloads.core.faults import Refused, clean
from hearth_downloads.core.folders import open_folder
from hearth_downloads.packages.growth import too_many_bytes, too_many_files
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.profile import OWN, Module

# The number of the rules here, in metadata.py and in needs.py: one more with
# each rule that older packages may not meet. They are judged again (change.py).
RULES = 3
DEPTH_MAX = 64
_SPECIAL_BITS = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_RUN_AT_START = ("sitecustomize", "usercustomize")
# Finds a module by its name and the folders of its namespace package.
FindModule = Callable[[str, tuple[str, ...]], Optional[Module]]


@dataclass
class Tally:
    """The sum of the files so far."""

    size: int = 0
    count: int = 0


def judge(
    job: Job,
    folder: int,
    find_module: FindModule,
    check: Callable[[], None],
) -> Tally:
    """Refuse the folder of that descriptor, or return what is in it.

    `check` is called for each folder and may raise.
    """
    tally = Tally()
    for name in _judge_folder(job, folder, "", tally, check):
        _judge_start(job, name)
    _judge_modules(job, folder, "", (), find_module)
    return tally


def _judge_folder(
    job: Job,
    folder: int,
    path: str,
    tally: Tally,
    check: Callable[[], None],
) -> list[str]:
    """Judge a folder and all below it; return its names."""
    if path.count("/") > DEPTH_MAX:
        raise Refused(f"a package has folders that are too deep: {show(path)}")
    check()
    keys: dict[str, str] = {}
    names = os.listdir(folder)
    for name in names:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        inner = f"{path}{name}"
        tally.count += 1
        if tally.count > job.max_files:
            raise too_many_files(job)
        _judge_name(name, inner, keys)
        _judge_kind(about, inner)
        if stat.S_ISDIR(about.st_mode):
            _judge_inner(job, folder, name, inner, tally, check)
            continue
        tally.size += about.st_size
        if tally.size > job.max_bytes:
            raise too_many_bytes(job)
    return names


def _judge_inner(
    job: Job,
    folder: int,
    name: str,
    path: str,
    tally: Tally,
    check: Callable[[], None],
) -> None:
    opened = open_folder(name, folder)
    try:
        _judge_folder(job, opened, f"{path}/", tally, check)
    finally:
        os.close(opened)


def _judge_name(name: str, path: str, keys: dict[str, str]) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Refused(
            f"a package has a file whose name is not UTF-8: {show(path)}",
            rule="names",
        ) from None
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise Refused(
            "a package has a file with a control character in its name: "
            f"{show(path)}",
            rule="names",
        )
    key = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", name).casefold()
    )
    other = keys.setdefault(key, name)
    if other != name:
        raise Refused(
            "two files of the packages have names that differ only by case or "
            f"form: {show(path)} and {show(other)}",
            rule="names",
        )


def _judge_kind(about: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(about.st_mode) else "special"
        raise Refused(
            f"{show(path)} of a package is {kind}; only plain files and "
            "folders are taken",
            rule="kinds",
        )
    if about.st_mode & _SPECIAL_BITS:
        raise Refused(
            f"{show(path)} of a package has a set-user-id, set-group-id or "
            "sticky bit",
            rule="kinds",
        )


def _judge_start(job: Job, name: str) -> None:
    lower = name.lower()
    if _is_permitted(job, "pth"):
        return
    if lower.endswith(".pth"):
        raise Refused(
            f"a package has the file {show(name)}, by which Python would run "
            f"code at its start; {_advise(job, 'pth')}",
            rule="pth",
        )
    if lower.startswith(_RUN_AT_START):
        raise Refused(
            f"a package has {show(name)}, which Python would run at its start; "
            f"{_advise(job, 'pth')}",
            rule="pth",
        )


def _is_permitted(job: Job, setting: str) -> bool:
    """Return true if the operator permits it.

    Not for what all sessions of a profile have: a zygote, which is in no
    sandbox, may import of that.
    """
    return bool(getattr(job, setting)) and job.order != "profile"


def _advise(job: Job, setting: str) -> str:
    """Say how what a switch refuses could come."""
    if job.order == "profile":
        return "such a package can only be in the profile's Python"
    if setting in job.own_texts:
        return job.own_rule(setting)
    return f"the operator can permit it by {job.setting(setting)} = yes"


def _judge_modules(
    job: Job,
    folder: int,
    package: str,
    inside: tuple[str, ...],
    find_module: FindModule,
) -> None:
    """Refuse a module that the profile has, or that is in the way of its own.

    Only two namespace packages, folders without `__init__.py`, go together.
    So what is in both is judged alike: `package` is the name of such a folder
    with a dot, and `inside` has the profile's. `_judge_folder` has bounded
    how deep they are.
    """
    for name in os.listdir(folder):
        module = _name_module(name, os.stat(name, dir_fd=folder).st_mode)
        if module is None:
            continue
        is_own = not inside and module in OWN
        if _is_permitted(job, "shadow") and not is_own:
            continue
        found = find_module(module, inside)
        if found is None:
            continue
        if not found.folders or not _is_namespace(folder, name):
            advice = "" if is_own else f"; {_advise(job, 'shadow')}"
            raise Refused(
                f"a package has a module {show(package + module)}, and the "
                f"profile's Python has one of that name already{advice}",
                rule="shadow",
            )
        opened = open_folder(name, folder)
        try:
            _judge_modules(
                job, opened, f"{package}{module}.", found.folders, find_module
            )
        finally:
            os.close(opened)


def _name_module(name: str, mode: int) -> Optional[str]:
    """Return the name of the module, None for another file."""
    module = name.partition(".")[0]
    is_folder = stat.S_ISDIR(mode)
    if not module.isidentifier() or (is_folder and "." in name):
        return None
    if not is_folder and not name.lower().endswith((".py", ".so", ".pyc")):
        return None
    return module


def _is_namespace(folder: int, name: str) -> bool:
    """Return true for a folder without `__init__`."""
    try:
        opened = open_folder(name, folder)
    except NotADirectoryError:
        return False
    try:
        return all(
            inner.partition(".")[0] != "__init__"
            for inner in os.listdir(opened)
        )
    finally:
        os.close(opened)


def show(path: str) -> str:
    """Return the path of a package's file for a sentence."""
    shown = path.encode("utf-8", "backslashreplace").decode()
    return clean(ascii(shown)[1:-1], 200)
