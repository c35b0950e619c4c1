"""Host tools: functions of this process that code in the session calls."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar
from uuid import uuid4

from hearth._answers import json_of
from hearth._async.link import AsyncSessionLink
from hearth._background import (
    AsyncBackground,
    async_invoke,
    async_sleep,
)
from hearth._schemas import schema_of
from hearth._taken_calls import TakenCalls
from hearth.errors import GatewayError, HearthError, ToolsRemoved

Tool = TypeVar("Tool", bound=Callable[..., Any])

_log = logging.getLogger("hearth")

_WAIT = 10  # seconds that one request waits for calls
_PAUSE = 0.5  # after a failure, in seconds


class AsyncTools:
    """Session.tools. What is added here can be called in the session as
    `from hearth import tools`, then `tools.name(...)`. Keys and the network
    stay with this process.

    Arguments and results are JSON values. An exception of the function is a
    `hearth.ToolError` in the session, with its text. Calls come at the same
    time, each in a thread (functions that are coroutines: in a task). One call
    is one run of the function, also if the gateway is started again meanwhile.
    If another client removes them from the session, they are served no more:
    the logger `hearth` gets the error, and `add` and `remove` raise it
    (ToolsRemoved).
    """

    def __init__(self, session: AsyncSessionLink) -> None:
        self._session = session
        self._path = f"/hearth/sessions/{session.id}/tools"
        self._provider = f"python-{uuid4().hex[:12]}"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._described: dict[str, dict[str, Any]] = {}
        self._taken = TakenCalls()
        self._background: Optional[AsyncBackground] = None
        self._removed: Optional[ToolsRemoved] = None

    async def add(
        self,
        function: Tool,
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        schema: Optional[Mapping[str, Any]] = None,
    ) -> Tool:
        """Offer a function from now on, and return it.

        Parameters:
            function: is called with the arguments by name.
            name: that of the function without one.
            description: its docstring without one.
            schema: JSON Schema of the arguments; made of the function's
                annotations without one.

        Raises BadRequest (a bad name or schema), NotPermitted, ToolsRemoved,
        and what any request of the session raises.
        """
        called = name or function.__name__
        described = {
            **self._described,
            called: {
                "name": called,
                "description": description or (function.__doc__ or "").strip(),
                "inputSchema": dict(schema or schema_of(function)),
            },
        }
        await self._register(described)
        self._described = described
        self._functions[called] = function
        if self._background is None:
            self._background = AsyncBackground()
            self._background.spawn(self._serve)
        return function

    async def remove(self, name: str) -> None:
        """Offer a function no longer."""
        described = {**self._described}
        del described[name]
        await self._register(described)
        self._described = described
        del self._functions[name]

    async def _register(self, described: Mapping[str, Any]) -> None:
        if self._removed is not None:
            raise self._removed
        await self._session.ask(
            "PUT",
            self._path,
            json={
                "provider": self._provider,
                "tools": list(described.values()),
            },
        )

    async def aclose(self) -> None:
        """Offer nothing any more. Calls without an answer fail at once."""
        background, self._background = self._background, None
        if background is None:
            return
        background.is_over = True
        await self._withdraw()
        await background.aclose()

    async def _withdraw(self) -> None:
        try:
            await self._session.transport.send(
                "DELETE", self._path, params={"provider": self._provider}
            )
        except GatewayError:
            pass  # it removes the provider when its grace is over

    async def _serve(self) -> None:
        """Wait for calls and begin to answer them, until aclose()."""
        background = self._background
        after = 0
        while background is not None and not background.is_over:
            self._taken.forget_ended()
            try:
                response = await self._session.ask(
                    "GET",
                    f"{self._path}/calls",
                    seconds=_WAIT,
                    params={
                        "provider": self._provider,
                        "worker": self._provider,
                        "after": after,
                        "wait": _WAIT,
                    },
                )
            except GatewayError:
                await async_sleep(_PAUSE)  # it may come again
                continue
            except ToolsRemoved as error:
                if not background.is_over:  # it was not aclose() itself
                    self._removed = error
                    _log.error("%s", error)
                return
            except HearthError:
                if not await self._offer_again(background):
                    return  # the session has ended
                await async_sleep(_PAUSE)
                continue
            for call in json_of(response)["calls"]:
                number = call["call"]
                after = max(after, number)
                answer = self._taken.answer_to(number)
                if self._taken.begin(number):
                    background.spawn(self._work, call)
                elif answer is not None:  # the gateway before did not get it
                    background.spawn(self._answer, number, answer)

    async def _offer_again(self, background: AsyncBackground) -> bool:
        """Offer all functions once more, which the gateway does not know.
        Return false if the session has ended."""
        if background.is_over:
            return False
        try:
            await self._session.require()
            await self._register(self._described)
            if background.is_over:  # aclose() came before
                await self._withdraw()
        except GatewayError:
            return True  # it may come again
        except HearthError:
            return False
        return True

    async def _work(self, call: Mapping[str, Any]) -> None:
        body: dict[str, Any]
        try:
            function = self._functions[call["name"]]
            result = await async_invoke(function, call["arguments"])
            body = {"result": result}
            json.dumps(body, allow_nan=False)
        except Exception as error:
            body = {"error": f"{type(error).__name__}: {error}"}
        self._taken.keep_answer(call["call"], body)
        await self._answer(call["call"], body)

    async def _answer(self, number: int, body: Mapping[str, Any]) -> None:
        try:
            await self._session.ask(
                "POST",
                f"{self._path}/calls/{number}",
                accepted=(200, 409),
                is_safe=True,
                json=body,
            )
        except HearthError:
            return  # the gateway asks again, or fails it at its time limit
        self._taken.end(number)
