"""One repository of a job: the one that was asked for, or a submodule."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Optional

from hearth_downloads.clone.asked import Asked
from hearth_downloads.clone.contents import Contents, Filled
from hearth_downloads.clone.dotgit import DotGit, Head
from hearth_downloads.clone.index import INDEX_BYTES_MAX, rewrite_index
from hearth_downloads.clone.mirrors import Mirrors, trim
from hearth_downloads.clone.modules import Module, parse_modules
from hearth_downloads.clone.ref import is_hash
from hearth_downloads.clone.run import About, Run
from hearth_downloads.clone.space import BLOCK_BYTES, Space, taken_over
from hearth_downloads.clone.tree import TreeFile
from hearth_downloads.clone.walk import Walk
from hearth_downloads.core.faults import Fault, Gone
from hearth_downloads.core.folders import Measure, Size
from hearth_downloads.core.gateway import Gateway


@dataclass(frozen=True)
class Link:
    """A submodule at a place of a working tree."""

    module: Module
    path: bytes
    commit: str


class Part:
    """The repository, in a folder of its own, until it is written."""

    def __init__(
        self, about: About, gateway: Gateway, mirrors: Mirrors
    ) -> None:
        self.about = about
        self.job = about.job
        self.gateway = gateway
        self.mirrors = mirrors
        self.key = self.job.key(about.url.text)
        self.space = Space(self.job, mirrors.cache)
        self.contents = Contents(about, gateway, mirrors.cache)
        self.head: Optional[Head] = None
        self.used = Size()  # in its folder
        self.earlier: Optional[Space] = None  # has the mirror, too
        self.depth = 0  # of submodules above it
        self.prefix = b""  # of its paths in the tree
        self.urls: dict[str, str] = {}  # of its submodules that come, by name
        self.had_mirror = self.keeps_mirror = self.is_cached = False
        self.is_mirror_whole = False  # though its contents may not come
        self.asked: Optional[Asked] = None  # what the server said last
        self.note = ""  # a sentence about how the copy was made
        self.lfs = self.submodules = 0  # files and folders that lack theirs

    def bring(self, certificates: bytes) -> None:
        """Get the repository, by the mirror as far as there is one."""
        space = self.space
        space.put_authorities(certificates)
        url = self.about.url.text
        taken = self.mirrors.take(self.key, space, url, self.earlier)
        before, self.asked = taken.packs, taken.asked
        self.had_mirror = bool(before)
        head = self._run()
        if self.job.branch:
            head = replace(head, branch=self.job.branch)
        after = trim(space)
        if not after:
            raise taken_over("no objects")
        self.head = head
        self._bring_contents()
        measure = Measure()
        measure.add(space.space)
        # Without the rests of blocks, as in Space.check_size.
        found, contents = measure.found, sum(self.contents.sizes.values())
        least = max(0, found.size - found.count * BLOCK_BYTES)
        self.used = Size(least + contents, found.count)
        is_same = bool(before) and before == after
        self.is_cached = is_same and self.contents.is_cached
        self.keeps_mirror = True

    def _run(self) -> Head:
        """Run git; note what the server has said, or that it is away."""
        run = Run(self.about, self.gateway, self.space, self.asked)
        at = int(time.time())
        head = run.run()
        if run.is_away and self.asked:
            self.note = self.asked.say()
        elif run.default is not None:
            is_default = not self.about.ref and not head.branch
            default = run.default or (head.commit if is_default else "")
            self.asked = Asked(at, head.digits, default, head.branch)
        return head

    def _bring_contents(self) -> None:
        """Get the contents of Git LFS; without them the mirror is whole."""
        try:
            self.contents.bring(self.space)
        except (Fault, Gone):
            self.is_mirror_whole = True
            raise

    def find_links(self) -> Iterator[Link]:
        """Return its submodules that `.gitmodules` has, in order."""
        if self.head is None or not self.job.submodules:
            return
        modules = parse_modules(self.space.read_modules())
        index = self.space.read_index(INDEX_BYTES_MAX)
        _, links = rewrite_index(index, self.head.digits, {})
        for path, commit in links.items():
            if path in modules:
                yield Link(modules[path], path, commit)

    def write(self, tree: TreeFile) -> None:
        """Add all of it to the tree file."""
        if self.head is None:
            return
        url = self.about.url.text
        tree.prefix = self.prefix
        dotgit = DotGit(self.space, self.head, url, self._source(self.head))
        dotgit.moves_branch = bool(self.job.branch)
        dotgit.sizes = self.contents.sizes
        dotgit.urls = self.urls
        dotgit.add(tree)
        filled = Filled(tree, self.contents)
        folder = self.space.open_tree()
        try:
            Walk(filled).add(folder)
        finally:
            os.close(folder)
        self.lfs = filled.pointers
        self.submodules = dotgit.submodules - len(self.urls)

    def _source(self, head: Head) -> str:
        """Return the ref that a copy with a depth follows; "": all."""
        ref = self.about.ref
        if not self.about.depth or (is_hash(ref) and not self.job.branch):
            return ""
        if head.branch:
            return f"refs/heads/{head.branch}"
        return f"refs/tags/{ref}" if ref else ""

    def end(self) -> None:
        """Put the mirror back, and remove the folder."""
        try:
            if self.keeps_mirror or self.is_mirror_whole:
                self.mirrors.keep(self.key, self.space, self.asked)
        finally:
            self.space.end()
