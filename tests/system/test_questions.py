"""What is asked of a session but a cell, and what a cell asks back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from client import Client, parent_of
from deadline import DEADLINE
from harness import Session


def test_stdin(client: Client) -> None:
    msg_id = client.kc.execute(
        "v = input('name? ')\nprint(v)", allow_stdin=True
    )
    request = client.kc.get_stdin_msg(timeout=DEADLINE)

    assert request["content"] == {"prompt": "name? ", "password": False}
    assert parent_of(request) == msg_id
    client.kc.input("Ada")
    assert client.finish(msg_id).stream() == "Ada\n"


def test_password(client: Client) -> None:
    msg_id = client.kc.execute(
        "import getpass; len(getpass.getpass('key? '))", allow_stdin=True
    )
    request = client.kc.get_stdin_msg(timeout=DEADLINE)

    assert request["content"] == {"prompt": "key? ", "password": True}
    client.kc.input("secret")
    assert client.finish(msg_id).result == "6"


def test_stdin_goes_to_the_requesting_client(session: Session) -> None:
    with session.client() as asker, session.client() as other:
        msg_id = asker.kc.execute("input('? ')", allow_stdin=True)
        asker.kc.get_stdin_msg(timeout=DEADLINE)
        other.kc.input("not mine to give")
        asker.kc.input("mine")
        assert asker.finish(msg_id).result == "'mine'"


def test_stdin_not_allowed(client: Client) -> None:
    turn = client.run("input('? ')", allow_stdin=False)

    assert turn.content["ename"] == "StdinNotImplementedError"
    assert "put the value into the code" in turn.content["traceback"][-1]


def test_a_large_request_to_a_kernel_that_computes(client: Client) -> None:
    """More than the link takes at once, and nothing else is said after it."""
    client.run("size = 0\nfrom comm import get_comm_manager")
    client.run(
        "def on_open(comm, message):\n"
        "    global size\n"
        "    size = sum(len(part) for part in message['buffers'])\n"
        "get_comm_manager().register_target('sizes', on_open)"
    )
    client.kc.execute("sum(range(30_000_000)); None")
    message = client.kc.session.msg(
        "comm_open", {"comm_id": "c", "target_name": "sizes", "data": {}}
    )
    message["buffers"] = [bytes(25_000_000), bytes(25_000_000)]
    client.kc.session.send(
        client.kc.shell_channel.socket,
        message,
        buffers=message["buffers"],
    )
    client.until_idle(message["header"]["msg_id"], DEADLINE)
    assert client.value("size") == 50_000_000


def test_complete(client: Client) -> None:
    client.run("alpha = albert = 1")
    turn = client.finish(client.kc.complete("al", 2))

    assert {"alpha", "albert"} <= set(turn.content["matches"])
    assert (turn.content["cursor_start"], turn.content["cursor_end"]) == (0, 2)
    assert turn.content["metadata"] is not None
    assert turn.types == ["status", "status"]


def test_complete_counts_code_points(client: Client) -> None:
    client.run("alpha = 1")
    code = "'🎉🎉'; alph"
    turn = client.finish(client.kc.complete(code, len(code)))

    assert "alpha" in turn.content["matches"]
    assert turn.content["cursor_end"] == len(code)
    assert turn.content["cursor_start"] == len(code) - 4


def test_inspect(client: Client) -> None:
    client.run("def f(a):\n    'What f does.'\n    return a")
    found = client.finish(client.kc.inspect("f")).content
    detail = client.finish(client.kc.inspect("f", detail_level=1)).content
    missing = client.finish(client.kc.inspect("nothing_of_the_kind")).content

    assert found["status"] == "ok"
    assert found["found"] is True
    assert "What f does." in found["data"]["text/plain"]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", detail["data"]["text/plain"])
    assert "return a" in plain
    assert missing["found"] is False
    assert missing["data"] == {}


def test_replay_guard(client: Client) -> None:
    codes = ["a = 1", "b = 2", "b = 2", "c = 3\nc"]
    for code in codes:
        client.run(code)
    client.run("quiet = 1", store_history=False)

    def ask(**content: Any) -> list[Any]:
        turn = client.finish(client.kc.history(**content))
        assert turn.status == "ok"
        return turn.content["history"]

    tail = ask(hist_access_type="tail", n=2, raw=True, output=False)
    assert [entry[2] for entry in tail] == ["b = 2", "c = 3\nc"]
    tail = ask(hist_access_type="tail", n=1, raw=True, output=True)
    assert tail[0][2][0] == "c = 3\nc"
    some = ask(
        hist_access_type="range",
        session=0,
        start=1,
        stop=3,
        raw=True,
        output=False,
    )
    assert [entry[1:] for entry in some] == [[1, "a = 1"], [2, "b = 2"]]
    search = {"hist_access_type": "search", "raw": True, "output": False}
    assert len(ask(pattern="b =*", n=10, **search)) == 2
    assert len(ask(pattern="b =*", n=10, unique=True, **search)) == 1


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("2+2", "complete"),
        ("raise = 2", "invalid"),
        ("a = [1,\n2,", "incomplete"),
        ("%%timeit\na\n\n", "complete"),
        ("def f():", "incomplete"),
    ],
)
def test_is_complete(client: Client, code: str, status: str) -> None:
    content = client.finish(client.kc.is_complete(code)).content

    assert content["status"] == status
    assert ("indent" in content) == (status == "incomplete")


def test_kernel_info(client: Client) -> None:
    for channel in ("shell", "control"):
        content = client.ask(channel, "kernel_info_request").content
        assert content["status"] == "ok"
        assert content["protocol_version"] in ("5.4", "5.5")
        assert content["implementation"] == "hearth"
        assert content["language_info"]["name"] == "python"
        assert content["language_info"]["file_extension"] == ".py"
        assert content["banner"]
        assert isinstance(content["supported_features"], list)


def test_connect_request(client: Client, session: Session) -> None:
    import json
    from pathlib import Path

    content = client.ask("shell", "connect_request").content
    file = json.loads(Path(session.connection_file).read_text())
    for key in ("shell", "iopub", "stdin", "control", "hb"):
        assert content[f"{key}_port"] == file[f"{key}_port"]


def test_unknown_type_is_busy_and_idle(client: Client) -> None:
    for channel in ("shell", "control"):
        msg_id = client.send(channel, "no_such_request")
        states = [
            client.iopub(DEADLINE, lambda m: parent_of(m) == msg_id)["content"]
            for _ in range(2)
        ]
        assert states == [
            {"execution_state": "busy"},
            {"execution_state": "idle"},
        ]
    assert client.run("1").result == "1"


def test_comms(client: Client) -> None:
    opened = client.run(
        "from comm import create_comm, get_comm_manager\n"
        "got = []\n"
        "def target(comm, message):\n"
        "    comm.on_msg(lambda m: (got.append(m['content']['data']),\n"
        "                           comm.send({'back': 1})))\n"
        "get_comm_manager().register_target('t', target)\n"
        "c = create_comm(target_name='front', data={'a': 1})\n"
    )
    assert opened.contents("comm_open")[0]["target_name"] == "front"
    info = client.finish(client.kc.comm_info()).content
    assert len(info["comms"]) == 1
    client.send(
        "shell",
        "comm_open",
        {"comm_id": "mine", "target_name": "t", "data": {}},
    )
    msg_id = client.send(
        "shell", "comm_msg", {"comm_id": "mine", "data": {"x": 5}}
    )
    back = client.iopub(DEADLINE, lambda m: m["msg_type"] == "comm_msg")
    assert back["content"]["data"] == {"back": 1}
    assert parent_of(back) == msg_id
    assert client.value("got") == [{"x": 5}]
    info = client.finish(client.kc.comm_info("t")).content
    assert info["comms"] == {"mine": {"target_name": "t"}}
    client.send("shell", "comm_close", {"comm_id": "mine", "data": {}})
    assert client.finish(client.kc.comm_info("t")).content["comms"] == {}


def test_comm_of_an_unknown_target_is_closed(client: Client) -> None:
    client.send(
        "shell",
        "comm_open",
        {"comm_id": "lost", "target_name": "absent", "data": {}},
    )
    closed = client.iopub(DEADLINE, lambda m: m["msg_type"] == "comm_close")
    assert closed["content"]["comm_id"] == "lost"
