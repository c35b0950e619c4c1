"""Tasks of the Model Context Protocol: a run of the journal under an id that
outlives the gateway. And what else is set about calls that take long."""

from __future__ import annotations

import base64
import concurrent.futures
import re
from pathlib import Path
from typing import Iterator

import pytest
from deadline import wait_for
from harness import Gateway
from rpc import (
    LEGACY,
    META,
    Json,
    Rpc,
    caller,
    head_of,
    order,
    session_of,
    text_of,
)
from web import Web

EXTENSION = "io.modelcontextprotocol/tasks"
DECLARED: Json = {f"{META}clientCapabilities": {"extensions": {EXTENSION: {}}}}
UNTIL = "import os, time\nwhile not os.path.exists('{0}'): time.sleep(0.01)\n"
TASK_ID = re.compile(r"[0-9a-f-]{36}\.[0-9a-f-]{36}")
ENDLESS = "import time\nprint('begun')\nwhile True: time.sleep(0.01)"


@pytest.fixture(scope="module")
def quick() -> Iterator[Gateway]:
    """A gateway whose calls do not wait for long."""
    gateway = Gateway("--set", "mcp/block=0.1s").start()
    try:
        yield gateway
    finally:
        gateway.end()


class Tasks(Rpc):
    """A client that takes tasks."""

    def start(self, code: str, **arguments: object) -> Json:
        return self.call("execute", DECLARED, code=code, **arguments)

    def get(self, task: str) -> Json:
        answer = self.ask("tasks/get", {"taskId": task}, DECLARED)
        assert answer.status == 200, answer
        found: Json = answer.json["result"]
        assert found["resultType"] == "complete"
        assert found["taskId"] == task
        return found

    def ended(self, task: str) -> Json:
        found: list[Json] = []

        def look() -> bool:
            found.append(self.get(task))
            return bool(found[-1]["status"] != "working")

        wait_for(look, "the task's end")
        return found[-1]


@pytest.fixture
def tasks(quick: Gateway) -> Tasks:
    return Tasks(Web.of(quick))


@pytest.fixture
def session(tasks: Tasks) -> Iterator[str]:
    made = session_of(tasks.call("execute", code="kept = 41"))
    yield made
    tasks.call("session", action="end", session=made)


def write(tasks: Rpc, session: str, path: str) -> None:
    result = tasks.call(
        "files", session=session, action="write", path=path, content="1"
    )
    assert not result["isError"], result


def test_the_extension_is_offered(tasks: Tasks) -> None:
    found = tasks.result("server/discover")
    assert found["capabilities"]["extensions"] == {EXTENSION: {}}


