"""Packages of a session, by the client."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import hearth
import pytest
from harness import ROOT, Gateway
from surroundings import live_as

sys.path.insert(0, str(ROOT / "tests" / "lib"))

from fake_index import FakeIndex


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.0", requires=["timely>=1"])
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("barred", "1.0")
        yield made


@pytest.fixture(scope="module")
def with_index(index: FakeIndex) -> Iterator[Gateway]:
    # The users of sessions reach it by its path.
    folder = Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    folder.chmod(0o711)
    made = Gateway(
        "--set", f"profile/python3/packages/index={index.url}",
        "--set", "profile/python3/packages/deny=barred",
        "--set", f"packages/dir={folder / 'packages'}",
    )  # fmt: skip
    made.start()
    yield made
    made.end()
    shutil.rmtree(folder)


@pytest.fixture
def session(
    with_index: Gateway, monkeypatch: pytest.MonkeyPatch
) -> Iterator[hearth.Session]:
    live_as(with_index, monkeypatch)
    with hearth.session() as made:
        yield made


def test_packages_come_and_go(session: hearth.Session) -> None:
    assert session.packages.list() == ()
    done = session.packages.add("humane==4.0")
    assert done.added == (("humane", "4.0"), ("timely", "1.5"))
    assert done.packages == session.packages.list()
    assert [(one.name, one.is_requested) for one in done.packages] == [
        ("humane", True),
        ("timely", False),
    ]
    assert session.run("import humane; humane.VERSION").text == "'4.0'"
    done = session.packages.add("humane==4.1")
    assert (done.added, done.changed) == ((), (("humane", "4.0", "4.1"),))
    done = session.packages.remove("humane")
    assert done.removed == (("humane", "4.1"), ("timely", "1.5"))
    assert done.packages == ()


def test_what_is_there_is_present(session: hearth.Session) -> None:
    done = session.packages.add("ipython")
    assert [name for name, _ in done.present] == ["ipython"]
    assert done.added == ()


@pytest.mark.parametrize(
    ("requirement", "kind", "said"),
    [
        ("barred", hearth.PackagesRefused, "barred"),
        ("humane==9", hearth.PackagesRefused, "humane"),
        ("./here", hearth.BadRequest, "./here"),
    ],
)
def test_a_refusal_has_the_gateways_sentence(
    session: hearth.Session,
    requirement: str,
    kind: type[hearth.HearthError],
    said: str,
) -> None:
    with pytest.raises(kind, match=said):
        session.packages.add(requirement)
    assert session.packages.list() == ()


def test_an_index_that_is_away_is_told_apart(
    session: hearth.Session, index: FakeIndex
) -> None:
    index.status = 500
    try:
        with pytest.raises(hearth.IndexUnreachable):
            session.packages.add("timely")
    finally:
        index.status = 200
    assert session.packages.add("timely").added == (("timely", "1.5"),)


def test_a_token_without_the_scope_is_not_permitted(
    with_index: Gateway, session: hearth.Session
) -> None:
    url = with_index.info()["http"]["url"]
    made = with_index.json(
        "token", "create", "--json", "--scope", "observe", "t"
    )
    gateway = hearth.connect(url, made["token"])
    other = gateway.attach(session.id)
    assert other.packages.list() == ()
    with pytest.raises(hearth.NotPermitted):
        other.packages.add("timely")


def test_a_session_that_has_ended_is_gone(session: hearth.Session) -> None:
    session.end()
    with pytest.raises(hearth.SessionGone):
        session.packages.add("timely")


def test_the_same_is_awaited(session: hearth.Session) -> None:
    async def add() -> None:
        async with hearth.aio.connect() as gateway:
            twin = await gateway.attach(session.id)
            done = await twin.packages.add("timely")
            assert done.added == (("timely", "1.5"),)
            assert await twin.packages.list() == done.packages

    asyncio.run(add())
