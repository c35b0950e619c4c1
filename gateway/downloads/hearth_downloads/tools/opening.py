"""The beginning: which revision a server speaks, and a session if it has them.

An attempt has a thread of its own. So a call that is cancelled does not wait
for it, and all calls that wait share what comes of it.
"""

from __future__ import annotations

import itertools
import threading
from typing import Optional

from hearth_downloads.core.faults import Unreachable, clean
from hearth_downloads.tools.conversation import (
    CLIENT,
    MODERN,
    Conversation,
    text_of,
)
from hearth_downloads.tools.exchange import (
    Aborted,
    Exchange,
    NotReached,
    Refusal,
)
from hearth_downloads.tools.messages import Message, error_of
from hearth_downloads.tools.parameters import Paths
from hearth_downloads.tools.server import Server

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
DISCOVER_SECONDS = 8.0  # the gateway waits 30 s for the tools
OPEN_SECONDS = 12.0
SESSION_MAX = 1024  # characters of its name
_HEADER_MISMATCH, _NO_CAPABILITY = -32020, -32021
_numbers = itertools.count(1)


def _ask(
    exchange: Exchange, way: Conversation, method: str, params: Message
) -> Message:
    """Return the answer to a request of the client's own."""
    message = {
        "jsonrpc": "2.0",
        "id": f"hearth-{next(_numbers)}",
        "method": method,
        "params": params,
    }
    with exchange:
        try:
            return way.request(exchange, message)
        except Aborted:
            raise Unreachable(
                f"does not answer `{method}` in {exchange.seconds:g} s"
            ) from None


def _is_modern(way: Conversation) -> bool:
    """Return true if the server is of today's era."""
    exchange = Exchange(way.server, DISCOVER_SECONDS)
    try:
        answer = _ask(exchange, way, "server/discover", {})
    except NotReached:
        raise
    except Refusal as refusal:
        if refusal.code in (_HEADER_MISMATCH, _NO_CAPABILITY):
            raise
        return False
    except Unreachable:
        # Some old servers close the connection, or answer nothing.
        return False
    result = answer.get("result")
    if not isinstance(result, dict):
        return False
    found = result.get("supportedVersions")
    return isinstance(found, list) and MODERN in found


def _version_of(answer: Message) -> str:
    """Return the revision in an answer to `initialize`."""
    result = answer.get("result")
    if not isinstance(result, dict):
        said = clean(error_of(answer)[1], 100)
        raise Unreachable(f"refuses `initialize`: {said or 'no reason'}")
    version = text_of(result.get("protocolVersion"))
    if version not in LEGACY:
        raise Unreachable(
            f"speaks the revision {clean(version, 40) or 'without a name'}"
            f" of MCP; known are {MODERN}, {', '.join(LEGACY)}"
        )
    return version


def _initialize(server: Server, parameters: dict[str, Paths]) -> Conversation:
    params = {
        "protocolVersion": LEGACY[0],
        "capabilities": {},
        "clientInfo": CLIENT,
    }
    exchange = Exchange(server, OPEN_SECONDS)
    unknown = Conversation(server, parameters)
    version = _version_of(_ask(exchange, unknown, "initialize", params))
    session = exchange.session
    if len(session) > SESSION_MAX or any(not "!" <= c <= "~" for c in session):
        raise Unreachable("has a session whose name cannot be sent back")
    way = Conversation(server, parameters, version, session)
    way.notify("notifications/initialized", {})
    return way


def open_server(server: Server, parameters: dict[str, Paths]) -> Conversation:
    """Find out how the server is spoken to, and begin a session."""
    if server.flaw:
        raise Unreachable(server.flaw)
    way = Conversation(server, parameters, MODERN)
    return way if _is_modern(way) else _initialize(server, parameters)


class Opening:
    """One attempt, for all who wait for it."""

    def __init__(self, server: Server, parameters: dict[str, Paths]) -> None:
        self.way: Optional[Conversation] = None
        self.flaw = ""  # why there is none
        self.is_done = False
        self._waiting: list[threading.Event] = []
        self._lock = threading.Lock()
        arguments = (server, parameters)
        threading.Thread(target=self._run, args=arguments, daemon=True).start()

    def _run(self, server: Server, parameters: dict[str, Paths]) -> None:
        try:
            self.way = open_server(server, parameters)
        except Unreachable as fault:
            self.flaw = fault.text
        except Exception as error:
            # Its text may quote a request.
            self.flaw = f"was not asked: {type(error).__name__}"
        with self._lock:
            self.is_done = True
            for event in self._waiting:
                event.set()

    def wait(self, exchange: Exchange) -> Conversation:
        """Return what came of it; Aborted if the exchange ends before."""
        exchange.woken.clear()
        with self._lock:
            self._waiting.append(exchange.woken)
            if self.is_done or exchange.aborted.is_set():
                exchange.woken.set()
        exchange.woken.wait()
        if exchange.aborted.is_set():
            raise Aborted
        if self.way is None:
            raise Unreachable(self.flaw)
        return self.way
