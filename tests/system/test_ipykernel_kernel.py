"""What ipykernel's test_kernel.py asks of a kernel, asked of a session.

By the names there, written anew; test_ipykernel_messages.py says of the other
files. What is not here, and why:

================================  =============================================
ipykernel's test                  why not
================================  =============================================
test_sys_path_profile_dir         no profiles of IPython's; test_sys_path
test_capture_fd,                  skipped there; test_outputs has the output of
test_subprocess_peek_at_..._fileno  children and descriptors
test_help_output                  no ipykernel command line; test_cli
test_complete, test_unc_paths     Windows
_is_master_process                ipykernel's class; here a print says the same
test_parent_header_and_ident      kept without the private _parent_ident, and
                                  without control: it never reaches the kernel
================================  =============================================
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from client import Client, parent_of
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from processes import members
from test_ipykernel_messages import check

pytestmark = pytest.mark.warm

# -- printing --


def test_simple_print(client: Client) -> None:
    turn = client.run("print('hi')")

    assert turn.stream() == "hi\n"
    assert turn.stream("stderr") == ""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("1/0", "error"),
        ("class T:\n    def __repr__(self):\n        1 / 0\nT()", "error"),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError:\n"
            "    get_ipython().showtraceback()",
            "ok",
        ),
    ],
    ids=["raised", "repr", "shown"],
)
def test_execute_reply_error_status(
    client: Client, code: str, status: str
) -> None:
    assert client.run(code).status == status


THREAD = """
import threading
from IPython.display import display

ip = get_ipython()
parent = ip.get_parent()
go, done = threading.Event(), threading.Event()

def say(what, number):
    print(what, flush=True)
    display(number)

def work():
    if {parent!r} == "global":
        ip.set_parent(parent)
    elif {parent!r} == "thread-local":
        token = ip.set_thread_parent(parent)
    say("before", 1)
    begun.set()
    go.wait({deadline})
    go.clear()
    say("during", 2)
    if {parent!r} == "thread-local":
        ip.reset_thread_parent(token)
    done.set()
    go.wait({deadline})
    say("after", 3)

begun = threading.Event()
thread = threading.Thread(target=work)
thread.start()
begun.wait({deadline})
"""


@pytest.mark.parametrize(
    ("parent", "places"),
    [
        # In which cell what is said before, during and after appears.
        ("global", [0, 0, 0]),
        ("thread-local", [0, 0, 2]),
        ("none", [0, 1, 2]),
    ],
    ids=["global", "thread-local", "none"],
)
def test_print_to_correct_cell_from_thread(
    client: Client, parent: str, places: list[int]
) -> None:
    cells = [
        THREAD.format(parent=parent, deadline=DEADLINE),
        f"go.set()\ndone.wait({DEADLINE})",
        f"go.set()\nthread.join({DEADLINE})",
    ]
    said: dict[tuple[int, str], str] = {}
    ids = []
    for code in cells:
        ids.append(client.kc.execute(code))
        turn = client.finish(ids[-1])
        assert turn.status == "ok", turn.content
        for message in turn.messages + client.others:
            place = ids.index(parent_of(message) or ids[-1])
            content = message["content"]
            if message["msg_type"] == "stream":
                key, text = (place, "stream"), content["text"]
            elif message["msg_type"] == "display_data":
                key, text = (place, "display"), content["data"]["text/plain"]
            else:
                continue
            said[key] = said.get(key, "") + text
        client.others.clear()
    wanted: dict[tuple[int, str], str] = {}
    for place, word, number in zip(
        places, ["before\n", "during\n", "after\n"], "123"
    ):
        for kind, text in (("stream", word), ("display", number)):
            wanted[place, kind] = wanted.get((place, kind), "") + text
    assert said == wanted


def collect_digits(client: Client, msg_id: str, count: int) -> None:
    """All of them are that cell's. (What waits is merged on its way.)"""
    wanted = "".join(map(str, range(count)))
    seen = ""
    while len(seen) < count:
        message = client.iopub(DEADLINE, lambda m: m["msg_type"] == "stream")
        assert message["content"]["name"] == "stdout"
        assert parent_of(message) == msg_id
        seen += message["content"]["text"]
        assert wanted.startswith(seen)


