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
from typing import Any, Callable, Optional

from hearth_kernel import _link
from hearth_kernel.messaging import outlet

Content = dict[str, Any]
# Takes how far a call has come; None: nothing was said yet.
Show = Callable[[Optional[Content]], None]

_TICK = 1.0  # seconds between two looks at how far a call has come


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
        # The last word on each call that is watched.
        self.progress: dict[int, Optional[Content]] = {}
        self.count = 0
        self.thread: Optional[threading.Thread] = None

    def take_answers(self) -> None:
        while (answer := _link.answer_wait()) is not None:
            number, content = answer
            with self.lock:
                if self._is_progress(number, content):
                    continue
                self.progress.pop(number, None)
                future = self.waiting.pop(number, None)
            if future is not None:
                future.set_result(content)

    def _is_progress(self, number: int, content: bytes) -> bool:
        """Keep it if it says how far a call has come that is watched."""
        if number not in self.progress:
            return False
        said = json.loads(content).get("progress")
        if said is not None:
            self.progress[number] = said
        return said is not None

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
            self.progress.pop(number, None)
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

    def watch(self, name: str, arguments: Content, show: Show) -> bytes:
        """Send it, and return the answer; `show` is called meanwhile."""
        _calls.progress[self.number] = None
        outlet.emit(
            _link.CALL,
            {
                "call": self.number,
                "name": name,
                "arguments": arguments,
                "progress": True,
            },
        )
        while True:
            # No exception is caught around `show`, which may raise the same.
            done, _ = futures.wait([self.future], _TICK)
            if done:
                return self.future.result()
            show(_calls.progress.get(self.number))

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


def watch(name: str, arguments: Content, show: Show) -> Any:
    """Do the same as wait(), however long it takes.

    `show` is called about once a second, with how far the gateway has come.
    """
    with _Call() as call:
        answer = call.watch(name, arguments, show)
    return _value(answer)


async def wait_async(name: str, arguments: Content, seconds: float) -> Any:
    """Do the same as wait(), for code that awaits."""
    with _Call() as call:
        future = asyncio.wrap_future(call.send(name, arguments))
        answer = await asyncio.wait_for(future, seconds)
    return _value(answer)
