"""A page of the index that lies about a file: its size."""

from __future__ import annotations

import os
from typing import Any

import pytest
from depth import spread
from fake_index import FakeIndex
from worker import ALWAYS, Folder, refuse

NO_PAGE = "the index's page of a is not as PEP 691 has it: "


def check_nothing_is_left(folder: Folder) -> None:
    work = folder.path / "work"
    assert sorted(os.listdir(work)) == ALWAYS
    assert os.listdir(work / "uv") == ["cache"]
    assert list((work / "uv" / "cache").glob("archive-v0/*")) == []


@pytest.mark.parametrize("size", [0, 1, 10**12])
def test_a_size_that_is_wrong_changes_nothing(
    folder: Folder, index: FakeIndex, size: int
) -> None:
    """Only what comes is counted."""
    index.add("a", "1", says={"size": size})
    folder.do("add", "a")
    assert folder.read("a.py") == "VERSION = '1'\n"


@pytest.mark.parametrize(
    ("size", "files", "limit"),
    [
        (1, {"a.bin": os.urandom(2 << 20)}, "1048576 bytes"),
        (0, {f"a/{number}": "" for number in range(300)}, "200 files"),
    ],
    ids=["bytes", "files"],
)
def test_a_small_size_hides_nothing(
    folder: Folder,
    index: FakeIndex,
    size: int,
    files: dict[str, Any],
    limit: str,
) -> None:
    index.add("a", "1", files, says={"size": size})
    refusal = refuse(folder, "a", max_bytes=1 << 20, max_files=200)
    assert refusal.ename == "PackagesRefused"
    assert f"more than {limit}" in refusal.text
    check_nothing_is_left(folder)


@pytest.mark.parametrize("size", spread([-1, "big", 1.5, 2**64, None, []]))
def test_a_size_that_is_none_is_refused(
    folder: Folder, index: FakeIndex, size: Any
) -> None:
    index.add("a", "1", says={"size": size})
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesUnreachable"
    assert refusal.text.startswith(f"{NO_PAGE}invalid ")
    assert index.downloads() == 0


@pytest.mark.parametrize(
    ("length", "why"),
    spread(
        [
            ("100000000", "an answer of the index has ended before its length"),
            ("-1", "does not answer: "),
            ("1, 2", "does not answer: "),
            ("10", "a package's file is refused: "),
            ("x", "does not answer: "),
            ("9" * 30, "does not answer: "),
        ]
    ),
)
def test_an_answer_of_another_length_is_refused(
    folder: Folder, index: FakeIndex, length: str, why: str
) -> None:
    lie = index.add("a", "1", length=length)
    assert why in refuse(folder, "a").text
    check_nothing_is_left(folder)
    lie.length = None
    folder.do("add", "a")
    assert folder.read("a.py") == "VERSION = '1'\n"
