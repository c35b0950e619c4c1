"""What ipykernel's tests ask of a kernel's messages, asked of a session.

The tests of ipykernel 7.4 that talk only through the protocol, by their names
there, written anew: this file has those of test_message_spec.py and
test_async.py, test_ipykernel_kernel.py those of test_kernel.py. What is not
here, and why:

================================  =============================================
ipykernel's test                  why not
================================  =============================================
test_message_spec: test_subshell  no subshells; supported_features does not
test_subshells: all               name them (test_kernel_info_request)
test_async: trio                  %autoawait with another loop than asyncio's
                                  has no loop to run on
test_debugger: all                no debugger; supported_features says so
test_curve: all                   no CurveZMQ: keys sign, ipc and loopback hide
test_comm                         Python objects; test_questions has messages
test_kernelapp, test_connect,     the gateway binds; test_questions,
test_heartbeat                    test_kernelspec, test_interrupts start it
test_start_kernel,                no kernel inside another program
test_embed_kernel, inprocess/*
test_io, test_zmq_shell,          ipykernel's own classes
test_displayhook, test_jsonutil,
test_*_direct, test_eventloop
test_parentpoller                 test_survival: nothing outlives its session
test_subshell_wedge               ipykernel's event loop
================================  =============================================
"""

from __future__ import annotations

import re
from typing import Any, Callable, Union

import pytest
from client import Client, Message, Turn, parent_of
from deadline import DEADLINE
from harness import Session

Kind = Union[type, tuple[type, ...], Callable[[Any], bool]]


def mime_bundle(value: Any) -> bool:
    return isinstance(value, dict) and all(
        re.fullmatch(r"[\w\-+.]+/[\w\-+.]+", key) for key in value
    )


def texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value in words


def version(value: Any) -> bool:
    return bool(re.fullmatch(r"\d+(\.\d+)+.*", value))


HEADER: dict[str, Kind] = {
    "msg_id": str,
    "msg_type": str,
    "session": str,
    "username": str,
    "version": version,
    "date": object,
}

# The content of each type; more members are permitted, not fewer.
CONTENTS: dict[str, dict[str, Kind]] = {
    "execute_reply": {
        "status": one_of("ok", "error", "aborted"),
        "execution_count": int,
    },
    "inspect_reply": {
        "status": one_of("ok"),
        "found": bool,
        "data": mime_bundle,
        "metadata": dict,
    },
    "complete_reply": {
        "status": one_of("ok"),
        "matches": texts,
        "cursor_start": int,
        "cursor_end": int,
        "metadata": dict,
    },
    "kernel_info_reply": {
        "status": one_of("ok"),
        "protocol_version": version,
        "implementation": str,
        "implementation_version": version,
        "language_info": dict,
        "banner": str,
        "help_links": list,
        "supported_features": texts,
    },
    "connect_reply": {
        f"{channel}_port": int
        for channel in ("shell", "control", "stdin", "iopub", "hb")
    },
    "comm_info_reply": {"status": one_of("ok"), "comms": dict},
    "is_complete_reply": {
        "status": one_of("complete", "incomplete", "invalid", "unknown")
    },
    "history_reply": {"status": one_of("ok"), "history": list},
    "execute_input": {"code": str, "execution_count": int},
    "execute_result": {
        "execution_count": int,
        "data": mime_bundle,
        "metadata": dict,
    },
    "display_data": {"data": mime_bundle, "metadata": dict},
    "error": {"ename": str, "evalue": str, "traceback": texts},
    "stream": {"name": one_of("stdout", "stderr"), "text": str},
    "status": {"execution_state": one_of("busy", "idle", "starting", "dead")},
}


def fits(value: Any, kind: Kind) -> bool:
    if isinstance(kind, (type, tuple)):
        return isinstance(value, kind) and not (
            kind is int and isinstance(value, bool)
        )
    return kind(value)


def check_members(what: dict[str, Any], kinds: dict[str, Kind]) -> None:
    for name, kind in kinds.items():
        assert name in what, (name, what)
        assert fits(what[name], kind), (name, what[name])


