"""`hearth exec`, as scripts and people use it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import time

import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway, Session

pytestmark = pytest.mark.warm


def test_exec(session: Session) -> None:
    done = session.exec("print('hello')\n6 * 7")

    assert done.returncode == 0
    assert done.stdout == "hello\n42\n"
    assert done.stderr == ""
    assert session.exec("x = 6").returncode == 0
    assert session.exec("x").stdout == "6\n"


def test_exec_of_a_file_and_of_stdin(
    gateway: Gateway, session: Session
) -> None:
    script = gateway.folder / "script.py"
    script.write_text("print('from a file')")
    done = gateway.run("exec", session.id, str(script))
    assert (done.returncode, done.stdout) == (0, "from a file\n")
    done = gateway.run("exec", session.id, "-", stdin="print('from stdin')")
    assert (done.returncode, done.stdout) == (0, "from stdin\n")
    done = gateway.run("exec", session.id, stdin="print('too')")
    assert (done.returncode, done.stdout) == (0, "too\n")


def test_exec_streams_apart(session: Session) -> None:
    done = session.exec("import sys\nprint('o')\nprint('e', file=sys.stderr)")

    assert done.stdout == "o\n"
    assert done.stderr == "e\n"


def test_exec_shows_output_as_it_comes(
    gateway: Gateway, session: Session
) -> None:
    running = gateway.begin(
        "exec",
        session.id,
        "-c",
        "import os, time\nprint('first')\n"
        "while not os.path.exists('go'): time.sleep(0.01)",
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "first\n"
    (session.workspace / "go").touch()
    assert running.wait(DEADLINE) == 0


def test_exec_error(session: Session) -> None:
    done = session.exec("1/0")

    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout == ""
    assert "\x1b" not in done.stderr


def test_exec_gone(gateway: Gateway, session: Session) -> None:
    session.delete()
    session.wait_state("gone")
    done = session.exec("1")
    assert done.returncode == 3
    assert "deleted" in done.stderr
    unknown = gateway.run("exec", "no-such-session", "-c", "1")
    assert unknown.returncode == 3
    assert "no-such-session" in unknown.stderr


def test_exec_gone_by_itself(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "1s")
    session.wait_state("gone")
    done = session.exec("1")
    assert done.returncode == 3
    assert "idle" in done.stderr
    assert "variables" in done.stderr


def test_exec_timeout(session: Session) -> None:
    session.exec("kept = 1")
    done = session.exec("while True: pass", "--timeout", "1")

    assert done.returncode == 124
    assert "preserved" in done.stderr
    assert session.exec("kept").stdout == "1\n"


def test_exec_kernel_dies(gateway: Gateway) -> None:
    session = gateway.create()
    done = session.exec("import os; os._exit(9)")

    assert done.returncode in (1, 3)
    assert "9" in done.stderr


def test_exec_json(session: Session) -> None:
    done = session.exec("print('a')\n1 + 1", "--json")
    document = json.loads(done.stdout)

    assert document["status"] == "ok"
    assert document["session"] == session.id
    assert [o["output_type"] for o in document["outputs"]] == [
        "stream",
        "execute_result",
    ]
    failed = json.loads(session.exec("1/0", "--json").stdout)
    assert failed["status"] == "error"
    assert failed["ename"] == "ZeroDivisionError"
    assert failed["traceback"]


def test_exec_has_a_display_in_its_last_form_in_each_place(
    session: Session,
) -> None:
    code = (
        "h = display('one', display_id=True)\nprint('be', end='')\n"
        "print('tween')\ndisplay('one', display_id=h.display_id)\n"
        "h.update('two')\nprint('after')"
    )
    outputs = json.loads(session.exec(code, "--json").stdout)["outputs"]
    assert [o.get("text") or o["data"]["text/plain"] for o in outputs] == [
        "'two'",
        "between\n",
        "'two'",
        "after\n",
    ]
    assert all("transient" not in output for output in outputs)
    shown = session.exec(code, "--for-model").stdout.splitlines()[1:]
    assert shown == ["'two'", "between", "'two'", "after"]
    later = json.loads(session.exec("h.update('three')", "--json").stdout)
    assert later["outputs"] == []
    pages = json.loads(session.exec("print(1)\nprint?", "--json").stdout)
    assert len(pages["outputs"]) == 2
    assert "Prints the values" in pages["outputs"][1]["data"]["text/plain"]


def test_exec_for_a_model(gateway: Gateway, session: Session) -> None:
    done = session.exec(
        "import pandas as pd\nprint('\\x1b[31mred')\n"
        "pd.DataFrame({'a': [1.5]})",
        "--for-model",
    )
    head, *rest = done.stdout.splitlines()
    assert re.fullmatch(
        rf"\[1\] ok [\d.]+ (ms|s) · session {session.id[:8]} · \+pd", head
    ), head
    assert rest == ["red", "DataFrame 1 \u00d7 1", "a:float64", "1.5"]
    failed = session.exec("1/0", "--for-model")
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[1:] == [
        "cell 2 line 1: 1/0",
        "ZeroDivisionError: division by zero",
    ]
    both = session.exec("1", "--for-model", "--json")
    assert both.returncode == 2
    assert "--for-model" in both.stderr
    gateway.run("session", "delete", session.id)
    gone = session.exec("1", "--for-model")
    assert gone.returncode == 3
    assert re.fullmatch(
        rf"\[[\d-]+\] STATE LOST .*session {session.id[:8]} · kernel ended .*; "
        r"files kept\n",
        gone.stdout,
    ), gone.stdout


def test_exec_shows_numbers_of_any_size(
    gateway: Gateway, session: Session
) -> None:
    code = (
        "from IPython.display import display\n"
        "many = {'whole': 10**30, 'more': 10**400, 'text': 'a\\0b'}\n"
        "display({'application/json': many, 'text/plain': 'many'}, raw=True)"
    )
    assert "many" in session.exec(code).stdout
    document = json.loads(session.exec(code, "--json").stdout)
    wanted = {"whole": 1e30, "more": str(10**400), "text": "a\0b"}
    assert document["outputs"][0]["data"]["application/json"] == wanted
    exported = session.notebook()["cells"][-1]["outputs"][0]["data"]
    assert exported["application/json"] == wanted


def test_exec_output_dir(gateway: Gateway, session: Session) -> None:
    folder = gateway.folder / "plots"
    done = session.exec(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "--output-dir",
        str(folder),
    )

    assert done.returncode == 0
    assert (folder / "1.png").read_bytes().startswith(b"\x89PNG")
    session.exec("plt.plot([2, 1]);", "--output-dir", str(folder))
    assert (folder / "2.png").exists()


def test_exec_in_a_terminal(gateway: Gateway, session: Session) -> None:
    """Colours, and the answer to a question."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(
            HEARTH,
            [HEARTH, "exec", session.id, "-c", "print(input('who? '))\n1/0"],
            {**gateway.env, "TERM": "xterm"},
        )
    seen = b""
    answered = False
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if b"who? " in seen and not answered:
            answered = True
            os.write(master, b"Grace\n")
    os.close(master)
    _, status = os.waitpid(pid, 0)
    assert b"Grace\r\nGrace" in seen.replace(b"\r\r", b"\r"), seen
    assert b"\x1b[" in seen
    assert os.waitstatus_to_exitcode(status) == 1


def test_exec_interrupted(gateway: Gateway, session: Session) -> None:
    running = gateway.begin(
        "exec",
        session.id,
        "-c",
        "kept = 2\nprint('go')\nimport time; time.sleep(600)",
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "go\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=DEADLINE)
    assert running.returncode in (1, 130)
    assert session.exec("kept").stdout == "2\n"
