"""The code of used functions becomes adjacent, and still works."""

import json

import pytest
from conftest import run_python
from test_immortal import PYTHONS

# Of 3,000 functions, which are between other objects, every twentieth is used;
# the last ones need more of a function than its code.
GATHERED = """
import json, sys
from hearth_kernel.forking import codes

module, between = {}, []
for number in range(3000):
    exec(f"def f{number}(x):\\n    return [x * {number}, 'f{number}', 1.5]",
         module)
    between.append((bytes(200), bytes(450), bytes(700)))
used = [module[f"f{number}"] for number in range(0, 3000, 20)]

def outer(step):
    def inner(x=2, *, y=3):
        return x + y + step
    return inner

def steps():
    got = yield 1
    yield got

class Kept:
    def __init__(self):
        super().__init__()
        self.made = outer(100)

def pages(functions):
    return len({id(each.__code__) >> 12 for each in functions})

closure, kept, running = outer(10), Kept(), steps()
next(running)

def run():
    for each in used:
        each(1)
    closure()
    Kept().made()
    list(steps())
    try:
        used[0](None)
    except TypeError:
        pass

before = [each.__code__ for each in used]
unused = module["f1"].__code__
found = [pages(used), codes.gather(run), pages(used)]
print(json.dumps({
    "pages": found[::2],
    "functions": found[1],
    "changed": sum(each.__code__ is not old for each, old in zip(used, before)),
    "unused": module["f1"].__code__ is unused,
    "values": [each(2)[0] for each in used] == list(range(0, 6000, 40)),
    "closure": [closure(), closure(1, y=1), outer(1)(), kept.made()],
    "generators": [running.send(5), *steps()],
    "where": [used[0].__code__.co_filename, used[0].__code__.co_firstlineno],
    "profile": sys.getprofile() is None,
}))
"""


@pytest.fixture(scope="module", params=PYTHONS)
def reported(request):
    return json.loads(run_python(GATHERED, python=request.param))


def test_code_is_in_few_pages(reported):
    before, after = reported["pages"]
    assert before > 100
    assert after < before / 3


def test_is_that_of_used_functions_alone(reported):
    # And of: run, outer, the closure and what Kept() makes, Kept, steps.
    assert 150 < reported["functions"] < 170
    assert reported["changed"] == 150
    assert reported["unused"]
    assert reported["profile"]


def test_code_still_works(reported):
    assert reported["values"]
    assert reported["closure"] == [15, 12, 6, 105]
    assert reported["generators"] == [5, 1, None]
    assert reported["where"] == ["<string>", 1]


FAILED = """
import os, threading, time
from hearth_kernel.forking import codes

def work():
    pass

def fail():
    work()
    raise RuntimeError("not reported")

held = threading.Event()
code = work.__code__
codes._PATIENCE = 0.5
found = [
    codes.gather(run)
    for run in (fail, lambda: os._exit(0), lambda: time.sleep(600))
]
threading.Thread(target=held.wait, daemon=True).start()
found.append(codes.gather(work))
held.set()
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print(found, work.__code__ is code, len(os.listdir("/proc/self/fd")))
"""

REAPED = """
import signal
from hearth_kernel.forking import codes

def work():
    pass

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
code = work.__code__
print(codes.gather(work), work.__code__ is code)
"""


def test_a_child_may_be_reaped_by_the_system():
    assert run_python(REAPED) == "1 False\n"


def test_a_failed_run_or_another_thread_changes_nothing():
    # Three streams, and the folder that is listed.
    assert run_python(FAILED) == "[0, 0, 0, 0] True 4\n"
