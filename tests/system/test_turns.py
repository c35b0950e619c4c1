"""A session as its clients see it: one turn after another."""

from __future__ import annotations

import time

import pytest
from client import Client, parent_of
from deadline import DEADLINE
from harness import Gateway, Session

pytestmark = pytest.mark.warm


def test_execute(client: Client) -> None:
    turn = client.run("1 + 1")

    assert turn.status == "ok"
    assert turn.result == "2"
    assert turn.types == ["status", "execute_input", "execute_result", "status"]
    assert turn.contents("execute_input") == [
        {"code": "1 + 1", "execution_count": 1}
    ]
    assert turn.content["execution_count"] == 1
    assert turn.content["payload"] == []
    assert turn.content["user_expressions"] == {}
    assert turn.reply["metadata"]["started"]


def test_variables_over_clients(session: Session) -> None:
    with session.client() as first:
        assert first.run("x = 41").status == "ok"
    with session.client() as second:
        assert second.run("x + 1").result == "42"
    with session.client() as third, session.client() as fourth:
        assert third.run("x += 1").status == "ok"
        assert fourth.run("x").result == "42"


def test_two_sessions_apart(gateway: Gateway, client: Client) -> None:
    draw = (
        "import random, uuid, secrets, numpy, tempfile\n"
        "str((random.random(), uuid.uuid4(), uuid.uuid1(),"
        " secrets.token_hex(8), numpy.random.random(),"
        " numpy.random.default_rng().random(),"
        " tempfile.mktemp(dir='/x'), hash('hearth')))"
    )
    other_session = gateway.create()
    with other_session.client() as other:
        client.run("secret = 7")
        turn = other.run("secret")
        assert turn.status == "error"
        assert turn.content["ename"] == "NameError"
        mine = client.value(draw).split(", ")
        theirs = other.value(draw).split(", ")
        same = [a for a, b in zip(mine, theirs) if a == b]
        # The hash seed belongs to the process that both were forked from.
        assert not [value for value in same if value != mine[-1]]
    other_session.delete()


def test_error(client: Client) -> None:
    turn = client.run("def f():\n    return 1/0\nf()")

    assert turn.status == "error"
    error = turn.contents("error")[0]
    assert error["ename"] == turn.content["ename"] == "ZeroDivisionError"
    assert error["evalue"] == turn.content["evalue"] == "division by zero"
    assert error["traceback"] == turn.content["traceback"]
    assert "Traceback (most recent call last)" in "\n".join(error["traceback"])
    assert turn.content["execution_count"] == 1
    assert turn.types == ["status", "execute_input", "error", "status"]