def check(message: Message, msg_type: str, parent: str) -> dict[str, Any]:
    """The message is whole, of that type, and answers that request."""
    assert message["msg_type"] == message["header"]["msg_type"] == msg_type
    assert parent_of(message) == parent
    check_members(message["header"], HEADER)
    check_members(message["parent_header"], HEADER)
    content = message["content"]
    check_members(content, CONTENTS[msg_type])
    if msg_type == "execute_reply" and content["status"] == "ok":
        check_members(content, {"user_expressions": dict})
    if msg_type == "execute_reply" and content["status"] == "error":
        check_members(content, CONTENTS["error"])
    return content


def check_turn(turn: Turn, reply_type: str) -> dict[str, Any]:
    """The reply and everything on iopub."""
    parent = parent_of(turn.reply)
    assert parent
    for message in turn.messages:
        check(message, message["msg_type"], parent)
    return check(turn.reply, reply_type, parent)


def ask(client: Client, msg_id: str, reply_type: str) -> dict[str, Any]:
    return check_turn(client.finish(msg_id), reply_type)


# -- shell --


def test_execute(client: Client) -> None:
    check_turn(client.run("x=1"), "execute_reply")


def test_execute_silent(client: Client) -> None:
    counts = []
    for code in ("x=1", "x=2"):
        turn = client.run(code, silent=True)
        counts.append(check_turn(turn, "execute_reply")["execution_count"])
        assert turn.types == ["status", "status"]
        assert client.is_silent(0.1)
    assert counts[0] == counts[1]


def test_execute_error(client: Client) -> None:
    turn = client.run("1/0")

    content = check_turn(turn, "execute_reply")
    assert content["status"] == "error"
    assert content["ename"] == "ZeroDivisionError"
    assert turn.types == ["status", "execute_input", "error", "status"]


def test_execute_inc(client: Client) -> None:
    first = check_turn(client.run("x=1"), "execute_reply")
    second = check_turn(client.run("x=2"), "execute_reply")

    assert second["execution_count"] == first["execution_count"] + 1


FAIL_LATER = (
    "import asyncio, os\n"
    "while not os.path.exists('now'): await asyncio.sleep(0.01)\n"
    "raise ValueError()"
)


def test_execute_stop_on_error(client: Client, session: Session) -> None:
    failing = client.kc.execute(FAIL_LATER)
    waiting = [client.kc.execute("print('Hello')") for _ in range(2)]
    session.wait_journaled(waiting)
    (session.workspace / "now").touch()
    assert client.finish(failing).status == "error"
    for msg_id in waiting:
        assert ask(client, msg_id, "execute_reply")["status"] == "aborted"

    client.kc.execute(FAIL_LATER, stop_on_error=False)
    after = client.kc.execute("print('Hello')")
    turn = client.finish(after)
    assert turn.status == "ok"
    assert turn.stream() == "Hello\n"


def test_non_execute_stop_on_error(client: Client) -> None:
    kc = client.kc
    wanted = [
        kc.execute("import time\ntime.sleep(0.3)\nraise ValueError"),
        kc.kernel_info(),
        kc.comm_info(),
        kc.inspect("print"),
    ]
    replies = [kc.get_shell_msg(timeout=DEADLINE) for _ in wanted]

    assert [parent_of(reply) for reply in replies] == wanted
    states = [reply["content"]["status"] for reply in replies]
    assert states == ["error", "ok", "ok", "ok"]


def test_user_expressions(client: Client) -> None:
    turn = client.run("x=1", user_expressions={"foo": "x+1"})

    assert check_turn(turn, "execute_reply")["user_expressions"] == {
        "foo": {"status": "ok", "data": {"text/plain": "2"}, "metadata": {}}
    }


def test_user_expressions_fail(client: Client) -> None:
    turn = client.run("x=0", user_expressions={"foo": "nosuchname"})

    found = check_turn(turn, "execute_reply")["user_expressions"]["foo"]
    assert found["status"] == "error"
    assert found["ename"] == "NameError"


def test_oinfo(client: Client) -> None:
    ask(client, client.kc.inspect("a"), "inspect_reply")


def test_oinfo_found(client: Client) -> None:
    client.run("a=5")
    content = ask(client, client.kc.inspect("a"), "inspect_reply")

    assert content["found"]
    text = content["data"]["text/plain"]
    assert "Type:" in text
    assert "Docstring:" in text


