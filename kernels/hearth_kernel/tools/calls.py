"""Calls of the gateway from code: of host tools, and for packages.

A call is an event of the link (CALL), and its answer comes beside the requests
(CALLED), so that many can be under way.
"""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent import futures
from concurrent.futures import Future
from typing import Any, Optional

from hearth_kernel import _link
from hearth_kernel.messaging import outlet

Content = dict[str, Any]


class CallError(Exception):
    """A call did not give a result; `reason` says in a word why."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.text = text
        self.reason = reason


class _Calls:
    """The calls that wait for their answers, and the thread that takes them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: dict[int, Future[bytes]] = {}
        self.count = 0
        self.thread: Optional[threading.Thread] = None

    def take_answers(self) -> None:
        while (answer := _link.answer_wait()) is not None:
            number, content = answer
            with self.lock:
                future = self.waiting.pop(number, None)
            if future is not None:
                future.set_result(content)

    def enter(self) -> tuple[int, Future[bytes]]:
        """Make a place for an answer; the call is not sent yet."""
        future: Future[bytes] = Future()
        future.set_running_or_notify_cancel()
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self.take_answers, name="hearth-tools", daemon=True
                )
                self.thread.start()
            self.count += 1
            number = self.count
            self.waiting[number] = future
        return number, future

    def drop(self, number: int) -> None:
        """Say that no code waits for the answer any more."""
        with self.lock:
            is_waiting = self.waiting.pop(number, None) is not None
        if is_waiting:
            outlet.emit(_link.UNCALL, {"call": number})


_calls = _Calls()


def _value(answer: bytes) -> Any:
    content = json.loads(answer)
    error = content.get("error")
    if error is None:
        return content.get("result")
    raise CallError(error["text"], error["reason"])


class _Call:
    """A call for as long as code waits for its answer, in a `with`.

    It is sent inside of that: wherever an interrupt comes, the gateway learns
    that the code does not wait for what was sent.
    """

    def __init__(self) -> None:
        self.number, self.future = _calls.enter()

    def __enter__(self) -> _Call:
        return self

    def send(self, name: str, arguments: Content) -> Future[bytes]:
        outlet.emit(
            _link.CALL,
            {"call": self.number, "name": name, "arguments": arguments},
        )
        return self.future

    def __exit__(
        self, _: object, error: Optional[BaseException], __: object
    ) -> None:
        if error is None:
            return
        _calls.drop(self.number)
        if isinstance(error, (futures.TimeoutError, asyncio.TimeoutError)):
            raise CallError("its answer was lost", "lost") from None


def check_process(what: str, how: str) -> None:
    """Raise CallError in a forked child, which has no link.

    `what` it would do, and `how` that is done instead.
    """
    if _link.is_child():
        raise CallError(
            f"a forked process cannot {what}; {how} in the kernel's own "
            "process, from any thread",
            "child",
        )


def wait(name: str, arguments: Content, seconds: Optional[float]) -> Any:
    """Call, and return the result; None: however long it takes."""
    with _Call() as call:
        answer = call.send(name, arguments).result(seconds)
    return _value(answer)


async def wait_async(name: str, arguments: Content, seconds: float) -> Any:
    """Do the same as wait(), for code that awaits."""
    with _Call() as call:
        future = asyncio.wrap_future(call.send(name, arguments))
        answer = await asyncio.wait_for(future, seconds)
    return _value(answer)
