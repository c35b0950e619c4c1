"""One request of HTTP and its answer.

Each has a connection of its own. One that is kept may be closed while a request
is on its way, and then it is not known whether a tool has worked.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any, Optional

from hearth_downloads.core.connection import Connection
from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools import sentences
from hearth_downloads.tools.events import Events
from hearth_downloads.tools.messages import (
    MESSAGE_MAX,
    Message,
    error_of,
    parse_message,
)
from hearth_downloads.tools.order import Place, Server, parse_place

CONNECT_SECONDS = 10.0
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
            (self.host, self.port), CONNECT_SECONDS
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
            if response.status not in (307, 308):
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
            place.host, place.port, CONNECT_SECONDS, self.server.context
        )
        self._connection = connection
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            if self.aborted.is_set():
                raise Aborted from None
            raise NotReached(_reason(error, "is not reached")) from None
        if self.aborted.is_set():
            raise Aborted
        return connection

    def _failure(self, error: Exception) -> Exception:
        if self.aborted.is_set():
            return Aborted()
        kinds = (http.client.IncompleteRead, ConnectionError)
        kind = Broken if isinstance(error, kinds) else Unreachable
        return kind(_reason(error, "breaks off the connection"))

    def _follow(
        self, place: Place, response: http.client.HTTPResponse
    ) -> Place:
        """Return where a redirect leads, which has to be the same origin."""
        location = response.headers.get("Location", "").strip()
        origin = ""
        try:
            if location.startswith("/") and location[1:2] not in ("/", "\\"):
                location = place.origin + location
            found = parse_place(location)
            origin = found.origin
        except ValueError:
            found = None
        if found is None or found.origin != place.origin:
            raise Unreachable(sentences.of_redirect(response.status, origin))
        if any(not "!" <= letter <= "~" for letter in found.target):
            raise Unreachable(sentences.of_redirect(response.status, ""))
        return found

    # ---- the answer ----

    def read(self, response: http.client.HTTPResponse) -> Iterator[Message]:
        """Yield the messages of an answer: one of JSON, each of events."""
        if response.status >= 300:
            raise self._refuse(response)
        kind = response.headers.get_content_type()
        if "Content-Type" not in response.headers:
            raise Unreachable(sentences.of_type(""))
        if kind == "application/json":
            yield parse_message(self._read_all(response, MESSAGE_MAX))
        elif kind == "text/event-stream":
            yield from self._read_events(response)
        else:
            raise Unreachable(sentences.of_type(kind))

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
            raise Unreachable("ends its answer before the end")
        return b"".join(pieces)

    def _refuse(self, response: http.client.HTTPResponse) -> Exception:
        status = response.status
        if 300 <= status < 400:
            return Unreachable(sentences.of_redirect(status, ""))
        code, said = 0, ""
        try:
            if response.headers.get_content_type() == "application/json":
                body = self._read_all(response, ERROR_MAX)
                code, said = error_of(parse_message(body))
        except Unreachable:
            pass  # its status says enough
        after = response.headers.get("Retry-After", "")
        text = sentences.of_status(status, after, said)
        return Refusal(text, status, code)


_REASONS = (
    (socket.timeout, f"does not take a connection in {CONNECT_SECONDS:g} s"),
    (http.client.RemoteDisconnected, "closes the connection without an answer"),
    (http.client.IncompleteRead, "ends its answer before the end"),
)


def _reason(error: Exception, what: str) -> str:
    """Return a sentence; most texts of errors may quote a request's keys.

    `what` is what the server does, if it is only known that it failed.
    """
    for kind, text in _REASONS:
        if isinstance(error, kind):
            return text
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not trusted ({error.verify_message}); "
            "fetch/ca_file names the authorities"
        )
    if isinstance(error, http.client.HTTPException):
        is_ours = type(error) is http.client.HTTPException
        reason = str(error) if is_ours else type(error).__name__
        return f"answers with what is no HTTP: {reason}"
    reason = getattr(error, "reason", "") or getattr(error, "strerror", "")
    return f"{what}: {reason or type(error).__name__}"
