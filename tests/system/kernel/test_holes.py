"""Holes of a zygote's memory are filled before it forks."""

import json

import pytest
from conftest import run_python

# What was dropped leaves holes: of each page one block in two stays, and of the
# heap one piece in two.
FILLED = """
import ctypes, json
from hearth_kernel.forking import holes
libc = ctypes.CDLL(None)
objects = [(bytes(20), bytes(150), bytes(3000)) for _ in range(8000)]
kept = [row for number, row in enumerate(objects) if number % 2]
del objects
before = sum(size * count for size, count in holes.blocks().items())
heap = holes.fill_heap(libc)
again = holes.fill_heap(libc)
holes.fill_blocks()
after = sum(size * count for size, count in holes.blocks().items())
assert all(row == (bytes(20), bytes(150), bytes(3000)) for row in kept)
print(json.dumps([before, after, heap, again]))
"""


@pytest.fixture(scope="module")
def reported():
    return json.loads(run_python(FILLED))


def test_no_hole_is_left_between_objects(reported):
    before, after, _, _ = reported
    assert before > 4000 * (48 + 192)
    assert after < before / 10


def test_no_hole_is_left_in_the_heap(reported):
    _, _, filled, again = reported
    assert filled > 3500 * 3000
    assert again < filled / 10
