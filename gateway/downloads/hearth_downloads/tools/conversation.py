"""Messages to one server, in the way that was found when it was opened.

It never changes: a server that is spoken to in another way, or that has lost
its session, gets another one. So several threads use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools.exchange import Aborted, Broken, Exchange
from hearth_downloads.tools.messages import Message, error_of, write_message
from hearth_downloads.tools.parameters import (
    Paths,
    encode_value,
    list_headers,
)
from hearth_downloads.tools.sentences import CUT
from hearth_downloads.tools.server import Server

MODERN = "2026-07-28"
CLIENT = {"name": "hearth", "version": "1"}
NOTIFY_SECONDS = 5.0
LEAVE_SECONDS = 0.4
NO_METHOD = -32601
_META = "io.modelcontextprotocol/"


def text_of(value: Any) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def _is_answer(message: Message, number: Any) -> bool:
    """Return true for the answer; an error may be without an id."""
    if "method" in message:
        return False
    found = message.get("id")
    return bool(found == number or (found is None and error_of(message)[1]))


@dataclass(frozen=True, eq=False)
class Conversation:
    """How the server is spoken to."""

    server: Server
    parameters: dict[str, Paths]  # of its tools; the client fills it
    version: str = ""  # "": it is not known yet
    session: str = ""  # "": none

    @property
    def is_modern(self) -> bool:
        """Return true if each request says all about itself."""
        return self.version == MODERN

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
        name = text_of(params.get("name"))
        if name:
            headers["Mcp-Name"] = encode_value(name)
            paths = self.parameters.get(name, {})
            headers.update(list_headers(paths, params.get("arguments")))
        return {**message, "params": params}, headers

    # ---- a request ----

    def request(self, exchange: Exchange, message: Message) -> Message:
        """Return the answer to a request."""
        dressed, headers = self._dress(message)
        body = write_message(dressed)
        headers["Content-Length"] = str(len(body))
        place = self.server.place
        response = exchange.send(place, "POST", headers, body)
        exchange.session = response.headers.get("Mcp-Session-Id", "")
        answer = self._read(exchange, response, message["id"])
        while answer is None:
            answer = self._resume(exchange, headers, message["id"])
        return answer

    def _read(
        self, exchange: Exchange, response: Any, number: Any
    ) -> Optional[Message]:
        """Return the answer; None if the stream ends before it."""
        try:
            for message in exchange.read(response):
                if _is_answer(message, number):
                    return message
                if "method" not in message:
                    exchange.has_another = True
                elif "id" in message:
                    self._answer(message)
        except Broken:
            if self.is_modern or not exchange.events.last_id:
                raise
        return None

    def _resume(
        self, exchange: Exchange, headers: dict[str, str], number: Any
    ) -> Optional[Message]:
        """Go on with a stream that has ended; None if it ends once more."""
        last_id = exchange.events.last_id
        if self.is_modern or not last_id:
            raise Unreachable(
                "answers with another id" if exchange.has_another else CUT
            )
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
        if self.is_modern:
            return  # it has no such requests
        answer: Message = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            text = "the client has no such method"
            answer["error"] = {"code": NO_METHOD, "message": text}
        try:
            self._post(answer)
        except Unreachable:
            pass  # it may still answer the call

    def notify(self, method: str, params: Message) -> None:
        """Send a message that has no answer."""
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

    def close(self) -> None:
        """End the session, if there is one and the server takes that."""
        if not self.session:
            return
        headers = self._dress({})[1]
        del headers["Content-Type"]
        with Exchange(self.server, LEAVE_SECONDS) as exchange:
            try:
                exchange.send(self.server.place, "DELETE", headers)
            except (Aborted, Unreachable):
                pass  # it forgets the session by itself
