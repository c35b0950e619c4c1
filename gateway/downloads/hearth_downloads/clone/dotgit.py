"""Makes the `.git` of a copy: of packs, refs and an index that were read.

The configuration is written here, and nothing else that git would act on is
passed on: no hooks, no attributes, no other repository's objects.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from hearth_downloads.clone.git import quote, write_sections
from hearth_downloads.clone.index import INDEX_BYTES_MAX, rewrite_index
from hearth_downloads.clone.ref import is_hash, is_ref_name
from hearth_downloads.clone.refs import (
    REFS_BYTES_MAX,
    REMOTE,
    TAGS,
    Refs,
    parse_refs,
    parse_shallow,
)
from hearth_downloads.clone.space import Space, open_file, taken_over
from hearth_downloads.clone.tree import TreeFile
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.folders import look_at, open_folder, read_plain

_PACK = re.compile(r"pack-[0-9a-f]{40,64}\.(?:pack|idx)")
_FOLDERS = ("objects/info", "refs", "refs/heads", "refs/tags")


@dataclass(frozen=True)
class Head:
    """Describes what was checked out, as far as the program can be right."""

    commit: str
    branch: str  # "" if none is
    default: str  # the server's own branch; "" if it is not known

    @property
    def digits(self) -> int:
        """Return how many digits the repository's hashes have."""
        return len(self.commit)


def parse_head(found: object) -> Head:
    """Return what the program has reported; Failed if it cannot be read."""
    if not isinstance(found, dict):
        raise taken_over("no report")
    commit, branch, default = map(found.get, ("commit", "branch", "head"))
    for name in (branch, default):
        if not isinstance(name, str) or (name and not is_ref_name(name)):
            raise taken_over("a branch that cannot be read")
    if not isinstance(commit, str) or not is_hash(commit):
        raise taken_over("no commit")
    return Head(commit, str(branch), str(default))


def parse_default(found: object) -> Optional[str]:
    """Return the server's branch, "" if it has none; None: it was not asked."""
    if isinstance(found, str) and (not found or is_ref_name(found)):
        return found
    return None


class DotGit:
    """Adds it to a tree file; the packs are those of the mirror."""

    def __init__(self, space: Space, head: Head, url: str, source: str) -> None:
        self.space = space
        self.head = head
        self.url = url
        self.source = source  # the ref that a copy with a depth follows
        self.moves_branch = False  # to the commit, wherever the server has it
        self.sizes: Mapping[bytes, int] = {}  # of contents of Git LFS
        self.urls: Mapping[str, str] = {}  # of submodules that come, by name
        self.submodules = 0

    def add(self, tree: TreeFile) -> None:
        """Add all of it."""
        mirror = self.space.open_mirror()
        try:
            refs = self._read_refs(mirror)
            shallow = read_plain("shallow", mirror, REFS_BYTES_MAX)
            ends = parse_shallow(shallow, self.head.digits)
            tree.add_folder(b".git")
            self._add_files(tree, refs, ends)
            self._add_packs(tree, mirror)
        finally:
            os.close(mirror)

    def _read_refs(self, mirror: int) -> Refs:
        content = read_plain("packed-refs", mirror, REFS_BYTES_MAX)
        if content is None and look_at("packed-refs", mirror) is not None:
            raise Refused(
                f"the repository has more than {REFS_BYTES_MAX >> 20} MiB of "
                "branches and tags, which is the most"
            )
        refs = parse_refs(content or b"", self.head.digits)
        branch, commit = self.head.branch, self.head.commit
        if self.source:
            one = f"{REMOTE}{branch}" if branch else self.source
            refs = refs.of(one, commit)
        if not branch:
            return refs
        if self.moves_branch:
            refs = refs.with_ref(f"{REMOTE}{branch}", commit)
        if refs.values.get(f"{REMOTE}{branch}") != commit:
            raise taken_over("another commit than that of the branch")
        return refs.with_branch(branch, commit)

    def _add_files(self, tree: TreeFile, refs: Refs, ends: bytes) -> None:
        index, links = rewrite_index(
            self.space.read_index(INDEX_BYTES_MAX),
            self.head.digits,
            self.sizes,
        )
        self.submodules = len(links)
        branch, default = self.head.branch, self.head.default
        head = f"ref: refs/heads/{branch}" if branch else self.head.commit
        _add(tree, "HEAD", _encode(f"{head}\n"))
        _add(tree, "config", _encode(self._write_config()))
        _add(tree, "index", index)
        _add(tree, "packed-refs", refs.write())
        if ends:
            _add(tree, "shallow", ends)
        _add_folders(tree, "objects", *_FOLDERS)
        if f"{REMOTE}{default}" in refs.values and default != "HEAD":
            _add_folders(tree, "refs/remotes", "refs/remotes/origin")
            target = _encode(f"ref: {REMOTE}{default}\n")
            _add(tree, f"{REMOTE}HEAD", target)

    def _write_config(self) -> str:
        digits, branch = self.head.digits, self.head.branch
        found = {
            "core": {
                "repositoryformatversion": "1" if digits == 64 else "0",
                "filemode": "true",
                "bare": "false",
                "logallrefupdates": "true",
                # The index knows a content by its time and size alone.
                **({"checkstat": "minimal"} if self.sizes else {}),
            },
            "extensions": {"objectformat": "sha256"} if digits == 64 else {},
            'remote "origin"': {
                "url": quote(self.url),
                "fetch": quote(self._write_spec()),
            },
        }
        if branch:
            found[f"branch {quote(branch)}"] = {
                "remote": "origin",
                "merge": quote(f"refs/heads/{branch}"),
            }
        for name, url in self.urls.items():
            section = f"submodule {quote(name)}"
            found[section] = {"active": "true", "url": quote(url)}
        return write_sections(found)

    def _write_spec(self) -> str:
        """Return what `git fetch` gets later: of a shallow copy, one ref."""
        if self.source.startswith(TAGS):
            return f"+{self.source}:{self.source}"
        one = self.head.branch if self.source else ""
        return f"+refs/heads/{one or '*'}:{REMOTE}{one or '*'}"

    def _add_packs(self, tree: TreeFile, mirror: int) -> None:
        objects = open_folder("objects", mirror)
        try:
            pack = open_folder("pack", objects)
        finally:
            os.close(objects)
        try:
            _add_folders(tree, "objects/pack")
            for name in sorted(os.listdir(pack)):
                if not _PACK.fullmatch(name):
                    raise Failed(f"the mirror has {name!r}, which is no pack")
                number = open_file(name, pack)
                try:
                    tree.add_file(f".git/objects/pack/{name}".encode(), number)
                finally:
                    os.close(number)
        finally:
            os.close(pack)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _add(tree: TreeFile, name: str, content: bytes) -> None:
    tree.add_content(f".git/{name}".encode(), content)


def _add_folders(tree: TreeFile, *names: str) -> None:
    for name in names:
        tree.add_folder(f".git/{name}".encode())
