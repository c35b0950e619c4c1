"""What is there already needs no index, and is requested from then on."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest
from fake_index import FakeIndex, make_metadata
from hearth_downloads.packages.generations import Account, Generations, Package
from hearth_downloads.packages.judge import RULES
from hearth_downloads.packages.there import find_requested
from worker import Folder, Refusal, refuse


@pytest.fixture
def session(folder: Folder, index: FakeIndex) -> Folder:
    """Return one that has some packages, and no index any more."""
    index.add("a", "1.0", requires=["dep"], extras={"x": ["more"]})
    for name in ("dep", "more"):
        index.add(name, "2")
    folder.do("add", "a[x]>=1", "pytest>=1")
    index.status = 500
    index.requests.clear()
    return folder


def account(folder: Folder) -> Account:
    return Generations(str(folder.session())).read()


def names(answer: dict[str, Any]) -> set[str]:
    return {one["name"] for one in answer["packages"]}


@pytest.mark.parametrize(
    "asked", ["a", "a==1.0", "A[X]", "a[x]==1.0", "a >= 1", "a[x]>=1"]
)
def test_what_the_session_has_needs_no_index(
    session: Folder, index: FakeIndex, asked: str
) -> None:
    listed = session.do("list")
    assert session.do("add", asked) == listed
    assert index.count() == 0
    assert os.readlink(session.session() / "current") == "1"


def test_what_older_rules_have_let_pass_is_judged_again(
    session: Folder, index: FakeIndex
) -> None:
    """A revival asks for what is there, and gets no more than a new session."""
    place = Generations(str(session.session()))
    older = replace(place.read(), rules=0)
    place.update(older)
    listed = session.do("list")
    assert session.do("add", "a") == listed
    assert place.read() == replace(older, rules=RULES)
    assert index.count() == 0
    place.update(older)
    claim = session.session() / "1" / "numpy-99.dist-info"
    claim.mkdir()
    (claim / "METADATA").write_bytes(make_metadata("numpy", "99", [], {}))
    index.status = 200
    answer = session.do("add", "a")
    assert (answer["added"], answer["changed"]) == ([], [])
    assert names(answer) == names(listed)
    assert os.readlink(session.session() / "current") == "2"
    assert "numpy-99.dist-info" not in session.current()
    assert place.read().rules == RULES


@pytest.mark.parametrize("form", ["pytest", "pytest=={}", "pytest>=1"])
def test_what_the_profile_has_needs_no_index(
    session: Folder, index: FakeIndex, form: str
) -> None:
    there = version("pytest")
    answer = session.do("add", form.format(there))
    assert answer["present"] == [{"name": "pytest", "version": there}]
    assert answer["packages"] == session.do("list")["packages"]
    assert index.count() == 0


def test_a_new_session_needs_none_for_what_the_profile_has(
    folder: Folder, index: FakeIndex
) -> None:
    index.status = 500
    answer = folder.do("add", "pytest")
    assert answer["present"] == [
        {"name": "pytest", "version": version("pytest")}
    ]
    assert folder.current() == []
    assert os.listdir(folder.path / "work") == ["lock"]
    assert folder.do("remove", "pytest")["packages"] == []
    assert index.count() == 0
    index.status = 200
    index.add("b", "1")
    assert names(folder.do("add", "b")) == {"b"}


@pytest.mark.parametrize(
    "asked", ["b", "a>1", "a==1", "a[y]", "more[z]", "pytest[dev]", "pytest>=2"]
)
def test_all_else_is_resolved(session: Folder, asked: str) -> None:
    # One such requirement is enough.
    assert refuse(session, "dep", asked).ename == "PackagesUnreachable"


def test_what_is_there_and_not_whole_is_made_again(
    session: Folder, index: FakeIndex
) -> None:
    """As a power loss leaves it: the file of uv's cache is the same."""
    index.status = 200
    text = session.read("dep.py")
    os.truncate(session.session() / "current" / "dep.py", 0)
    assert session.do("add", "a")["added"] == []
    assert session.read("dep.py") == text


def test_a_denied_name_is_refused_though_it_is_there(session: Folder) -> None:
    for asked in ("a", "pytest"):
        refusal = refuse(session, asked, deny=[asked])
        assert refusal.text.endswith("packages/deny names it")


def test_what_is_there_and_denied_is_refused_by_what_needs_it(
    session: Folder, index: FakeIndex
) -> None:
    index.status = 200
    assert refuse(session, "a", deny=["dep"]).text.startswith(
        "dep, which is needed by a, is not permitted"
    )


def test_what_is_requested_by_name_stays(
    session: Folder, index: FakeIndex
) -> None:
    before = account(session).requested
    answer = session.do("add", "dep")
    assert ("dep", "2", True) in [
        (one["name"], one["version"], one["requested"])
        for one in answer["packages"]
    ]
    session.do("add", "a")
    assert account(session).requested == {**before, "dep": "dep"}
    session.do("add", "a==1.0")
    assert account(session).requested["a"] == "a[x]==1.0"
    answer = session.do("remove", "a")
    assert names(answer) == {"dep"}
    assert {one["name"] for one in answer["removed"]} == {"a", "more"}
    with pytest.raises(Refusal):
        session.do("add", "more")
    assert session.do("remove", "dep")["packages"] == []
    assert index.count("/simple/a/") == index.count("/files/") == 0


def test_what_changes_nothing_waits_for_no_other_worker(
    session: Folder, index: FakeIndex
) -> None:
    index.status = 200
    index.add("slow", "1", silent=True)
    other = session.start("add", "slow", token="1" * 32)
    while other.await_progress() != "installing 1 packages":
        pass
    run = session.start("add", "a", "pytest")
    assert names(run.answer()) == {"a", "dep", "more"}
    assert run.progress == []
    waiting = session.start("add", "dep")
    assert waiting.await_progress() == "waiting for another job's end"
    other.kill()
    assert names(waiting.answer()) == {"a", "dep", "more"}


def test_a_generation_that_is_gone_is_made_again(
    session: Folder, index: FakeIndex
) -> None:
    shutil.rmtree(session.session() / "1")
    with pytest.raises(Refusal, match="500"):
        session.do("add", "a")
    index.status = 200
    assert names(session.do("add", "a")) == {"a", "dep", "more"}
    assert session.read("a.py") == "VERSION = '1.0'\n"
    assert account(session).generation == 2


def test_another_profile_is_resolved_for() -> None:
    before = Account(
        1,
        {"a": "a", "p": "p>=1"},
        (Package("a", "1", True),),
        "a==1\np==1\n    # via a\n",
    )
    asked = {"a": "a", "p": "p>=1"}
    assert find_requested(asked, before, {"p": "1"}) == before.requested
    assert find_requested(asked, before, {"p": "2"}) is None
    assert find_requested(asked, before, {}) is None
    # Of two packages with one name uv takes the profile's.
    assert find_requested({"a": "a"}, before, {"p": "1", "a": "1"}) is None