def test_print_to_correct_cell_from_child_thread(client: Client) -> None:
    msg_id = client.kc.execute(
        "import threading, time\n"
        "parent = get_ipython().get_parent()\n"
        "def child():\n"
        "    get_ipython().set_thread_parent(parent)\n"
        "    for i in range(5):\n"
        "        print(i, end='', flush=True)\n"
        "        time.sleep(0.05)\n"
        "def work():\n"
        "    go.wait()\n"
        "    thread = threading.Thread(target=child)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "go = threading.Event()\n"
        "threading.Thread(target=work).start()\n"
    )
    client.kc.execute("go.set()")
    collect_digits(client, msg_id, 5)


def test_print_to_correct_cell_from_asyncio(client: Client) -> None:
    msg_id = client.kc.execute(
        "import asyncio\n"
        "async def task():\n"
        "    for i in range(5):\n"
        "        print(i, end='', flush=True)\n"
        "        await asyncio.sleep(0.05)\n"
        "kept = asyncio.get_event_loop().create_task(task());\n"
    )
    client.kc.execute("pass")
    collect_digits(client, msg_id, 5)


# -- the process --


def test_sys_path(client: Client) -> None:
    client.run("import sys")
    assert "" in client.value("sys.path")


def test_subprocess_print(client: Client) -> None:
    turn = client.run(
        "import multiprocessing as mp\n"
        "pool = [mp.Process(target=print, args=('hello', i))\n"
        "        for i in range(5)]\n"
        "for p in pool: p.start()\n"
        "for p in pool: p.join()\n"
    )

    lines = turn.stream().splitlines()
    assert sorted(lines) == [f"hello {i}" for i in range(5)]
    assert turn.stream("stderr") == ""
    assert client.run("print(1)").stream() == "1\n"


def test_subprocess_noprint(client: Client) -> None:
    turn = client.run(
        "import multiprocessing as mp\n"
        "pool = [mp.Process(target=range, args=(i,)) for i in range(5)]\n"
        "for p in pool: p.start()\n"
        "for p in pool: p.join()\n"
    )

    assert turn.types == ["status", "execute_input", "status"]
    assert client.run("print(1)").stream() == "1\n"


def test_subprocess_error(client: Client) -> None:
    turn = client.run(
        "import multiprocessing as mp\n"
        "p = mp.Process(target=int, args=('hi',))\n"
        "p.start()\n"
        "p.join()\n"
    )

    assert turn.status == "ok"
    assert turn.stream() == ""
    assert "ValueError" in turn.stream("stderr")
    assert client.run("print(1)").stream() == "1\n"


def test_smoke_faulthandler(client: Client) -> None:
    turn = client.run(
        "import faulthandler, signal\n"
        "faulthandler.enable()\n"
        "faulthandler.register(signal.SIGTERM)\n"
    )

    assert turn.status == "ok", turn.content


# -- input --


def test_raw_input(client: Client) -> None:
    msg_id = client.kc.execute("print(input('prompt> '))", allow_stdin=True)
    request = client.kc.get_stdin_msg(timeout=DEADLINE)
    assert request["msg_type"] == "input_request"
    assert request["content"]["prompt"] == "prompt> "

    client.kc.input("some text")
    turn = client.finish(msg_id)
    assert turn.status == "ok"
    assert turn.stream() == "some text\n"


def interrupted(client: Client, code: str) -> tuple[str, str]:
    """Run a cell that asks and another one, with an interrupt meanwhile."""
    asking = client.kc.execute(code, allow_stdin=True)
    following = client.kc.execute("3 + 4", allow_stdin=True)
    client.kc.get_stdin_msg(timeout=DEADLINE)
    client.send("control", "interrupt_request")
    return asking, following


def test_interrupt_during_input(client: Client) -> None:
    # Also test_interrupt_with_message: a session knows no other interrupt.
    asking, _ = interrupted(client, "input()")
    check(client.reply(asking), "execute_reply", asking)


def test_interrupt_during_pdb_set_trace(client: Client) -> None:
    for msg_id in interrupted(client, "import pdb; pdb.set_trace()"):
        check(client.reply(msg_id), "execute_reply", msg_id)
    assert client.run("3 + 4").result == "7"


# -- history, completeness, display --


