"""A session as its clients see it: one turn after another."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from harness import DEADLINE, Client, Gateway, Message, Session, parent_of


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


def test_two_clients_see_the_same_output(session: Session) -> None:
    with session.client() as one, session.client() as other:
        msg_id = one.kc.execute("print('for all')")
        one.finish(msg_id)
        seen = other.iopub(
            DEADLINE,
            lambda m: parent_of(m) == msg_id and m["msg_type"] == "stream",
        )
        assert seen["content"] == {"name": "stdout", "text": "for all\n"}


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


def test_streams(client: Client) -> None:
    turn = client.run(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('end')"
    )

    assert turn.stream() == "out\nend\n"
    assert turn.stream("stderr") == "err\n"


def test_stream_shows_before_the_cell_ends(client: Client) -> None:
    msg_id = client.kc.execute(
        "import sys, time\n"
        "sys.stdout.write('partial')\n"
        "go = False\n"
        "for i in range(3000):\n"
        "    time.sleep(0.01)\n"
    )
    begun = client.stream_until(msg_id, "partial")
    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)
    assert turn.content["ename"] == "KeyboardInterrupt"


def test_output_of_children_and_descriptors(client: Client) -> None:
    turn = client.run(
        "import os, subprocess\n"
        "os.write(1, b'raw\\n')\n"
        "subprocess.run(['echo', 'child'])\n"
        "subprocess.run('echo wrong >&2', shell=True)\n"
        "!echo shell\n"
    )

    assert sorted(turn.stream().split()) == ["child", "raw", "shell"]
    assert turn.stream("stderr") == "wrong\n"


def test_output_of_threads(client: Client) -> None:
    turn = client.run(
        "import threading\n"
        "def work(n):\n"
        "    print('thread', n)\n"
        "ts = [threading.Thread(target=work, args=(n,)) for n in range(5)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts];\n"
    )

    assert sorted(turn.stream().split("\n"))[1:] == [
        f"thread {n}" for n in range(5)
    ]


def test_unicode(client: Client) -> None:
    text = 'ä 日本 🎉 \u2028 \\ " \x00 </script>'
    assert client.run(f"print({text!r})").stream() == text + "\n"
    assert client.value(repr(text)) == text


def test_lone_surrogates_and_broken_bytes(client: Client) -> None:
    turn = client.run("import os\nos.write(1, b'a\\xffb\\n')\nprint('\\ud800')")

    assert turn.status in ("ok", "error")
    assert turn.stream().startswith("a\ufffdb\n")
    assert client.run("1").result == "1"


def test_many_lines(client: Client) -> None:
    turn = client.run("for i in range(20000): print(i)")

    assert turn.stream() == "".join(f"{i}\n" for i in range(20000))


def test_large_output(client: Client) -> None:
    turn = client.run("print('x' * 20_000_000)")

    assert len(turn.stream()) == 20_000_001


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


def test_stop_on_error(client: Client) -> None:
    failing = client.kc.execute("import asyncio; await asyncio.sleep(1); 1/0")
    second = client.kc.execute("print('second')")
    info = client.kc.kernel_info()
    third = client.kc.execute("print('third')")

    assert client.reply(failing)["content"]["status"] == "error"
    replies: dict[Any, Message] = {}
    for _ in range(3):
        message = client.kc.get_shell_msg(timeout=DEADLINE)
        replies[parent_of(message)] = message
    assert replies[second]["content"]["status"] == "aborted"
    assert replies[third]["content"]["status"] == "aborted"
    assert replies[info]["content"]["status"] == "ok"
    assert client.run("print('fresh')").stream() == "fresh\n"


def test_stop_on_error_false(client: Client) -> None:
    failing = client.kc.execute(
        "import asyncio; await asyncio.sleep(0.5); 1/0", stop_on_error=False
    )
    second = client.kc.execute("print('second')")

    assert client.finish(failing).status == "error"
    assert client.finish(second).stream() == "second\n"


def test_what_follows_a_failure_runs(client: Client) -> None:
    """Who knows of the failure already is not aborted for it."""
    for number in range(100):
        assert client.run("1/0").status == "error"
        assert client.run(str(number)).result == str(number)


def test_aborted_is_busy_then_idle(client: Client) -> None:
    client.kc.execute("import time; time.sleep(0.5); 1/0")
    aborted = client.finish(client.kc.execute("1"))

    assert aborted.status == "aborted"
    assert aborted.types == ["status", "status"]


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


def test_stdin_goes_to_the_one_who_asked(session: Session) -> None:
    with session.client() as asker, session.client() as other:
        msg_id = asker.kc.execute("input('? ')", allow_stdin=True)
        asker.kc.get_stdin_msg(timeout=DEADLINE)
        other.kc.input("not mine to give")
        asker.kc.input("mine")
        assert asker.finish(msg_id).result == "'mine'"


def test_stdin_not_allowed(client: Client) -> None:
    turn = client.run("input('? ')", allow_stdin=False)

    assert turn.content["ename"] == "StdinNotImplementedError"


def test_interrupt_of_input(client: Client) -> None:
    msg_id = client.kc.execute("input('? ')", allow_stdin=True)
    client.kc.get_stdin_msg(timeout=DEADLINE)
    interrupt = client.ask("control", "interrupt_request")

    assert interrupt.status == "ok"
    turn = client.finish(msg_id)
    assert turn.content["ename"] == "KeyboardInterrupt"
    assert client.run("1").result == "1"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(600)",
        "import numpy\nwhile True: numpy.arange(100000).sum()",
        "import asyncio; await asyncio.sleep(600)",
        "import subprocess; subprocess.run(['sleep', '600'])",
        "!sleep 600",
    ],
    ids=["loop", "sleep", "numpy", "await", "child", "shell"],
)
def test_interrupt(client: Client, code: str) -> None:
    msg_id = client.kc.execute(f"kept = 1\nprint('go', flush=True)\n{code}")
    begun = client.stream_until(msg_id, "go")
    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)

    if "sleep 600" not in code:
        assert turn.status == "error"
        assert turn.content["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert client.run("kept").result == "1"


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


def test_interrupt_when_idle(client: Client) -> None:
    client.run("kept = 1")
    assert client.ask("control", "interrupt_request").status == "ok"
    assert client.run("kept").result == "1"


def test_interrupt_aborts_what_waits(client: Client) -> None:
    msg_id = client.kc.execute("print('go')\nimport time; time.sleep(600)")
    waiting = client.kc.execute("1")
    begun = client.stream_until(msg_id, "go")
    client.send("control", "interrupt_request")

    assert client.finish(msg_id, begun=begun).status == "error"
    assert client.finish(waiting).status == "aborted"


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


def test_history(client: Client) -> None:
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


def test_control_answers_while_busy(client: Client) -> None:
    msg_id = client.kc.execute("print('go')\nimport time; time.sleep(600)")
    begun = client.stream_until(msg_id, "go")
    asked = client.send("control", "kernel_info_request")

    assert client.reply(asked, channel="control")["content"]["status"] == "ok"
    client.send("control", "interrupt_request")
    assert client.finish(msg_id, begun=begun).status == "error"


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
        {"comm_id": "lost", "target_name": "nobody", "data": {}},
    )
    closed = client.iopub(DEADLINE, lambda m: m["msg_type"] == "comm_close")
    assert closed["content"]["comm_id"] == "lost"


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


def test_display_updates(client: Client) -> None:
    turn = client.run(
        "from IPython.display import display, clear_output\n"
        "h = display('one', display_id='d')\n"
        "h.update('two')\n"
        "clear_output(wait=True)\n"
    )

    shown = turn.contents("display_data")[0]
    updated = turn.contents("update_display_data")[0]
    assert shown["transient"] == updated["transient"] == {"display_id": "d"}
    assert shown["data"] == {"text/plain": "'one'"}
    assert updated["data"] == {"text/plain": "'two'"}
    assert turn.contents("clear_output") == [{"wait": True}]


def test_update_in_a_later_turn(client: Client) -> None:
    client.run("h = display('one', display_id=True)")
    later = client.kc.execute("h.update('two')")

    assert "update_display_data" in client.finish(later).types


def test_png_plot(client: Client) -> None:
    import base64

    turn = client.run(
        "import matplotlib.pyplot as plt\n"
        "print('before')\n"
        "plt.plot([1, 2, 3]);\n"
    )

    assert turn.status == "ok", turn.content
    shown = turn.contents("display_data")
    assert len(shown) == 1
    png = base64.b64decode(shown[0]["data"]["image/png"])
    assert png.startswith(b"\x89PNG\r\n")
    width, height = (
        int.from_bytes(png[16:20], "big"),
        int.from_bytes(png[20:24], "big"),
    )
    assert shown[0]["metadata"]["image/png"] == {
        "width": width,
        "height": height,
    }
    assert shown[0]["data"]["text/plain"].startswith("<Figure size")
    assert turn.types.index("display_data") > turn.types.index("stream")


def test_svg_plot(client: Client) -> None:
    turn = client.run(
        "%config InlineBackend.figure_formats = ['svg']\n"
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2, 3]);\n"
    )

    assert "<svg" in turn.contents("display_data")[0]["data"]["image/svg+xml"]


def test_pandas_table(client: Client) -> None:
    turn = client.run("import pandas\npandas.DataFrame({'a': [1, 2]})")

    data = turn.contents("execute_result")[0]["data"]
    assert "<table" in data["text/html"]
    assert data["text/plain"].split() == ["a", "0", "1", "1", "2"]


def test_rich_types(client: Client) -> None:
    turn = client.run(
        "from IPython.display import *\n"
        "display(HTML('<b>x</b>'), Markdown('*x*'), Latex('$x$'),\n"
        "        JSON({'a': [1]}), SVG('<svg/>'), Javascript('1'))\n"
    )

    types = [set(c["data"]) for c in turn.contents("display_data")]
    for wanted in (
        "text/html",
        "text/markdown",
        "text/latex",
        "application/json",
        "image/svg+xml",
        "application/javascript",
    ):
        assert any(wanted in shown for shown in types), wanted
    for content in turn.contents("display_data"):
        if "application/json" in content["data"]:
            assert content["data"]["application/json"] == {"a": [1]}


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
    # It goes on between cells, with nobody asking.
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


def test_order_of_messages(client: Client) -> None:
    turn = client.run(
        "print('a')\ndisplay(1)\nprint('b')\ndisplay(2)\nprint('c')\n3"
    )

    assert turn.types == [
        "status",
        "execute_input",
        "stream",
        "display_data",
        "stream",
        "display_data",
        "stream",
        "execute_result",
        "status",
    ]


def test_execute_on_control(client: Client) -> None:
    turn = client.ask("control", "execute_request", {"code": "6 * 7"})

    assert turn.status == "ok"
    assert turn.result == "42"
    assert turn.reply["metadata"]["started"]


def test_heartbeat(client: Client) -> None:
    msg_id = client.kc.execute("import time; time.sleep(600)")
    client.iopub(
        DEADLINE,
        lambda m: parent_of(m) == msg_id and m["msg_type"] == "execute_input",
    )
    client.kc.hb_channel.unpause()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        assert client.kc.hb_channel.is_beating()
        time.sleep(0.5)
    client.send("control", "interrupt_request")
    assert client.finish(msg_id).status == "error"


def test_every_message_is_whole(client: Client) -> None:
    """What validating front ends insist on."""
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
    # The same request under a signature of its own: a client that repeats.
    message["metadata"] = {"again": True}
    client.kc.shell_channel.send(message)
    second = client.finish(message["header"]["msg_id"])

    assert first.stream() == second.stream() == "ran\n"
    assert second.content == first.content
    assert client.run("n").result == "1"


def test_a_cell_bigger_than_a_socket_takes_at_once(client: Client) -> None:
    turn = client.run("#" + "x" * 3_000_000 + "\n7")
    assert turn.result == "7"
    assert client.value("1 + 1") == 2
