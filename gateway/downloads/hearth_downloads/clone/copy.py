"""One job: git in its sandbox, and the tree file of what it has left."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Union

from hearth_downloads.clone.job import Job
from hearth_downloads.clone.mirrors import Mirrors
from hearth_downloads.clone.modules import (
    DEPTH_MAX,
    MODULES_MAX,
    parse_clone_url,
    resolve_url,
)
from hearth_downloads.clone.part import Link, Part
from hearth_downloads.clone.ref import (
    parse_branch,
    parse_depth,
    parse_ref,
    show_branch,
)
from hearth_downloads.clone.run import About
from hearth_downloads.clone.sentences import Unclear
from hearth_downloads.clone.tree import NOUN, TreeFile
from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.core.faults import (
    Failed,
    Fault,
    Gone,
    Refused,
    clean,
)
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.fetch.cache import Cache
from hearth_downloads.fetch.places import check_url, read_places
from hearth_downloads.fetch.sentences import NoRoom, no_authorities, no_room

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
        url = parse_clone_url(job.url)
        ref, depth = parse_ref(job), parse_depth(job)
        parse_branch(job, ref)
        places = read_places(job, url)
        check_url(job, places, url)
        self.certificates, why = _read_certificates(job)
        if why and url.scheme == "https":
            raise Failed(why)
        self.about = About(job, url, places, ref, depth, why)
        self.cache = Cache(job, gateway)
        self.mirrors = Mirrors(self.cache, job)

    def run(self) -> None:
        """Answer with the repository; twice if the first time is in vain."""
        url = self.about.url
        self.cache.locks.take_url(self.job.key(url.text), self.gateway)
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
        try:
            self._get()
        except _Spoilt as spoilt:  # that of another submodule
            raise spoilt.fault from None

    def _make_room(self) -> None:
        """Remove what was not used for longest, because the disk is full."""
        self.mirrors.make_room(self.job.max_bytes)
        if self.job.lfs:
            self.cache.make_room(self.about.url, self.job.max_bytes)

    def _get(self) -> None:
        parts: list[Part] = []
        try:
            root = Part(self.about, self.gateway, self.mirrors)
            self._bring(root, parts)
            self.gateway.progress("reading the files")
            answer, file = self._write(parts)
        finally:
            _end(parts)
        try:
            self.gateway.check()
            self.gateway.answer(json.dumps({"ok": answer}).encode(), [file])
        finally:
            os.close(file)

    def _bring(self, part: Part, parts: list[Part]) -> None:
        """Get one repository, and its submodules."""
        parts.append(part)
        with self._judge(part):
            part.bring(self.certificates)
            links = list(part.find_links())
        for link in links:
            if part.depth == DEPTH_MAX or len(parts) > MODULES_MAX:
                raise Refused(
                    f"the repository has more than {MODULES_MAX} submodules, "
                    f"or some more than {DEPTH_MAX} deep, which is the most"
                )
            self.gateway.progress(f"the submodule {os.fsdecode(link.path)}")
            with _name(link):
                about = self._describe(part, link, parts)
                made = Part(about, self.gateway, self.mirrors)
                made.depth = part.depth + 1
                made.earlier = next(
                    (one.space for one in parts if one.key == made.key), None
                )
                made.prefix = part.prefix + link.path + b"/"
                self._bring(made, parts)

    def _describe(self, part: Part, link: Link, parts: list[Part]) -> About:
        """Return a submodule, which is judged as a clone of its own."""
        url = resolve_url(part.about.url, link.module.url)
        part.urls[link.module.name] = url.text
        job = replace(
            self.job,
            url=url.text,
            ref=link.commit,
            branch="",
            spent_bytes=sum(one.used.size for one in parts),
            spent_files=sum(one.used.count for one in parts),
        )
        places = read_places(job, url)
        check_url(job, places, url)
        why = self.about.authorities
        if why and url.scheme == "https":
            raise Failed(why)
        return About(job, url, places, job.ref, self.about.depth, why)

    @contextlib.contextmanager
    def _judge(self, part: Part) -> Iterator[None]:
        """Judge by a fault whether the mirror can be kept."""
        try:
            yield
        except (Fault, Gone) as fault:
            self._judge_mirror(part, fault)
            raise

    def _judge_mirror(self, part: Part, fault: Union[Fault, Gone]) -> None:
        """Begin anew if the mirror may be the reason."""
        is_doubtful = isinstance(fault, (Unclear, Failed))
        is_here = part.had_mirror or part.head is not None
        part.keeps_mirror = is_here and not is_doubtful
        if (
            isinstance(fault, (Unclear, Failed))
            and part.had_mirror
            and not part.is_mirror_whole
            and not isinstance(fault, NoRoom)
            and time.monotonic() < self.gateway.ends_at
        ):
            raise _Spoilt(fault) from fault

    def _write(self, parts: list[Part]) -> tuple[dict[str, Any], int]:
        """Return the answer, and a descriptor of the tree file."""
        file = parts[0].space.create_result()
        try:
            tree = TreeFile(self.job, self.gateway, file)
            for part in parts:
                with self._judge(part):
                    part.write(tree)
            size = tree.end()
            return self._describe_all(parts, tree, size), os.open(
                f"/proc/self/fd/{file}", os.O_RDONLY | os.O_CLOEXEC
            )
        finally:
            os.close(file)

    def _describe_all(
        self, parts: list[Part], tree: TreeFile, size: int
    ) -> dict[str, Any]:
        head, note = parts[0].head, parts[0].note
        return {
            "commit": head.commit if head else "",
            "branch": show_branch(head.branch) if head else "",
            "size": size,
            "bytes": tree.bytes,
            "files": tree.entries,
            "lfs": sum(one.lfs for one in parts),
            "submodules": sum(one.submodules for one in parts),
            "cached": all(one.is_cached for one in parts),
            **({"note": note} if note else {}),
        }


@contextlib.contextmanager
def _name(link: Link) -> Iterator[None]:
    """Say in a fault of which submodule it is."""
    try:
        yield
    except Fault as fault:
        path = clean(os.fsdecode(link.path), 200)
        raise type(fault)(f"the submodule {path}: {fault.text}") from None


def _end(parts: list[Part]) -> None:
    """Put the mirrors back, and remove the folders."""
    with contextlib.ExitStack() as stack:
        for part in parts:
            stack.callback(part.end)


class _Spoilt(Exception):
    """A mirror by which nothing can be copied."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


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