def test_oinfo_detail(client: Client) -> None:
    client.run("ip=get_ipython()")
    msg_id = client.kc.inspect(
        "ip.object_inspect", cursor_pos=10, detail_level=1
    )
    content = ask(client, msg_id, "inspect_reply")

    assert content["found"]
    text = content["data"]["text/plain"]
    assert "Signature:" in text
    assert "Source:" in text


def test_oinfo_not_found(client: Client) -> None:
    content = ask(client, client.kc.inspect("does_not_exist"), "inspect_reply")

    assert not content["found"]


def test_complete(client: Client) -> None:
    client.run("alpha = albert = 5")
    content = ask(client, client.kc.complete("al", 2), "complete_reply")

    assert {"alpha", "albert"} <= set(content["matches"])


def test_kernel_info_request(client: Client) -> None:
    content = ask(client, client.kc.kernel_info(), "kernel_info_reply")

    language = content["language_info"]
    assert language["name"] == "python"
    assert (
        language["version"]
        == client.run("import platform; print(platform.python_version())")
        .stream()
        .strip()
    )
    # What is not built is not promised, and asking for it is answered.
    assert content["supported_features"] == []
    turn = client.send("control", "create_subshell_request")
    types: list[str] = []
    while types[-1:] != ["idle"]:
        message = client.iopub(DEADLINE, lambda m: parent_of(m) == turn)
        types.append(message["content"]["execution_state"])
    assert types == ["busy", "idle"]


def test_connect_request(client: Client) -> None:
    turn = client.ask("shell", "connect_request")

    content = check_turn(turn, "connect_reply")
    assert len(set(content.values()) - {"ok"}) == 5


def test_comm_info_request(client: Client) -> None:
    ask(client, client.kc.comm_info(), "comm_info_reply")


def test_single_payload(client: Client) -> None:
    turn = client.run(
        "ip = get_ipython()\n"
        "for i in range(3):\n"
        "    ip.set_next_input('Hello There')\n"
    )

    sources = [payload["source"] for payload in turn.content["payload"]]
    assert sources.count("set_next_input") == 1


def test_is_complete(client: Client) -> None:
    ask(client, client.kc.is_complete("a = 1"), "is_complete_reply")


@pytest.mark.parametrize(
    "how",
    [
        {"hist_access_type": "range", "start": 1, "stop": 2, "session": 0},
        {"hist_access_type": "tail", "n": 1, "session": 0},
        {
            "hist_access_type": "search",
            "n": 1,
            "pattern": "*",
            "session": 0,
        },
    ],
    ids=["range", "tail", "search"],
)
def test_replay_guard(client: Client, how: dict[str, Any]) -> None:
    client.run("x=1", store_history=True)
    msg_id = client.kc.history(raw=True, output=True, **how)
    content = ask(client, msg_id, "history_reply")

    assert len(content["history"]) == 1
    assert content["history"][0][2] == ["x=1", None]


# -- iopub --


def test_stream(client: Client) -> None:
    turn = client.run("print('hi')")

    check_turn(turn, "execute_reply")
    assert turn.types == ["status", "execute_input", "stream", "status"]
    assert turn.messages[2]["content"] == {"name": "stdout", "text": "hi\n"}


def test_display_data(client: Client) -> None:
    turn = client.run("from IPython.display import display; display(1)")

    check_turn(turn, "execute_reply")
    assert turn.types == ["status", "execute_input", "display_data", "status"]
    data = turn.messages[2]["content"]["data"]
    assert data == {"text/plain": "1"}


# -- async --


def test_async_await(client: Client) -> None:
    turn = client.run("import asyncio; await asyncio.sleep(0.1)")

    assert turn.status == "ok", turn.content


def test_async_interrupt(client: Client) -> None:
    assert client.run("%autoawait asyncio").status == "ok"
    msg_id = client.kc.execute(
        "print('begin'); import asyncio; await asyncio.sleep(60)"
    )
    begun = client.stream_until(msg_id, "begin\n")
    types = [message["msg_type"] for message in begun]
    assert types == ["status", "execute_input", "stream"]
    assert begun[0]["content"]["execution_state"] == "busy"

    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)
    content = check_turn(turn, "execute_reply")
    assert content["status"] == "error"
    assert content["ename"] in ("CancelledError", "KeyboardInterrupt")
