"""The way to one session: the requests that all parts of it need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from hearth._answers import NO_MEANINGS, error_of, json_of, sentence_of
from hearth._async.transport import AsyncTransport
from hearth.errors import HearthError, SessionGone, SessionUnknown
from hearth.values import SessionInfo, session_info

_WAIT_MAX = 30  # seconds that one request waits for records
_RECORDS_MAX = 1000  # that are taken at once


class AsyncSessionLink:
    """The way to one session of a gateway. Its runs, files, processes and host
    tools share it; Session is one with everything that a session can do.

    Every method raises SessionGone if the session has ended, SessionUnknown if
    the gateway does not know it, and the errors of any request.
    """

    def __init__(self, transport: AsyncTransport, session: str) -> None:
        self.transport = transport
        #: The session's id.
        self.id = session
        #: The number of the last record of the journal that was read.
        self.cursor = 0

    async def interrupt(self) -> None:
        """Interrupt what runs, once; the variables are kept. Returns when the
        code has ended, or after two seconds: it may handle the interrupt."""
        await self.ask(
            "POST", f"/api/kernels/{self.id}/interrupt", accepted=(204,)
        )

    async def info(self) -> SessionInfo:
        """Describe the session, also one that is gone."""
        response = await self._look()
        return session_info(json_of(response))

    async def require(self) -> SessionInfo:
        """Describe the session; raises SessionGone if it has ended."""
        described = await self.info()
        if described.is_gone:
            raise _gone(self.id, described)
        return described

    async def ask(
        self,
        method: str,
        path: str,
        accepted: tuple[int, ...] = (200,),
        **options: Any,
    ) -> httpx.Response:
        """Send a request that is about this session. For what has no method
        here; the paths are those of docs/reference/http.md."""
        response = await self.transport.send(method, path, **options)
        if response.status_code in accepted:
            return response
        raise await self.error_of(response)

    async def error_of(
        self,
        response: httpx.Response,
        meanings: Mapping[int, type[HearthError]] = NO_MEANINGS,
    ) -> HearthError:
        """Say why a request failed: first whether there is a session."""
        if response.status_code in (404, 410):
            described = await self.info()
            if described.is_gone:
                return _gone(self.id, described)
        return error_of(response, meanings)

    async def _look(self) -> httpx.Response:
        response = await self.transport.send(
            "GET", f"/hearth/sessions/{self.id}"
        )
        if response.status_code == 404:
            raise SessionUnknown(sentence_of(response))
        if response.status_code not in (200, 410):
            raise error_of(response)
        return response

    async def records(self, since: int, seconds: float) -> list[dict[str, Any]]:
        """Read the journal's next records after a cursor; if there is none,
        wait at most `seconds`. They are those of *Events* in
        docs/reference/http.md."""
        wait = min(int(seconds), _WAIT_MAX)
        found: list[dict[str, Any]] = []
        try:
            async with self.transport.streamed(
                f"/hearth/sessions/{self.id}/events",
                seconds=wait,
                params={"since": since, "wait": wait},
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise await self.error_of(response)
                async for line in response.aiter_lines():
                    if line:
                        found.append(json.loads(line))
                    if len(found) == _RECORDS_MAX:
                        break
        except httpx.TransportError:
            pass  # the gateway has gone: what came has come, the rest follows
        return found


def _gone(session: str, described: SessionInfo) -> SessionGone:
    reason = described.reason or ""
    why = described.detail or reason or "it has ended"
    when = f" at {described.ended:%H:%M:%S} UTC" if described.ended else ""
    return SessionGone(
        f"Session {session} is gone: {why}{when}.", reason, described.ended
    )
