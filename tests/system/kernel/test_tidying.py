"""A session at rest gives back what its cells have left."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "system"))

from deadline import wait_for  # noqa: E402

# 12 MB of malloc's heap after knots of references; the objects that stay keep
# the heap's end. The collector does not begin by itself.
MAKE = """
import gc, weakref
gc.set_threshold(10**6)
class Knot:
    def __init__(self):
        self.knot = self
        self.piece = bytearray(b"x" * 100_000)
    def __del__(self):
        print("untied", flush=True)
def make():
    knots = [Knot() for _ in range(120)]
    return weakref.ref(knots[0]), [bytes(2000) for _ in range(50)]
gone, kept = make()
"""
# A session may be at rest, and tidy, before a test looks at it from outside.
MEASURE = """
import re
with open("/proc/self/status") as status:
    most = int(re.search(r"RssAnon:\\s*([0-9]+)", status.read())[1])
"""
PIECES = """
gc.disable()
pieces = [bytearray(b"x" * 100_000) for _ in range(120)]
more = [bytes(2000) for _ in range(50)]
"""
HANGS = """
import gc, time
gc.set_threshold(10**6)
class Knot:
    def __init__(self):
        self.knot = self
    def __del__(self):
        print("hangs", flush=True)
        time.sleep(1000)
knot = Knot()
del knot
left = bytearray(b"x" * 16_000_000)
"""


def private_kib(kernel):
    text = Path(f"/proc/{kernel.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s*(\d+)", text)[1])


def test_knots_are_untied_and_their_memory_is_the_systems(kernel):
    kernel.run(MAKE + MEASURE)
    kernel.until_printed("untied\n" * 120)
    most = int(kernel.value("most"))
    wait_for(lambda: private_kib(kernel) < most - 10_000, "less memory")
    assert kernel.value("gone() is None") == "True"


def test_a_disabled_collector_collects_nothing(kernel):
    kernel.run(MAKE + PIECES + MEASURE + "pieces.clear()")
    most = int(kernel.value("most"))
    wait_for(lambda: private_kib(kernel) < most - 10_000, "less memory")
    assert kernel.value("gone() is None") == "False"


def test_a_finalizer_that_hangs_can_be_interrupted(kernel):
    kernel.run(HANGS)
    kernel.until_printed("hangs")
    kernel.interrupt()
    assert kernel.value("1 + 1") == "2"
