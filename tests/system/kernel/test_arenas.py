"""A zygote's small objects lie together, where large pages are possible."""

import json

import pytest
from conftest import run_python

HEAD = """
import ctypes, gc, json, mmap, os, sys
from hearth_kernel import _sandbox

MIB = 1 << 20

def spans():
    with open("/proc/self/maps") as lines:
        for line in lines:
            span, access, _, _, inode, *name = line.split()
            if access == "rw-p" and inode == "0" and not name:
                start, end = (int(at, 16) for at in span.split("-"))
                yield start, end

def span_of(thing):
    return next(
        (each for each in spans() if each[0] <= id(thing) < each[1]), (0, 0)
    )

def small(count, size=200):
    return [number.to_bytes(size, "little") for number in range(count)]

def resident(span, field="Rss"):
    is_it = False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if "-" in line.split()[0]:
                is_it = line.startswith(f"{span[0]:x}-")
            elif is_it and line.startswith(field + ":"):
                return int(line.split()[1]) << 10

reported = {"gathered": [_sandbox.gather(), _sandbox.gather()]}
first = small(200_000)  # 48 MB
own = span_of(first[-1])
reported["within"] = sum(own[0] <= id(each) < own[1] for each in first)
"""

LIES = (
    HEAD
    + """
reported["resident"] = resident(own) / MIB
del first
gc.collect()
reported["left"] = resident((own[0], 0)) / MIB
second = small(200_000)
again = span_of(second[-1])
reported["same"] = again[0] == own[0]
reported["grown"] = (again[1] - own[1]) / MIB
reported["sound"] = all(
    int.from_bytes(each, "little") == number
    for number, each in enumerate(second)
)
def deep(left):
    return 1 + deep(left - 1) if left else 0
sys.setrecursionlimit(60_000)
reported["deep"] = deep(50_000) if sys.version_info >= (3, 11) else 50_000
down, up = os.pipe()
if os.fork() == 0:
    del second
    gc.collect()
    third = small(300_000)
    os.write(up, b"%d" % len(set(third)))
    os._exit(0)
os.wait()
reported["forked"] = int(os.read(down, 99))
print(json.dumps(reported))
"""
)
FULL = (
    HEAD
    + """
many = small(700_000, 450)  # 340 MB, where the region has 256
reported["outside"] = sum(not own[0] <= id(each) < own[0] + 256 * MIB
                      for each in many)
reported["sound"] = len(set(many)) == 700_000
del many
gc.collect()
reported["again"] = len(set(small(700_000, 450)))
print(json.dumps(reported))
"""
)
LARGE = (
    HEAD
    + """
from hearth_kernel import warm
second = small(200_000)
probe = mmap.mmap(-1, 4 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, 4 * MIB, 4096):
    probe[page] = 1
at = ctypes.addressof(ctypes.c_char.from_buffer(probe))
start = -(-at // (2 * MIB)) * 2 * MIB
reported["can"] = ctypes.CDLL(None).madvise(
    ctypes.c_void_p(start), ctypes.c_size_t(2 * MIB), 25) == 0
def mapped():
    with open("/proc/self/status") as lines:
        (line,) = (each for each in lines if each.startswith("VmSize"))
    return int(line.split()[1]) / 1024

before = mapped()
whole = span_of(second[-1])
warm.settle()
reported["less"] = before - mapped()
del second
gc.collect()
third = small(200_000)
reported["reused"] = sum(whole[0] <= id(each) < whole[1] for each in third)
many = small(700_000, 450)  # as much as the region and more
reported["sound"] = len(set(many)) == 700_000
reported["large"] = resident(span_of(first[-1]), "AnonHugePages") / MIB
print(json.dumps(reported))
"""
)


def run(code):
    reported = json.loads(run_python(code))
    assert reported["gathered"] == [True, True]
    # A few take the room that was left before.
    assert reported["within"] > 190_000
    return reported


def test_objects_are_adjacent_and_leave_no_memory():
    reported = run(LIES)
    assert reported["resident"] > 40
    assert reported["left"] < 10
    assert reported["same"]
    assert reported["grown"] < 4
    assert reported["sound"]
    assert reported["deep"] == 50_000
    assert reported["forked"] == 300_000


def test_objects_that_do_not_fit_are_elsewhere():
    reported = run(FULL)
    assert reported["outside"] > 100_000
    assert reported["sound"]
    assert reported["again"] == 700_000


def test_objects_end_up_in_large_pages():
    reported = run(LARGE)
    # 256 MB of address space were for them, 96 of it were needed.
    assert reported["less"] > 100
    assert reported["reused"] > 190_000
    assert reported["sound"]
    if not reported["can"]:
        pytest.skip("this system makes no large pages when it is asked")
    assert reported["large"] > 40
