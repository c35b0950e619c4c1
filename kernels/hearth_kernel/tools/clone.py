"""`%clone` in a kernel: the gateway is asked to bring a git repository from
outside."""

from __future__ import annotations

import re
import sys
from typing import Any

from IPython.core.error import UsageError

from hearth_kernel.tools import outside

_USAGE = (
    "%clone: name a URL: `%clone URL [PATH] [--ref REF] [--depth N] [--lfs] "
    "[--submodules]`; a ref is a branch, a tag or a commit"
)
_NUMBER = re.compile("[1-9][0-9]{0,8}")
_NEEDS = {
    "--ref": "a branch, a tag or a commit",
    "--depth": "a number",
    "--lfs": "",
    "--submodules": "",
}


def _read(line: str) -> dict[str, Any]:
    """Return the members of the call that a line means."""
    asked: dict[str, Any] = outside.read(line, "%clone", _USAGE, _NEEDS)
    depth = asked.get("depth")
    if depth is not None:
        if not _NUMBER.fullmatch(depth):
            raise UsageError(
                f"%clone: --depth {depth}: a number of commits, at least 1"
            )
        asked["depth"] = int(depth)
    return {"kind": "repository", **asked}


def _line(reply: dict[str, Any]) -> str:
    """Describe a repository as `hearth clone` does.

    A replay prints the same. So it is left out whether it was in the gateway's
    cache, and its size, which has all that the server's branches have by then.
    """
    branch = reply["branch"]
    return (
        f"{reply['path']}  commit {reply['commit']}"
        f"{f'  branch {branch}' if branch else ''}"
    )


def _say_pointers(count: int, had_lfs: bool) -> str:
    if had_lfs and count == 1:
        return "1 file looks like a Git LFS pointer, and stays"
    if had_lfs:
        return f"{count} files look like Git LFS pointers, and stay"
    if count == 1:
        return "1 file is a Git LFS pointer: --lfs brings its content"
    return f"{count} files are Git LFS pointers: --lfs brings their contents"


def _lacks(reply: dict[str, Any], had_lfs: bool) -> list[str]:
    """Say what the repository has and the workspace has not."""
    lfs, submodules = reply["lfs"], reply["submodules"]
    lacks = []
    if lfs:
        lacks.append(_say_pointers(lfs, had_lfs))
    if submodules == 1:
        lacks.append("1 submodule is an empty folder")
    elif submodules:
        lacks.append(f"{submodules} submodules are empty folders")
    return lacks


def serve(line: str) -> None:
    """Clone what a line asks for; wait for it, however long that takes."""
    asked = _read(line)
    reply = outside.ask(
        "%clone",
        "repositories",
        "the folder is there once it is whole",
        asked,
    )
    print(_line(reply))
    if "note" in reply:
        print(f"%clone: {reply['note']}", file=sys.stderr)
    for lack in _lacks(reply, "lfs" in asked):
        print(f"%clone: {lack}", file=sys.stderr)
