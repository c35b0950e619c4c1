"""What code asks by input(), asked by the client of an agent: since 2026-07-28
by a call that is repeated, before by a request on the call's stream, in a task
by its status. A secret is never asked for."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from rpc import (
    LEGACY,
    META,
    Json,
    Older,
    Rpc,
    caller,
    head_of,
    session_of,
    text_of,
)
from web import Web

ASKED: Json = {"elicitation": {}}
TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ASK = "print('hello', input('Who is it? '))"


class Asked(Rpc):
    """A client that can be asked."""

    capabilities: Json = ASKED

    def execute(self, code: str, session: str, **params: object) -> Json:
        arguments = {"code": code, "session": session}
        sent = {"name": "execute", "arguments": arguments, **params}
        answer = self.ask("tools/call", sent, self.meta())
        assert answer.status == 200, answer
        result: Json = answer.json["result"]
        return result

    def meta(self) -> Json:
        return {f"{META}clientCapabilities": self.capabilities}

    def refused(self, code: str, session: str, **params: object) -> int:
        arguments = {"code": code, "session": session}
        sent = {"name": "execute", "arguments": arguments, **params}
        answer = self.ask("tools/call", sent, self.meta())
        assert answer.status == 400, answer
        found: int = answer.json["error"]["code"]
        return found


def question_of(result: Json) -> tuple[str, Json]:
    assert result["resultType"] == "input_required", result
    ((key, request),) = result["inputRequests"].items()
    assert request["method"] == "elicitation/create"
    params = request["params"]
    assert params["mode"] == "form"
    assert params["requestedSchema"]["required"] == ["value"]
    return key, params


def answer_to(result: Json, value: str) -> Json:
    key, _ = question_of(result)
    given = {"action": "accept", "content": {"value": value}}
    return {
        "inputResponses": {key: given},
        "requestState": result["requestState"],
    }


@pytest.fixture
def rpc(web: Web) -> Asked:
    return Asked(web)


@pytest.fixture
def session(rpc: Asked) -> Iterator[str]:
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


def write(rpc: Rpc, session: str, path: str) -> None:
    rpc.call("files", session=session, action="write", path=path, content="1")


def test_a_call_is_repeated_with_the_answer(rpc: Asked, session: str) -> None:
    asked = rpc.execute(ASK, session)
    _, params = question_of(asked)
    assert params["message"].endswith("Who is it? ")
    assert session in params["message"]
    assert "content" not in asked
    result = rpc.execute(ASK, session, **answer_to(asked, "Ada ĉ"))
    assert not result["isError"], result
    assert text_of(result).splitlines()[-1].endswith("hello Ada ĉ")


def test_several_questions_one_after_the_other(
    rpc: Asked, session: str
) -> None:
    code = "print([input(f'{i}?') for i in range(3)])"
    result = rpc.execute(code, session)
    keys = set()
    for value in "abc":
        keys.add(question_of(result)[0])
        # An answer that is missing is asked for again.
        again = rpc.execute(
            code,
            session,
            requestState=result["requestState"],
            inputResponses={"absent": {"action": "accept"}},
        )
        assert question_of(again)[0] in keys
        result = rpc.execute(code, session, **answer_to(again, value))
    assert len(keys) == 3
    assert "['a', 'b', 'c']" in text_of(result)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_who_declines_ends_the_input(
    rpc: Asked, session: str, action: str
) -> None:
    asked = rpc.execute(ASK, session)
    key, _ = question_of(asked)
    result = rpc.execute(
        ASK,
        session,
        inputResponses={key: {"action": action}},
        requestState=asked["requestState"],
    )
    assert result["isError"]
    assert "EOFError" in head_of(result)
    assert "the input has ended" in text_of(result)


def test_an_answer_counts_once(rpc: Asked, session: str) -> None:
    code = "print([input('a?'), input('b?')])"
    asked = rpc.execute(code, session)
    first = answer_to(asked, "one")
    second = rpc.execute(code, session, **first)
    assert question_of(second)[0] != question_of(asked)[0]
    again = rpc.execute(code, session, **first)
    assert question_of(again)[0] == question_of(second)[0]
    result = rpc.execute(code, session, **answer_to(again, "two"))
    assert "['one', 'two']" in text_of(result)
    # The whole once more: the code has ended, and is not run again.
    assert rpc.execute(code, session, **first) == result


def test_a_forged_state_is_refused(
    rpc: Asked, session: str, gateway: Gateway
) -> None:
    asked = rpc.execute(ASK, session)
    key, _ = question_of(asked)
    good = answer_to(asked, "Ada")
    state: str = asked["requestState"]
    run, question, until, mac = state.rsplit(".", 3)
    other_run = run[:-1] + ("1" if run[-1] == "0" else "0")
    wrong: list[object] = [
        "",
        "x",
        7,
        None,
        state[:-1],
        state + "0",
        f"{run}.{question}.{int(until) + 1}.{mac}",
        f"{run}.{int(question) + 1}.{until}.{mac}",
        f"{run}.{question}.{until}.{'0' * 64}",
        f"{other_run}.{question}.{until}.{mac}",
        "\x1b[2J",
        "." * 10000,
    ]
    for text in wrong:
        sent = {**good, "requestState": text}
        assert rpc.refused(ASK, session, **sent) == -32602, text
    # Another call, another client, another endpoint.
    assert rpc.refused(ASK + " ", session, **good) == -32602
    assert rpc.refused(ASK, "", **good) == -32602
    made = gateway.json("token", "create", "--json", "--scope", "execute", "t")
    other = Asked(rpc.web.with_token(made["token"]))
    assert other.refused(ASK, session, **good) == -32602
    gateway.run("token", "revoke", made["id"])
    # What is no answer is refused, and the question stays.
    for response in (
        {},
        {"action": "accept"},
        {"action": "accept", "content": {"value": 7}},
        {"action": "run", "content": {"value": "x"}},
        "x",
    ):
        sent = {**good, "inputResponses": {key: response}}
        assert rpc.refused(ASK, session, **sent) == -32602, response
    result = rpc.execute(ASK, session, **good)
    assert "hello Ada" in text_of(result)


def test_a_secret_is_never_asked_for(rpc: Asked, session: str) -> None:
    code = "import getpass; getpass.getpass('Token: ')"
    result = rpc.execute(code, session)
    assert result["resultType"] == "complete"
    assert result["isError"]
    assert "must not ask for secrets" in text_of(result)
    # Nor if another client's code asks for one, and an agent waits for that.
    (whole,) = (
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(session)
    )
    sent = rpc.web.post(f"/api/kernels/{whole}/execute", {"code": code})
    assert sent.status == 202
    params = {"name": "wait", "arguments": {"session": session}}
    waited = rpc.ask("tools/call", params, rpc.meta()).json["result"]
    assert waited["resultType"] == "complete"
    assert "inputRequests" not in waited
    rpc.call("wait", session=session, interrupt=True)


@pytest.mark.parametrize("declared", [{}, {"elicitation": {"url": {}}}])
def test_who_cannot_be_asked_gets_an_error(
    rpc: Asked, session: str, declared: Json
) -> None:
    rpc.capabilities = declared
    result = rpc.execute(ASK, session)
    assert result["resultType"] == "complete"
    assert result["isError"]
    assert "StdinNotImplementedError" in head_of(result)
    assert "put the value into the code" in text_of(result)
    asked = rpc.execute("import getpass; getpass.getpass()", session)
    assert "no secret belongs into it" in text_of(asked)


def test_a_prompt_is_plain_text(rpc: Asked, session: str) -> None:
    code = (
        "input('\\x1b[2J\\x1b]8;;http://evil.example\\x07see\\x1b]8;;\\x07'"
        " + '\\u202e' + 2000 * 'x')"
    )
    asked = rpc.execute(code, session)
    _, params = question_of(asked)
    message = params["message"]
    assert message.startswith("The code in session ")
    assert "\x1b" not in message
    assert "\x07" not in message
    assert "\u202e" not in message
    assert "evil.example" not in message
    assert len(message) < 1200
    rpc.execute(code, session, **answer_to(asked, ""))


def test_wait_asks_what_running_code_asks(rpc: Asked, session: str) -> None:
    (whole,) = (
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(session)
    )
    sent = rpc.web.post(f"/api/kernels/{whole}/execute", {"code": ASK})
    assert sent.status == 202
    params: Json = {"name": "wait", "arguments": {"session": session}}
    asked = rpc.ask("tools/call", params, rpc.meta()).json["result"]
    answered = {**params, **answer_to(asked, "Grace")}
    result = rpc.ask("tools/call", answered, rpc.meta()).json["result"]
    assert "hello Grace" in text_of(result)


def test_a_client_that_leaves_an_answered_wait_interrupts_no_cell(
    rpc: Asked, session: str
) -> None:
    """The cell is another client's, before the answer and after."""
    (whole,) = (
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(session)
    )
    code = (
        f"{ASK}\nimport os, time\nopen('answered', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\nprint('the end')"
    )
    sent = rpc.web.post(f"/api/kernels/{whole}/execute", {"code": code})
    assert sent.status == 202
    params: Json = {"name": "wait", "arguments": {"session": session}}
    asked = rpc.ask("tools/call", params, rpc.meta()).json["result"]

    def files() -> str:
        return text_of(rpc.call("files", session=session, action="list"))

    with caller(rpc, {**params, **answer_to(asked, "Eva")}, rpc.meta()):
        wait_for(lambda: "answered" in files(), "the code after the answer")
    open_now = re.compile(rb"^hearth_http_connections 1$", re.M)
    wait_for(
        lambda: open_now.search(rpc.web.get("/metrics").body),
        "the connection's end",
    )
    write(rpc, session, "go")
    result = rpc.call("wait", session=session, seconds=30)
    assert not result["isError"], result
    assert "the end" in text_of(result)


