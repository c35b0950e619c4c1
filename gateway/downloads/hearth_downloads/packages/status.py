"""Asks the index for the status of projects (PEP 792), which uv leaves unread.

The pages are read in uv's sandbox, because the index may be hostile. What comes
out is a file of the stage, whose content is checked again here. It also has the
wheels that are younger than the cooldown, of the projects that are asked for:

    status.json     {"found": {NAME: [STATUS, REASON]}, "young": {NAME: [FILE]}}
                    or {"fault": "…"}

A page that cannot be read is a failure: it might have said `quarantined`.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import queue
import re
import ssl
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Callable, NamedTuple, NoReturn, Optional
from urllib.parse import unquote, urljoin, urlsplit

from hearth_downloads.core.addresses import PORTS
from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.core.connection import Connection, make_context
from hearth_downloads.core.faults import Failed, Fault, Unreachable, clean
from hearth_downloads.packages.held_back import File, read_file, show_file
from hearth_downloads.packages.sentences import Case, explain
from hearth_downloads.packages.stage import INSIDE
from hearth_downloads.packages.uv import Uv

FILENAME = "status.json"
PLACE = f"{INSIDE}/stage/{FILENAME}"
THREADS = 4
PAGE_MAX = 64 << 20
REDIRECTS_MAX = 5
REASON_MAX = 300
FILES_MAX = 100  # young ones of a project; the newest count
_REDIRECTS = (301, 302, 303, 307, 308)
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_META = {"pypi:project-status": 0, "pypi:project-status-reason": 1}


@dataclass(frozen=True)
class Status:
    """The word of the index about a project, and its reason or nothing."""

    word: str
    reason: str

    @property
    def because(self) -> str:
        """Return the end of a sentence with the reason."""
        return f": {self.reason}" * bool(self.reason)


@dataclass(frozen=True)
class Answer:
    """Statuses and young wheels of the projects that were asked for."""

    statuses: dict[str, Status] = field(default_factory=dict)
    young: dict[str, list[File]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """The pages to be asked for."""

    index: str
    names: tuple[str, ...]
    timeout: float
    find_user: Callable[[str], str]  # USER:PASSWORD of a host, or nothing
    # By the project's name: its wheels from after that time are wanted.
    newest: dict[str, str] = field(default_factory=dict)


class Page(NamedTuple):
    """The status and the young wheels of one page."""

    status: list[str]  # and its reason; "" where it has none
    young: list[list[str]]  # files, as `show_file` returns them


class _Flaw(Exception):
    """A page that cannot be read."""


class _Busy(_Flaw):
    """A server that may answer in a moment."""


_AGAIN = (_Busy, ConnectionError, http.client.HTTPException, ssl.SSLEOFError)
Kept = dict[tuple[str, ...], Connection]  # by scheme and place


def ask_index(
    uv: Uv, case: Case, names: Iterable[str], newest: dict[str, str]
) -> Answer:
    """Return the status of each project that has one, and its young wheels.

    These are wheels from after the time that `newest` has for the name.
    """
    job = case.job
    question = Question(
        job.index, tuple(names), job.silence, job.find_user, newest
    )
    if not question.names:
        return Answer()
    result = uv.do(lambda: _be_client(question))
    if result.code != 0:
        raise Failed(
            "the status of packages was not asked for: "
            f"{clean(result.output, REASON_MAX)}"
        )
    try:
        answer = json.loads(uv.stage.read(FILENAME))
        if "fault" in answer:
            raise _find_fault(uv, case, job.hide(str(answer["fault"])))
        statuses = {
            name: Status(clean(word, 40), clean(job.hide(reason), REASON_MAX))
            for name, (word, reason) in answer["found"].items()
        }
        young = {
            name: [one for one in map(read_file, files[:FILES_MAX]) if one]
            for name, files in answer["young"].items()
        }
        return Answer(statuses, young)
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ):
        raise Failed("the status of packages cannot be read") from None


def _find_fault(uv: Uv, case: Case, reason: str) -> Fault:
    if uv.reports:
        # As uv would be explained, that is not answered either.
        return explain(case, f"error: Request failed: {reason}", uv.reports)
    return Unreachable(f"the index does not say the status of {reason}")


# ---- in the sandbox ----


def _be_client(question: Question) -> NoReturn:
    """Ask for all pages; write what they say."""
    client = _Client(question)
    with open(PLACE, "w", encoding="utf-8") as file:
        json.dump(client.run(), file)
    os._exit(0)


class _Client:
    """Some threads that ask for one page after the other."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.names: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.found: dict[str, list[str]] = {}
        self.young: dict[str, list[list[str]]] = {}
        self.fault = ""
        self.context: Optional[ssl.SSLContext] = None
        self.lock = threading.Lock()

    def run(self) -> dict[str, Any]:
        for name in self.question.names:
            self.names.put(name)
        threads = [
            threading.Thread(target=self._work)
            for _ in self.question.names[:THREADS]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.fault:
            return {"fault": self.fault}
        return {"found": self.found, "young": self.young}

    def _work(self) -> None:
        # A connection costs a look-up of the name, and the handshake of TLS.
        kept: Kept = {}
        while not self.fault:
            try:
                name = self.names.get_nowait()
            except queue.Empty:
                return
            try:
                page = self._ask(name, kept)
            except MemoryError:
                self.fault = f"{name}: its page is too large"
            except Exception as error:
                self.fault = f"{name}: {_reason(error)}"
            else:
                if page.status[0]:
                    self.found[name] = page.status
                if page.young:
                    self.young[name] = page.young

    def _ask(self, name: str, kept: Kept) -> Page:
        """Return what the page says; ask twice if it is not there, as uv."""
        try:
            return self._follow(name, kept)
        except _AGAIN:
            return self._follow(name, kept)

    def _follow(self, name: str, kept: Kept) -> Page:
        url = f"{self.question.index.rstrip('/')}/{name}/"
        for _ in range(REDIRECTS_MAX + 1):
            url, user = _split_user(url)
            user = user or self.question.find_user(urlsplit(url).hostname or "")
            place = urlsplit(url)[:2]
            connection = kept.pop(place, None) or self._connect(url)
            headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip"}
            if user:
                word = base64.b64encode(user.encode()).decode()
                headers["Authorization"] = f"Basic {word}"
            try:
                connection.request("GET", _target(url), headers=headers)
                response = connection.getresponse()
                if response.status in _REDIRECTS:
                    url = urljoin(url, response.headers.get("Location", ""))
                    continue
                if response.status != 200:
                    raise (_Busy if response.status >= 500 else _Flaw)(
                        f"it answers {response.status}"
                    )
                page = _read(response, self.question.newest.get(name, ""))
                # The proxy takes one request of a connection without TLS.
                if place[0] == "https" and response.isclosed():
                    kept[place] = connection
                return page
            finally:
                if kept.get(place) is not connection:
                    connection.close()
        raise _Flaw("it sends from one place to the next")

    def _connect(self, url: str) -> Connection:
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise _Flaw("it leads to what is no http or https URL")
        return Connection(
            parts.hostname,
            parts.port or PORTS[parts.scheme],
            self.question.timeout,
            self._context() if parts.scheme == "https" else None,
        )

    def _context(self) -> ssl.SSLContext:
        with self.lock:
            if self.context is None:
                self.context = make_context(find_certificates())
            return self.context


def _target(url: str) -> str:
    """Return a request's target; a proxy needs the whole URL of http."""
    parts = urlsplit(url)._replace(fragment="")
    if parts.scheme == "http":
        return parts.geturl()
    return f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}"


