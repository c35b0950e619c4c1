"""What threading does in a fork is left out in a zygote's, and in no other."""

import json

import pytest
from conftest import run_python
from test_immortal import PYTHONS

# A stand-in for a kernel that has another thread, and forks.
FORKED = """
import json, os, sys, threading
from hearth_kernel.forking import forks

def child(look):
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, json.dumps(look()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return json.loads(os.read(ours, 4096))

def lock():
    return id(threading._active_limbo_lock)

def names():
    return [each.name for each in threading.enumerate()]

def kernel():
    reported = {"lock": lock() == made, "main": threading.current_thread() is
            threading.main_thread(), "alone": names()}
    forks.restore()
    held = threading.Event()
    beside = threading.Thread(target=held.wait, name="beside", daemon=True)
    beside.start()
    reported["beside"] = names()
    reported["child"] = child(names)
    held.set()
    beside.join()
    return reported

made = lock()
forks.spare()
print(json.dumps(child(kernel)))
"""

# A thread that Python has not made, which has called Python and is gone.
FOREIGN = """
import _thread, threading, time
from hearth_kernel.forking import forks
hook = threading._after_fork
def look():
    threading.current_thread()
    seen.append(1)
seen = []
_thread.start_new_thread(look, ())
while not seen:
    time.sleep(0.01)
code = hook.__code__
if threading.active_count() > 1:
    forks.spare()
print(hook.__code__ is code)
forks.restore()
print(hook.__code__ is code)
"""


@pytest.mark.parametrize("python", PYTHONS)
def test_a_kernel_has_its_one_thread_and_its_forks_are_whole(python):
    assert json.loads(run_python(FORKED, python=python)) == {
        "lock": True,  # not made anew
        "main": True,
        "alone": ["MainThread"],
        "beside": ["MainThread", "beside"],
        "child": ["MainThread"],
    }


@pytest.mark.parametrize("python", PYTHONS)
def test_state_of_other_threads_is_cleared(python):
    assert run_python(FOREIGN, python=python).split() == ["True", "True"]


def test_a_cell_that_forks_beside_a_thread_is_alone_in_the_child(kernel):
    kernel.run(
        "import os, threading\n"
        "held = threading.Event()\n"
        "threading.Thread(target=held.wait, daemon=True).start()\n"
        "ours, theirs = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.write(theirs, str(threading.active_count()).encode())\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)"
    )
    events = kernel.run("[os.read(ours, 9), held.set()]")
    assert events[0].content["data"]["text/plain"] == "[b'1', None]"


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("pass", 0, ""),
        ("exit()", 0, ""),
        ("exit(3)", 3, ""),
        ("import sys; sys.exit('no data')", 1, "no data\\n"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero\\n"),
        ("import asyncio; await asyncio.sleep(0); exit(4)", 4, ""),
    ],
)
def test_a_forked_process_ends_with_its_cell(kernel, code, status, said):
    kernel.run(
        "import os\n"
        "ours, theirs = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.dup2(theirs, 2)\n"
        f"    {code}\n"
        "os.close(theirs)"
    )
    ended = "os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])"
    assert kernel.value(ended) == str(status)
    text = kernel.value("open(ours).read()")
    assert text.endswith(said + "'") if said else text == "''"


def test_a_forked_process_waits_for_its_threads(kernel):
    kernel.run(
        "import os, threading\n"
        "ours, theirs = os.pipe()\n"
        "go, gone = os.pipe()\n"
        "def late():\n"
        "    os.read(go, 1)\n"
        "    os.write(theirs, b'done')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    threading.Thread(target=late).start()"
    )
    assert kernel.value("os.write(gone, b'x')") == "1"
    assert kernel.value("os.read(ours, 9)") == "b'done'"
    assert kernel.value("os.waitpid(child, 0)[1]") == "0"
