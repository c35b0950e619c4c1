"""The client: asks a server for one file, and writes it to /workspace.

It runs in the sandbox, and reads what strangers send. So all that it says is
checked by the worker. What it needs is imported and read before the sandbox is
made: it sees no file of the host.

    body        what has come of the file
    about       facts of its server (about.py), as soon as they are known
    report      the end: `{"ok": …}` or `{"fault": …}`
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import socket
import ssl
import time
from dataclasses import dataclass, replace
from typing import Any, Optional

from hearth_downloads.core.connection import Connection, NoTunnel
from hearth_downloads.core.faults import Invalid
from hearth_downloads.fetch.about import (
    ABOUT,
    BODY,
    REPORT,
    About,
    read_fields,
)
from hearth_downloads.fetch.url import REDIRECTS_MAX, TooLong, Url, show_url

INSIDE = "/workspace"
CHUNK = 256 * 1024
STEP = 64 * 1024  # the least progress that counts
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class Request:
    """One file, and what is known of it.

    `headers` go to the URL's own place alone, and not where it redirects to;
    those of a request with data go there, too.
    """

    url: Url
    max_bytes: int
    context: Optional[ssl.SSLContext]  # None: https cannot be asked
    known: Optional[About] = None  # of the file in the cache
    part: Optional[About] = None  # of what is in `body` already
    timeout: float = 60
    tries: int = 5  # without progress
    name: str = BODY  # of the file to write
    headers: tuple[tuple[str, str], ...] = ()
    data: Optional[bytes] = None  # is posted; None: the URL is got


class Stop(Exception):
    """An end that no other try would change."""

    def __init__(self, kind: str, url: Url, reason: str = "", size: int = -1):
        super().__init__(kind)
        self.fault = {
            "kind": kind,
            "url": url.shown,
            "reason": reason[:300],
            "size": size,
        }


class Again(Stop):
    """A failure after which another try may succeed."""


class Client:
    """One download, in as many tries as make progress."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.part = request.part
        self.body = os.open(
            f"{INSIDE}/{request.name}",
            os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o644,
        )
        if self.part is None:
            os.ftruncate(self.body, 0)
        self.size = os.lseek(self.body, 0, os.SEEK_END)
        if self.part and 0 < self.part.total <= self.size:
            # A server has no range for the end of the file.
            self._cut(self.part.total - 1)

    def close(self) -> None:
        """Close the file."""
        os.close(self.body)

    def _cut(self, size: int) -> None:
        os.ftruncate(self.body, size)
        self.size = os.lseek(self.body, size, os.SEEK_SET)

    def _begin_again(self) -> None:
        self._cut(0)
        self.part = None

    def run(self) -> dict[str, Any]:
        """Return the report."""
        furthest, failed = self.size, 0
        while True:
            try:
                return {"ok": self._try()}
            except Again as again:
                fault = again.fault
            except Stop as stop:
                if stop.fault["kind"] == "disk":
                    self._cut(0)  # the report needs room, too
                return {"fault": stop.fault}
            if self.size >= furthest + STEP:
                furthest, failed = self.size, 0
            failed += 1
            if failed >= self.request.tries:
                return {"fault": fault}
            time.sleep(0.05 * 2**failed)

    def _try(self) -> dict[str, Any]:
        url = self.request.url
        for _ in range(REDIRECTS_MAX + 1):
            connection = self._connect(url)
            try:
                response, is_range = self._ask(connection, url)
                if response.status in _REDIRECTS:
                    url = self._follow(url, response)
                    continue
                return self._take(url, response, is_range)
            except NoTunnel as error:
                raise (Stop if error.is_final else Again)("tunnel", url) from (
                    None
                )
            except ssl.SSLCertVerificationError as error:
                raise Stop("certificate", url, error.verify_message) from None
            except (OSError, http.client.IncompleteRead) as error:
                raise Again("broken", url, _reason(error), self.size) from None
            except http.client.HTTPException as error:
                raise Stop("head", url, _reason(error)) from None
            finally:
                connection.close()
        raise Stop("redirects", self.request.url)

    def _connect(self, url: Url) -> Connection:
        is_https = url.scheme == "https"
        context = self.request.context if is_https else None
        if is_https and context is None:
            raise Stop("authorities", url)
        return Connection(url.host, url.port, self.request.timeout, context)

    def _ask(
        self, connection: Connection, url: Url
    ) -> tuple[http.client.HTTPResponse, bool]:
        """Ask for the file, or for the rest of it; return the answer."""
        data = self.request.data
        headers = {
            "User-Agent": "hearth",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if data is not None:
            self._begin_again()
            headers["Content-Length"] = str(len(data))
        known = self._describe_known(url)
        for name, value in [*known.items(), *self._find_headers(url)]:
            headers.pop(name.title(), None)
            headers[name] = value
        target = url.target if url.scheme == "https" else url.text
        method = "GET" if data is None else "POST"
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        return connection.getresponse(), "Range" in known

    def _find_headers(self, url: Url) -> tuple[tuple[str, str], ...]:
        """Return the request's headers; they may be another place's secret."""
        first = self.request.url
        is_its_place = (url.scheme, url.place) == (first.scheme, first.place)
        is_open = self.request.data is not None
        return self.request.headers if is_its_place or is_open else ()

    def _describe_known(self, url: Url) -> dict[str, str]:
        """Return the headers that say what is here of the file."""
        part, known = self.part, self.request.known
        if self.size and part:
            if part.range_validator and part.source == url.source:
                return {
                    "Range": f"bytes={self.size}-",
                    "If-Range": part.range_validator,
                }
        elif known and known.source == url.source:
            if known.etag:
                return {"If-None-Match": known.etag}
            if known.modified:
                return {"If-Modified-Since": known.modified}
        return {}

    def _follow(self, url: Url, response: http.client.HTTPResponse) -> Url:
        location = _decode(response.headers.get("Location", "").strip())
        if not location:
            raise Stop("nowhere", url)
        try:
            found = url.join(location)
        except TooLong:
            raise Stop("long", url) from None
        except (Invalid, ValueError):
            raise Stop("location", url, show_url(location)) from None
        if url.scheme == "https" and found.scheme == "http":
            raise Stop("downgrade", url, found.shown)
        return found

    def _take(
        self, url: Url, response: http.client.HTTPResponse, is_range: bool
    ) -> dict[str, Any]:
        """Take the answer of the last server, up to its end."""
        status = response.status
        if status == 304 and self.request.known and not is_range:
            return {"status": 304}
        said = f"{status} {response.reason}"
        if status in _PASSING:
            raise Again("status", url, said)
        if status == 416 and is_range:
            self._begin_again()
            raise Again("status", url, said)
        if status != 200 and not (status == 206 and is_range):
            raise Stop("status", url, said)
        length = left = self._read_length(url, response)
        if status == 206:
            left = self._resume(url, response, length)
        else:
            self._begin(url, response, length)
        self._write(ABOUT, self.part)
        self._receive(url, response, left)
        if self.part is None or self.size < self.part.total:
            raise Again("broken", url, "it sent only a part", self.size)
        return {"status": 200}

    def _read_length(
        self, url: Url, response: http.client.HTTPResponse
    ) -> Optional[int]:
        """Return Content-Length; what could be read in two ways is refused."""
        lengths = set(response.headers.get_all("Content-Length") or [])
        codings = response.headers.get_all("Transfer-Encoding") or []
        if codings and lengths:
            raise Stop("head", url, "it says in two ways where the file ends")
        if codings and [one.strip().lower() for one in codings] != ["chunked"]:
            raise Stop(
                "head",
                url,
                "its Transfer-Encoding is not understood, only chunked is",
            )
        if not lengths:
            return None
        if len(lengths) > 1 or not _LENGTH.fullmatch(next(iter(lengths))):
            raise Stop("head", url, "its Content-Length is no number")
        return int(lengths.pop())

    def _begin(
        self,
        url: Url,
        response: http.client.HTTPResponse,
        length: Optional[int],
    ) -> None:
        self._begin_again()
        total = -1 if length is None else length
        self.part = self._read_about(url, response, total)
        self._check_size(url, total)

    def _read_about(
        self, url: Url, response: http.client.HTTPResponse, total: int
    ) -> About:
        fields = response.headers
        return read_fields(
            url.source,
            fields.get("ETag", ""),
            fields.get("Last-Modified", ""),
            ", ".join(fields.get_all("Content-Encoding") or []),
            total,
        )

    def _resume(
        self,
        url: Url,
        response: http.client.HTTPResponse,
        length: Optional[int],
    ) -> int:
        """Return how many bytes come; begin again if it is another file."""
        part = self.part or About()
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if found:
            first, last, total = (int(number) for number in found.groups())
            about = self._read_about(url, response, total)
            if (
                first == self.size <= last < total
                and length in (None, last - first + 1)
                and part.total in (-1, total)
                and about.encoding in ("", part.encoding)
                and about.etag in ("", part.etag)
            ):
                self._check_size(url, total)
                self.part = replace(part, total=total)
                return last - first + 1
        self._begin_again()
        raise Again("broken", url, "it sent another part than was asked for")

    def _check_size(self, url: Url, size: int) -> None:
        if size > self.request.max_bytes:
            raise Stop("large", url, "", size)

    def _receive(
        self,
        url: Url,
        response: http.client.HTTPResponse,
        left: Optional[int],
    ) -> None:
        while left is None or left > 0:
            piece = response.read1(CHUNK if left is None else min(CHUNK, left))
            if not piece:
                break
            if self.size + len(piece) > self.request.max_bytes:
                raise Stop("large", url)
            self._append(url, piece)
            if left is not None:
                left -= len(piece)
        if left:
            raise Again("broken", url, "it ended before the file", self.size)

    def _append(self, url: Url, piece: bytes) -> None:
        try:
            rest = memoryview(piece)
            while rest:
                written = os.write(self.body, rest)
                rest = rest[written:]
                self.size += written
        except OSError as error:
            raise _disk(url, error) from None

    def _write(self, name: str, about: Optional[About]) -> None:
        try:
            write_file(name, (about or About()).encode())
        except OSError as error:
            raise _disk(self.request.url, error) from None


def _decode(field: str) -> str:
    """Return a field as UTF-8 if it is that; it was read as Latin-1."""
    try:
        return field.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return field


def _disk(url: Url, error: OSError) -> Stop:
    if error.errno == errno.EFBIG:
        return Stop("large", url)
    return Stop("disk", url, os.strerror(error.errno or 0))


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "it ended before the file"
    if isinstance(error, http.client.RemoteDisconnected):
        return "it closed the connection without an answer"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    if isinstance(error, socket.timeout):
        return "it sends nothing"
    return getattr(error, "strerror", None) or str(error)


def write_file(name: str, text: str) -> None:
    """Write a small file, so that it is there as a whole."""
    path = f"{INSIDE}/{name}"
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def run(request: Request) -> None:
    """Be the client."""
    report = Client(request).run()
    try:
        write_file(REPORT, json.dumps(report))
    except OSError as error:
        os.write(2, f"no report: {error}".encode())
        os._exit(1)
    os._exit(0)