def test_save_history(client: Client, session: Session) -> None:
    client.run("a=1")
    client.run('b="abcþ"')
    assert client.run("%hist -f hist.out").status == "ok"

    text = (session.workspace / "hist.out").read_text(encoding="utf-8")
    assert "a=1" in text
    assert 'b="abcþ"' in text


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("2+2", {"status": "complete"}),
        ("raise = 2", {"status": "invalid"}),
        ("a = [1,\n2,", {"status": "incomplete", "indent": ""}),
        ("%%timeit\na\n\n", {"status": "complete"}),
    ],
)
def test_is_complete(client: Client, code: str, wanted: dict[str, Any]) -> None:
    content = client.reply(client.kc.is_complete(code))["content"]

    assert {key: content[key] for key in wanted} == wanted


def test_matplotlib_inline_on_import(client: Client) -> None:
    turn = client.run(
        "import matplotlib, matplotlib.pyplot as plt\n"
        "backend = matplotlib.get_backend()",
        user_expressions={"backend": "backend"},
    )

    found = turn.content["user_expressions"]["backend"]
    assert "backend_inline" in found["data"]["text/plain"]


# -- order --


def test_message_order(client: Client) -> None:
    first = client.run("a = 1").content["execution_count"] + 1
    ids = [client.kc.execute("a += 1\na") for _ in range(100)]
    for count, msg_id in enumerate(ids, first):
        reply = client.kc.get_shell_msg(timeout=DEADLINE)
        assert reply["content"]["status"] == "ok"
        assert reply["content"]["execution_count"] == count
        assert parent_of(reply) == msg_id


def test_control_thread_priority(client: Client, session: Session) -> None:
    asleep = client.kc.execute(
        "import asyncio, os\n"
        "while not os.path.exists('now'): await asyncio.sleep(0.01)"
    )
    shell = [client.kc.execute(f"i = {i}") for i in range(5)]
    session.wait_journaled(shell)
    control = [client.send("control", "kernel_info_request") for _ in shell]
    control_replies = [
        client.reply(msg_id, channel="control") for msg_id in control
    ]

    (session.workspace / "now").touch()
    client.reply(asleep)
    shell_replies = [client.reply(msg_id) for msg_id in shell]
    assert (
        control_replies[-1]["header"]["date"]
        <= shell_replies[0]["header"]["date"]
    )


def as_time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    return datetime.fromisoformat(value.replace("Z", "+00:00"))


def test_sequential_control_messages(client: Client) -> None:
    client.run("import time")
    sleeps = [0.3, 0.2, 0.1]
    ids = [
        client.send(
            "control", "execute_request", {"code": f"time.sleep({seconds})"}
        )
        for seconds in sleeps
    ]
    before = None
    for msg_id, seconds in zip(ids, sleeps):
        reply = client.reply(msg_id, channel="control")
        begin = as_time(reply["metadata"]["started"])
        end = as_time(reply["header"]["date"])
        assert before is None or begin >= before
        assert end >= begin + timedelta(seconds=seconds)
        before = end


# -- the end --


def test_shutdown(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        client.run("a = 1")
        client.kc.shutdown()
        wait_for(lambda: session.show()["state"] == "gone", "the session gone")


def test_shutdown_subprocesses(gateway: Gateway) -> None:
    """Stricter than ipykernel: also a child of another group ends."""
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        client.run(
            "import subprocess\n"
            "children = [\n"
            "    subprocess.Popen(['sleep', '600'], start_new_session=new)\n"
            "    for new in (False, True)]\n"
        )
        assert len(members(namespace)) >= 4
        client.kc.shutdown()
        wait_for(lambda: not members(namespace), "nothing left")


# -- what code can ask --


def test_parent_header_and_ident(client: Client) -> None:
    turn = client.run(
        "k = get_ipython().kernel; p = k.get_parent('shell')\n"
        "print(p['header']['msg_id'], p['header']['session'])"
    )

    msg_id, name = turn.stream().split()
    assert msg_id == parent_of(turn.reply)
    assert name == client.kc.session.session


def test_context_vars(client: Client) -> None:
    client.run(
        "from contextvars import ContextVar\n"
        "var = ContextVar('var', default='default')"
    )
    assert client.run("print(var.get())").stream() == "default\n"
    assert client.run("var.set('set')\nprint(var.get())").stream() == "set\n"
    assert client.run("print(var.get())").stream() == "set\n"
    # Also from and to cells that await.
    client.run("import asyncio; await asyncio.sleep(0); var.set('later')")
    assert client.run("print(var.get())").stream() == "later\n"
    turn = client.run("await asyncio.sleep(0); print(var.get())")
    assert turn.stream() == "later\n"
