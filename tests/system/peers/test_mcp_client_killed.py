"""The official Python client of the Model Context Protocol, unmodified: tasks,
and a gateway that is killed in the middle of a call."""

from __future__ import annotations

import asyncio
from typing import (
    Any,
    Coroutine,
    Iterator,
    Literal,
    Optional,
    Sequence,
    TypeVar,
)

import httpx2
import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from test_mcp_client import TRANSPORTS, over_http, text_of

UNTIL = (
    "import os, time\n"
    "open('runs', 'a').write('x')\n"
    "while not os.path.exists('go'): time.sleep(0.01)\n"
    "len(open('runs').read())"
)
T = TypeVar("T")
MODERN = "2026-07-28"
KEY = {"hearth/key": "a turn"}


# A connection that breaks ends the client as a whole, in mcp 2.3.0.
LOST = pytest.RaisesGroup(httpx2.TransportError, flatten_subgroups=True)


class Task(Result):
    result_type: Literal["task"] = "task"
    task_id: str


class NamedTask(RequestParams):
    task_id: str


class GetTask(Request[NamedTask, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class CancelTask(Request[NamedTask, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class TaskState(Result):
    status: str
    result: Optional[CallToolResult] = None


async def settled(session: Any, task: str) -> TaskState:
    """Ask for the task until it has ended."""
    asked = GetTask(params=NamedTask(task_id=task))
    while True:
        found: TaskState = await session.send_request(asked, TaskState)
        if found.status != "working":
            return found
        await asyncio.sleep(0.05)


class Tasks(ClientExtension):
    """The client has no tasks of its own, but an interface for extensions that
    add them to each call."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.begun: asyncio.Queue[str] = asyncio.Queue()

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [
            ResultClaim(result_type="task", model=Task, resolve=self.resolve)
        ]

    async def resolve(self, task: Task, context: ClaimContext) -> Any:
        self.begun.put_nowait(task.task_id)
        found = await settled(context.session, task.task_id)
        return found.result or CallToolResult(content=[], is_error=True)


def run(turns: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(turns, 4 * DEADLINE))


@pytest.fixture
def own() -> Iterator[Gateway]:
    """A gateway that may be killed, and whose calls do not wait for long."""
    gateway = Gateway("--set", "mcp/block=0.1s").start()
    try:
        yield gateway
    finally:
        gateway.end()


@pytest.fixture
def patient() -> Iterator[Gateway]:
    """A gateway that may be killed in the middle of a call."""
    gateway = Gateway().start()
    try:
        yield gateway
    finally:
        gateway.end()


def replace(gateway: Gateway, session: str) -> None:
    """Kill the gateway, start another one and have the code go on."""
    gateway.note_namespace(
        gateway.json("session", "show", "--json", session)["pid"]
    )
    gateway.kill()
    gateway.start()
    done = gateway.run("files", "put", session, "/dev/null", "go")
    assert done.returncode == 0, done.stderr


def busy(gateway: Gateway) -> str:
    """Return the one session, as soon as its code runs."""
    (found,) = wait_for(
        lambda: [
            session
            for session in gateway.json("session", "list", "--json")
            if session["state"] == "busy"
        ],
        "a busy session",
    )
    return str(found["id"])


async def finished(client: Any, call: Any) -> str:
    """Return the text of a keyed call. A machine that is very slow answers
    RUNNING, or that it is not ready; then the call is sent again."""
    while " ok " not in text_of(call).split("\n", maxsplit=1)[0]:
        assert "STATE LOST" not in text_of(call), call
        call = await client.call_tool("execute", {"code": UNTIL}, meta=KEY)
    return text_of(call)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_a_call_by_stdio_outlives_its_gateway(
    patient: Gateway, mode: str
) -> None:
    """The client notices nothing, and its code has run once."""

    async def turns() -> None:
        async with TRANSPORTS["stdio"](patient, mode) as client:
            call = asyncio.ensure_future(
                client.call_tool("execute", {"code": UNTIL}, meta=KEY)
            )
            session = await asyncio.to_thread(busy, patient)
            await asyncio.to_thread(replace, patient, session)
            text = await finished(client, await call)
            assert text.splitlines()[-1] == "1"

    run(turns())


@pytest.mark.parametrize("mode", ["legacy", MODERN])
def test_a_call_by_http_is_sent_again(patient: Gateway, mode: str) -> None:
    """The client ends, and the call under its key has run once."""

    async def turns() -> None:
        async with over_http(patient, mode) as client:
            call = asyncio.ensure_future(
                client.call_tool("execute", {"code": UNTIL}, meta=KEY)
            )
            replace(patient, await asyncio.to_thread(busy, patient))
            await call

    async def again() -> None:
        async with over_http(patient, mode) as client:
            call = await client.call_tool("execute", {"code": UNTIL}, meta=KEY)
            text = await finished(client, call)
            assert text.splitlines()[-1] == "1"

    with LOST:
        run(turns())
    run(again())


def test_a_task_by_stdio_outlives_its_gateway(own: Gateway) -> None:
    """The client asks for it all the while."""

    async def turns() -> None:
        tasks = Tasks()
        async with TRANSPORTS["stdio"](
            own, MODERN, extensions=[tasks]
        ) as client:
            call = asyncio.ensure_future(
                client.call_tool("execute", {"code": UNTIL})
            )
            task = await tasks.begun.get()
            await asyncio.to_thread(replace, own, task.split(".")[0])
            assert text_of(await call).splitlines()[-1] == "1"

    run(turns())


def test_a_task_by_http_outlives_its_gateway(own: Gateway) -> None:
    """A client that connects anew gets the result."""

    async def begin() -> str:
        async with over_http(own, MODERN, extensions=[Tasks()]) as client:
            task: Task = await client.session.call_tool(
                "execute", {"code": UNTIL}, allow_claimed=True
            )
            return task.task_id

    async def again(task: str) -> None:
        async with over_http(own, MODERN, extensions=[Tasks()]) as client:
            found = await settled(client.session, task)
            assert found.status == "completed"
            assert text_of(found.result).splitlines()[-1] == "1"

    task = run(begin())
    replace(own, task.split(".")[0])
    run(again(task))


@pytest.mark.parametrize("transport", sorted(TRANSPORTS))
def test_a_task_is_cancelled(own: Gateway, transport: str) -> None:
    async def turns() -> None:
        tasks = Tasks()
        async with TRANSPORTS[transport](
            own, MODERN, extensions=[tasks]
        ) as client:
            call = asyncio.ensure_future(
                client.call_tool("execute", {"code": UNTIL})
            )
            task = await tasks.begun.get()
            await client.session.send_request(
                CancelTask(params=NamedTask(task_id=task)), Result
            )
            assert (await call).is_error
            found = await settled(client.session, task)
            assert found.status == "cancelled"

    run(turns())


@pytest.mark.parametrize("transport", sorted(TRANSPORTS))
def test_an_older_client_gets_no_task(own: Gateway, transport: str) -> None:
    """Its revision has none that hearth offers: the call answers RUNNING."""

    async def turns() -> None:
        tasks = Tasks()
        async with TRANSPORTS[transport](
            own, "legacy", extensions=[tasks]
        ) as client:
            assert client.server_capabilities.tasks is None
            found = await client.call_tool("execute", {"code": UNTIL})
            assert "RUNNING" in text_of(found)
            assert tasks.begun.empty()

    run(turns())
