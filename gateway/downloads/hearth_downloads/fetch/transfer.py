"""One job: from the cache, or by the client in the sandbox."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from typing import Callable, Optional

from hearth_downloads.core.faults import (
    Failed,
    Gone,
    Invalid,
    Unreachable,
    clean,
)
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.proxy import Bounds, Proxy
from hearth_downloads.core.sandbox import Program, Result, Sandbox
from hearth_downloads.fetch.about import BODY, About, parse_object
from hearth_downloads.fetch.cache import Cache, Entry, Kept
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.pace import Pace
from hearth_downloads.fetch.places import check_url, read_places
from hearth_downloads.fetch.sentences import (
    TRAFFIC_FACTOR,
    Case,
    NoRoom,
    no_room,
    too_large,
    wrong_hash,
)
from hearth_downloads.fetch.space import Space
from hearth_downloads.fetch.tls import make_context
from hearth_downloads.fetch.url import Url, parse_hash, parse_url

PROGRESS_SECONDS = 1.0
HASH_BYTES = 1 << 20
# Besides the file: heads, TLS, and tries that bring nothing.
SPARE_BYTES = 16 << 20
SPARE_SECONDS = 10  # the proxy waits longer than the worker
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_FULL = (*_NO_ROOM, errno.EFBIG)


def do(job: Job, gateway: Gateway) -> None:
    """Do the job, and answer."""
    transfer = Transfer(job, gateway)
    try:
        transfer.run()
    except OSError as error:
        if error.errno in _FULL:
            reason = os.strerror(error.errno or 0)
            raise no_room(job, reason) from None
        where = f"{job.work} cannot be used: {error.strerror or error}"
        raise Failed(where) from None


class Transfer:
    """The job, with all that was judged before anything is asked."""

    def __init__(self, job: Job, gateway: Gateway) -> None:
        self.job = job
        self.gateway = gateway
        self.url = parse_url(job.url)
        self.wanted = parse_hash(job.sha256)
        self.places = read_places(job, self.url)
        self.authorities = ""  # why there is no context for https
        check_url(job, self.places, self.url)
        self.cache = Cache(job, gateway)

    def run(self) -> None:
        """Answer with the file."""
        self.cache.locks.take_url(self.url.key, self.gateway)
        self.cache.prepare()
        try:
            self._get()
            return
        except NoRoom:
            pass
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
        # No more is removed than this file may have: a client that was taken
        # over can say that the disk is full.
        self.cache.make_room(self.url, self.job.max_bytes)
        self._get()

    def _get(self) -> None:
        """Answer from the cache, or by the server."""
        entry, file = self.cache.find(self.url)
        try:
            if entry and self._needs_no_server(entry):
                self._answer_kept(entry, file)
            else:
                self._ask(entry, file)
        finally:
            if file >= 0:
                os.close(file)

    def _needs_no_server(self, entry: Entry) -> bool:
        """Return true if the file is the right one, and this job may have it.

        Other lists may forbid a place of a redirect, or an address that a name
        has led to. Then the server is asked, so that the proxy judges all.
        """
        try:
            source: Optional[Url] = parse_url(entry.about.source)
        except Invalid:
            source = None
        return (
            entry.sha256 == self.wanted
            and entry.lists == self.job.lists
            and source is not None
            and (source.scheme, source.place)
            == (self.url.scheme, self.url.place)
        )

    def _ask(self, entry: Optional[Entry], file: int) -> None:
        name, space = self.cache.make_space(self.url)
        keeps_part = False
        try:
            self._fetch(space, entry, file)
        except (Unreachable, Gone):
            keeps_part = True
            raise
        except Failed:
            keeps_part = time.monotonic() > self.gateway.ends_at
            raise
        finally:
            self.cache.end(name, keeps_part)

    def _answer_kept(self, entry: Entry, file: int) -> None:
        """Answer with the file of the cache, by this job's limit."""
        if self.wanted and entry.sha256 != self.wanted:
            raise wrong_hash(self.url, self.wanted, entry.sha256)
        if entry.size > self.job.max_bytes:
            raise too_large(self.job, entry.size)
        self._answer(entry, file, True)

    def _answer(self, entry: Entry, file: int, is_cached: bool) -> None:
        self.cache.mark_used(self.url, file)
        answer = {
            "sha256": entry.sha256,
            "size": entry.size,
            "cached": is_cached,
            "encoding": entry.about.encoding,
        }
        self.gateway.check()
        self.gateway.answer(json.dumps({"ok": answer}).encode(), [file])

    def _fetch(self, space: Space, entry: Optional[Entry], file: int) -> None:
        # Not for a file of the cache: http.client takes long to import.
        from hearth_downloads.fetch import client

        part = self.cache.put_part(self.url, space)
        self.cache.drop_part(self.url)
        # A URL with http may redirect to https, so it is made for each one.
        context, self.authorities = make_context(self.job)
        request = client.Request(
            self.url,
            self.job.max_bytes,
            context,
            entry.about if entry else None,
            part,
            self.job.silence + 2 * SPARE_SECONDS,
            self.job.tries,
        )
        about = _Run(self, space, lambda: client.run(request)).run()
        if about is None:
            if entry is None:
                raise Failed("the client's report cannot be read")
            self._answer_kept(entry, file)
            return
        self._take(space, about)

    def _take(self, space: Space, about: About) -> None:
        """Hash what the client has written, keep it, and answer."""
        body = space.open_body()
        size = os.fstat(body).st_size
        if size > self.job.max_bytes:
            raise too_large(self.job, size)
        found = self._hash(body)
        if self.wanted and found != self.wanted:
            raise wrong_hash(self.url, self.wanted, found)
        entry = Entry(self.url.text, found, size, about, self.job.lists)
        self.cache.keep(self.url, Kept(space.space, BODY, body), entry)
        self.cache.bound()
        os.lseek(body, 0, os.SEEK_SET)
        self._answer(entry, body, False)

    def _hash(self, body: int) -> str:
        digest = hashlib.sha256()
        while True:
            piece = os.read(body, HASH_BYTES)
            if not piece:
                return digest.hexdigest()
            digest.update(piece)
            self.gateway.check()


