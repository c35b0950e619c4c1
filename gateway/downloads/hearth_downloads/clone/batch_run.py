"""Gets objects of Git LFS by the client in the sandbox, a batch at a time.

The client and what it leaves are hostile. An object counts if it has the bytes
and the SHA-256 of its pointer, and is kept then, whatever else fails.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from hearth_downloads.clone.batch import batch_url
from hearth_downloads.clone.batch_sentences import LEADS, NOUN, explain
from hearth_downloads.clone.pointer import Pointer
from hearth_downloads.clone.run import PROGRESS_SECONDS, About
from hearth_downloads.clone.space import Space
from hearth_downloads.core.faults import Failed, Fault, Refused, clean
from hearth_downloads.core.folders import Measure, Size, open_plain
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.proxy import Bounds, Proxy
from hearth_downloads.core.sandbox import Program, Result, Sandbox
from hearth_downloads.fetch.about import About as FileAbout
from hearth_downloads.fetch.cache import Cache, Entry, Kept
from hearth_downloads.fetch.pace import Pace
from hearth_downloads.fetch.sentences import Case
from hearth_downloads.fetch.tls import make_context

SPARE_BYTES = 16 << 20  # besides the objects: answers, heads, TLS
SPARE_FILES = 16
SPARE_SECONDS = 10  # the proxy waits longer than the worker
TRAFFIC_FACTOR = 2  # of max_bytes, for all that comes for one batch
HASH_BYTES = 1 << 20
RATE = 64  # bytes a second; small objects come slowly, one after the other
_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class ObjectName:
    """A name by which an object is found in the cache."""

    text: str

    @property
    def key(self) -> str:
        """Return the name of its entry."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def name_object(about: About, pointer: Pointer) -> ObjectName:
    """Return the name of an object of that repository, for these lists."""
    return ObjectName(f"lfs {about.job.lists} {about.url.text} {pointer.oid}")


class BatchRun:
    """The batches of one job."""

    def __init__(
        self,
        about: About,
        gateway: Gateway,
        cache: Cache,
        lacking: Sequence[Pointer],
    ) -> None:
        self.about = about
        self.gateway = gateway
        self.cache = cache
        self.job = replace(about.job, rate=max(about.job.rate, RATE))
        self.url = batch_url(about.url)
        self.context, self.authorities = make_context(about.job)
        self.total = sum(one.size for one in lacking)
        self.done = 0  # bytes of earlier batches
        self.reported_at = time.monotonic()

    def bring(self, pointers: Sequence[Pointer]) -> None:
        """Get these objects into the cache."""
        space = Space(self.job, self.cache)
        try:
            fault = _OneBatch(self, space, pointers).run()
            lacking = self._keep(space, pointers)
        finally:
            space.end()
        if fault:
            raise fault
        if lacking:
            raise lacking
        self.done += sum(one.size for one in pointers)

    def _keep(
        self, space: Space, pointers: Sequence[Pointer]
    ) -> Optional[Fault]:
        """Keep what is right; return why the first other one is not."""
        fault: Optional[Fault] = None
        for one in pointers:
            number = open_plain(one.oid, space.space)
            if number is None:
                fault = fault or Failed(
                    f"the client has left no Git LFS content {one.oid[:12]}…"
                )
                continue
            try:
                wrong = self._check(one, number)
                if wrong:
                    fault = fault or wrong
                    continue
                name = name_object(self.about, one)
                kept = Kept(space.space, one.oid, number)
                about = FileAbout(total=one.size)
                entry = Entry(
                    name.text, one.oid, one.size, about, self.job.lists
                )
                self.cache.keep(name, kept, entry)
            finally:
                os.close(number)
        self.cache.bound()
        return fault

    def _check(self, pointer: Pointer, file: int) -> Optional[Fault]:
        """Return why a file is not what the pointer names."""
        size = os.fstat(file).st_size
        if size != pointer.size:
            return Refused(
                f"{self.url.shown} has another content than the pointer "
                f"{pointer.oid[:12]}… names: it has {size} bytes, and is to "
                f"have {pointer.size}"
            )
        digest = hashlib.sha256()
        while True:
            piece = os.read(file, HASH_BYTES)
            if not piece:
                break
            digest.update(piece)
            self.gateway.check()
        if digest.hexdigest() == pointer.oid:
            return None
        return Refused(
            f"{self.url.shown} has another content than the pointer "
            f"{pointer.oid[:12]}… names: its SHA-256 is {digest.hexdigest()}"
        )


class _OneBatch:
    """The client in its sandbox, and the looks at it meanwhile."""

    def __init__(
        self, batches: BatchRun, space: Space, pointers: Sequence[Pointer]
    ) -> None:
        self.batches = batches
        self.space = space
        self.pointers = pointers
        self.proxy: Optional[Proxy] = None
        self.pace = Pace(batches.job, batches.url)
        count = len(pointers) + SPARE_FILES
        size = sum(one.size for one in pointers)
        self.most = Size(size + SPARE_BYTES + count * _BLOCK_BYTES, count)

    def run(self) -> Optional[Fault]:
        """Return why not all has come, as far as the client knows."""
        # http.client takes long to import.
        from hearth_downloads.clone import objects_client

        batches, job = self.batches, self.batches.job
        request = objects_client.Request(
            batches.url,
            tuple(self.pointers),
            batches.context,
            job.silence + 2 * SPARE_SECONDS,
            job.tries,
        )
        sandbox = Sandbox(job, self.space.path, [])
        bounds = Bounds(
            TRAFFIC_FACTOR * job.max_bytes + SPARE_BYTES,
            job.silence + SPARE_SECONDS,
            takes_posts=True,
        )
        self.proxy = Proxy(batches.about.places, bounds, job.uid, job.gid)
        try:
            step = Program(
                lambda: objects_client.run(request),
                self.proxy.attach,
                self._look,
                self.space.take_back,
            )
            return self._read(self.proxy, sandbox.run(batches.gateway, step))
        finally:
            self.proxy.close()

    def _look(self) -> None:
        """Report how much has come; end what is too much or too slow."""
        measure = Measure(self.most)
        measure.add(self.space.space)
        if measure.is_over:
            raise Refused(
                f"{self.batches.url.shown} has sent more than the pointers of "
                "Git LFS name"
            )
        now, batches = time.monotonic(), self.batches
        if self.proxy and now >= batches.reported_at + PROGRESS_SECONDS:
            batches.reported_at = now
            came = batches.done + self.proxy.received()
            batches.gateway.report_bytes(came, max(batches.total, came))
        if self.proxy:
            self.pace.look(self.proxy.received())

    def _read(self, proxy: Proxy, result: Result) -> Optional[Fault]:
        report = self.space.read_report()
        if report is None:
            said = clean(result.output[-500:])
            return Failed(
                f"the client has ended without a report: {said or 'no word'}"
            )
        if "fault" not in report:
            return None
        return self._explain(proxy, report["fault"])

    def _explain(self, proxy: Proxy, fault: Any) -> Fault:
        batches = self.batches
        case = Case(
            batches.job,
            batches.about.places,
            batches.url,
            proxy.reports(),
            batches.authorities,
            NOUN,
            TRAFFIC_FACTOR,
            LEADS,
        )
        return explain(case, fault)
