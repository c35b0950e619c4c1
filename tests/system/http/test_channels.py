"""The WebSocket of a kernel, in its three forms."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import websocket
from deadline import wait_for
from web import (
    V1,
    Closed,
    Kernel,
    Socket,
    Web,
    of_type,
    state_of,
    text_of,
    types,
)

UNKNOWN = "00000000-0000-4000-8000-000000000000"
FORMS = pytest.mark.parametrize("v1", [False, True], ids=["legacy", "v1"])


def refused(web: Web, kernel: str, **options: object) -> int:
    with pytest.raises(websocket.WebSocketBadStatusException) as caught:
        Socket(web, kernel, **options)  # type: ignore[arg-type]
    error = caught.value
    body = json.loads(error.resp_body or b"")
    assert all(body[name] for name in ("message", "reason")), body
    return int(error.status_code)


@FORMS
def test_a_cell(kernel: Kernel, v1: bool) -> None:  # A-U10, A-U22, A-U23
    ws = kernel.socket(v1=v1)
    assert ws.ws.getsubprotocol() == (V1 if v1 else None)
    messages = ws.run("print('out')\n1+1")
    assert state_of(messages) == "idle"
    assert text_of(messages) == "out\n"
    result = of_type(messages, "execute_result")[0]
    assert result["content"]["data"]["text/plain"] == "2"
    reply = of_type(messages, "execute_reply")[0]
    assert reply["channel"] == "shell"
    assert reply["content"]["status"] == "ok"
    outputs = [t for t in types(messages) if t != "execute_reply"]
    assert outputs == [
        "status",
        "execute_input",
        "stream",
        "execute_result",
        "status",
    ]
    for message in messages:
        assert message["frame"] == ("v1" if v1 else "text")
        assert message["channel"] in ("shell", "iopub")
        if not v1:  # A-U11
            assert message["msg_id"] == message["header"]["msg_id"]
            assert message["msg_type"] == message["header"]["msg_type"]
            assert message["buffers"] == []


def test_messages_that_smolagents_sends(kernel: Kernel) -> None:  # A-SM5, A-U12
    for number in range(3):
        with Socket(
            kernel.web,
            kernel.id,
            query={"token": kernel.web.token or ""},
            header=["Authorization: token "],
        ) as ws:
            msg_id = f"id{number}"
            ws.ws.send(
                json.dumps(
                    {
                        "header": {
                            "msg_id": msg_id,
                            "username": "anonymous",
                            "session": "s",
                            "msg_type": "execute_request",
                            "version": "5.0",
                        },
                        "parent_header": {},
                        "metadata": {},
                        "content": {
                            "code": f"x = {number}\nx",
                            "silent": False,
                            "store_history": True,
                            "user_expressions": {},
                            "allow_stdin": False,
                        },
                    }
                )
            )
            messages = ws.finish(msg_id)
            result = of_type(messages, "execute_result")[0]
            assert result["content"]["data"]["text/plain"] == str(number)
            for message in ws.seen[2:]:  # A-U21: nothing of an earlier call
                assert message["parent_header"]["msg_id"] == msg_id


def test_messages_that_autogen_sends(kernel: Kernel) -> None:  # A-AG5
    ws = kernel.socket()
    ws.ws.send(
        json.dumps(
            {
                "header": {
                    "msg_id": "m",
                    "username": "autogen",
                    "session": "s",
                    "msg_type": "kernel_info_request",
                    "version": "5.0",
                    "date": "2026-01-02T03:04:05.678901",
                },
                "parent_header": {},
                "channel": "shell",
                "content": {},
                "metadata": {},
                "buffers": {},
            }
        )
    )
    messages = ws.finish("m")
    assert of_type(messages, "kernel_info_reply")


def test_unknown_kernels_are_refused(web: Web) -> None:  # A-U9
    for kernel in (UNKNOWN, "x", "a" * 200, "..%2f..%2fx"):
        assert refused(web, kernel) == 404


def test_tokens_and_origins(kernel: Kernel) -> None:
    web, anonymous = kernel.web, kernel.web.with_token(None)
    assert refused(anonymous, kernel.id) == 401
    assert refused(web.with_token("no"), kernel.id) == 401
    evil = "Origin: https://evil.example"
    assert refused(anonymous, kernel.id, header=[evil]) == 401
    kernel.socket(header=[evil]).run("1")  # the token vouches for it
    kernel.socket(query={"token": web.token}, header=["Authorization: "])


def test_unknown_subprotocols_are_refused(kernel: Kernel) -> None:
    assert refused(kernel.web, kernel.id, subprotocols=["none"]) == 400
    assert refused(kernel.web, kernel.id, subprotocols=["hearth"]) == 400
    many = [f"{i:040}" for i in range(9)]
    assert refused(kernel.web, kernel.id, subprotocols=[*many, V1]) == 400
    ws = kernel.socket(subprotocols=["hearth", "none", V1])
    assert ws.ws.getsubprotocol() == V1


def test_a_plain_get_is_refused(kernel: Kernel) -> None:
    answer = kernel.web.get(f"/api/kernels/{kernel.id}/channels")
    assert answer.status == 400
    assert "WebSocket" in answer.json["message"]


@FORMS
def test_errors(kernel: Kernel, v1: bool) -> None:
    messages = kernel.socket(v1=v1).run("1/0")
    error = of_type(messages, "error")[0]["content"]
    assert error["ename"] == "ZeroDivisionError"
    assert isinstance(error["traceback"], list)
    reply = of_type(messages, "execute_reply")[0]["content"]
    assert reply["status"] == "error"


@FORMS
def test_stdin(kernel: Kernel, v1: bool) -> None:
    ws = kernel.socket(v1=v1)
    other = kernel.socket().ready()
    msg_id = ws.execute("print(input('? '))", allow_stdin=True)
    ask = ws.until(lambda m: m["header"]["msg_type"] == "input_request")[-1]
    assert ask["channel"] == "stdin"
    assert ask["content"]["prompt"] == "? "
    ws.send("input_reply", {"value": "word"}, "stdin", parent=ask["header"])
    ws.finish(msg_id)
    assert text_of(ws.seen) == "word\n"
    other.until_idle(msg_id)
    assert not of_type(other.seen, "input_request")
    assert not of_type(other.seen, "execute_reply")


BUFFERS = """
from comm import create_comm
def back(message):
    comm.send({"n": len(message["buffers"])},
              buffers=[bytes(b)[::-1] for b in message["buffers"]])
