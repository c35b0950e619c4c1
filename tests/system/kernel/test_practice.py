"""Rehearsals: by a zygote before it forks, by a kernel on request.

Only code can see them.
"""

import json
import sys
import time

from conftest import run_python
from frames import encode

from gateway import LONG

WARMED = """
import asyncio, json, os, signal, subprocess, sys
subprocess.run([sys.executable, "-c", ""], check=True)
def descriptors():
    return sorted(os.listdir("/proc/self/fd"))
signal.signal(signal.SIGINT, signal.SIG_IGN)
before = descriptors()
from hearth_kernel import kernel
from hearth_kernel.forking import codes
from hearth_kernel.warm import warm
shell, _, _ = warm([])
code = kernel.Kernel.serve.__code__
used = codes._note_calls(kernel._prepared.rehearse_in_zygote)
print(json.dumps({
    "names": sorted(name for name in shell.user_ns if name[0] != "_"),
    "inputs": shell.user_ns["In"],
    "count": shell.execution_count,
    "request": kernel._prepared.last,
    "cpu_of_children": kernel._prepared.cells.cpu_of_children,
    "ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
    "opened": len(descriptors()) - len(before),
    "threads": len(os.listdir("/proc/self/task")),
    "adapted": getattr(code, "_co_code_adaptive", b"") != code.co_code,
    "together": len({each >> 12 for each in used}) < 0.4 * len(used),
}))
"""


def test_is_seen_in_code_alone():
    assert json.loads(run_python(WARMED).splitlines()[-1]) == {
        "names": ["In", "Out", "exit", "get_ipython", "open", "quit"],
        "inputs": [""],
        "count": 1,
        "request": 0,
        "cpu_of_children": 0,
        "ignored": True,
        "opened": 0,
        "threads": 1,
        "adapted": sys.version_info >= (3, 11),
        "together": True,
    }


ERRORS = """
import os
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
from hearth_kernel.warm import warm
shell, _, missing = warm(["numpy", "pandas", "matplotlib.pyplot"])
from matplotlib import pyplot
from stack_data.core import Source
parsed = Source.__dict__["__source_cache_with_lines"]
print(
    missing,
    pyplot.get_fignums(),
    [name for name in shell.user_ns if name in ("frame", "json", "plt")],
    sorted({os.path.basename(file) for file, _ in parsed}),
)
"""


def test_usual_errors_are_parsed_and_leave_nothing():
    """Each of these files is one that an error of a session goes through."""
    line = run_python(ERRORS).splitlines()[-1]
    assert line.startswith("[] [] [] [")
    for name in (
        "decoder.py",
        "frame.py",
        "groupby.py",
        "indexing.py",
        "merge.py",
        "readers.py",
        "datetimes.py",
        "pyplot.py",
    ):
        assert f"'{name}'" in line


LOOK = "[len(In), len(Out), _i, 'numpy' in globals()]"


def outcome(events):
    """Kinds, the value's text, the number of the cell."""
    kinds = [event.kind for event in events]
    return kinds, events[0].content["data"]["text/plain"]


def test_a_rehearsal_has_no_answer_and_leaves_no_trace(kernel):
    kernel.send("REHEARSE", request=0)
    events = kernel.run(LOOK)
    assert outcome(events) == (["RESULT", "REPLY"], "[2, 0, '', False]")
    assert events[-1].content["execution_count"] == 1
    kernel.send("REHEARSE", request=0)
    events = kernel.run(LOOK)
    assert outcome(events)[1] == f"[3, 1, {LOOK!r}, False]"
    assert events[-1].content["execution_count"] == 2


def test_a_request_after_a_rehearsal_is_served(kernel):
    code = {"code": "1 + 1", "silent": False, "store_history": True}
    for number in range(1, 4):
        kernel.socket.sendall(
            encode("REHEARSE") + encode("EXECUTE", 0, number, code)
        )
        assert outcome(kernel.until_reply(number)) == (["RESULT", "REPLY"], "2")


def test_a_kernel_rehearses_on_request(kernel):
    kernel.run("reported = []\nget_ipython().kernel.rehearse = reported.append")
    deadline = time.monotonic() + LONG
    reported = ""
    while "import sys" not in reported and time.monotonic() < deadline:
        kernel.send("REHEARSE", request=0)
        kernel.send("MARK")
        assert kernel.event().kind == "MARKED"
        # Not rehearsed when the request is there already.
        reported = outcome(kernel.run("reported"))[1]
    assert "import sys" in reported


UNLOADED = """
import json, socket, sys
sys.modules["hearth_kernel._sandbox"] = None
from hearth_kernel import zygote
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.send(json.dumps({"profile": "python3", "preload": []}).encode())
zygote.SOCKET_FD = theirs.detach()
try:
    zygote.main()
except SystemExit as end:
    print(end.code, ours.recv(4096).decode())
"""


def test_an_extension_that_cannot_be_loaded_is_reported():
    """Another architecture's, or one that is missing: in a sentence."""
    code, reported = run_python(UNLOADED).split(" ", 1)
    assert code == "1"
    assert json.loads(reported)["fault"].startswith(f"{sys.executable}: ")
    assert "_sandbox" in reported
