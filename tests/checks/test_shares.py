"""What a worker of the tests gets as a whole, and in which order."""

from __future__ import annotations

from pathlib import Path

from tests.lib.shares import IN_MODES, IN_PARTS, LONG, in_order, share_of

ROOT = Path(__file__).resolve().parents[2]


def test_a_file_stays_whole() -> None:
    shares = {share_of(f"tests/test_it.py::test_{name}") for name in "ab"}
    assert shares == {"tests/test_it.py"}


def test_a_mode_stays_whole() -> None:
    file = IN_MODES[0]
    ids = [
        f"{file}::test_is_stopped[{mode}-files/{n}]"
        for mode in "ab"
        for n in "12"
    ]
    assert [share_of(each) for each in ids] == [
        f"{file}[{mode}]" for mode in "aabb"
    ]


def test_a_part_has_always_the_same_tests() -> None:
    """Each worker asks for itself."""
    ((file, parts),) = IN_PARTS.items()
    ids = [f"{file}::test_a_step_that_fails[{n}]" for n in range(100)]
    found = [share_of(each) for each in ids]
    assert set(found) == {f"{file}[{part}]" for part in range(parts)}
    assert found == [share_of(each) for each in ids]


def test_what_takes_long_begins() -> None:
    """Then what has many tests; those of a file keep their order."""
    ids = ["few::a", "many::b", "many::a", f"{LONG[1]}::a", f"{LONG[0]}::a"]
    assert in_order(ids) == [
        f"{LONG[0]}::a",
        f"{LONG[1]}::a",
        "many::b",
        "many::a",
        "few::a",
    ]


def test_each_file_is_there() -> None:
    for file in {*LONG, *IN_MODES, *IN_PARTS}:
        assert (ROOT / file).is_file(), file
