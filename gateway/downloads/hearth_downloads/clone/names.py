"""Names that no file of a working tree has: git takes them for its own.

A folder with such a name could be a repository with a configuration that runs
programs, whenever git looks at the files around it.
"""

from __future__ import annotations

import re
import unicodedata

from hearth_downloads.core.faults import Refused

# Letters that file systems of macOS leave out (git's utf8.c has the same).
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_NAMES = (".git", "git~1")  # the second is its short name on Windows


def git_name(name: str) -> Refused:
    """Return the fault of such a name."""
    return Refused(
        f"the repository has a file named {name!r}, which git takes for its own"
    )


def is_git_name(name: bytes) -> bool:
    """Return true for `.git` in any of the ways in which systems write it."""
    if name.isascii() and b"git" not in name.lower():
        return False  # most names
    text = name.decode("utf-8", "ignore")
    return any(_is_git(part) for part in text.split("\\"))


def _is_git(text: str) -> bool:
    text = _IGNORED.sub("", text).partition(":")[0].rstrip(". ")
    return unicodedata.normalize("NFKC", text).casefold() in _NAMES
