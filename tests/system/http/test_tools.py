"""Host tools over REST: a process registers, waits for calls, answers."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Iterator, Optional

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from records import wait_record
from web import Kernel, Web, of_type, text_of

ADD = {
    "name": "add",
    "description": "Adds numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
Call = dict[str, Any]
Answer = dict[str, Any]


def add(call: Call) -> Answer:
    return {"result": call["arguments"]["a"] + call["arguments"]["b"]}


def path_of(kernel: str, rest: str = "") -> str:
    return f"/hearth/sessions/{kernel}/tools{rest}"


class Provider:
    """A process that answers the calls of one session."""

    def __init__(
        self,
        web: Web,
        kernel: str,
        tools: Optional[list[Any]] = None,
        answer: Callable[[Call], Optional[Answer]] = add,
        name: str = "agent",
    ) -> None:
        self.web = web
        self.kernel = kernel
        self.name = name
        self.answer = answer
        self.after = 0
        self.seen: list[Call] = []
        self.statuses: list[int] = []
        self.is_over = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        done = web.ask(
            "PUT",
            path_of(kernel),
            {"provider": name, "tools": [ADD] if tools is None else tools},
        )
        assert done.status == 200, done

    def start(self) -> Provider:
        self.thread.start()
        return self

    def take(self, wait: int = 1) -> list[Call]:
        answer = self.web.get(
            path_of(
                self.kernel,
                f"/calls?provider={self.name}&after={self.after}&wait={wait}",
            )
        )
        assert answer.status == 200, answer
        calls: list[Call] = answer.json["calls"]
        self.after = max([self.after, *(call["call"] for call in calls)])
        self.seen += calls
        return calls

    def take_some(self, count: int) -> list[Call]:
        found: list[Call] = []
        while len(found) < count:
            found += self.take(30)
        return found

    def reply(self, call: Call, answer: Answer) -> int:
        done = self.web.post(
            path_of(self.kernel, f"/calls/{call['call']}"), answer
        )
        self.statuses.append(done.status)
        return done.status

    def serve(self) -> None:
        while not self.is_over:
            for call in self.take():
                answer = self.answer(call)
                if answer is not None:
                    self.reply(call, answer)

    def close(self) -> None:
        self.is_over = True
        if self.thread.is_alive():
            self.thread.join(DEADLINE)


@pytest.fixture
def serve(web: Web, kernel: Kernel) -> Iterator[Callable[..., Provider]]:
    made: list[Provider] = []

    def make(*args: Any, **options: Any) -> Provider:
        made.append(Provider(web, kernel.id, *args, **options).start())
        return made[-1]

    yield make
    for provider in made:
        provider.close()


def run(kernel: Kernel, code: str) -> str:
    with kernel.socket() as ws:
        found = ws.run(f"from hearth import tools, ToolError\n{code}")
    (reply,) = of_type(found, "execute_reply")
    assert reply["content"]["status"] == "ok", reply["content"]
    return text_of(found)


def error_of(kernel: Kernel, code: str) -> str:
    with kernel.socket() as ws:
        found = ws.run(f"from hearth import tools, ToolError\n{code}")
    (reply,) = of_type(found, "execute_reply")
    assert reply["content"]["ename"] == "ToolError", reply["content"]
    text: str = reply["content"]["evalue"]
    return text


def test_a_call_is_answered(kernel: Kernel, serve: Any) -> None:
    provider = serve()
    assert run(kernel, "print(tools.add(1, b=2.5))") == "3.5\n"
    (call,) = provider.seen
    assert call["name"] == "add"
    assert call["arguments"] == {"a": 1, "b": 2.5}
    # The kernel may have the answer before who gave it knows.
    wait_for(lambda: provider.statuses == [200], "the status of the answer")


def test_many_calls_run_at_once(kernel: Kernel, web: Web, serve: Any) -> None:
    together = threading.Barrier(20)

    def wait(call: Call) -> None:
        def late() -> None:
            together.wait(DEADLINE)
            provider.reply(call, add(call))

        threading.Thread(target=late, daemon=True).start()

    provider = serve(answer=wait)
    code = (
        "import asyncio\nprint(sum(await asyncio.gather("
        "*(tools.add(i, i) for i in range(20)))))"
    )
    assert run(kernel, code) == "380\n"


def test_an_error_of_the_tool_is_an_exception(
    kernel: Kernel, serve: Any
) -> None:
    serve(answer=lambda call: {"error": "it rains"})
    assert error_of(kernel, "tools.add(1, 2)") == "add: it rains"


def test_values_come_as_they_are(kernel: Kernel, serve: Any) -> None:
    big = 10**4000 + 1
    values: list[Any] = [
        None,
        True,
        "\x1b[31m",
        "ü\u0000",
        1e300,
        big,
        {"a": [[]]},
    ]
    serve(answer=lambda call: {"result": values[call["arguments"]["a"]]})
    seen = run(
        kernel,
        "import json\nfor i in range(7): print(json.dumps(tools.add(i, 0)))",
    )
    assert [json.loads(line) for line in seen.splitlines()] == values


def test_arguments_keep_their_digits(kernel: Kernel, serve: Any) -> None:
    provider = serve(answer=lambda call: {"result": "ok"})
    run(kernel, "tools.add(10**400, 2**63)")
    assert provider.seen[0]["arguments"] == {"a": 10**400, "b": 2**63}


def test_without_a_process_a_call_fails_at_once(
    kernel: Kernel, web: Web
) -> None:
    assert "no process has registered" not in run(kernel, "print(dir(tools))")
    Provider(web, kernel.id)
    web.ask("DELETE", path_of(kernel.id))
    assert "[]" in run(kernel, "print(dir(tools))")


def test_the_first_answer_counts(kernel: Kernel, web: Web) -> None:
    provider = Provider(web, kernel.id)
    with kernel.socket() as ws:
        msg_id = ws.execute("from hearth import tools\nprint(tools.add(1, 2))")
        (call,) = provider.take_some(1)
        assert provider.reply(call, {"result": "first"}) == 200
        assert provider.reply(call, {"result": "second"}) == 409
        assert text_of(ws.finish(msg_id)) == "first\n"
    assert provider.reply({"call": 1 << 40}, {"result": 1}) == 409


def test_a_worker_that_comes_back_gets_its_calls_again(
    kernel: Kernel, web: Web
) -> None:
    provider = Provider(web, kernel.id)
    with kernel.socket() as ws:
        msg_id = ws.execute("from hearth import tools\nprint(tools.add(1, 2))")
        (call,) = provider.take_some(1)
        assert not provider.take(0)
        provider.after = 0
        assert [again["call"] for again in provider.take(0)] == [call["call"]]
        other = web.get(path_of(kernel.id, "/calls?worker=other"))
        assert other.json == {"calls": []}
        provider.reply(call, add(call))
        assert text_of(ws.finish(msg_id)) == "3\n"


def test_an_interrupt_ends_a_call(kernel: Kernel, web: Web) -> None:
    provider = Provider(web, kernel.id)
    with kernel.socket() as ws:
        msg_id = ws.execute("from hearth import tools\ntools.add(1, 2)")
        (call,) = provider.take_some(1)
        web.post(f"/api/kernels/{kernel.id}/interrupt")
        found = ws.finish(msg_id)
        (reply,) = of_type(found, "execute_reply")
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert provider.reply(call, {"result": 3}) == 409
        assert ws.value("1 + 1") == "2"


def test_a_restart_ends_a_call_and_keeps_the_tools(
    kernel: Kernel, web: Web
) -> None:
    provider = Provider(web, kernel.id)
    with kernel.socket() as ws:
        ws.execute("from hearth import tools\ntools.add(1, 2)")
        (call,) = provider.take_some(1)
        web.post(f"/api/kernels/{kernel.id}/restart")
    assert provider.reply(call, {"result": 3}) == 409
    provider.start()
    assert run(kernel, "print(tools.add(3, 4))") == "7\n"
    provider.close()


REFUSED = [
    [{"name": ""}],
    [{"name": "a b"}],
    [{"name": "a\x1b[31m"}],
    [{"name": "[x](http://y)"}],
    [{"name": "a\x00b"}],
    [{"name": "ü"}],
    [{"name": "a" * 129}],
    [{"name": 1}],
    [{}],
    ["a"],
    [{"name": "a"}, {"name": "a"}],
    [{"name": "a", "description": 1}],
    [{"name": "a", "inputSchema": []}],
    [{"name": f"t{i}"} for i in range(257)],
    [{"name": "a", "description": "x" * (1 << 20)}],
    "tools",
    None,
]


@pytest.mark.parametrize("tools", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_tool_is_refused(
    kernel: Kernel, web: Web, tools: Any
) -> None:
    answer = web.ask("PUT", path_of(kernel.id), {"tools": tools})
    assert answer.status == 400, answer
    assert web.get(path_of(kernel.id)).json["tools"] == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b'{"result": 1, "error": "x"}',
        b'{"error": 1}',
        b'{"result": 1e}',
        b'{"result": "\\ud800"}',
        b'{"result": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"result": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_answer_is_refused(
    kernel: Kernel, web: Web, raw: bytes
) -> None:
    provider = Provider(web, kernel.id)
    with kernel.socket() as ws:
        msg_id = ws.execute("from hearth import tools\nprint(tools.add(1, 2))")
        (call,) = provider.take_some(1)
        answer = web.post(
            path_of(kernel.id, f"/calls/{call['call']}"),
            raw=raw,
            headers={"Content-Type": "application/json"},
        )
        assert answer.status == 400, answer
        provider.reply(call, add(call))
        assert text_of(ws.finish(msg_id)) == "3\n"


def test_two_providers_do_not_take_each_others_names(
    kernel: Kernel, web: Web
) -> None:
    Provider(web, kernel.id)
    answer = web.ask(
        "PUT", path_of(kernel.id), {"provider": "other", "tools": [ADD]}
    )
    assert answer.status == 409
    assert "`agent`" in answer.json["message"]
    Provider(web, kernel.id, [{"name": "other"}], name="other")
    listed = web.get(path_of(kernel.id)).json
    assert [(tool["name"], tool["provider"]) for tool in listed["tools"]] == [
        ("add", "agent"),
        ("other", "other"),
    ]
    assert web.get(path_of(kernel.id, "/calls?provider=absent")).status == 404


def test_calls_are_in_the_journal_and_the_audit_log(
    kernel: Kernel, web: Web, gateway: Gateway, serve: Any
) -> None:
    serve()
    run(kernel, "tools.add(1, 2)")
    body = web.get(f"/hearth/sessions/{kernel.id}/events").body.decode()
    records = [json.loads(line) for line in body.splitlines()]
    (call,) = [r for r in records if r["msg_type"] == "tool_call"]
    (result,) = [r for r in records if r["msg_type"] == "tool_result"]
    assert call["content"]["arguments"] == {"a": 1, "b": 2}
    assert call["content"]["request"] == result["content"]["request"] > 0
    assert result["content"]["call"] == call["seq"]
    assert result["content"]["result"] == 3
    assert result["content"]["by"].startswith("token=")
    record = wait_record(gateway, event="tool_call", session=kernel.id)
    assert record["outcome"] == "ok"
    assert record["tool"] == "add"
    assert record["argument_bytes"] == len('{"a":1,"b":2}')
    assert "arguments" not in record


def test_observers_neither_register_nor_answer(
    kernel: Kernel, web: Web, gateway: Gateway
) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    looking = web.with_token(made["token"])
    assert looking.get(path_of(kernel.id)).status == 200
    assert looking.get(path_of(kernel.id, "/calls")).status == 403
    assert looking.ask("PUT", path_of(kernel.id), {"tools": []}).status == 403
    assert (
        looking.post(path_of(kernel.id, "/calls/1"), {"result": 1}).status
        == 403
    )
