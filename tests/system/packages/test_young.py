"""What is said of a young version: in its refusal, and in a note."""

from __future__ import annotations

from typing import Any

import pytest
from depth import spread
from fake_index import FakeIndex
from hearth_downloads.packages.held_back import read_file, show_file
from hearth_downloads.packages.sentences import say_age
from worker import Folder, refuse


def test_a_young_name_may_be_another_ones(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("reqeusts", "1", age_days=3.5 / 24)
    index.add("needs", "1", requires=["reqeusts"])
    text = refuse(folder, "reqeusts").text
    assert text.startswith('"reqeusts" 1 refused: published 3 hours ago; ')
    # The advice depends on what the tests' Python has.
    assert "; did you mean requests" in text
    # The one who asks cannot change what another package needs.
    assert "did you mean" not in refuse(folder, "needs").text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "a moment"),
        (59, "a moment"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (3 * 3600 + 5, "3 hours"),
        (86400 * 2 - 1, "1 day"),
        (86400 * 6.9, "6 days"),
    ],
)
def test_an_age_has_its_largest_unit(seconds: float, said: str) -> None:
    assert say_age(seconds) == said


def test_what_is_there_is_not_blamed(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    index.add("a", "2", age_days=10)
    index.add("d", "1", age_days=10)
    folder.do("add", "d")
    index.add("b", "1", requires=["a>=2", "d"])
    text = refuse(folder, "b", cooldown=20 * 86400).text
    assert text.startswith('"a" 2 refused: published ')
    assert '"d"' not in text
    assert "the newest version of a that is old enough is 1" in text
    assert "the cooldown is 20 days" in text


def test_a_note_says_which_newer_version_is_too_young(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("x", "1.0")
    index.add("x", "2.0", age_days=3.5 / 24)
    index.add("x", "1.9", age_days=2)
    index.add("needs", "1", requires=["y"])
    index.add("y", "1")
    index.add("y", "2", age_days=1)
    answer = folder.do("add", "x[extra]>=1", "needs")
    assert {one["name"]: one["version"] for one in answer["added"]} == {
        "needs": "1",
        "x": "1.0",
        "y": "1",
    }
    # Nothing is said of y, which was not asked for.
    said = "x 2.0 is 3 hours old (cooldown 7 days): 1.0 was taken"
    assert answer["notes"] == [said]
    # The index was asked no more for that.
    assert index.count("/simple/x/") == index.count("/simple/y/")
    assert index.count("/files/x-2.0") + index.count("/files/x-1.9") == 0
    # What is there needs no note again.
    assert folder.do("add", "x>=1")["notes"] == []


@pytest.mark.parametrize(
    ("requirement", "about"),
    spread(
        [
            ("x<2", {}),
            ("x==1", {}),
            ("x!=2", {}),
            ("x~=1.0", {}),
            ("x", {"version": "0.9"}),
            ("x", {"version": "2rc1"}),
            ("x", {"yanked": True}),
            ("x", {"requires_python": ">=99"}),
            ("x", {"tag": "cp299-cp299-manylinux_2_17_x86_64"}),
            ("x", {"tag": "py3-none-win_amd64"}),
            ("x", {"sdist": True}),
            ("x", {"age_days": 8}),
        ]
    ),
)
def test_no_note_of_what_would_not_be_taken(
    folder: Folder, index: FakeIndex, requirement: str, about: dict[str, Any]
) -> None:
    index.add("x", "1")
    index.add("x", **{"version": "2", "age_days": 1, **about})
    answer = folder.do("add", requirement)
    taken = "2" if "age_days" in about else "1"
    assert answer["added"] == [{"name": "x", "version": taken}]
    assert answer["notes"] == []


def test_no_note_of_what_another_package_excludes(
    folder: Folder, index: FakeIndex
) -> None:
    """The cooldown alone has not held it back."""
    index.add("x", "1")
    index.add("x", "2", age_days=1)
    index.add("caps", "1", requires=["x<2"])
    answer = folder.do("add", "x", "caps")
    assert [one["name"] for one in answer["added"]] == ["caps", "x"]
    assert answer["notes"] == []


def test_no_note_without_a_cooldown_or_index(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("x", "1")
    index.add("x", "2", age_days=1)
    token = "1" * 32
    (added,) = folder.do("add", "x", cooldown=0, token=token)["added"]
    assert added == {"name": "x", "version": "2"}
    assert len(folder.do("add", "x")["notes"]) == 1
    answer = folder.do("add", "x", token="2" * 32, offline=True)
    assert answer["added"] == [{"name": "x", "version": "1"}]
    assert answer["notes"] == []


def test_notes_on_young_versions_are_few(
    folder: Folder, index: FakeIndex
) -> None:
    names = [f"x{number}" for number in range(12)]
    for name in names:
        index.add(name, "1")
        index.add(name, "2", age_days=1)
    notes = folder.do("add", *names)["notes"]
    assert len(notes) == 10
    assert all("is 1 day old" in note for note in notes)


def test_a_page_with_odd_files_is_read(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("x", "1")
    index.add("y", "2", age_days=1)  # of another name
    index.releases["x"] += index.releases["y"]
    assert folder.do("add", "x")["notes"] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"upload-time": "2126-06-30T23:59:60Z"},  # uv takes a leap second
        {"requires-python": f">=3{' ' * (20 << 20)}"},
    ],
)
def test_what_an_index_says_of_a_young_wheel_fails_nothing(
    folder: Folder,
    index: FakeIndex,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, str],
) -> None:
    index.add("x", "1")
    young = index.add("x", "2", age_days=1)
    entry = {**young.describe(), **changes}
    monkeypatch.setattr(young, "describe", lambda: entry)
    answer = folder.do("add", "x")
    assert answer["added"] == [{"name": "x", "version": "1"}]
    assert answer["notes"] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"filename": "../x-2-py3-none-any.whl"},
        {"filename": "x-2-py3-none-any.whl/"},
        {"filename": f"x-{'2' * 200}-py3-none-any.whl"},
        {"filename": None},
        {"filename": "x-2_2-py3-none-any.whl"},
        {"requires-python": "a\nName: y"},
        {"requires-python": ">=3" + " " * 200},
        {"upload-time": None},
        {"upload-time": "tomorrow"},
        {"upload-time": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_file_that_is_not_young_or_no_wheel_is_left_out(
    changes: dict[str, Any],
) -> None:
    entry = {
        "filename": "x-2-py3-none-any.whl",
        "upload-time": "2026-01-02T00:00:00.5Z",
        "requires-python": ">=3.9",
    }
    newest = "2026-01-01T00:00:00Z"
    shown = show_file(entry, newest)
    assert shown == ["x-2-py3-none-any.whl", "2026-01-02T00:00:00", ">=3.9"]
    assert read_file(shown) is not None
    assert show_file({**entry, **changes}, newest) == []
    assert read_file(["../x-2-py3-none-any.whl", *shown[1:]]) is None
    assert read_file(["x-2_2-py3-none-any.whl", *shown[1:]]) is None
    assert read_file([*shown[:2], "a\nName: y"]) is None
    for time in ("2026-06-30T23:59:60", "2026-99-99T00:00:00", "tomorrow"):
        assert read_file([shown[0], time, shown[2]]) is None
