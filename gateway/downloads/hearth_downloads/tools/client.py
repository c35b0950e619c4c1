"""A client of one server, in whichever era that is.

Since 2026-07-28 each request says all about itself. Before that there is
`initialize` first, and perhaps a session, which the server may lose: then it is
asked for another one, and for the same call again, which it has not begun.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any, Optional

from hearth_downloads.core.faults import Unreachable, clean
from hearth_downloads.tools.exchange import (
    Aborted,
    Exchange,
    NotReached,
    Refusal,
)
from hearth_downloads.tools.messages import Message, error_of, write_message
from hearth_downloads.tools.order import Server
from hearth_downloads.tools.parameters import (
    Paths,
    encode_value,
    find_parameters,
    list_headers,
)

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
CLIENT = {"name": "hearth", "version": "1"}
DISCOVER_SECONDS = 8.0  # the gateway waits 30 s for the tools
OPEN_SECONDS = 12.0
NOTIFY_SECONDS = 5.0
LEAVE_SECONDS = 0.4
TOOLS_MAX = 10_000  # whose parameters are kept
_HEADER_MISMATCH, _NO_CAPABILITY, _NO_VERSION = -32020, -32021, -32022
_NO_METHOD, _NO_SESSION = -32601, -32000
_META = "io.modelcontextprotocol/"


def _is_lost(refusal: Refusal) -> bool:
    """Return true if the server does not know the session or the era."""
    if refusal.status == 404:
        return refusal.code != _NO_METHOD
    return refusal.status == 400 and refusal.code in (_NO_SESSION, _NO_VERSION)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class Client:
    """The server, as far as it is known; several threads use it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.version = ""  # "": it has not been opened
        self.session = ""  # "": none
        self.parameters: dict[str, Paths] = {}
        self._opened = 0  # times
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    @property
    def is_modern(self) -> bool:
        """Return true if each request says all about itself."""
        return self.version == MODERN

    # ---- the beginning ----

    def open(self) -> None:
        """Find out how the server is spoken to, and begin a session."""
        if self.server.flaw:
            raise Unreachable(self.server.flaw)
        with self._lock:
            self._open()

    def _open_again(self, opened: int) -> None:
        """Do that, unless another thread has since that time."""
        with self._lock:
            if self._opened == opened:
                self._open()

    def _open(self) -> None:
        self.session = ""
        self.version = MODERN
        if not self._discover():
            self.version = ""
            self._initialize()
        self._opened += 1

    def _ask(self, method: str, params: Message, seconds: float) -> Message:
        """Return the answer to a request of the client's own."""
        message = {
            "jsonrpc": "2.0",
            "id": f"hearth-{next(self._numbers)}",
            "method": method,
            "params": params,
        }
        with Exchange(self.server, seconds) as exchange:
            try:
                return self._send(exchange, message)
            except Aborted:
                raise Unreachable(
                    f"does not answer `{method}` in {seconds:g} s"
                ) from None

    def _discover(self) -> bool:
        """Return true if the server is of today's era."""
        try:
            answer = self._ask("server/discover", {}, DISCOVER_SECONDS)
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

    def _initialize(self) -> None:
        params = {
            "protocolVersion": LEGACY[0],
            "capabilities": {},
            "clientInfo": CLIENT,
        }
        answer = self._ask("initialize", params, OPEN_SECONDS)
        result = answer.get("result")
        if not isinstance(result, dict):
            said = clean(error_of(answer)[1], 100)
            raise Unreachable(f"refuses `initialize`: {said or 'no reason'}")
        version = _text(result.get("protocolVersion"))
        if version not in LEGACY:
            raise Unreachable(
                f"speaks the revision {clean(version, 40) or 'without a name'}"
                f" of MCP; known are {MODERN}, {', '.join(LEGACY)}"
            )
        self.version = version
        self._notify("notifications/initialized", {})

    # ---- one request ----

    def _dress(self, message: Message) -> tuple[Message, dict[str, str]]:
        """Return the message as it is sent, and the headers of its request."""
        headers = {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "Content-Type": "application/json",
            "User-Agent": "hearth",
        }
        if self.version:
            headers["MCP-Protocol-Version"] = self.version
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if not self.is_modern or "method" not in message:
            return message, headers
        params = dict(message["params"])
        params["_meta"] = {
            f"{_META}protocolVersion": MODERN,
            f"{_META}clientInfo": CLIENT,
            f"{_META}clientCapabilities": {},
        }
        headers["Mcp-Method"] = message["method"]
        name = _text(params.get("name"))
        if name:
            headers["Mcp-Name"] = encode_value(name)
            paths = self.parameters.get(name, {})
            headers.update(list_headers(paths, params.get("arguments")))
        return {**message, "params": params}, headers

    def _send(self, exchange: Exchange, message: Message) -> Message:
        """Return the answer to a request."""
        dressed, headers = self._dress(message)
        body = write_message(dressed)
        headers["Content-Length"] = str(len(body))
        place = self.server.place
        response = exchange.send(place, "POST", headers, body)
        if message["method"] == "initialize" and response.status < 300:
            self._take_session(response.headers.get("Mcp-Session-Id", ""))
        answer = self._read(exchange, response, message["id"])
        while answer is None:
            answer = self._resume(exchange, headers, message["id"])
        return answer

    def _take_session(self, text: str) -> None:
        if len(text) > 1024 or any(not "!" <= one <= "~" for one in text):
            raise Unreachable("has a session whose name cannot be sent back")
        self.session = text

    def _read(
        self, exchange: Exchange, response: Any, number: Any
    ) -> Optional[Message]:
        """Return the answer; None if the stream ends before it."""
        is_modern = self.is_modern
        for message in exchange.read(response):
            if "method" not in message:
                if message.get("id") == number:
                    return message
                if message.get("id") is None and error_of(message)[1]:
                    return message
            elif "id" in message and not is_modern:
                self._answer(message)
        return None

    def _resume(
        self, exchange: Exchange, headers: dict[str, str], number: Any
    ) -> Optional[Message]:
        """Go on with a stream that has ended; None if it ends once more."""
        last_id = exchange.events.last_id
        if self.is_modern or not last_id:
            raise Unreachable("ends its answer before the end")
        if exchange.aborted.wait(exchange.events.retry):
            raise Aborted
        kept = {
            name: value
            for name, value in headers.items()
            if not name.startswith("Content-")
        }
        kept["Accept"] = "text/event-stream"
        kept["Last-Event-ID"] = last_id
        response = exchange.send(self.server.place, "GET", kept)
        return self._read(exchange, response, number)

    # ---- what has no answer ----

    def _answer(self, request: Message) -> None:
        """Answer a request of the server, which gets nothing but a ping."""
        answer: Message = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            text = "the client has no such method"
            answer["error"] = {"code": _NO_METHOD, "message": text}
        try:
            self._post(answer)
        except Unreachable:
            pass  # it may still answer the call

    def _notify(self, method: str, params: Message) -> None:
        self._post({"jsonrpc": "2.0", "method": method, "params": params})

    def _post(self, message: Message) -> None:
        """Send what is no request of this client."""
        dressed, headers = self._dress(message)
        body = write_message(dressed)
        headers["Content-Length"] = str(len(body))
        with Exchange(self.server, NOTIFY_SECONDS) as exchange:
            try:
                place = self.server.place
                response = exchange.send(place, "POST", headers, body)
                if response.status >= 300:
                    for _ in exchange.read(response):
                        pass  # it raises
            except Aborted:
                raise Unreachable(
                    f"does not take a message in {NOTIFY_SECONDS:g} s"
                ) from None

    # ---- calls ----

    def request(self, exchange: Exchange, message: Message) -> Message:
        """Return the answer to a request of the gateway."""
        opened = self._opened
        try:
            answer = self._send(exchange, message)
        except Refusal as refusal:
            if not _is_lost(refusal):
                raise
            self._open_again(opened)
            answer = self._send(exchange, message)
        result = answer.get("result")
        if isinstance(result, dict):
            self._check(message["method"], result)
        return answer

    def _check(self, method: str, result: Message) -> None:
        if _text(result.get("resultType")) not in ("", "complete"):
            raise Unreachable(
                "wants an answer of a person or gives a task, which code "
                "cannot use"
            )
        tools = result.get("tools")
        if (
            method == "tools/list"
            and self.is_modern
            and isinstance(tools, list)
        ):
            result["tools"] = [one for one in tools if self._keep(one)]

    def _keep(self, tool: Any) -> bool:
        """Keep what a tool wants in headers; false if that cannot be."""
        if not isinstance(tool, dict) or not _text(tool.get("name")):
            return True  # the gateway judges it
        try:
            found = find_parameters(tool)
        except ValueError:
            return False
        self.parameters.pop(tool["name"], None)
        if found and len(self.parameters) < TOOLS_MAX:
            self.parameters[tool["name"]] = found
        return True

    def cancel(self, number: Any) -> None:
        """Say that no answer is wanted, where an end of a stream does not."""
        if self.is_modern:
            return
        params = {"requestId": number, "reason": "its time is over"}
        try:
            self._notify("notifications/cancelled", params)
        except Unreachable:
            pass  # its answer is not waited for in any case

    def close(self) -> None:
        """End the session, if the server takes that."""
        if not self.session:
            return
        headers = self._dress({})[1]
        del headers["Content-Type"]
        with Exchange(self.server, LEAVE_SECONDS) as exchange:
            try:
                exchange.send(self.server.place, "DELETE", headers)
            except (Aborted, Unreachable):
                pass  # it forgets the session by itself
