"""Cells: results, errors, counts, streams, displays."""

import base64
import re

import pytest

from gateway import kinds, only, text


def test_a_value_is_a_result_and_a_reply(kernel):
    events = kernel.run("1+1")
    assert kinds(events) == ["RESULT", "REPLY"]
    assert events[0].content == {
        "execution_count": 1,
        "data": {"text/plain": "2"},
        "metadata": {},
    }
    reply = events[1]
    assert reply.content["status"] == "ok"
    assert reply.content["execution_count"] == 1
    assert reply.content["user_expressions"] == {}
    assert reply.content["payload"] == []
    assert reply.metadata["next_count"] == 2
    assert reply.metadata["started"].endswith("Z")
    assert reply.metadata["hearth"]["rss_kib"] > 1000


def test_ready_is_the_first_event(kernel):
    ready = kernel.ready
    assert ready.seq == 1
    assert ready.content["language_info"]["name"] == "python"
    assert ready.content["protocol_version"] == "5.5"
    assert "IPython" in ready.content["banner"]
    assert ready.metadata == {"next_count": 1}


def test_an_error_is_published_once_and_replied(kernel):
    events = kernel.run("1/0")
    assert kinds(events) == ["ERROR", "REPLY"]
    error, reply = events[0].content, events[1].content
    assert reply["status"] == "error"
    assert error["ename"] == reply["ename"] == "ZeroDivisionError"
    assert error["traceback"] == reply["traceback"]
    assert "\x1b[" in "\n".join(error["traceback"])
    assert "Cell In[1], line 1" in strip("\n".join(error["traceback"]))


def strip(coloured):
    return re.sub(r"\x1b\[[0-9;]*m", "", coloured)


