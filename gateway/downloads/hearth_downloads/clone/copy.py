"""One job: git in its sandbox, and the tree file of what it has left."""

from __future__ import annotations

import errno
import json
import os
import ssl
import time
from dataclasses import replace
from typing import Any

from hearth_downloads.clone.contents import Contents, Filled
from hearth_downloads.clone.dotgit import DotGit, Head
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.mirrors import Mirrors, trim
from hearth_downloads.clone.ref import (
    is_hash,
    parse_branch,
    parse_depth,
    parse_ref,
    show_branch,
)
from hearth_downloads.clone.run import About, Run
from hearth_downloads.clone.sentences import Unclear
from hearth_downloads.clone.space import Space, taken_over
from hearth_downloads.clone.tree import NOUN, TreeFile
from hearth_downloads.clone.walk import Walk
from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.core.faults import (
    Failed,
    Fault,
    Gone,
    Invalid,
    Refused,
    Unreachable,
)
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.fetch.cache import Cache
from hearth_downloads.fetch.places import check_url, read_places
from hearth_downloads.fetch.sentences import NoRoom, no_authorities, no_room
from hearth_downloads.fetch.url import Url, parse_url

CERTIFICATES_MAX = 16 << 20
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FULL = (*_NO_ROOM, errno.EFBIG)


def do(job: Job, gateway: Gateway) -> None:
    """Do the job, and answer."""
    copy = Copy(job, gateway)
    try:
        copy.run()
    except OSError as error:
        if error.errno in _FULL:
            reason = os.strerror(error.errno or 0)
            raise no_room(job, reason, NOUN) from None
        where = f"{job.work} cannot be used: {error.strerror or error}"
        raise Failed(where) from None


class Copy:
    """The job, with all that was judged before anything is asked."""

    def __init__(self, job: Job, gateway: Gateway) -> None:
        self.job = job
        self.gateway = gateway
        self.url = _parse_url(job)
        ref, depth = parse_ref(job), parse_depth(job)
        self.branch = parse_branch(job, ref)
        self.key = job.key(self.url.text)
        places = read_places(job, self.url)
        check_url(job, places, self.url)
        self.certificates, why = _read_certificates(job)
        if why and self.url.scheme == "https":
            raise Failed(why)
        self.about = About(job, self.url, places, ref, depth, why)
        self.cache = Cache(job, gateway)
        self.mirrors = Mirrors(self.cache, job)
        self.contents = Contents(self.about, gateway, self.cache)
        self.is_mirror_whole = False  # though its contents may not come

    def run(self) -> None:
        """Answer with the repository; twice if the first time is in vain."""
        self.cache.locks.take_url(self.key, self.gateway)
        self.mirrors.prepare()
        try:
            self._get()
            return
        except NoRoom:
            self._make_room()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            self._make_room()
        except _Spoilt:
            pass  # the mirror is gone
        self._get()

    def _make_room(self) -> None:
        """Remove what was not used for longest, because the disk is full."""
        self.mirrors.make_room(self.job.max_bytes)
        if self.job.lfs:
            self.cache.make_room(self.url, self.job.max_bytes)

    def _get(self) -> None:
        space = Space(self.job, self.cache)
        is_whole = had_mirror = self.is_mirror_whole = False
        try:
            space.put_authorities(self.certificates)
            before = self.mirrors.take(self.key, space, self.url.text)
            had_mirror = bool(before)
            answer, file = self._copy(space, before)
            is_whole = True
        except (Unclear, Failed) as fault:
            is_whole = self.is_mirror_whole
            if had_mirror and not is_whole and not isinstance(fault, NoRoom):
                self._retry(fault)
            raise
        except (Unreachable, Refused, Gone):
            is_whole = had_mirror or self.is_mirror_whole
            raise
        finally:
            self._end(space, is_whole)
        try:
            self.gateway.check()
            self.gateway.answer(json.dumps({"ok": answer}).encode(), [file])
        finally:
            os.close(file)

    def _retry(self, fault: Fault) -> None:
        """Begin anew if the mirror may be the reason."""
        if time.monotonic() < self.gateway.ends_at:
            raise _Spoilt from fault

    def _end(self, space: Space, keeps_mirror: bool) -> None:
        """Put the mirror back, and remove the folder."""
        try:
            if keeps_mirror:
                self.mirrors.keep(self.key, space)
        finally:
            space.end()

    def _copy(
        self, space: Space, before: set[str]
    ) -> tuple[dict[str, Any], int]:
        """Return the answer, and a descriptor of the tree file."""
        head = Run(self.about, self.gateway, space).run()
        if self.branch:
            head = replace(head, branch=self.branch)
        after = trim(space)
        if not after:
            raise taken_over("no objects")
        self._bring_contents(space)
        self.gateway.progress("reading the files")
        file = space.create_result()
        try:
            answer = self._write(space, head, file)
            is_same = bool(before) and before == after
            answer["cached"] = is_same and self.contents.is_cached
            return answer, os.open(
                f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC
            )
        finally:
            os.close(file)

    def _bring_contents(self, space: Space) -> None:
        """Get the contents of Git LFS; without them the mirror is whole."""
        try:
            self.contents.bring(space)
        except (Fault, Gone):
            self.is_mirror_whole = True
            raise

    def _source(self, head: Head) -> str:
        """Return the ref that a copy with a depth follows; "": all."""
        ref = self.about.ref
        if not self.about.depth or (is_hash(ref) and not self.branch):
            return ""
        if head.branch:
            return f"refs/heads/{head.branch}"
        return f"refs/tags/{ref}" if ref else ""

    def _write(self, space: Space, head: Head, file: int) -> dict[str, Any]:
        tree = TreeFile(self.job, self.gateway, file)
        dotgit = DotGit(space, head, self.url.text, self._source(head))
        dotgit.moves_branch = bool(self.branch)
        dotgit.sizes = self.contents.sizes
        dotgit.add(tree)
        filled = Filled(tree, self.contents)
        folder = space.open_tree()
        try:
            Walk(filled).add(folder)
        finally:
            os.close(folder)
        size = tree.end()
        return {
            "commit": head.commit,
            "branch": show_branch(head.branch),
            "size": size,
            "bytes": tree.bytes,
            "files": tree.entries,
            "lfs": filled.pointers,
            "submodules": dotgit.submodules,
        }


class _Spoilt(Exception):
    """A mirror by which nothing can be copied."""


def _parse_url(job: Job) -> Url:
    """Return the URL; git would add its own words to a query."""
    url = parse_url(job.url)
    if "?" in url.target:
        raise Invalid(
            f"the URL {url.shown} has a query, and that of a repository has "
            "none: leave out what begins with the ?"
        )
    return url


def _read_certificates(job: Job) -> tuple[bytes, str]:
    """Return the authorities by which git knows servers, or why none."""
    path = job.ca_file or find_certificates()
    if not path:
        return b"", no_authorities()
    try:
        ssl.create_default_context(cafile=path)
        with open(path, "rb") as file:
            return file.read(CERTIFICATES_MAX), ""
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        return b"", no_authorities(path, reason)
