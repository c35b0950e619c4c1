"""The index that git has left, read strictly and written anew.

Names, kinds and hashes alone are passed on: no extension, no flag, and no facts
of files, which git finds out where the files are. A file that has a content of
Git LFS has its time and its size in the index: by them git takes it for the
pointer that the repository has, until it is changed.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from typing import Optional

from hearth_downloads.clone.names import git_name, is_git_name
from hearth_downloads.clone.tree import ENTRIES_MAX, PATH_MAX, too_many
from hearth_downloads.core.faults import Failed

INDEX_BYTES_MAX = 128 << 20
DATE = 946684800  # 2000-01-01, UTC; the gateway gives it to such a file
_KINDS = (0o100644, 0o100755, 0o120000)
_SUBMODULE = 0o160000
_STAT = 40  # bytes of facts before a hash
_MODE = 24  # where the mode is in them
_FACTS = struct.Struct(">8xI12xI8xI")  # time, mode and size
_LENGTH = 0xFFF  # of a name, in the flags


class _Unreadable(Exception):
    pass


def rewrite_index(
    content: bytes, digits: int, sizes: Mapping[bytes, int]
) -> tuple[bytes, dict[bytes, str]]:
    """Return the index as it is passed on, and its submodules with commits.

    `sizes` are of the files that have a content of Git LFS.
    """
    try:
        return _rewrite(content, digits // 2, sizes)
    except (_Unreadable, struct.error, ValueError, IndexError):
        raise Failed("the index that git has left cannot be read") from None


def _rewrite(
    content: bytes, size: int, sizes: Mapping[bytes, int]
) -> tuple[bytes, dict[bytes, str]]:
    mark, version, count = struct.unpack_from(">4sII", content)
    if mark != b"DIRC" or version != 2:
        raise _Unreadable
    if count > ENTRIES_MAX:
        raise too_many()
    made = bytearray(content[:12])
    at, last = 12, b""
    submodules: dict[bytes, str] = {}
    for _ in range(count):
        mode, value, name, after = _read_entry(content, at, size)
        if name <= last or not _is_path(name):
            raise _Unreadable
        if mode == _SUBMODULE:
            submodules[name] = value.hex()
        made += _write_facts(mode, sizes.get(name))
        flags = min(len(name), _LENGTH)
        made += value + struct.pack(">H", flags) + name
        made += bytes(8 - (_STAT + size + 2 + len(name)) % 8)
        at, last = after, name
    digest = hashlib.sha1 if size == 20 else hashlib.sha256
    return bytes(made + digest(made).digest()), submodules


def _write_facts(mode: int, size: Optional[int]) -> bytes:
    if size is None:
        return _FACTS.pack(0, mode, 0)
    return _FACTS.pack(DATE, mode, size & 0xFFFFFFFF)


def _read_entry(
    content: bytes, at: int, size: int
) -> tuple[int, bytes, bytes, int]:
    """Return mode, hash and name, and where the next entry is."""
    (mode,) = struct.unpack_from(">I", content, at + _MODE)
    head = _STAT + size + 2
    (flags,) = struct.unpack_from(">H", content, at + head - 2)
    end = content.index(b"\0", at + head, at + head + PATH_MAX + 1)
    name = content[at + head : end]
    if mode not in (*_KINDS, _SUBMODULE) or flags & ~_LENGTH:
        raise _Unreadable
    whole = head + len(name)
    value = content[at + _STAT : at + _STAT + size]
    return mode, value, name, at + whole + 8 - whole % 8


def _is_path(name: bytes) -> bool:
    """Return true for a path; one with a name of git's is refused."""
    parts = name.split(b"/")
    for part in parts:
        if is_git_name(part):
            raise git_name(os.fsdecode(part))
    return not any(part in (b"", b".", b"..") for part in parts)