def test_errors_of_every_kind(kernel):
    for code, name in [
        ("def f(:", "SyntaxError"),
        ("  x\n y", "IndentationError"),
        ("%nosuchmagic", "UsageError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("def f(): f()\nf()", "RecursionError"),
        ("%pip install x", "UsageError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        (
            "class E(Exception):\n def __str__(self): return 1/0\nraise E",
            "E",
        ),
    ]:
        events = kernel.run(code)
        assert only(events, "ERROR").content["ename"] == name, code
        assert events[-1].content["status"] == "error", code
        assert events[-1].content["ename"] == name, code
    assert kernel.value("2") == "2"


def test_an_exception_group(kernel):
    if kernel.value("hasattr(__builtins__, 'ExceptionGroup')") == "False":
        return
    events = kernel.run("raise ExceptionGroup('g', [ValueError(1)])")
    assert only(events, "ERROR").content["ename"] == "ExceptionGroup"


def test_a_fault_in_a_formatter_fails_the_cell(kernel):
    code = "class R:\n def __repr__(self): raise ValueError('no')\nR()"
    events = kernel.run(code)
    assert events[-1].content["status"] == "error"
    assert only(events, "ERROR").content["ename"] == "ValueError"


def test_showing_a_traceback_fails_nothing(kernel):
    code = "try:\n 1/0\nexcept Exception:\n get_ipython().showtraceback()"
    events = kernel.run(code)
    assert events[-1].content["status"] == "ok"


def test_execution_counts(kernel):
    def counts(code, **options):
        events = kernel.run(code, **options)
        results = [e for e in events if e.kind == "RESULT"]
        return (
            results[0].content["execution_count"] if results else None,
            events[-1].content["execution_count"],
            events[-1].metadata["next_count"],
        )

    assert counts("1", silent=True) == (None, 0, 1)
    assert counts("   ") == (None, 0, 1)
    assert counts("1") == (1, 1, 2)
    assert counts("1/0") == (None, 2, 3)
    assert counts("5", store_history=False) == (2, 2, 3)
    assert counts("5") == (3, 3, 4)


def test_a_semicolon_is_quiet(kernel):
    assert kinds(kernel.run("5;")) == ["REPLY"]
    assert kinds(kernel.run("None")) == ["REPLY"]


def test_printing(kernel):
    events = kernel.run("print('hi')")
    assert kinds(events) == ["STREAM", "REPLY"]
    assert events[0].content == {"name": "stdout", "text": "hi\n"}


def test_streams_keep_their_order(kernel):
    events = kernel.run(
        "import sys, subprocess, os\n"
        "print('a'); subprocess.run(['echo', 'b']); print('c')\n"
        "os.system('echo d'); print('e'); os.write(1, b'f\\n'); print('g')\n"
        "print('x', file=sys.stderr); print('h')\n"
        "sys.stdout.buffer.write(b'i\\n'); print('j')\n"
        "5"
    )
    assert text(events) == "".join(f"{c}\n" for c in "abcdefghij")
    assert text(events, "stderr") == "x\n"
    assert kinds(events)[-2:] == ["RESULT", "REPLY"]


def test_code_that_is_no_text(kernel):
    events = kernel.run(
        "import os\nos.write(1, b'\\xff\\xc3')\nos.write(1, b'\\xa4\\n')"
    )
    assert text(events) == "\ufffdä\n"
    events = kernel.run("print('\\ud800|\\0|\"\\\\|\\U0001f600')")
    assert text(events) == '?|\0|"\\|\U0001f600\n'


def test_an_integer_that_clients_cannot_read_is_text(kernel):
    events = kernel.run(
        "import sys\n"
        "getattr(sys, 'set_int_max_str_digits', int)(0)\n"
        "n = 10**4300\n"
        "display({'application/json': [n, [-n], n - 1, True]}, raw=True)"
    )
    (display,) = [e for e in events if e.kind == "DISPLAY"]
    long = "1" + 4300 * "0"
    assert display.content["data"]["application/json"] == [
        long,
        ["-" + long],
        10**4300 - 1,
        True,
    ]


def test_flushed_prints_are_messages_of_their_own(kernel):
    events = kernel.run("for i in range(20): print(i, flush=True)")
    parts = [e.content["text"] for e in events if e.kind == "STREAM"]
    assert parts == [f"{i}\n" for i in range(20)]


def test_a_partial_line_is_seen(kernel):
    request = kernel.execute(
        "import os, sys, time\nsys.stdout.write('part')\n"
        "while not os.path.exists('now'): time.sleep(0.01)"
    )
    assert kernel.event().content["text"] == "part"
    kernel.path.with_name("now").touch()
    kernel.until_reply(request)


def test_much_text(kernel):
    events = kernel.run("print('é' * 3_000_000)")
    assert text(events) == "é" * 3_000_000 + "\n"
    assert all(
        len(e.content["text"].encode()) <= 1 << 20
        for e in events
        if e.kind == "STREAM"
    )


def test_many_prints_are_few_messages(kernel):
    events = kernel.run("for i in range(20000): print(i)")
    assert text(events) == "".join(f"{i}\n" for i in range(20000))
    assert len(events) < 1000


def test_displays_and_updates(kernel):
    events = kernel.run(
        "from IPython.display import *\n"
        "h = display(HTML('<b>1</b>'), display_id='me')\n"
        "h.update(HTML('<b>2</b>'))\n"
        "clear_output(wait=True)\n"
        "display({'text/plain': 'raw'}, raw=True, metadata={'a': 1})"
    )
    assert kinds(events) == ["DISPLAY", "UPDATE", "CLEAR", "DISPLAY", "REPLY"]
    assert events[0].content["transient"] == {"display_id": "me"}
    assert events[0].content["data"]["text/html"] == "<b>1</b>"
    assert events[1].content["transient"] == {"display_id": "me"}
    assert events[2].content == {"wait": True}
    assert events[3].content["metadata"] == {"a": 1}


def test_output_that_the_gateway_would_refuse_is_an_error_of_the_cell(kernel):
    for code in [
        "display({'nonsense': 1}, raw=True)",
        "x = []\nfor i in range(200): x = [x]\n"
        "display({'application/json': x}, raw=True)",
        "display({'text/plain': object()}, raw=True)",
        "display({'image/png': '<svg/>'}, raw=True)",
        "display({'image/png': 'abc'}, raw=True)",
        "display({'image/gif': None}, raw=True)",
        "display({'application/pdf': 'ab=c'}, raw=True)",
        "display({'text/plain': 'x'}, raw=True, update=True)",
    ]:
        events = kernel.run(code)
        assert events[-1].content["status"] == "error", code
    events = kernel.run(
        "display({'application/json': [float('nan'), b'x', {1, 1}]}, raw=True)"
    )
    data = only(events, "DISPLAY").content["data"]["application/json"]
    assert data == ["nan", "eA==", [1]]


@pytest.mark.parametrize(
    "code",
    [
        "b'picture' * 99",
        "base64.b64encode(b'picture' * 99).decode()",
        "base64.encodebytes(b'picture' * 99).decode()",
    ],
)
def test_a_picture_is_bytes_or_base64(kernel, code):
    events = kernel.run(
        f"import base64\ndisplay({{'image/png': {code}}}, raw=True)"
    )
    data = only(events, "DISPLAY").content["data"]["image/png"]
    assert base64.b64decode(data) == b"picture" * 99


@pytest.mark.parametrize("code", ["p", "text", "lines"])
@pytest.mark.parametrize("others", ["", "'text/plain': 'Ü\\n\"',"])
def test_a_large_picture_goes_around_the_encoder_whole(kernel, code, others):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1000
    events = kernel.run(
        f"import base64\np = {picture[:8]!r} + bytes(range(256)) * 1000\n"
        "text = base64.b64encode(p).decode()\n"
        "lines = base64.encodebytes(p).decode()\n"
        f"display({{{others} 'image/png': {code}, 'image/gif': {code}}}, "
        "metadata={'a': 1}, raw=True)"
    )
    shown = only(events, "DISPLAY").content
    data = shown["data"]
    assert data.pop("image/png") == data["image/gif"]
    assert base64.b64decode(data.pop("image/gif")) == picture
    assert data == ({"text/plain": 'Ü\n"'} if others else {})
    assert shown["metadata"]["a"] == 1
    assert shown["transient"] == {}


def test_a_frame_is_html_and_text(kernel):
    events = kernel.run("import pandas as pd\npd.DataFrame({'a': [1]})")
    data = only(events, "RESULT").content["data"]
    assert "<table" in data["text/html"]
    assert "text/plain" in data


def test_figures_are_shown_also_after_an_error(kernel):
    events = kernel.run(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\n"
        "plt.plot([1, 2])\nprint('x')\n1/0"
    )
    figure = only(events, "DISPLAY").content
    assert figure["data"]["image/png"].startswith("iVBORw0KGgo")
    assert figure["metadata"]["image/png"]["width"] > 100
    assert events[-1].content["status"] == "error"
    assert "inline" in kernel.value("plt.get_backend()")


def test_user_expressions(kernel):
    reply = kernel.run("x = 1", user_expressions={"foo": "x + 1", "bar": "no"})
    found = reply[-1].content["user_expressions"]
    assert found["foo"] == {
        "status": "ok",
        "data": {"text/plain": "2"},
        "metadata": {},
    }
    assert found["bar"]["ename"] == "NameError"


GOES_ON = "The session goes on, and its variables are kept."


@pytest.mark.parametrize(
    "code",
    [
        "quit()",
        "exit(0)",
        "exit(keep_kernel=True)",
        "import asyncio\nawait asyncio.sleep(0)\nexit()",
        "def leave(): exit()\ntry: leave()\nexcept Exception: pass",
    ],
)
def test_exit_ends_the_cell_alone(kernel, code):
    events = kernel.run(code + "\nafter = 1\nprint('after')")
    reply = events[-1].content
    assert reply["status"] == "ok"
    # A console leaves, and does not end the kernel, which is not its own.
    assert reply["payload"] == [{"source": "ask_exit", "keepkernel": True}]
    assert not [e for e in events if e.kind == "ERROR"]
    text = "".join(e.content["text"] for e in events if e.kind == "STREAM")
    assert text.startswith("exit() has ended this cell. " + GOES_ON)
    assert "`hearth session restart` or `delete`" in text
    assert kernel.value("'after' in globals()") == "False"


def test_a_bare_exit_is_called(kernel):
    events = kernel.run("exit")
    assert events[-1].content["payload"] == [
        {"source": "ask_exit", "keepkernel": True}
    ]
    assert GOES_ON in only(events, "STREAM").content["text"]


def test_exit_that_is_caught_ends_no_cell(kernel):
    events = kernel.run("try: exit()\nexcept SystemExit: pass\nprint('on')")
    assert events[-1].content["payload"] == []
    assert [e.content["text"] for e in events if e.kind == "STREAM"] == ["on\n"]


def test_exit_in_a_script_ends_the_script(kernel, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print('in')\nexit()\nprint('past')\n")
    events = kernel.run(f"%run {script}\nprint('on')")
    assert events[-1].content["payload"] == []
    assert text(events) == "in\non\n"
    script.write_text("quit(3)\n")
    events = kernel.run(f"%run {script}\nprint('on')")
    shown = only(events, "ERROR").content
    assert (shown["ename"], shown["evalue"]) == ("SystemExit", "3")
    assert GOES_ON in shown["traceback"][-1]
    assert text(events) == "on\n"


@pytest.mark.parametrize("call", ["exit(4)", "sys.exit(4)"])
def test_exit_in_a_worker_ends_the_worker(kernel, call):
    events = kernel.run(
        "import multiprocessing, sys\n"
        f"def work(): {call}\n"
        "worker = multiprocessing.get_context('fork').Process(target=work)\n"
        "worker.start()\nworker.join()\nprint(worker.exitcode)"
    )
    assert text(events) == "4\n"
    assert events[-1].content["payload"] == []


def test_exit_in_a_thread_ends_the_thread(kernel):
    events = kernel.run(
        "import threading\nthread = threading.Thread(target=exit)\n"
        "thread.start()\nthread.join()\nprint('on')"
    )
    assert events[-1].content["payload"] == []
    assert [e.content["text"] for e in events if e.kind == "STREAM"] == ["on\n"]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import sys\nsys.exit(3)", "3"),
        ("import sys\nsys.exit()", ""),
        ("exit(3)", "3"),
        ("quit('no data')", "no data"),
        ("import warnings\nwarnings.simplefilter('error')\nexit(2)", "2"),
    ],
)
def test_an_exit_status_is_an_error(kernel, code, value):
    events = kernel.run("kept = 1\n" + code)
    reply = events[-1].content
    assert (reply["ename"], reply["evalue"]) == ("SystemExit", value)
    assert reply["payload"] == []
    assert GOES_ON in only(events, "ERROR").content["traceback"][-1]
    # IPython's own advice is for its terminal.
    assert not [e for e in events if e.kind == "STREAM"]
    assert kernel.value("kept") == "1"


