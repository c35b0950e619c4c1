"""A sandbox's only way out: a process that accepts on a socket inside of it.

It dials nothing but what the rules permit. It is a process of its own, because
the worker must have one thread whenever it makes a sandbox, and ends with the
worker: its control socket is then closed. Over that socket come listeners, and
go reports of what was refused or failed.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Optional, Protocol

from hearth_downloads.core.addresses import parse_address
from hearth_downloads.core.http_head import (
    HeadFault,
    Request,
    parse_answer,
    parse_request,
    read_head,
)

CONNECTIONS_MAX = 32
REPORTS_MAX = 64
CHUNK = 512 * 1024  # a fifth less processor time than with 64 KiB
DIAL_SECONDS = 15.0
INTERIM_MAX = 16  # answers with a status below 200


class Rules(Protocol):
    """The hosts and addresses that a job permits."""

    def permits(self, scheme: str, host: str, port: int) -> bool:
        """Return true if a request may go to that host and port."""

    def permits_address(self, host: str, address: str) -> bool:
        """Return true if a connection to that host may go to that address."""


@dataclass(frozen=True)
class Report:
    """A failure: `kind` is host, address, dial, silent, limit or head.

    `place` is HOST:PORT, and `reason` a text of ours or the system's.
    """

    kind: str
    place: str = ""
    reason: str = ""


class Refusal(Exception):
    """A request that goes no further, with its report."""

    def __init__(self, kind: str, place: str = "", reason: str = "") -> None:
        super().__init__(kind)
        self.report = Report(kind, place, reason)


@dataclass(frozen=True)
class Bounds:
    """How much the proxy receives, and how long it waits for more."""

    max_bytes: int
    silence: float
    takes_posts: bool = False  # of http; https hides what is asked


class Proxy:
    """The worker's half: starts the process, and ends it."""

    def __init__(self, rules: Rules, bounds: Bounds, uid: int, gid: int):
        self.counter = mmap.mmap(-1, 8)
        self.control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        self.pid = os.fork()
        if self.pid == 0:
            _be_proxy(_Service(rules, bounds, self.counter, theirs), uid, gid)
        theirs.close()

    def attach(self, listener: int) -> None:
        """Let the process accept on a listener; the caller keeps its own."""
        socket.send_fds(self.control, [b"l"], [listener])

    def received(self) -> int:
        """Return the number of bytes that have come from outside."""
        return int(struct.unpack("Q", self.counter[:8])[0])

    def reports(self) -> list[Report]:
        """Return the reports since the last call."""
        found: list[Report] = []
        while True:
            try:
                text = self.control.recv(4096, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return found
            if not text:
                return found
            found.append(Report(**json.loads(text)))

    def close(self) -> None:
        """End the process and wait for its end."""
        self.control.close()
        os.waitpid(self.pid, 0)


def _be_proxy(service: _Service, uid: int, gid: int) -> NoReturn:
    try:
        _close_all_but(service.control.fileno())
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        service.run()
    finally:
        os._exit(0)


def _close_all_but(kept: int) -> None:
    """Close all descriptors from 3 on but one.

    Python closes each number of a range before 3.10, and the limit may be a
    billion of them: so only up to the highest that is open.
    """
    highest = max(map(int, os.listdir("/proc/self/fd")))
    os.closerange(3, kept)
    os.closerange(kept + 1, highest + 1)


class _Service:
    """The process's half: a thread for each connection."""

    def __init__(
        self,
        rules: Rules,
        bounds: Bounds,
        counter: mmap.mmap,
        control: socket.socket,
    ) -> None:
        self.rules = rules
        self.bounds = bounds
        self.counter = counter
        self.control = control
        self.lock = threading.Lock()
        self.received = 0
        self.reported = 0
        self.connections = 0
        self.listener: Optional[socket.socket] = None

    def run(self) -> None:
        """Accept connections until the worker has closed its end."""
        while True:
            is_full = self.connections >= CONNECTIONS_MAX
            poll = select.poll()
            poll.register(self.control, select.POLLIN)
            if self.listener and not is_full:
                poll.register(self.listener, select.POLLIN)
            ready = [n for n, _ in poll.poll(50 if is_full else None)]
            if self.listener and self.listener.fileno() in ready:
                self._accept(self.listener)
            if self.control.fileno() in ready and not self._take_listener():
                return

    def _take_listener(self) -> bool:
        """Take the listener of the next sandbox; the one before is gone."""
        text, numbers, _, _ = socket.recv_fds(self.control, 16, 1)
        for number in numbers:
            self._drop_listener()
            self.listener = socket.socket(fileno=number)
            self.listener.setblocking(False)
        return bool(text)

    def _drop_listener(self) -> None:
        if self.listener:
            self.listener.close()
        self.listener = None

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except BlockingIOError:
            return
        except OSError:
            self._drop_listener()
            return
        with self.lock:
            self.connections += 1
        threading.Thread(
            target=self._serve, args=(client,), daemon=True
        ).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(self.bounds.silence)
        try:
            with client:
                self._answer(client)
        except OSError:
            pass  # the client or the host has gone
        except Exception as error:
            self._report(Report("dial", "the proxy", repr(error)))
        finally:
            with self.lock:
                self.connections -= 1

    def _answer(self, client: socket.socket) -> None:
        try:
            head, rest = read_head(client, lambda _: None)
            request = parse_request(head, self.bounds.takes_posts)
            upstream = self._dial(request)
        except HeadFault as fault:
            self._report(Report("head", "the client", str(fault)))
            client.sendall(_status(400, "Bad Request"))
            return
        except Refusal as refusal:
            self._report(refusal.report)
            is_dial = refusal.report.kind == "dial"
            client.sendall(
                _status(502, "Bad Gateway")
                if is_dial
                else _status(403, "Forbidden")
            )
            return
        with upstream:
            try:
                self._lead(request, client, upstream, rest)
            except Refusal as refusal:
                self._report(refusal.report)
                if refusal.report.kind != "head":  # that has an answer
                    _reset_at_close(client)
            except OSError:  # the host has gone
                _reset_at_close(client)

    def _dial(self, request: Request) -> socket.socket:
        """Connect to the host; the address that is dialled is judged."""
        place = request.place
        if self.received > self.bounds.max_bytes:
            raise Refusal("limit", place)
        if not self.rules.permits(request.scheme, request.host, request.port):
            raise Refusal("host", place)
        try:
            # The literal of the index is no name: nothing is resolved.
            flags = socket.AI_NUMERICHOST if parse_address(request.host) else 0
            # As bytes: for a text Python would import a codec, which the
            # process may have no right to read.
            found = socket.getaddrinfo(
                request.host.encode(),
                request.port,
                type=socket.SOCK_STREAM,
                flags=flags,
            )
        except (OSError, UnicodeError) as error:
            raise Refusal("dial", place, _reason(error)) from None
        return self._dial_one(request.host, place, found)

    def _dial_one(
        self, host: str, place: str, found: Iterable[tuple[Any, ...]]
    ) -> socket.socket:
        last: Optional[Refusal] = None
        for family, kind, protocol, _, name in found:
            address = str(name[0])
            if not self.rules.permits_address(host, address):
                last = Refusal("address", place, address)
                continue
            upstream = socket.socket(family, kind, protocol)
            upstream.settimeout(min(DIAL_SECONDS, self.bounds.silence))
            try:
                upstream.connect(name)
            except OSError as error:
                upstream.close()
                last = Refusal("dial", place, _reason(error))
                continue
            upstream.settimeout(self.bounds.silence)
            return upstream
        raise last or Refusal("dial", place, "it has no address")

    def _lead(
        self,
        request: Request,
        client: socket.socket,
        upstream: socket.socket,
        rest: bytes,
    ) -> None:
        place = request.place
        try:
            if request.method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                upstream.sendall(rest)
                self._pump(place, client, upstream, True)
            else:
                upstream.sendall(request.encode())
                self._send_body(request.body, client, upstream, rest)
                client.sendall(self._read_answer(upstream))
                self._pump(place, client, upstream, False)
        except socket.timeout:
            raise Refusal("silent", place) from None
        except HeadFault as fault:
            client.sendall(_status(502, "Bad Gateway"))
            raise Refusal("head", place, str(fault)) from None

    def _send_body(
        self,
        size: int,
        client: socket.socket,
        upstream: socket.socket,
        rest: bytes,
    ) -> None:
        """Pass on a request's body, and nothing that comes after it."""
        while size > 0:
            piece = rest or client.recv(min(size, CHUNK))
            if not piece:
                raise ConnectionResetError("the client ended in a body")
            upstream.sendall(piece[:size])
            size -= len(piece[:size])
            rest = b""

    def _read_answer(self, upstream: socket.socket) -> bytes:
        """Return the head of the answer, and what came with it."""
        rest = b""
        for _ in range(INTERIM_MAX + 1):
            head, rest = read_head(upstream, self._count, rest)
            status, answer = parse_answer(head)
            if status == 101:
                raise HeadFault("an answer changes the protocol")
            if status >= 200:
                return answer + rest
        raise HeadFault(f"more than {INTERIM_MAX} answers came before one")

    def _pump(
        self,
        place: str,
        client: socket.socket,
        upstream: socket.socket,
        is_tunnel: bool,
    ) -> None:
        """Pass on bytes until the host or the client ends its half."""
        poll = select.poll()
        poll.register(client, select.POLLIN)
        poll.register(upstream, select.POLLIN)
        while True:
            ready = [
                number
                for number, _ in poll.poll(int(self.bounds.silence * 1000))
            ]
            if not ready:
                raise Refusal("silent", place)
            if upstream.fileno() in ready:
                piece = upstream.recv(CHUNK)
                if not piece:
                    return
                self._count(len(piece))
                client.sendall(piece)
            if client.fileno() in ready:
                piece = client.recv(CHUNK)
                # A second request on the connection is not read.
                if not piece or not is_tunnel:
                    return
                upstream.sendall(piece)

    def _count(self, size: int) -> None:
        with self.lock:
            self.received += size
            self.counter[:8] = struct.pack("Q", self.received)
            is_over = self.received > self.bounds.max_bytes
        if is_over:
            raise Refusal("limit")

    def _report(self, report: Report) -> None:
        with self.lock:
            self.reported += 1
            if self.reported > REPORTS_MAX:
                return
        text = json.dumps(
            {
                "kind": report.kind,
                "place": report.place[:300],
                "reason": report.reason[:300],
            }
        )
        try:
            self.control.send(
                text.encode(), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
            )
        except OSError:
            pass  # the worker has enough of them, or has gone


def _reset_at_close(client: socket.socket) -> None:
    """Let the client learn that the answer was cut.

    An answer without a length ends with its connection: one that is closed as
    usual would be a whole answer.
    """
    now = struct.pack("ii", 1, 0)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)


def _status(number: int, text: str) -> bytes:
    return (
        f"HTTP/1.1 {number} {text}\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n"
    ).encode()


def _reason(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    return getattr(error, "strerror", None) or str(error)