@pytest.mark.parametrize(
    ("code", "ename"),
    [
        ("raise = 2", "SyntaxError"),
        ("class E(Exception): pass\nraise E('own')", "E"),
        ("class R:\n    def __repr__(self): 1/0\nR()", "ZeroDivisionError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_error_kinds(client: Client, code: str, ename: str) -> None:
    turn = client.run(code)

    assert turn.status == "error"
    assert turn.content["ename"] == ename
    assert client.run("'alive'").result == "'alive'"


def test_silent(client: Client) -> None:
    client.run("1")
    turn = client.run("x = 5\nx", silent=True)

    assert turn.types == ["status", "status"]
    assert turn.content["execution_count"] == 1
    assert client.is_silent()
    assert client.run("x").content["execution_count"] == 2


def test_store_history_false(client: Client) -> None:
    client.run("1")
    turn = client.run("2", store_history=False)

    assert turn.content["execution_count"] == 1
    assert client.run("3").content["execution_count"] == 2


def test_blank_code(client: Client) -> None:
    assert client.run("").content["execution_count"] == 0
    assert client.run(" \n").status == "ok"
    assert client.run("1").content["execution_count"] == 1


def test_user_expressions(client: Client) -> None:
    turn = client.run(
        "x = 1", user_expressions={"sum": "x + 1", "bad": "nothing"}
    )

    expressions = turn.content["user_expressions"]
    assert expressions["sum"] == {
        "status": "ok",
        "data": {"text/plain": "2"},
        "metadata": {},
    }
    assert expressions["bad"]["status"] == "error"
    assert expressions["bad"]["ename"] == "NameError"


def test_async(client: Client) -> None:
    turn = client.run(
        "import asyncio\n"
        "async def later():\n"
        "    await asyncio.sleep(0.05)\n"
        "    return 'done'\n"
        "await later()\n"
    )
    assert turn.result == "'done'"
    client.run(
        "log = []\n"
        "async def tick():\n"
        "    while True:\n"
        "        log.append(1)\n"
        "        await asyncio.sleep(0.01)\n"
        "task = asyncio.create_task(tick())\n"
    )
    # It goes on between cells, without requests.
    end = time.monotonic() + DEADLINE
    while client.value("len(log)") < 5:
        assert time.monotonic() < end
    assert client.run("task.cancel()").result == "True"


def test_magics(client: Client) -> None:
    assert "loop" in client.run("%timeit -n 1 -r 1 1").stream()
    assert "Wall time" in client.run("%time 1").stream()
    assert client.run("%%bash\necho from bash").stream() == "from bash\n"
    client.run("%%capture got\nprint('hidden')")
    assert client.value("got.stdout") == "hidden\n"
    client.run("open('script.py', 'w').write('made = 3')")
    assert client.run("%run script.py").status == "ok"
    assert client.run("made").result == "3"


def test_payloads(client: Client) -> None:
    page = client.run("len?").content["payload"]
    assert [p["source"] for p in page] == ["page"]
    assert "text/plain" in page[0]["data"]
    following = client.run(
        "ip = get_ipython()\n"
        "ip.set_next_input('a')\n"
        "ip.set_next_input('b', replace=True)\n"
    ).content["payload"]
    assert following == [
        {"source": "set_next_input", "text": "b", "replace": True}
    ]


def test_order_of_a_hundred_cells(client: Client) -> None:
    wanted = [client.kc.execute(f"print({n})") for n in range(100)]
    replies = [client.kc.get_shell_msg(timeout=DEADLINE) for _ in wanted]

    assert [parent_of(reply) for reply in replies] == wanted
    counts = [reply["content"]["execution_count"] for reply in replies]
    assert counts == list(range(1, 101))
    text = ""
    while not text.endswith("99\n"):
        message = client.kc.get_iopub_msg(timeout=DEADLINE)
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
    assert text == "".join(f"{n}\n" for n in range(100))


def test_execute_on_control(client: Client) -> None:
    turn = client.ask("control", "execute_request", {"code": "6 * 7"})

    assert turn.status == "ok"
    assert turn.result == "42"
    assert turn.reply["metadata"]["started"]


def test_every_message_is_whole(client: Client) -> None:
    """Check the members that validating clients require."""
    turn = client.run("print(1)\ndisplay(2)\n3")

    seen = set()
    for message in [*turn.messages, turn.reply]:
        header = message["header"]
        assert set(header) >= {
            "msg_id",
            "session",
            "username",
            "date",
            "msg_type",
            "version",
        }
        assert header["msg_id"] not in seen
        seen.add(header["msg_id"])
        assert isinstance(message["metadata"], dict)
        assert header["version"] in ("5.4", "5.5")


def test_repeated_message_id_is_run_once(client: Client) -> None:
    message = client.kc.session.msg(
        "execute_request",
        {"code": "n = globals().get('n', 0) + 1\nprint('ran')"},
    )
    client.kc.shell_channel.send(message)
    first = client.finish(message["header"]["msg_id"])
    assert client.run("print('another')").stream() == "another\n"
    # The same request under a signature of its own: a client that repeats.
    message["metadata"] = {"again": True}
    client.kc.shell_channel.send(message)
    second = client.finish(message["header"]["msg_id"])

    assert first.stream() == second.stream() == "ran\n"
    assert second.content == first.content
    assert client.run("n").result == "1"


def test_a_message_id_of_another_request_is_refused(client: Client) -> None:
    """Whether the other one has ended or not: never the first one's answer."""
    message = client.kc.session.msg(
        "execute_request", {"code": "print('first')"}
    )
    client.kc.shell_channel.send(message)
    assert client.finish(message["header"]["msg_id"]).stream() == "first\n"
    message["content"] = {"code": "print('second')"}
    client.kc.shell_channel.send(message)
    turn = client.finish(message["header"]["msg_id"])
    assert turn.stream() == ""
    assert turn.content["ename"] == "BadRequest"
    assert "msg_id" in turn.content["evalue"]


def test_a_cell_bigger_than_a_socket_takes_at_once(client: Client) -> None:
    turn = client.run("#" + "x" * 3_000_000 + "\n7")
    assert turn.result == "7"
    assert client.value("1 + 1") == 2


FORKS = """
import os, threading
held = threading.Event()
beside = threading.Thread(target=held.wait, daemon=True)
beside.start()
ours, theirs = os.pipe()
if (pid := os.fork()) == 0:
    os.write(theirs, str(threading.active_count()).encode())
    os._exit(0)
os.waitpid(pid, 0)
print(threading.active_count(), os.read(ours, 9).decode())
held.set()
"""


def test_a_fork_of_a_cell_leaves_its_threads_behind(session: Session) -> None:
    assert session.exec(FORKS).stdout == "2 1\n"