def _split_user(url: str) -> tuple[str, str]:
    """Return the URL without a user, and USER:PASSWORD or nothing."""
    parts = urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    return parts._replace(netloc=place).geturl(), unquote(user)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}"
    return getattr(error, "strerror", None) or str(error) or repr(error)


def _read(response: http.client.HTTPResponse, newest: str = "") -> Page:
    """Return what a page says; young wheels are those from after `newest`."""
    text = response.read(PAGE_MAX + 1)
    if response.length and len(text) <= PAGE_MAX:
        raise _Flaw("its page has no end")
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding == "gzip":
        text = _unpack(text)
    elif coding not in ("", "identity"):
        raise _Flaw("its page is coded in another way than was asked for")
    if len(text) > PAGE_MAX:
        raise _Flaw(f"its page has more than {PAGE_MAX} bytes")
    if "json" in response.headers.get("Content-Type", ""):
        return _read_json(text, newest)
    finder = _Finder()
    try:
        finder.feed(text.decode("utf-8", "replace"))
    except (AssertionError, NotImplementedError):
        # Some html.parser raise these for a declaration that they do not know.
        raise _Flaw("its page is no HTML") from None
    return Page(finder.said, [])  # such a page has no times


def _unpack(text: bytes) -> bytes:
    unpacker = zlib.decompressobj(31)
    try:
        text = unpacker.decompress(text, PAGE_MAX + 1)
    except zlib.error:
        raise _Flaw("its page cannot be unpacked") from None
    if len(text) <= PAGE_MAX and (not unpacker.eof or unpacker.unused_data):
        raise _Flaw("its page has no end, or more than one")
    return text


def _read_json(text: bytes, newest: str) -> Page:
    try:
        page = json.loads(text)
        said = page.get("project-status") or {}
        words = [said.get("status", ""), said.get("reason") or ""]
        files = page.get("files") if newest else []
        young = [show_file(one, newest) for one in files or []]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _Flaw("its page is not that of PEP 691") from None
    status = [re.sub(r"\s+", " ", str(word))[:1000] for word in words]
    found = sorted(filter(None, young), key=lambda one: one[1], reverse=True)
    return Page(status, found[:FILES_MAX])


class _Finder(HTMLParser):
    """Finds status and reason in a page of PEP 503."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ["", ""]

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, Optional[str]]]
    ) -> None:
        about = dict(attrs)
        place = _META.get(about.get("name") or "")
        if tag == "meta" and place is not None:
            self.said[place] = (about.get("content") or "")[:1000]
