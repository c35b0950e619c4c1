"""A client of one server, in whichever era that is.

Since 2026-07-28 each request says all about itself. Before that there is
`initialize` first, and perhaps a session, which the server may lose: then it is
asked for another one, and for the same call again, which it has not begun.
"""

from __future__ import annotations

import threading
from typing import Any, Optional

from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools.conversation import (
    NO_METHOD,
    Conversation,
    text_of,
)
from hearth_downloads.tools.exchange import Exchange, Refusal
from hearth_downloads.tools.messages import Message
from hearth_downloads.tools.opening import Opening
from hearth_downloads.tools.parameters import Paths, find_parameters
from hearth_downloads.tools.server import Server

TOOLS_MAX = 10_000  # whose parameters are kept
_NO_VERSION, _NO_SESSION = -32022, -32000


def _is_lost(refusal: Refusal, way: Conversation) -> bool:
    """Return true if the server does not know the session or the era."""
    if refusal.status == 404:
        return refusal.code != NO_METHOD
    if refusal.status != 400:
        return False
    if not refusal.code:
        # The Python SDK, up to 1.20, says it in plain text.
        return way.session != ""
    return refusal.code in (_NO_SESSION, _NO_VERSION)


class Client:
    """The server, as far as it is known; several threads use it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.parameters: dict[str, Paths] = {}
        self._opening: Optional[Opening] = None  # the last one
        self._lock = threading.Lock()

    # ---- the beginning ----

    def open(
        self, exchange: Exchange, lost: Optional[Conversation] = None
    ) -> Conversation:
        """Return how the server is spoken to, but not in the way that is lost.

        The server is asked unless it is open. One attempt is under way at a
        time.
        """
        with self._lock:
            opening = self._opening
            if opening is None or (
                opening.is_done and opening.way in (None, lost)
            ):
                opening = Opening(self.server, self.parameters)
                self._opening = opening
        return opening.wait(exchange)

    @property
    def _way(self) -> Optional[Conversation]:
        """Return how the server is spoken to; None if it is not open."""
        return self._opening.way if self._opening else None

    # ---- calls ----

    def request(self, exchange: Exchange, message: Message) -> Message:
        """Return the answer to a request of the gateway."""
        way = self.open(exchange)
        try:
            answer = way.request(exchange, message)
        except Refusal as refusal:
            if not _is_lost(refusal, way):
                raise
            way = self.open(exchange, way)
            answer = way.request(exchange, message)
        result = answer.get("result")
        if isinstance(result, dict):
            self._check(message["method"], result, way)
        return answer

    def _check(self, method: str, result: Message, way: Conversation) -> None:
        if text_of(result.get("resultType")) not in ("", "complete"):
            raise Unreachable(
                "wants an answer of a person or gives a task, which code "
                "cannot use"
            )
        tools = result.get("tools")
        if method == "tools/list" and way.is_modern and isinstance(tools, list):
            result["tools"] = [one for one in tools if self._keep(one)]

    def _keep(self, tool: Any) -> bool:
        """Keep what a tool wants in headers; false if that cannot be."""
        if not isinstance(tool, dict) or not text_of(tool.get("name")):
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
        way = self._way
        if way is None or way.is_modern:
            return
        params = {"requestId": number, "reason": "its time is over"}
        try:
            way.notify("notifications/cancelled", params)
        except Unreachable:
            pass  # its answer is not waited for in any case

    def close(self) -> None:
        """End the session, if there is one."""
        way = self._way
        if way:
            way.close()
