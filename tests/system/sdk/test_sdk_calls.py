"""Calls of host tools that a gateway gives once more: one that was started
again does, because it does not know which process has them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable, Optional, cast

import httpx
import pytest
from deadline import DEADLINE, wait_for
from hearth import (
    GatewayUnreachable,
    SessionGone,
    SessionUnknown,
    ToolsRemoved,
)
from hearth._async.link import AsyncSessionLink
from hearth._async.tools import AsyncTools
from hearth._sync.link import SessionLink
from hearth._sync.tools import Tools

CALL = {"call": 7, "name": "work", "arguments": {}}


class Session:
    """The way to a session whose gateway gives the calls of `given`, one list
    for each request. `before[n]` is called before the answer to request n."""

    def __init__(self, *given: list[dict[str, Any]]) -> None:
        self.id = "made-up"
        self.transport = self
        self.given = list(given)
        self.before: dict[int, Callable[[], object]] = {}
        self.asked: list[int] = []  # what each request for calls was after
        self.answers: list[Any] = []
        self.lost = 0  # how many of the next answers do not arrive
        self.unknown: set[int] = set()  # requests whose provider is unknown
        self.removed: set[int] = set()  # requests whose provider is removed
        self.is_gone = False
        self.offers: list[Any] = []
        self.all_given = threading.Event()
        self.is_over = threading.Event()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        if method == "POST":
            return self._take_answer(path, options["json"])
        if method == "GET":
            return httpx.Response(200, json={"calls": self._next(options)})
        self.offers.append([one["name"] for one in options["json"]["tools"]])
        return httpx.Response(200, json={})

    def require(self) -> None:
        if self.is_gone:
            self.all_given.set()
            raise SessionGone("it is gone", "idle")

    def send(self, *_: object, **__: object) -> None:
        self.is_over.set()

    def _take_answer(self, path: str, body: Any) -> httpx.Response:
        self.answers.append((path.rpartition("/")[2], body))
        if self.lost:
            self.lost -= 1
            raise GatewayUnreachable("it was killed", was_sent=True)
        return httpx.Response(200, json={})

    def _next(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        number = len(self.asked)
        self.asked.append(options["params"]["after"])
        self.before.get(number, lambda: None)()
        if number in self.removed:
            raise ToolsRemoved("it was removed")
        if number in self.unknown:
            raise SessionUnknown("no provider has registered tools")
        if number < len(self.given):
            return self.given[number]
        self.all_given.set()
        self.is_over.wait(DEADLINE)
        return []


def finish(tools: Tools) -> None:
    """Stop, and wait until no function works."""
    tools.close()
    wait_for(
        lambda: (
            not [t for t in threading.enumerate() if t.name == "hearth-tools"]
        ),
        "the end of the threads",
    )


def serve(session: Session, tools: Tools, work: Callable[[], object]) -> None:
    tools.add(work, name="work")
    assert session.all_given.wait(DEADLINE)
    finish(tools)


def test_one_whose_function_works() -> None:
    session = Session([CALL], [CALL])
    runs = []

    def work() -> str:
        runs.append("run")
        session.all_given.wait(DEADLINE)
        return "done"

    serve(session, Tools(cast(SessionLink, session)), work)
    assert runs == ["run"]
    assert session.answers == [("7", {"result": "done"})]
    assert session.asked == [0, 7, 7]


def test_one_that_the_gateway_does_not_know_offers_its_functions_again() -> (
    None
):
    """As after a restart that has lost them."""
    session = Session([], [], [CALL])
    session.unknown = {0, 1}
    serve(session, Tools(cast(SessionLink, session)), lambda: "done")
    assert session.offers == [["work"]] * 3
    assert session.answers == [("7", {"result": "done"})]


def test_one_that_was_removed_offers_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = Session([])
    session.removed = {1}
    tools = Tools(cast(SessionLink, session))
    tools.add(lambda: "done", name="work")
    wait_for(lambda: "it was removed" in caplog.text, "the error")
    assert session.offers == [["work"]]
    with pytest.raises(ToolsRemoved, match="it was removed"):
        tools.add(lambda: "more", name="more")
    with pytest.raises(ToolsRemoved, match="it was removed"):
        tools.remove("work")
    finish(tools)
    assert session.offers == [["work"]]
    assert session.asked == [0, 0]


def test_a_session_that_has_ended_is_offered_nothing() -> None:
    session = Session([])
    session.unknown = {0}
    session.is_gone = True
    serve(session, Tools(cast(SessionLink, session)), lambda: "done")
    assert session.offers == [["work"]]
    assert session.asked == [0]


@pytest.mark.parametrize("failure", [None, "no"])
def test_one_whose_answer_did_not_arrive(failure: Optional[str]) -> None:
    """The answer is sent again, without a second run."""
    session = Session([CALL], [CALL])
    session.lost = 1
    session.before[1] = lambda: wait_for(lambda: not session.lost, "the answer")
    runs = []

    def work() -> int:
        runs.append("run")
        if failure:
            raise ValueError(failure)
        return len(runs)

    serve(session, Tools(cast(SessionLink, session)), work)
    assert runs == ["run"]
    answer = {"error": "ValueError: no"} if failure else {"result": 1}
    assert session.answers == [("7", answer), ("7", answer)]


def test_one_that_ends_before_it_is_given_again() -> None:
    """The gateway takes the answer after it has written the call once more."""
    session = Session([CALL], [CALL])
    tools = Tools(cast(SessionLink, session))
    is_asked = threading.Event()
    runs = []

    def work() -> None:
        is_asked.wait(DEADLINE)
        runs.append("run")

    def end_call() -> None:
        is_asked.set()
        wait_for(lambda: tools._taken._ended, "the end of the call")

    session.before[1] = end_call
    serve(session, tools, work)
    assert runs == ["run"]
    assert len(session.answers) == 1


def test_what_has_ended_is_forgotten() -> None:
    """Calls that were answered take no memory."""
    session = Session(*[[{**CALL, "call": number}] for number in range(1, 5)])
    tools = Tools(cast(SessionLink, session))
    may_end = threading.Semaphore(0)
    kept = []

    def end_call() -> None:
        kept.append(list(tools._taken._answers))
        may_end.release()
        wait_for(lambda: tools._taken._ended, "the end of the call")

    session.before = dict.fromkeys(range(1, 5), end_call)
    serve(session, tools, lambda: may_end.acquire(timeout=DEADLINE))
    assert kept == [[1], [2], [3], [4]]


def test_one_that_is_awaited() -> None:
    async def use() -> None:
        is_given_again = asyncio.Event()
        is_done = asyncio.Event()
        session = Session([CALL], [CALL])
        runs = []

        class Link:
            id = session.id
            transport: Any = None

            async def ask(
                self, method: str, *values: Any, **options: Any
            ) -> Any:
                if method == "GET" and len(session.asked) == 2:
                    is_given_again.set()
                    await asyncio.sleep(DEADLINE)  # aclose() cancels it
                if method == "POST":
                    is_done.set()
                return session.ask(method, *values, **options)

            async def send(self, *_: object, **__: object) -> None:
                pass

        async def work() -> str:
            runs.append("run")
            await is_given_again.wait()
            return "done"

        link = Link()
        link.transport = link
        tools = AsyncTools(cast(AsyncSessionLink, link))
        await tools.add(work)
        await asyncio.wait_for(is_done.wait(), DEADLINE)
        await tools.aclose()
        assert runs == ["run"]
        assert session.answers == [("7", {"result": "done"})]

    asyncio.run(use())
