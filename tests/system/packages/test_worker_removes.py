"""What the worker removes for a session, and what it leaves."""

from __future__ import annotations

import shutil

import pytest
from fake_index import FakeIndex
from worker import Folder, Refusal, names, see_all


def test_removes_what_no_other_package_needs(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["shared", "mine"])
    index.add("b", "1", requires=["shared"])
    index.add("shared", "1")
    index.add("mine", "1")
    folder.do("add", "a", "b")
    answer = folder.do("remove", "a")
    assert names(answer) == {"b": "1", "shared": "1"}
    assert {one["name"] for one in answer["removed"]} == {"a", "mine"}


def test_removes_while_the_index_is_away(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["shared", "mine"])
    index.add("b", "1", requires=["shared"], extras={"x": ["more"]})
    for name in ("shared", "mine", "more", "c"):
        index.add(name, "1")
    folder.do("add", "a", "b[x]", "pytest")
    index.status = 500
    # Nor is it asked for what the profile says now.
    answer = folder.do("remove", "a", deny=["*"], cooldown=365 * 86400)
    assert names(answer) == {"b": "1", "more": "1", "shared": "1"}
    assert {one["name"] for one in answer["removed"]} == {"a", "mine"}
    assert answer["packages"] == folder.do("list")["packages"]
    assert folder.current() == [
        "b-1.dist-info",
        "b.py",
        "more-1.dist-info",
        "more.py",
        "shared-1.dist-info",
        "shared.py",
    ]
    with pytest.raises(Refusal, match="shared is there because b needs it"):
        folder.do("remove", "shared")
    # Then the session goes on with what it has.
    index.status = 200
    index.add("b", "2")
    answer = folder.do("add", "c")
    assert names(answer) == {"b": "1", "c": "1", "more": "1", "shared": "1"}
    assert index.downloads() == 6


def test_removes_what_the_index_has_taken_back(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("bad", "1", requires=["worse"])
    index.add("worse", "1")
    index.add("good", "1")
    folder.do("add", "bad", "good")
    del index.releases["bad"], index.releases["worse"]
    assert names(folder.do("remove", "bad")) == {"good": "1"}
    assert folder.current() == ["good-1.dist-info", "good.py"]


def test_says_what_else_to_remove_that_the_index_has_taken_back(
    folder: Folder, index: FakeIndex
) -> None:
    for name in ("a", "bad", "good"):
        index.add(name, "1")
    folder.do("add", "a", "bad", "good")
    index.releases["bad"].clear()
    index.add("bad", "2")
    with pytest.raises(Refusal, match="no version fits"):
        folder.do("add", "bad>=3")  # and uv has the new page
    with pytest.raises(
        Refusal, match=r"in the same request; .*no version of bad==1"
    ) as refused:
        folder.do("remove", "a")
    assert refused.value.ename == "PackagesConflict"
    assert names(folder.do("remove", "a", "bad")) == {"good": "1"}


def test_removes_what_is_needed_in_a_circle(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    index.add("b", "1", requires=["c"])
    index.add("c", "1", requires=["b"])
    index.add("d", "1")
    folder.do("add", "a", "d")
    assert names(folder.do("remove", "a")) == {"d": "1"}


def test_removes_without_what_was_in_the_cache(
    folder: Folder, index: FakeIndex
) -> None:
    """Then the index is asked, for the same files."""
    index.add("a", "1")
    index.add("b", "1")
    folder.do("add", "a", "b")
    index.add("b", "2")
    shutil.rmtree(folder.path / "work" / "uv" / "cache")
    assert names(folder.do("remove", "a")) == {"b": "1"}
    assert folder.read("b.py") == "VERSION = '1'\n"
    folder.do("add", "a")
    shutil.rmtree(folder.path / "work" / "uv" / "cache")
    index.status = 500
    with pytest.raises(Refusal) as refused:
        folder.do("remove", "a")
    assert refused.value.ename == "PackagesUnreachable"
    assert names(folder.do("list")) == {"a": "1", "b": "1"}


def test_removes_what_was_denied_meanwhile(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    for name in "bcde":
        index.add(name, "1")
    folder.do("add", "a", "c", "d")
    folder.settings["deny"] = ["b", "c"]
    # One by one, in any order.
    assert set(names(folder.do("remove", "d"))) == {"a", "b", "c"}
    with pytest.raises(
        Refusal, match="deny names it; the session has a already: remove that"
    ):
        folder.do("add", "e")
    assert set(names(folder.do("remove", "a"))) == {"c"}
    with pytest.raises(Refusal, match="; the session has c already"):
        folder.do("add", "e")
    with pytest.raises(Refusal, match=r"deny names it$"):
        folder.do("add", "c")
    assert folder.do("remove", "c")["packages"] == []
    assert set(names(folder.do("add", "e"))) == {"e"}


def test_a_repeated_removal_of_nothing_is_done(
    folder: Folder, index: FakeIndex
) -> None:
    """As in a revival where the package cannot be had again."""
    index.add("a", "1.0")
    index.add("b", "1.0", requires=["needed"])
    index.add("needed", "1.0")
    answer = folder.do("remove", "a", repeated=True)
    assert (answer["packages"], answer["removed"]) == ([], [])
    folder.do("add", "a", "b")
    before = see_all(folder.session())
    assert len(folder.do("remove", "x", repeated=True)["packages"]) == 3
    assert see_all(folder.session()) == before
    answer = folder.do("remove", "x", "a", repeated=True)
    assert answer["removed"] == [{"name": "a", "version": "1.0"}]
    with pytest.raises(Refusal, match="b needs it"):
        folder.do("remove", "needed", repeated=True)


def test_does_not_remove_what_another_package_needs(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    index.add("b", "1")
    folder.do("add", "a")
    with pytest.raises(Refusal, match="b is there because a needs it") as no:
        folder.do("remove", "b")
    assert no.value.ename == "PackagesConflict"
    with pytest.raises(Refusal, match="c is not among the session's packages"):
        folder.do("remove", "c")
    assert names(folder.do("list")) == {"a": "1", "b": "1"}