def test_payloads(kernel):
    def payload(code):
        return kernel.run(code)[-1].content["payload"]

    (page,) = payload("print?")
    assert page["source"] == "page"
    assert "text/plain" in page["data"]
    assert payload(
        "ip = get_ipython()\nip.set_next_input('a')\nip.set_next_input('b')"
    ) == [{"source": "set_next_input", "text": "b", "replace": False}]
    assert payload("pass") == []


def test_magics(kernel):
    assert "per loop" in text(kernel.run("%timeit -n1 -r1 pass"))
    assert text(kernel.run("%%bash\necho one; echo two")) == "one\ntwo\n"
    assert "three" in text(kernel.run("!echo three"))
    assert kernel.value("_exit_code") == "0"
    assert kinds(kernel.run("%%capture c\nprint(1)\n2")) == ["REPLY"]
    assert kernel.value("c.stdout") == "'1\\n'"
    kernel.run("%%writefile s.py\nprint('script', __name__)")
    assert text(kernel.run("%run s.py")) == "script __main__\n"
    assert text(kernel.run("%hist -n 1")).strip().startswith("1:")


def test_hostile_cells_leave_a_kernel(kernel):
    for code in [
        "import sys; sys.stdout = None",
        "import sys; sys.stdout.close()",
        "import builtins; del builtins.input",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "import asyncio; asyncio.get_event_loop().stop()",
        "get_ipython().events.register('post_execute', lambda: 1/0)",
        "import sys; sys.excepthook = None; sys.displayhook = None",
        "raise BaseException('x')",
    ]:
        kernel.run(code)
    assert kernel.run("1")[-1].content["status"] == "ok"