# ---- a task asks ----


def test_a_task_asks(web: Web) -> None:
    gateway = Gateway("--set", "mcp/block=0.1s").start()
    try:
        rpc = Asked(Web.of(gateway))
        rpc.capabilities = {**ASKED, **TASKS}
        session = session_of(rpc.call("execute", code="import os, time"))
        code = "while not os.path.exists('go'): time.sleep(0.01)\n" + ASK
        task = rpc.execute(code, session)["taskId"]
        write(rpc, session, "go")

        def get() -> Json:
            params = {"taskId": task}
            found = rpc.ask("tasks/get", params, rpc.meta())
            result: Json = found.json["result"]
            return result

        def update(responses: Json) -> int:
            params = {"taskId": task, "inputResponses": responses}
            return rpc.ask("tasks/update", params, rpc.meta()).status

        wait_for(lambda: get()["status"] == "input_required", "a question")
        ((key, request),) = get()["inputRequests"].items()
        assert request["params"]["message"].endswith("Who is it? ")
        # Who has not declared that it can be asked is not.
        rpc.capabilities = TASKS
        assert get()["status"] == "working"
        rpc.capabilities = {**ASKED, **TASKS}
        # It waits through the end of the gateway.
        gateway.kill()
        gateway.start()
        rpc.web.renew()
        assert list(get()["inputRequests"]) == [key]
        good = {"action": "accept", "content": {"value": "Ada"}}
        assert update({"absent": good}) == 200
        assert get()["status"] == "input_required"
        assert update({key: {"action": "accept"}}) == 400
        assert update({key: good}) == 200
        assert update({key: good}) == 200
        wait_for(lambda: get()["status"] == "completed", "its end")
        assert "hello Ada" in text_of(get()["result"])
        # Nothing is asked for once the session has ended.
        task = rpc.execute(code.replace("go", "on"), session)["taskId"]
        write(rpc, session, "on")
        wait_for(lambda: get()["status"] == "input_required", "a question")
        rpc.call("session", action="end", session=session)
        wait_for(lambda: get()["status"] == "completed", "the end")
        assert "inputRequests" not in get()
        assert "LOST" in text_of(get()["result"])
    finally:
        gateway.end()


