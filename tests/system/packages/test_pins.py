"""The wheels that were taken, and a job that is to get the same again."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from fake_index import FakeIndex
from hearth_downloads.packages.wheels import read_lock
from worker import Folder, Refusal, refuse

TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}-abi3-linux_x86_64"


def wheels(answer: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        one["name"]: (one["version"], one.get("sha256", ""))
        for one in answer["packages"]
    }


def test_the_wheel_that_was_taken_is_named(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("many", "1", {"many.py": "A = 1"}, tag="cp30-cp30-win32")
    index.add("many", "1", {"many.py": "A = 2"})
    taken = index.add("many", "1", {"many.py": "A = 3"}, tag=TAG)
    assert wheels(folder.do("add", "many")) == {"many": ("1", taken.sha256)}
    # Its hash stays while its version does.
    index.add("other", "1")
    assert wheels(folder.do("add", "other"))["many"] == ("1", taken.sha256)


def test_pins_hold_for_what_is_needed_too(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    old = index.add("b", "1")
    index.add("b", "2")
    pins = {"a": ["1", ""], "b": ["1", old.sha256], "z": ["9", ""]}
    assert wheels(folder.do("add", "a", pins=pins))["b"] == ("1", old.sha256)
    # What is there is no shortcut to another version.
    assert wheels(folder.do("add", "b", pins={"b": ["2", ""]}))["b"][0] == "2"


def test_the_pinned_wheel_is_taken(folder: Folder, index: FakeIndex) -> None:
    plain = index.add("many", "1", {"many.py": "A = 2"})
    index.add("many", "1", {"many.py": "A = 3"}, tag=TAG)
    answer = folder.do("add", "many", pins={"many": ["1", plain.sha256]})
    assert wheels(answer) == {"many": ("1", plain.sha256)}


def test_another_file_is_refused(folder: Folder, index: FakeIndex) -> None:
    now = index.add("a", "1")
    refusal = refuse(folder, "a", pins={"a": ["1", "0" * 64]})
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        "the index has another file of a 1: its SHA-256 was to be "
        f"{'0' * 64}, and is {now.sha256}"
    )


def test_a_version_that_is_not_there_is_named(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "2")
    assert "a==1" in refuse(folder, "a", pins={"a": ["1", ""]}).text


@pytest.mark.parametrize(
    ("name", "version"), [("-r", "x"), ("a", "1 --hash=x"), ("A_b", "1")]
)
def test_pins_are_no_options(
    folder: Folder, index: FakeIndex, name: str, version: str
) -> None:
    index.add("a", "1")
    with pytest.raises(Refusal) as caught:
        folder.do("add", "a", pins={name: [version, ""]})
    assert caught.value.ename == "PackagesInvalid"


def test_a_lock_is_read_by_name_and_tags() -> None:
    text = """
    { url = "https://x/a_b-1.0-py2.py3-none-any.whl", size = 8, hashes = {
     sha256 = "%s" } }
    { url = "https://x/a_b-1.0%%2Bcu1-1-cp311-abi3-l.whl#f",
     hashes = { sha256 = "%s" } }
    { url = "https://x/%s-1.0-%s-none-any.whl", hashes = { sha256 = "%s" } }
    """ % ("1" * 64, "2" * 64, "c", "a." * 9999, "3" * 64)  # noqa: UP031
    assert read_lock(text) == {
        ("a-b-1.0", frozenset({"py2-none-any", "py3-none-any"})): {"1" * 64},
        ("a-b-1.0+cu1", frozenset({"cp311-abi3-l"})): {"2" * 64},
    }
