"""One request of HTTP and its answer.

Each has a connection of its own. One that is kept may be closed while a request
is on its way, and then it is not known whether a tool has worked.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from typing import Any, Optional

from hearth_downloads.core.connection import Connection
from hearth_downloads.core.faults import Unreachable, clean
from hearth_downloads.tools import sentences
from hearth_downloads.tools.events import Events
from hearth_downloads.tools.messages import (
    MESSAGE_MAX,
    Message,
    parse_message,
)
from hearth_downloads.tools.redaction import redact
from hearth_downloads.tools.refusal import KINDS, read_refusal
from hearth_downloads.tools.server import Place, Server, parse_place

PIECE = 64 * 1024
ERROR_MAX = 64 * 1024  # bytes of an answer that is no success
REDIRECTS_MAX = 3


class Aborted(Exception):
    """The exchange was ended from here: it is cancelled, or took too long."""


class Refusal(Unreachable):
    """An answer with a status that is no success."""

    def __init__(self, text: str, status: int, code: int) -> None:
        super().__init__(text)
        self.status = status
        self.code = code  # of the error in it; 0: there was none


class NotReached(Unreachable):
    """There is no connection to the server."""


class Broken(Unreachable):
    """The connection has ended before the answer."""


class _Direct(Connection):
    """A connection to the server itself: the operator has named it."""

    raw: Any = None  # the socket, also when the answer has taken it

    def connect(self) -> None:
        """Connect. What the operator names may be in a private network."""
        self.sock = socket.create_connection(
            (self.host, self.port), sentences.CONNECT_SECONDS
        )
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.context is not None:
            self.sock = self.context.wrap_socket(
                self.sock,
                server_hostname=self.host,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=False,
            )
        self.raw = self.sock
        if self.context is not None:
            self.sock.do_handshake()
        self.sock.settimeout(None)


class Exchange:
    """A request that another thread may abort.

    `seconds` is how long it may take; None: until it is aborted.
    """

    def __init__(self, server: Server, seconds: Optional[float]) -> None:
        self.server = server
        self.seconds = seconds
        self.aborted = threading.Event()
        self.woken = (
            threading.Event()
        )  # it is aborted, or has what it waits for
        self.has_another = False  # an answer to no request of this one
        self.session = ""  # that an answer to a POST has named
        self.events = Events()
        self._connection: Optional[_Direct] = None
        self._timer: Optional[threading.Timer] = None

    def __enter__(self) -> Exchange:
        if self.seconds is not None:
            self._timer = threading.Timer(self.seconds, self.abort)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()
        self._close()

    def abort(self) -> None:
        """End it; whatever it does then fails with Aborted."""
        self.aborted.set()
        self.woken.set()
        connection = self._connection
        if connection and connection.raw is not None:
            try:
                # Not that of TLS, which would take the socket apart.
                socket.socket.shutdown(connection.raw, socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed, or has no peer yet

    def _close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    # ---- the request ----

    def send(
        self,
        place: Place,
        method: str,
        headers: dict[str, str],
        body: Optional[bytes] = None,
    ) -> http.client.HTTPResponse:
        """Send it, and return the beginning of the answer."""
        for _ in range(REDIRECTS_MAX + 1):
            response = self._try(place, method, headers, body)
            if not 300 <= response.status < 400:
                return response
            place = self._follow(place, response)
        raise Unreachable("redirects without end")

    def _try(
        self,
        place: Place,
        method: str,
        headers: dict[str, str],
        body: Optional[bytes],
    ) -> http.client.HTTPResponse:
        connection = self._connect(place)
        try:
            connection.putrequest(
                method, place.target, skip_accept_encoding=True
            )
            for name, value in (*self.server.headers, *headers.items()):
                connection.putheader(name, value)
            connection.endheaders(body)
            return connection.getresponse()
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._failure(error) from None

    def _connect(self, place: Place) -> _Direct:
        self._close()
        connection = _Direct(
            place.host,
            place.port,
            sentences.CONNECT_SECONDS,
            self.server.context,
        )
        self._connection = connection
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            if self.aborted.is_set():
                raise Aborted from None
            raise NotReached(
                sentences.of_error(error, "is not reached")
            ) from None
        if self.aborted.is_set():
            raise Aborted
        return connection

    def _failure(self, error: Exception) -> Exception:
        if self.aborted.is_set():
            return Aborted()
        kinds = (http.client.IncompleteRead, ConnectionError)
        kind = Broken if isinstance(error, kinds) else Unreachable
        return kind(sentences.of_error(error, "breaks off the connection"))

    def _quote(self, text: str) -> str:
        """Return what the server has said, without keys."""
        text = redact(text, self.server.secrets)
        return clean(text, sentences.SAID_MAX)

    def _follow(
        self, place: Place, response: http.client.HTTPResponse
    ) -> Place:
        """Return where a redirect leads, which has to be the same origin."""
        found = self._find_place(place, response)
        if (
            found is None
            or response.status not in (307, 308)
            or found.origin != place.origin
            or any(not "!" <= letter <= "~" for letter in found.target)
        ):
            raise self._refuse_redirect(place, found, response.status)
        return found

    @staticmethod
    def _find_place(
        place: Place, response: http.client.HTTPResponse
    ) -> Optional[Place]:
        location = response.headers.get("Location", "").strip()
        if location.startswith("/") and location[1:2] not in ("/", "\\"):
            location = place.origin + location
        try:
            return parse_place(location)
        except ValueError:
            return None

    def _refuse_redirect(
        self, place: Place, found: Optional[Place], status: int
    ) -> Exception:
        is_own = found is not None and found.origin == place.origin
        where = ""
        if found:
            # Not its query.
            where = found.target.partition("?")[0] if is_own else found.origin
        where = self._quote(where)
        return Unreachable(sentences.of_redirect(status, where, is_own))

    # ---- the answer ----

    def read(self, response: http.client.HTTPResponse) -> Iterator[Message]:
        """Yield the messages of an answer: one of JSON, each of events."""
        if response.status >= 300:
            raise self._refuse(response)
        kind = response.headers.get_content_type()
        encoding = response.headers.get("Content-Encoding", "identity")
        if response.status in (202, 204) or response.length == 0:
            raise Unreachable(f"answers without a body ({response.status})")
        if encoding.lower() != "identity":
            raise Unreachable(
                f"answers with the encoding {self._quote(encoding)}, which "
                "was not asked for"
            )
        if "Content-Type" not in response.headers:
            raise Unreachable(sentences.of_type(""))
        if kind == "application/json":
            yield parse_message(self._read_all(response, MESSAGE_MAX))
        elif kind == "text/event-stream":
            yield from self._read_events(response)
        else:
            raise Unreachable(sentences.of_type(self._quote(kind)))

    def _read_events(
        self, response: http.client.HTTPResponse
    ) -> Iterator[Message]:
        self.events = self.events.continued()
        while piece := self._read_piece(response):
            for event in self.events.feed(piece):
                yield parse_message(event)

    def _read_piece(self, response: http.client.HTTPResponse) -> bytes:
        try:
            piece = response.read1(PIECE)
        except (
            OSError,
            ValueError,
            AttributeError,  # of a socket that abort has shut down
            http.client.HTTPException,
        ) as error:
            raise self._failure(error) from None
        if self.aborted.is_set():
            raise Aborted
        return piece

    def _read_all(
        self, response: http.client.HTTPResponse, limit: int
    ) -> bytes:
        pieces, size = [], 0
        while piece := self._read_piece(response):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise Unreachable(f"answers with more than {limit >> 10} KiB")
        if response.length:
            raise Unreachable(sentences.CUT)
        return b"".join(pieces)

    def _refuse(self, response: http.client.HTTPResponse) -> Exception:
        status, code, said = response.status, 0, ""
        kind = response.headers.get_content_type()
        try:
            if kind in KINDS and "Content-Type" in response.headers:
                body = self._read_all(response, ERROR_MAX)
                code, said = read_refusal(kind, body)
        except Unreachable:
            pass  # its status says enough
        after = response.headers.get("Retry-After", "")
        text = sentences.of_status(status, after, self._quote(said))
        if status in (401, 403):
            text += sentences.of_missing(self.server.missing)
        return Refusal(text, status, code)