# ---- before 2026-07-28 ----


class Old(Older):
    """One with capabilities, which gets questions on a call's stream."""

    def __init__(self, web: Web, capabilities: Json):
        super().__init__(web, capabilities=capabilities)

    @contextlib.contextmanager
    def stream(self, code: str, session: str) -> Iterator[Iterator[Json]]:
        """The messages of a call's answer, as they come."""
        arguments = {"code": code, "session": session}
        params = {"name": "execute", "arguments": arguments}
        sent = self.headers("tools/call", params)
        sent["Content-Type"] = "application/json"
        body = json.dumps(self.body("tools/call", params, {}))
        link = http.client.HTTPConnection(
            self.web.host, self.web.port, timeout=DEADLINE
        )
        link.request("POST", "/mcp", body, sent)
        response = link.getresponse()
        assert response.status == 200
        try:
            yield (
                json.loads(line[len(b"data: ") :])
                for line in response
                if line.startswith(b"data: ")
            )
        finally:
            link.close()

    def respond(self, request: str, result: Json) -> None:
        body = {"jsonrpc": "2.0", "id": request, "result": result}
        noted = self.web.post("/mcp", body, headers=self.headers("", {}))
        assert noted.status == 202


def test_a_request_on_the_stream_asks(web: Web, session: str) -> None:
    old = Old(web, ASKED)
    stranger = Old(web, ASKED)
    with old.stream(ASK, session) as messages:
        asked = next(messages)
        assert asked["method"] == "elicitation/create"
        assert asked["params"]["message"].endswith("Who is it? ")
        value = {"action": "accept", "content": {"value": "Eve"}}
        stranger.respond(asked["id"], value)
        old.respond("0" * 32, value)
        value["content"] = {"value": "Ada"}
        old.respond(asked["id"], value)
        result = next(messages)["result"]
    assert "hello Ada" in text_of(result)
    assert "resultType" not in result


def test_what_is_no_answer_ends_the_input(web: Web, session: str) -> None:
    old = Old(web, ASKED)
    for answer in ({"action": "decline"}, {"action": "accept"}, {}):
        with old.stream(ASK, session) as messages:
            asked = next(messages)
            old.respond(asked["id"], answer)
            result = next(messages)["result"]
        assert "EOFError" in head_of(result)


def test_older_clients_that_cannot_be_asked(web: Web, session: str) -> None:
    for old in (Old(web, {}), Rpc(web, era=LEGACY)):
        result = old.call("execute", code=ASK, session=session)
        assert "StdinNotImplementedError" in head_of(result)
