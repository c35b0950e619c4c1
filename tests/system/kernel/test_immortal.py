"""What kernels share with their zygote is not written to by who uses it."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, run_python

NEW = (3, 12)


def starts(name):
    path = shutil.which(name)
    return (
        path
        and not subprocess.run(
            [path, "-V"], capture_output=True, check=False
        ).returncode
    )


# This one, and those that have such objects, where there are any.
PYTHONS = [sys.executable] + [
    pytest.param(name, marks=pytest.mark.deep)
    for name in (
        str(ROOT / ".venv-newer" / "bin" / "python"),
        *os.environ.get("HEARTH_PYTHONS", "").split(":"),
    )
    if name and starts(name)
]

MADE = """
import gc, io, json, os, sys
from hearth_kernel.forking import immortal

ended = []

class Plain:
    pass

class Ending:
    def __del__(self):
        ended.append(1)

def function():
    return ("constant", (1.5, lambda: "nested"))

def private():
    with open("/proc/self/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines
                   if line.startswith("Private_Dirty"))

def steps():
    try:
        yield
    finally:
        ended.append(2)

plain, ending, file, running = Plain(), Ending(), io.BytesIO(), steps()
next(running)
plain.text = "text" * 100
many = [str(number) for number in range(200_000)]
shown = {
    "plain": plain, "text": plain.text, "class": Plain, "many": many[7],
    "nested": function.__code__.co_consts[-1], "ending": ending, "file": file,
    "running": running, "module": json,
}
gc.collect()
reported = {"made": immortal.make(), "version": sys.version_info[:2]}
later = Plain()
shown["later"] = later
gc.freeze()
reported["immortal"] = sorted(
    name for name, each in shown.items() if sys.getrefcount(each) > 1 << 31
)
shown.clear()
del ending, running, later
reported["ended"] = sorted(ended)
"""
USED = (
    MADE
    + """
down, up = os.pipe()
if os.fork() == 0:
    before = private()
    for each in many:
        pass
    used = private() - before
    gc.unfreeze()
    gc.collect()
    os.write(up, b"%d" % used)
    os._exit(0)
reported["used"] = int(os.read(down, 99))
os.wait()
print(json.dumps(reported))
"""
)


@pytest.fixture(scope="module", params=PYTHONS)
def reported(request):
    found = json.loads(run_python(USED, python=request.param))
    found["has"] = tuple(found["version"]) >= NEW
    return found


def test_objects_without_a_finalizer_are_immortal(reported):
    immortal = ["class", "many", "module", "nested", "plain", "text"]
    assert reported["immortal"] == (immortal if reported["has"] else [])
    assert (reported["made"] > 200_000) == reported["has"]


def test_finalizers_run_at_exit(reported):
    assert reported["ended"] == [1, 2]


def test_using_it_copies_no_page(reported):
    """14 MB of texts are looked at by a fork."""
    assert (reported["used"] < 1000) == reported["has"], reported
