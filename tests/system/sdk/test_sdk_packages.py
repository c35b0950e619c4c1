"""Packages of a session, by the client."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Iterator

import hearth
import pytest
from harness import ROOT, Gateway
from packages_gateway import gateway_with_uv
from relay import LATE, LOSE_ANSWER, LOSE_REQUEST, PASS, STOP, Relay
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
        made.add("named", "1.0", {"another.py": ""})
        yield made


@pytest.fixture(scope="module")
def with_index(index: FakeIndex) -> Iterator[Gateway]:
    with gateway_with_uv(index.url, deny="barred") as made:
        yield made


@pytest.fixture
def relay(with_index: Gateway) -> Iterator[Relay]:
    with Relay(with_index.info()["http"]["url"]) as made:
        yield made


def by(relay: Relay, session: hearth.Session, **options: Any) -> hearth.Session:
    """The session, by requests through the relay."""
    token = hearth.connect()._transport.address().token
    return hearth.connect(relay.url, token, **options).attach(session.id)


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
    assert done.restart == ()
    assert done.packages == session.packages.list()
    assert [(one.name, one.is_requested) for one in done.packages] == [
        ("humane", True),
        ("timely", False),
    ]
    assert session.run("import humane; humane.VERSION").text == "'4.0'"
    done = session.packages.add("humane==4.1")
    assert (done.added, done.changed) == ((), (("humane", "4.0", "4.1"),))
    assert done.restart == ("humane",)
    done = session.packages.remove("humane")
    assert done.removed == (("humane", "4.1"), ("timely", "1.5"))
    assert done.packages == ()


def test_modules_of_another_name_are_named(session: hearth.Session) -> None:
    done = session.packages.add("named", "timely")
    assert done.modules == {"named": ("another",)}
    assert session.packages.add("named").modules == {}


def test_what_is_there_is_present(session: hearth.Session) -> None:
    done = session.packages.add("ipython")
    assert [name for name, _ in done.present] == ["ipython"]
    assert done.added == ()
    assert done.notes == ()


def test_a_note_says_what_was_yanked(
    session: hearth.Session, index: FakeIndex
) -> None:
    index.add("pulled", "1.0", yanked="it breaks")
    done = session.packages.add("pulled==1.0")
    assert done.notes == ("pulled 1.0 was yanked: it breaks",)


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


def test_an_index_that_is_away_has_its_own_fault(
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


@pytest.mark.parametrize("has_names", [True, False])
def test_errors_have_their_types_also_without_names(
    with_index: Gateway, session: hearth.Session, has_names: bool
) -> None:
    url = with_index.info()["http"]["url"]
    made = with_index.json(
        "token", "create", "--json", "--scope", "observe", "t"
    )
    with Relay(url, has_names) as relay:
        owner = by(relay, session)
        with pytest.raises(hearth.PackagesRefused, match="barred"):
            owner.packages.add("barred")
        with pytest.raises(hearth.PackagesRefused, match="not among"):
            owner.packages.remove("nothing")
        guest = hearth.connect(relay.url, made["token"]).attach(session.id)
        with pytest.raises(hearth.NotPermitted, match="scope"):
            guest.packages.remove("timely")
        with pytest.raises(hearth.NotPermitted, match="scope"):
            guest.files.list()
        with pytest.raises(hearth.NotPermitted, match="scope"):
            guest.files.write("x", "1")


def test_a_session_without_an_index_has_no_packages(
    user: Gateway, sync_session: hearth.Session
) -> None:
    for ask in (
        sync_session.packages.list,
        lambda: sync_session.packages.add("timely"),
        lambda: sync_session.packages.remove("timely"),
    ):
        with pytest.raises(hearth.PackagesRefused, match="no package index"):
            ask()


# ---- connections that break ----


@pytest.mark.parametrize("how", [LOSE_REQUEST, LOSE_ANSWER, STOP])
def test_an_addition_is_repeated(
    session: hearth.Session, relay: Relay, how: str
) -> None:
    relay.plan["POST"] = [how]
    done = by(relay, session).packages.add("timely")
    assert [one.name for one in done.packages] == ["timely"]
    assert done.packages == session.packages.list()
    assert relay.seen.count("POST") == 2


@pytest.mark.parametrize(
    ("how", "sent"),
    [(LOSE_REQUEST, 2), (LOSE_ANSWER, 1), (STOP, 1), (LATE, 2)],
)
def test_a_removal_whose_answer_is_lost_is_done_once(
    session: hearth.Session, relay: Relay, how: str, sent: int
) -> None:
    """A late one is done after the client has looked at the list."""
    session.packages.add("humane==4.0")
    relay.plan["DELETE"] = [how]
    done = by(relay, session).packages.remove("Humane")
    assert done.removed == (("humane", "4.0"), ("timely", "1.5"))
    assert done.packages == session.packages.list() == ()
    assert relay.seen.count("DELETE") == sent


def test_a_removed_package_that_another_needs_stays(
    session: hearth.Session, relay: Relay
) -> None:
    session.packages.add("humane", "timely")
    relay.plan["DELETE"] = [LOSE_ANSWER]
    done = by(relay, session).packages.remove("timely")
    assert done.removed == ()
    assert [(one.name, one.is_requested) for one in done.packages] == [
        ("humane", True),
        ("timely", False),
    ]
    assert relay.seen.count("DELETE") == 1


def test_what_was_never_there_is_not_said_to_be_removed(
    session: hearth.Session, relay: Relay
) -> None:
    relay.plan["DELETE"] = [LOSE_ANSWER]
    with pytest.raises(hearth.PackagesRefused, match="not among"):
        by(relay, session).packages.remove("timely")
    assert relay.seen.count("DELETE") == 2


def test_whether_a_removal_was_done_can_be_unknown(
    session: hearth.Session, relay: Relay
) -> None:
    session.packages.add("timely")
    twin = by(relay, session, retry_seconds=0.1)
    relay.plan["DELETE"] = [LOSE_ANSWER]
    relay.plan["GET"] = [PASS, *[LOSE_ANSWER] * 100]
    with pytest.raises(hearth.GatewayUnreachable, match="unknown") as raised:
        twin.packages.remove("timely")
    assert raised.value.was_sent
    assert session.packages.list() == ()


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


def test_a_session_with_stricter_rules(
    session: hearth.Session, index: FakeIndex
) -> None:
    rules = {"deny": ["timely"]}
    with hearth.session(packages=rules, fetch={"allow": []}) as strict:
        with pytest.raises(hearth.PackagesRefused) as refused:
            strict.packages.add("humane")
        assert "this session was created with packages/deny = timely" in (
            str(refused.value)
        )
    assert session.packages.add("humane").added

    async def ask() -> None:
        async with hearth.aio.session(packages={"index": ""}) as none:
            with pytest.raises(hearth.HearthError, match="gets no packages"):
                await none.packages.add("humane")

    asyncio.run(ask())
    with pytest.raises(hearth.BadRequest, match="packages/cooldown: 1 is less"):
        hearth.connect().session(packages={"cooldown": 1})
