"""Host tools over a WebSocket: register, calls as messages, answers."""

from __future__ import annotations

from typing import Any

from deadline import wait_for
from harness import Gateway
from test_tools import ADD, path_of
from web import Kernel, Message, Socket, Web, text_of

CODE = "from hearth import tools, ToolError\n"


def ask(ws: Socket, msg_type: str, content: Message) -> Message:
    """The content of the reply."""
    msg_id = ws.send(msg_type, content, channel="control")
    found = ws.until(
        lambda m: (
            m["header"]["msg_type"] == "tools_reply"
            and m["parent_header"].get("msg_id") == msg_id
        )
    )
    reply: Message = found[-1]["content"]
    return reply


def register(ws: Socket, **content: Any) -> None:
    assert ask(ws, "tools_register", {"tools": [ADD], **content}) == {
        "status": "ok"
    }


def next_call(ws: Socket) -> Message:
    found = ws.until(lambda m: m["header"]["msg_type"] == "tool_call")
    assert found[-1]["channel"] == "control"
    call: Message = found[-1]["content"]
    return call


def answer(ws: Socket, call: Message, **content: Any) -> Message:
    return ask(ws, "tool_answer", {"call": call["call"], **content})


def test_calls_come_as_messages(kernel: Kernel) -> None:
    with kernel.socket() as agent, kernel.socket() as user:
        register(agent)
        msg_id = user.execute(
            f"{CODE}import asyncio\nprint(await asyncio.gather("
            "*(tools.add(i, i) for i in range(10))))"
        )
        calls = [next_call(agent) for _ in range(10)]
        for call in reversed(calls):
            a = call["arguments"]["a"]
            assert answer(agent, call, result=10**400 + a) == {"status": "ok"}
        shown = text_of(user.finish(msg_id))
        assert shown == f"{[10**400 + i for i in range(10)]}\n"
        refused = answer(agent, calls[0], result=1)
        assert refused["ename"] == "CallEnded"


def test_one_connection_can_do_both(kernel: Kernel) -> None:
    with kernel.socket(v1=True) as ws:
        register(ws, provider="both")
        msg_id = ws.execute(
            f"{CODE}\ntry: tools.add(1, 2)\n"
            "except ToolError as error: print(error)"
        )
        failure = {"call": next_call(ws)["call"], "error": "it rains"}
        # The cell may be over before the answer to this.
        ws.send("tool_answer", failure, channel="control")
        assert text_of(ws.finish(msg_id)) == "add: it rains\n"


def test_what_is_no_provider_is_said(kernel: Kernel) -> None:
    with kernel.socket() as ws:
        wrong: Any
        for wrong in (7, None, True, ["a"], {}):
            reply = ask(ws, "tools_register", {"provider": wrong, "tools": []})
            assert reply["evalue"].startswith(
                "`provider` must be a text; leave it out for `agent`"
            ), reply
        reply = ask(ws, "tools_register", {"provider": "a\0b", "tools": []})
        assert "must be a text without NUL" in reply["evalue"]
        register(ws)


def test_a_connection_learns_that_its_provider_was_removed(
    kernel: Kernel,
) -> None:
    with kernel.socket() as agent:
        register(agent)
        path = path_of(kernel.id)
        assert kernel.web.ask("DELETE", path).status == 204
        found = agent.until(
            lambda m: (
                m["header"]["msg_type"] == "tools_reply"
                and not m["parent_header"]
            )
        )
        assert found[-1]["content"]["status"] == "error"
        register(agent)
        assert kernel.web.get(path).json["tools"]


def test_calls_of_a_connection_that_ended_are_given_anew(
    kernel: Kernel,
) -> None:
    with kernel.socket() as user:
        first = kernel.socket()
        register(first)
        msg_id = user.execute(f"{CODE}print(tools.add(1, 2))")
        call = next_call(first)
        first.drop()
        with kernel.socket() as second:
            register(second)
            assert next_call(second)["call"] == call["call"]
            answer(second, call, result="again")
            assert text_of(user.finish(msg_id)) == "again\n"


def test_a_connection_that_ends_is_not_connected(
    kernel: Kernel, web: Web
) -> None:
    with kernel.socket() as agent:
        register(agent)
        agent.send("kernel_info_request")
        (tool,) = web.get(path_of(kernel.id)).json["tools"]
        assert tool["connected"] is True
    wait_for(
        lambda: not web.get(path_of(kernel.id)).json["tools"][0]["connected"],
        "the end of the grace",
    )


def test_what_is_wrong_is_refused(kernel: Kernel) -> None:
    with kernel.socket() as ws:
        wrong: list[tuple[str, Message]] = [
            ("tools_register", {}),
            ("tools_register", {"tools": [], "provider": "a b"}),
            ("tools_register", {"tools": [{"name": "a b"}]}),
            ("tool_answer", {"call": 1}),
            ("tool_answer", {"call": "1", "result": 1}),
            ("tool_answer", {"call": 1, "result": 1, "error": "x"}),
        ]
        for msg_type, content in wrong:
            reply = ask(ws, msg_type, content)
            assert reply["status"] == "error", (msg_type, content)
            assert reply["ename"] == "BadRequest"
            assert "one provider" not in reply["evalue"]
        # A refused name is not the connection's.
        register(ws, provider="good")
        reply = ask(ws, "tools_register", {"tools": [], "provider": "other"})
        assert "one provider" in reply["evalue"]
        assert ws.value("1 + 1") == "2"


def test_observers_register_nothing(
    kernel: Kernel, web: Web, gateway: Gateway
) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    with Socket(web.with_token(made["token"]), kernel.id) as ws:
        for msg_type in ("tools_register", "tool_answer"):
            reply = ask(ws, msg_type, {"tools": [ADD], "call": 1, "result": 1})
            assert reply["ename"] == "PermissionError"
    assert web.get(path_of(kernel.id)).json["tools"] == []
