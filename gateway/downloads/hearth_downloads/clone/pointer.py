"""Pointers of Git LFS: small files that name a content, read strictly.

A file that is not exactly as the specification has it is no pointer, and stays
as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

VERSION = b"version https://git-lfs.github.com/spec/v1\n"
POINTER_MAX = 1024  # bytes; a pointer has fewer
SIZE_MAX = 1 << 60
_LINE = re.compile(r"([a-z0-9.-]+) ([^\r\n]+)")
_OID = re.compile(r"sha256:([0-9a-f]{64})")
# Git LFS has no pointer to nothing: an empty file is its own. And git would
# look into a file that its index has as empty, and find no pointer.
_SIZE = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


@dataclass(frozen=True)
class Pointer:
    """A content: its SHA-256 and its bytes."""

    oid: str
    size: int


def looks_like_pointer(content: bytes) -> bool:
    """Return true for a file that begins as a pointer does."""
    return len(content) < POINTER_MAX and _plain(content).startswith(VERSION)


def _plain(content: bytes) -> bytes:
    """Return it as it is kept; `eol=crlf` changes pointers, too."""
    return content.replace(b"\r\n", b"\n")


def parse_pointer(content: bytes) -> Optional[Pointer]:
    """Return what a file points to; None if it is no pointer.

    One with extensions is not taken: a program of theirs would have to make
    the content.
    """
    content = _plain(content)
    if not looks_like_pointer(content) or not content.endswith(b"\n"):
        return None
    try:
        lines = content.decode("utf-8").split("\n")[1:-1]
    except UnicodeDecodeError:
        return None
    found = [_LINE.fullmatch(line) for line in lines]
    keys = [line[1] if line else "" for line in found]
    if "" in keys or keys != sorted(set(keys)):
        return None
    if any(key == "version" or key.startswith("ext-") for key in keys):
        return None
    values = {line[1]: line[2] for line in found if line}
    oid = _OID.fullmatch(values.get("oid", ""))
    size = _SIZE.fullmatch(values.get("size", ""))
    if not oid or not size or int(size[0]) > SIZE_MAX:
        return None
    return Pointer(oid[1], int(size[0]))