def test_long_code_is_a_task(tasks: Tasks, session: str) -> None:
    code = UNTIL.format("go") + "print('done', kept)"
    made = tasks.start(code, session=session)
    assert made["resultType"] == "task"
    assert made["status"] == "working"
    assert "content" not in made
    assert TASK_ID.fullmatch(made["taskId"])
    assert made["ttlMs"] is None
    assert made["pollIntervalMs"] > 0
    assert "RUNNING" in made["statusMessage"]
    working = tasks.get(made["taskId"])
    assert working["status"] == "working"
    assert working["createdAt"] == made["createdAt"]
    assert "result" not in working
    write(tasks, session, "go")
    ended = tasks.ended(made["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["resultType"] == "complete"
    assert not ended["result"]["isError"]
    assert text_of(ended["result"]).splitlines()[1] == "done 41"
    assert ended["lastUpdatedAt"] > made["createdAt"]
    assert tasks.get(made["taskId"]) == ended


def test_code_that_fails_is_a_completed_task(
    tasks: Tasks, session: str
) -> None:
    made = tasks.start(UNTIL.format("go") + "1 / 0", session=session)
    write(tasks, session, "go")
    ended = tasks.ended(made["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["isError"]
    assert "ZeroDivisionError" in head_of(ended["result"])


def test_the_limit_of_the_text_is_kept(tasks: Tasks, session: str) -> None:
    code = UNTIL.format("go") + "for i in range(5000): print('line', i)"
    made = tasks.start(code, session=session, max_tokens=200)
    write(tasks, session, "go")
    assert len(text_of(tasks.ended(made["taskId"])["result"])) < 2000


def test_no_task_for_others(tasks: Tasks, session: str) -> None:
    """A client that does not declare the extension gets no task."""
    code = UNTIL.format("go")
    plain = tasks.call("execute", code=code, session=session)
    assert plain["resultType"] == "complete"
    assert "RUNNING" in head_of(plain)
    write(tasks, session, "go")
    other = Rpc(tasks.web, era=LEGACY)
    result = other.call("wait", session=session, seconds=30)
    assert "resultType" not in result
    assert not result["isError"]
    wrong: list[Json] = [
        {},
        {"extensions": {}},
        {"extensions": {EXTENSION: 1}},
    ]
    for declared in wrong:
        meta = {f"{META}clientCapabilities": declared}
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            params = {"taskId": "x", "inputResponses": {}}
            answer = tasks.ask(method, params, meta)
            assert answer.status == 400, answer
            error = answer.json["error"]
            assert error["code"] == -32021
            needed = error["data"]["requiredCapabilities"]
            assert needed == {"extensions": {EXTENSION: {}}}
    assert other.ask("tasks/get", {"taskId": "x"}).json["error"]["code"] == (
        -32601
    )


def test_a_cancelled_task_keeps_the_state(tasks: Tasks, session: str) -> None:
    made = tasks.start(ENDLESS, session=session)
    waiting = tasks.start("kept = 0", session=session)
    for task in (waiting, made):
        answer = tasks.ask("tasks/cancel", {"taskId": task["taskId"]}, DECLARED)
        assert answer.status == 200, answer
        assert set(answer.json["result"]) == {"resultType", "_meta"}
    for task in (made, waiting):
        ended = tasks.ended(task["taskId"])
        assert ended["status"] == "cancelled"
        assert "result" not in ended
        assert ended["statusMessage"]
    # Once more, when there is nothing to cancel.
    again = tasks.ask("tasks/cancel", {"taskId": made["taskId"]}, DECLARED)
    assert again.status == 200
    result = tasks.call("execute", code="kept", session=session)
    assert text_of(result).splitlines()[1] == "41"


def test_forged_ids(tasks: Tasks, session: str) -> None:
    made = tasks.start(ENDLESS, session=session)
    whole, run = made["taskId"].split(".")
    other = tasks.start(ENDLESS)
    elsewhere, other_run = other["taskId"].split(".")
    wrong: list[object] = [
        "",
        "x",
        whole,
        run,
        f"{whole}.",
        f"{whole}.{other_run}",
        f"{elsewhere}.{run}",
        f"{run}.{whole}",
        f"{whole[:8]}.{run}",
        f"{whole}.{run} ",
        f"{whole}.{run}\n",
        f"{whole.upper()}.{run}",
        f"{whole}.{'0' * 8}-0000-4000-8000-{'0' * 12}",
        f"{whole}/../{run}",
        "\x1b]8;;http://evil.example\x1b\\x",
        "x" * 1000,
        7,
        None,
    ]
    for task in wrong:
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            params = {"taskId": task, "inputResponses": {}}
            header = {"Mcp-Name": coded(task)} if isinstance(task, str) else {}
            answer = tasks.ask(method, params, DECLARED, header)
            assert answer.status == 400, (task, answer)
            assert answer.json["error"]["code"] == -32602, (task, answer)
    # Nothing of that has touched the two that run.
    for task in (made, other):
        assert tasks.get(task["taskId"])["status"] == "working"
    bound = Tasks(tasks.web, f"/mcp/sessions/{session}")
    assert bound.get(made["taskId"])["status"] == "working"
    for method in ("tasks/get", "tasks/cancel"):
        refused = bound.ask(method, {"taskId": other["taskId"]}, DECLARED)
        assert refused.json["error"]["code"] == -32602
    assert tasks.get(other["taskId"])["status"] == "working"
    tasks.call("session", action="end", session=elsewhere)
    gone = tasks.ended(other["taskId"])
    assert gone["status"] == "completed"
    assert gone["result"]["resultType"] == "complete"
    assert gone["result"]["isError"]
    assert "LOST" in text_of(gone["result"])


def coded(text: str) -> str:
    """A header line's value."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_scopes(tasks: Tasks, quick: Gateway, session: str) -> None:
    made = tasks.start(ENDLESS, session=session)
    token = quick.json("token", "create", "--json", "--scope", "observe", "t")
    watcher = Tasks(tasks.web.with_token(token["token"]))
    assert watcher.get(made["taskId"])["status"] == "working"
    for method in ("tasks/cancel", "tasks/update"):
        params = {"taskId": made["taskId"], "inputResponses": {}}
        refused = watcher.ask(method, params, DECLARED)
        assert refused.status == 403, refused
    assert tasks.get(made["taskId"])["status"] == "working"
    quick.run("token", "revoke", token["id"])


def test_a_task_outlives_the_gateway(quick: Gateway) -> None:
    tasks = Tasks(Web.of(quick))
    code = "import os, time\nruns = 0\n"
    code += "while not os.path.exists('go'): time.sleep(0.01)\n"
    code += "runs += 1; print('runs', runs)"
    made = tasks.start(code)
    whole = made["taskId"].split(".")[0]
    shown = quick.json("session", "show", "--json", whole)
    quick.kill()
    quick.start()
    tasks = Tasks(Web.of(quick))
    assert tasks.get(made["taskId"])["status"] == "working"
    assert tasks.get(made["taskId"])["createdAt"] == made["createdAt"]
    quick.kill()
    (Path(shown["workspace"]) / "go").touch()
    quick.start()
    tasks = Tasks(Web.of(quick))
    ended = tasks.ended(made["taskId"])
    assert ended["status"] == "completed"
    assert text_of(ended["result"]).splitlines()[1] == "runs 1"
    tasks.call("session", action="end", session=whole)


# ---- two calls at once, clients that go ----


def test_a_key_makes_one_session_of_calls_at_once(tasks: Tasks) -> None:
    """Several at the same moment, by connections of their own."""

    def call(key: str) -> Json:
        return Rpc(tasks.web).call(
            "execute", {"hearth/key": key}, code="print('one')"
        )

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for turn in range(5):
            made = {
                session_of(result)
                for result in pool.map(call, 6 * [f"at once {turn}"])
            }
            assert len(made) == 1
            tasks.call("session", action="end", session=made.pop())


def test_code_is_detached_if_that_is_set() -> None:
    gateway = Gateway("--set", "mcp/on_disconnect=detach").start()
    try:
        rpc = Rpc(Web.of(gateway))
        session = session_of(rpc.call("execute", code="kept = 41"))
        code = UNTIL.format("go") + "print('the end')"

        def shown() -> str:
            return text_of(rpc.call("session", action="show", session=session))

        with caller(rpc, order(session, code)):
            wait_for(lambda: "busy" in shown(), "a busy session")
        # The one that asks is the only one left.
        open_now = re.compile(rb"^hearth_http_connections 1$", re.M)
        wait_for(
            lambda: open_now.search(rpc.web.get("/metrics").body),
            "the connection's end",
        )
        write(rpc, session, "go")
        result = rpc.call("wait", session=session, seconds=30)
        assert not result["isError"], result
        assert "the end" in text_of(result)
    finally:
        gateway.end()