comm = create_comm(target_name="t", data={}, buffers=[b"\\xff\\x00"])
comm.on_msg(back)
comm.comm_id
"""


@pytest.mark.parametrize("form", ["legacy", "v1", "text"])
def test_comms_with_buffers(kernel: Kernel, form: str) -> None:  # A-U13, A-U18
    ws = kernel.socket(v1=form == "v1")
    messages = ws.run(BUFFERS)
    opened = of_type(messages, "comm_open")[0]
    assert opened["buffers"] == [b"\xff\x00"]
    assert opened["frame"] == ("v1" if form == "v1" else "binary")
    ws.send(
        "comm_msg",
        {"comm_id": opened["content"]["comm_id"], "data": {}},
        buffers=(b"\xfe\x01", b""),
        as_text=form == "text",
    )
    found = ws.until(lambda m: m["header"]["msg_type"] == "comm_msg")[-1]
    assert found["content"]["data"] == {"n": 2}
    assert found["buffers"] == [b"\x01\xfe", b""]


def test_tornado_gets_text_alone(kernel: Kernel) -> None:  # A-U19
    ws = kernel.socket(header=["User-Agent: Tornado/6.4"])
    opened = of_type(ws.run(BUFFERS), "comm_open")[0]
    assert opened["frame"] == "text"
    assert opened["buffers"] == []


def test_an_invalid_message_closes_the_socket(kernel: Kernel) -> None:
    for frame in (b"\0\0\0", b"{", b"[]", b'{"header":{}}', b"\xff\xfe"):
        ws = kernel.socket()
        ws.ws.send(frame, websocket.ABNF.OPCODE_BINARY)
        with pytest.raises(Closed) as caught:
            ws.until(lambda m: False)
        assert caught.value.code == 1007
        assert caught.value.text
    ws = kernel.socket(v1=True)
    ws.send("kernel_info_request", channel="iopub")  # dropped
    ws.send("kernel_info_request", channel="nowhere")
    assert ws.value("1+1") == "2"


def test_fragments(kernel: Kernel) -> None:
    ws = kernel.socket()
    header = ws.header("execute_request")
    text = json.dumps(
        {
            "header": header,
            "channel": "shell",
            "content": {"code": "#" + "x" * 300000 + "\n7"},
        }
    ).encode()
    pieces = [text[i : i + 50000] for i in range(0, len(text), 50000)]
    for index, piece in enumerate(pieces):
        opcode = (
            websocket.ABNF.OPCODE_TEXT
            if index == 0
            else websocket.ABNF.OPCODE_CONT
        )
        fin = 1 if index == len(pieces) - 1 else 0
        ws.ws.send_frame(websocket.ABNF(fin, 0, 0, 0, opcode, 1, piece))
        ws.ws.ping()  # A-U14: between fragments, too
    assert of_type(ws.finish(header["msg_id"]), "execute_result")


def test_pings_are_answered_while_the_kernel_works(kernel: Kernel) -> None:
    ws = kernel.socket()
    msg_id = ws.execute("import time; time.sleep(600)")
    ws.until(lambda m: m["header"]["msg_type"] == "execute_input")
    ws.ws.ping("here")
    opcode, data = ws.ws.recv_data(control_frame=True)
    assert opcode == websocket.ABNF.OPCODE_PONG
    assert data == b"here"
    ws.send("interrupt_request", channel="control")
    ws.finish(msg_id)


def test_big_output_arrives_whole(kernel: Kernel) -> None:
    ws = kernel.socket()
    messages = ws.run("print('x' * 5_000_000)")
    assert len(text_of(messages)) == 5_000_001


def test_oversize_becomes_a_preview(kernel: Kernel) -> None:  # A-U17
    ws = kernel.socket(header=["User-Agent: Python/3.11 websockets/12.0"])
    messages = ws.run(
        "from IPython.display import display\n"
        "display({'text/plain': 'small', 'text/html': 'x' * 2_000_000},"
        " raw=True)"
    )
    assert max(m["size"] for m in messages) < 1 << 20
    data = of_type(messages, "display_data")[0]["content"]["data"]
    assert "text/html" not in data
    note = data["text/plain"]
    assert note.startswith("small\n[hearth: 2000")
    path = "/" + note.rpartition("]")[0].split()[-1].partition("/hearth/")[2]
    whole = kernel.web.get("/hearth" + path)
    assert len(whole.json["content"]["data"]["text/html"]) == 2_000_000
    assert "sandbox" in whole.headers["Content-Security-Policy"]
    assert kernel.web.get("/hearth" + path + "0000").status == 404
    assert kernel.id in note


# As Python's websockets names itself, whose frames have 1 MiB.
SMALL = ["User-Agent: Python/3.11 websockets/12.0"]


@FORMS
def test_a_long_stream_comes_in_pieces(kernel: Kernel, v1: bool) -> None:
    whole = kernel.socket().ready()
    ws = kernel.socket(v1=v1, header=SMALL)
    msg_id = ws.execute("print('y' * (5 << 20))\nprint('\\0é😀\\\\' * 300_000)")
    messages = ws.finish(msg_id)
    expected = "y" * (5 << 20) + "\n" + "\0é😀\\" * 300_000 + "\n"
    assert text_of(messages) == expected
    streams = of_type(messages, "stream")
    assert len(streams) > 5
    assert max(m["size"] for m in streams) < 1 << 20
    assert len({m["header"]["msg_id"] for m in streams}) == len(streams)
    for message in streams:
        assert message["content"]["name"] == "stdout"
        assert message["parent_header"]["msg_id"] == msg_id
        assert message["channel"] == "iopub"
        assert message["header"]["date"]
    whole.until_idle(msg_id)
    assert text_of(whole.seen) == expected
    parents = {m["header"]["msg_id"] for m in of_type(whole.seen, "stream")}
    assert {m["header"]["msg_id"] for m in streams} >= parents


LINES = "".join(f"{n} é😀\\ \0\n" for n in range(200_000))


@pytest.mark.parametrize("then", [SMALL, []], ids=["small", "whole"])
def test_a_socket_returns_in_the_middle_of_a_stream(
    kernel: Kernel, then: list[str]
) -> None:
    """It gets the pieces that it has not, also if it then takes all at once."""
    query = {"session_id": "tab"}
    ws = kernel.socket(query=query, header=SMALL, receive_buffer=1 << 16)
    code = (
        "print(''.join(f'{n} é😀\\\\ \\0\\n' for n in range(200_000)), end='')"
    )
    msg_id = ws.execute(code)
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    # What the gateway has written comes before its answer to the close, or
    # before the end if it waits too long for room for that.
    ws.ws.send_close()
    with pytest.raises((Closed, websocket.WebSocketConnectionClosedException)):
        ws.until(lambda m: False)
    before = text_of(ws.seen)
    assert len(before) < len(LINES)
    again = kernel.socket(query=query, header=then)
    after = again.finish(msg_id)
    assert before + text_of(after) == LINES
    assert again.value("1+1") == "2"
    names = [m["header"]["msg_id"] for m in ws.seen + again.seen]
    assert len(names) == len(set(names))


def test_two_viewers_see_the_same(kernel: Kernel) -> None:
    one, two = kernel.socket().ready(), kernel.socket(v1=True).ready()
    msg_id = one.execute("print('seen')")
    one.finish(msg_id)
    found = two.until_idle(msg_id)
    assert text_of(found) == "seen\n"
    model = kernel.web.get(f"/api/kernels/{kernel.id}").json
    assert model["connections"] == 2
    one.close()
    wait_for(
        lambda: (
            kernel.web.get(f"/api/kernels/{kernel.id}").json["connections"] == 1
        ),
        "one connection less",
    )


def test_restart_then_execute(kernel: Kernel) -> None:
    ws = kernel.socket().ready()
    ws.run("x = 1")
    answer = kernel.web.post(f"/api/kernels/{kernel.id}/restart")
    assert answer.status == 200
    messages = ws.run("'x' in globals()")
    assert (
        of_type(messages, "execute_result")[0]["content"]["data"]["text/plain"]
        == "False"
    )


def test_interrupt(kernel: Kernel) -> None:
    ws = kernel.socket()
    msg_id = ws.execute("import time; time.sleep(600)")
    ws.until(lambda m: m["header"]["msg_type"] == "execute_input")
    path = f"/api/kernels/{kernel.id}/interrupt"
    assert kernel.web.post(path, {}).status == 204
    messages = ws.finish(msg_id)
    error = of_type(messages, "error")[0]["content"]
    assert error["ename"] == "KeyboardInterrupt"


# Ends by itself after its first interrupt; a second one would be another.
CHECKPOINT = """
import time
try:
    print('on', flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(4)
    print('saved')
"""


@pytest.mark.parametrize(
    ("path", "status"), [("/api/kernels", 204), ("/hearth/sessions", 200)]
)
def test_a_handler_is_not_interrupted(
    kernel: Kernel, path: str, status: int
) -> None:
    ws = kernel.socket()
    msg_id = ws.execute(CHECKPOINT)
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    answer = kernel.web.post(f"{path}/{kernel.id}/interrupt", {})
    assert answer.status == status
    if status == 200:
        assert answer.json == {"outcome": "handling", "variables": "preserved"}
    messages = ws.finish(msg_id)
    assert not of_type(messages, "error")
    assert "saved" in text_of(messages)


@FORMS
@pytest.mark.parametrize("how", ["die", "delete"])
def test_a_kernel_that_dies(kernel: Kernel, v1: bool, how: str) -> None:
    ws = kernel.socket(v1=v1)  # A-U26, A-U27
    first = ws.execute(
        "import os, time; print('on', flush=True); "
        + ("os.kill(os.getpid(), 9)" if how == "die" else "time.sleep(600)")
    )
    second = ws.execute("1")
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    if how == "delete":
        kernel.web.delete(kernel.id)
    pending = {first, second}

    def is_over(message: dict[str, object]) -> bool:
        for msg_id in list(pending):
            own = [
                m for m in ws.seen if m["parent_header"].get("msg_id") == msg_id
            ]
            if state_of(own) == "idle" and of_type(own, "execute_reply"):
                pending.discard(msg_id)
        return not pending

    ws.until(is_over)
    own = [m for m in ws.seen if m["parent_header"].get("msg_id") == first]
    error = of_type(own, "error")[0]["content"]
    assert error["ename"]
    assert isinstance(error["traceback"], list)
    assert of_type(own, "execute_reply")[0]["content"]["status"] == "error"
    wait_for(
        lambda: kernel.web.get(f"/api/kernels/{kernel.id}").status == 404,
        "the end",
    )
    assert refused(kernel.web, kernel.id) == 404


def test_replay_after_a_drop(kernel: Kernel) -> None:  # A-U21
    query = {"session_id": "tab"}
    ws = kernel.socket(query=query)
    msg_id = ws.execute(
        "import os, time\n"
        "for i in range(30):\n"
        "    while i == 20 and not os.path.exists('now'): time.sleep(0.01)\n"
        "    print(i, flush=True); time.sleep(0.01)"
    )
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    before = text_of(ws.seen)
    ws.drop()
    witness = kernel.socket()
    gateway = kernel.web.gateway
    shown = gateway.json("session", "show", "--json", kernel.id)
    (Path(shown["workspace"]) / "now").touch()
    witness.until(
        lambda m: (
            m["header"]["msg_type"] == "execute_reply"
            or state_of([m]) == "idle"
        )
    )
    again = kernel.socket(query=query)
    after = again.finish(msg_id)
    # What the drop threw away unread may be missing, in one piece, between
    # the two; nothing comes twice and nothing out of its place.
    first = [int(line) for line in before.split()]
    rest = [int(line) for line in text_of(after).split()]
    assert first == list(range(len(first)))
    assert rest
    assert rest == list(range(rest[0], 30))
    assert rest[0] >= len(first)
    seen = [m["header"]["msg_id"] for m in after]
    assert len(seen) == len(set(seen))
    assert of_type(after, "execute_reply")[0]["channel"] == "shell"
    assert again.value("1+1") == "2"


def test_a_new_socket_gets_no_earlier_messages(kernel: Kernel) -> None:
    kernel.socket().run("print('old')")
    ws = kernel.socket(query={"session_id": "another"})
    assert ws.value("1+1") == "2"
    assert "old" not in text_of(ws.seen)


def test_a_second_connection_takes_the_session(kernel: Kernel) -> None:
    query = {"session_id": "tab"}
    first = kernel.socket(query=query).ready()
    second = kernel.socket(query=query).ready()
    with pytest.raises(Closed):
        first.until(lambda m: False)
    assert second.value("1+1") == "2"


def test_half_open_sockets_harm_no_other_client(kernel: Kernel) -> None:
    web = kernel.web
    idle = [socket.create_connection((web.host, web.port)) for _ in range(20)]
    try:
        assert kernel.socket().value("1+1") == "2"
    finally:
        for one in idle:
            one.close()
