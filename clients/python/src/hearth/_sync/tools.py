# Made by generate.py from _async/tools.py; change that instead.
"""Host tools: functions of this process that code in the session calls."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Callable, Optional, TypeVar
from uuid import uuid4

from hearth._answers import json_of
from hearth._sync.link import SessionLink
from hearth._background import (
    Background,
    sync_invoke,
    sync_sleep,
)
from hearth._schemas import schema_of
from hearth._taken_calls import TakenCalls
from hearth.errors import GatewayError, HearthError, ToolsRemoved

Tool = TypeVar("Tool", bound=Callable[..., Any])

_log = logging.getLogger("hearth")

_WAIT = 10  # seconds that one request waits for calls
_PAUSE = 0.5  # after a failure, in seconds


class Tools:
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

    def __init__(self, session: SessionLink) -> None:
        self._session = session
        self._path = f"/hearth/sessions/{session.id}/tools"
        self._provider = f"python-{uuid4().hex[:12]}"
        self._functions: dict[str, Callable[..., Any]] = {}
        self._described: dict[str, dict[str, Any]] = {}
        self._taken = TakenCalls()
        self._background: Optional[Background] = None
        self._removed: Optional[ToolsRemoved] = None

    def add(
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
        self._register(described)
        self._described = described
        self._functions[called] = function
        if self._background is None:
            self._background = Background()
            self._background.spawn(self._serve)
        return function

    def remove(self, name: str) -> None:
        """Offer a function no longer."""
        described = {**self._described}
        del described[name]
        self._register(described)
        self._described = described
        del self._functions[name]

    def _register(self, described: Mapping[str, Any]) -> None:
        if self._removed is not None:
            raise self._removed
        self._session.ask(
            "PUT",
            self._path,
            json={
                "provider": self._provider,
                "tools": list(described.values()),
            },
        )

    def close(self) -> None:
        """Offer nothing any more. Calls without an answer fail at once."""
        background, self._background = self._background, None
        if background is None:
            return
        background.is_over = True
        self._withdraw()
        background.close()

    def _withdraw(self) -> None:
        try:
            self._session.transport.send(
                "DELETE", self._path, params={"provider": self._provider}
            )
        except GatewayError:
            pass  # it removes the provider when its grace is over

    def _serve(self) -> None:
        """Wait for calls and begin to answer them, until close()."""
        background = self._background
        after = 0
        while background is not None and not background.is_over:
            self._taken.forget_ended()
            try:
                response = self._session.ask(
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
                sync_sleep(_PAUSE)  # it may come again
                continue
            except ToolsRemoved as error:
                if not background.is_over:  # it was not close() itself
                    self._removed = error
                    _log.error("%s", error)
                return
            except HearthError:
                if not self._offer_again(background):
                    return  # the session has ended
                sync_sleep(_PAUSE)
                continue
            for call in json_of(response)["calls"]:
                number = call["call"]
                after = max(after, number)
                answer = self._taken.answer_to(number)
                if self._taken.begin(number):
                    background.spawn(self._work, call)
                elif answer is not None:  # the gateway before did not get it
                    background.spawn(self._answer, number, answer)

    def _offer_again(self, background: Background) -> bool:
        """Offer all functions once more, which the gateway does not know.
        Return false if the session has ended."""
        if background.is_over:
            return False
        try:
            self._session.require()
            self._register(self._described)
            if background.is_over:  # close() came before
                self._withdraw()
        except GatewayError:
            return True  # it may come again
        except HearthError:
            return False
        return True

    def _work(self, call: Mapping[str, Any]) -> None:
        body: dict[str, Any]
        try:
            function = self._functions[call["name"]]
            result = sync_invoke(function, call["arguments"])
            body = {"result": result}
            json.dumps(body, allow_nan=False)
        except Exception as error:
            body = {"error": f"{type(error).__name__}: {error}"}
        self._taken.keep_answer(call["call"], body)
        self._answer(call["call"], body)

    def _answer(self, number: int, body: Mapping[str, Any]) -> None:
        try:
            self._session.ask(
                "POST",
                f"{self._path}/calls/{number}",
                accepted=(200, 409),
                is_safe=True,
                json=body,
            )
        except HearthError:
            return  # the gateway asks again, or fails it at its time limit
        self._taken.end(number)