class _Run:
    """The client in its sandbox, and the looks at it meanwhile."""

    def __init__(
        self, transfer: Transfer, space: Space, main: Callable[[], None]
    ) -> None:
        self.transfer = transfer
        self.job = transfer.job
        self.gateway = transfer.gateway
        self.space = space
        self.main = main
        self.reported_at = time.monotonic()
        self.pace = Pace(self.job, transfer.url)
        self.proxy: Optional[Proxy] = None

    def run(self) -> Optional[About]:
        """Return what the server says of the file; None: it has not changed."""
        job = self.job
        job.check_user()
        sandbox = Sandbox(job, self.space.path, [])
        most = TRAFFIC_FACTOR * job.max_bytes + SPARE_BYTES
        bounds = Bounds(most, job.silence + SPARE_SECONDS)
        self.proxy = Proxy(self.transfer.places, bounds, job.uid, job.gid)
        try:
            program = Program(
                self.main,
                self.proxy.attach,
                self._look,
                self.space.take_back,
            )
            result = sandbox.run(self.gateway, program)
            return self._read(self.proxy, result)
        finally:
            self.proxy.close()

    def _look(self) -> None:
        """Report how much has come; end what is too much or too slow."""
        if self.space.is_over():
            raise too_large(self.job)
        now = time.monotonic()
        if now >= self.reported_at + PROGRESS_SECONDS:
            self.reported_at = now
            about = self.space.read_about()
            total = about.total if about else -1
            self.gateway.report_bytes(self.space.size(), total)
        if self.proxy:
            self.pace.look(self.proxy.received())

    def _read(self, proxy: Proxy, result: Result) -> Optional[About]:
        """Return what the client reports; raise what it could not do."""
        if self.space.is_over():
            raise too_large(self.job)
        try:
            report = parse_object(self.space.read_report())
            if "fault" not in report:
                done = parse_object(json.dumps(report["ok"]).encode())
                if done["status"] == 304:
                    return None
                about = self.space.read_about()
                if about is None:
                    raise ValueError("a file without facts")
                return about
        except (ValueError, TypeError, KeyError):
            said = clean(result.output[-500:])
            raise Failed(
                f"the client has ended without a report: {said or 'no word'}"
            ) from None
        raise Case(
            self.job,
            self.transfer.places,
            self.transfer.url,
            proxy.reports(),
            self.transfer.authorities,
        ).explain(report["fault"])
