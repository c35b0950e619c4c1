"""A page of the index that lies about a file: its size, time or metadata."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Collection
from typing import Any

import pytest
from depth import spread
from fake_index import FakeIndex, make_metadata, make_wheel
from hearth_downloads.packages import metadata, needs
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


def check_page_is_refused(
    folder: Folder, index: FakeIndex, why: str, **says: Any
) -> None:
    index.add("a", "1", says=says)
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesUnreachable"
    assert refusal.text.startswith(NO_PAGE + why)
    assert index.downloads() == 0


@pytest.mark.parametrize("size", spread([-1, "big", 1.5, 2**64, None, []]))
def test_a_size_that_is_none_is_refused(
    folder: Folder, index: FakeIndex, size: Any
) -> None:
    check_page_is_refused(folder, index, "invalid ", size=size)


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


@pytest.mark.parametrize(
    "time", ["2999-01-01T00:00:00Z", "9999-12-30T00:00:00Z"]
)
def test_a_time_in_the_future_is_refused(
    folder: Folder, index: FakeIndex, time: str
) -> None:
    index.add("a", "1", says={"upload-time": time})
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        f'"a" 1 refused: the index dates it {time[:10]} {time[11:16]} UTC, '
        "which is in the future; the cooldown is 7 days "
        "(profile/python3/packages/cooldown); no version of a is old enough"
    )
    index.add("a", "0")
    said = "a 1 is dated in the future (cooldown 7 days): 0 was taken"
    assert folder.do("add", "a")["notes"] == [said]


@pytest.mark.parametrize(
    "time",
    spread(
        [
            "yesterday",
            -1,
            10**30,
            "-2020-01-01T00:00:00Z",
            "99999999999-01-01T00:00:00Z",
            "",
            "2020-01-01",
            None,
            [],
        ]
    ),
)
def test_a_time_that_is_none_is_refused(
    folder: Folder, index: FakeIndex, time: Any
) -> None:
    check_page_is_refused(folder, index, "", **{"upload-time": time})


def test_an_old_time_is_believed(folder: Folder, index: FakeIndex) -> None:
    """Nothing else says when a file was published (docs/design/THREATS.md)."""
    index.add(
        "a", "1", age_days=0, says={"upload-time": "2020-01-01T00:00:00Z"}
    )
    assert folder.do("add", "a")["notes"] == []


def test_metadata_of_another_package_is_refused(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", other_metadata=make_metadata("b", "1", [], {}))
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert "metadata name `b` does not match given name `a`" in refusal.text


def test_metadata_of_another_version_is_not_believed(
    folder: Folder, index: FakeIndex
) -> None:
    """The wheel's own has the version of its name."""
    index.add("a", "1", other_metadata=make_metadata("a", "2", [], {}))
    assert folder.do("add", "a")["added"] == [{"name": "a", "version": "1"}]
    assert "\nVersion: 1\n" in folder.read("a-1.dist-info/METADATA")


def test_what_a_wheel_needs_by_a_condition_may_be_missing(
    folder: Folder, index: FakeIndex
) -> None:
    needs = ["B.b >=1", "c; python_version<'3'", "d; extra=='x'", "pytest"]
    index.add("a", "1", requires=needs, extras={"y": ["e"]})
    for name in ("b-b", "d", "e"):
        index.add(name, "1")
    folder.do("add", "a[y]")
    assert [path for path in folder.current() if path.endswith(".py")] == [
        "a.py",
        "b_b.py",
        "e.py",
    ]
    folder.do("remove", "a")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a-1", "the wheel of b has a-1.dist-info/METADATA, which is that of"),
        ("A-1.0", "a has A-1.0.dist-info and a-1.dist-info, and one of them"),
    ],
)
def test_a_wheel_does_not_say_what_another_needs(
    folder: Folder, index: FakeIndex, name: str, why: str
) -> None:
    """Else what the index adds would itself say that it is needed."""
    other = make_metadata("a", "1", ["b"], {})
    index.add("a", "1", other_metadata=other)
    path = f"b-1.data/purelib/{name}.dist-info/METADATA"
    index.add("b", "1", {"b.py": "", path: other})
    assert why in refuse(folder, "a").text
    check_nothing_is_left(folder)


@pytest.mark.parametrize("end", [b"\r\r\n", b"\r\r", b"\n\n"])
def test_metadata_that_programs_do_not_read_on_is_the_cause(
    folder: Folder, index: FakeIndex, end: bytes
) -> None:
    """uv itself refuses a wheel if its name or version comes after that."""
    index.add("b", "1")
    lie = index.add("a", "1", requires=["b"])
    text = lie.metadata.replace(b"\nRequires", end + b"Requires")
    lie.content = make_wheel("a-1.dist-info", text, [], "py3-none-any")
    lie.sha256 = hashlib.sha256(lie.content).hexdigest()
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        "the METADATA in the wheel of a cannot be relied on: it says that it "
        "needs b after an empty line, where programs do not read on; lines "
        "that end in \\r\\r\\n have one after each"
    )


def test_metadata_of_many_paragraphs_is_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wheel of few bytes can have a million of them."""
    read = []

    def read_fields(text: str, fields: Collection[str]) -> list[Any]:
        read.append(text)
        return metadata.read_fields(text, fields)

    monkeypatch.setattr(needs, "read_fields", read_fields)
    found = needs._read("Name: a\n\nx" + "\r\rRequires-Dist: b\n\n" * 50)
    assert read == ["Name: a"]
    assert found.unread == {"b"}


@pytest.mark.parametrize("is_more", [False, True])
def test_wheels_of_a_version_may_differ_without_a_lie(
    folder: Folder, index: FakeIndex, is_more: bool
) -> None:
    """uv resolves by the wheel that fits best, and a hash asks for another."""
    tag = f"cp3{sys.version_info.minor}-none-any"
    other = index.add("a", "1", requires=["b"] * is_more)
    index.add("a", "1", requires=["b"] * (not is_more), tag=tag)
    index.add("b", "1")
    pinned = f"a==1 --hash=sha256:{other.sha256}"
    text = refuse(folder, pinned).text
    if not is_more:
        assert text.startswith("a was resolved by metadata that needs b, and")
        assert "its version has several files, which may differ" in text
        folder.do("add", "a")
        return
    assert text.startswith("the wheel of a needs b, and the metadata that it")
    assert text.endswith("may differ in that; ask for b, too")
    folder.do("add", pinned, "b")
    assert folder.read("b.py") == "VERSION = '1'\n"
