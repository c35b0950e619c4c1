"""Files and repositories from outside, by the client, with a worker that does
what the tests say."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from dataclasses import replace
from typing import Any, Iterator

import hearth
import pytest
from deadline import wait_for
from fetch_gateway import (
    ALLOW,
    AWAY,
    COMMIT,
    HOST,
    PLAIN,
    README,
    REPOSITORY,
    Fetching,
)
from harness import Gateway
from relay import LOSE_ANSWER, LOSE_REQUEST, STOP, Relay
from surroundings import live_as

HASH = hashlib.sha256(PLAIN).hexdigest()
CLONED = hearth.ClonedRepository(
    path="tool",
    commit=COMMIT,
    branch="main",
    bytes=len(README)
    + sum(len(c) for kind, _, c in REPOSITORY if kind != b"l"),
    files=1 + len(REPOSITORY),
    lfs=0,
    submodules=0,
    is_cached=False,
)


@pytest.fixture(scope="module")
def fetching() -> Iterator[Fetching]:
    made = Fetching()
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def relay(fetching: Fetching) -> Iterator[Relay]:
    with Relay(fetching.info()["http"]["url"]) as made:
        yield made


@pytest.fixture
def session(
    fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> Iterator[hearth.Session]:
    live_as(fetching, monkeypatch)
    with hearth.session() as made:
        yield made


def by(relay: Relay, session: hearth.Session, **options: Any) -> hearth.Session:
    """The session, by requests through the relay."""
    token = hearth.connect()._transport.address().token
    return hearth.connect(relay.url, token, **options).attach(session.id)


def test_a_file_arrives(session: hearth.Session) -> None:
    done = session.files.fetch(f"{HOST}/plain.csv?k=v", "data/", HASH)
    assert done == hearth.FetchedFile(
        path="data/plain.csv",
        size=len(PLAIN),
        sha256=HASH,
        url=f"{HOST}/plain.csv?k=v",
        is_cached=False,
        encoding="",
    )
    assert session.files.read(done.path) == PLAIN
    assert session.files.fetch(f"{HOST}/cached").is_cached
    assert session.files.fetch(f"{HOST}/zipped", "z").encoding == "gzip"
    assert session.files.read("z") == PLAIN


def test_a_repository_is_described(
    fetching: Fetching, session: hearth.Session
) -> None:
    assert session.files.clone(f"{HOST}/tool.git") == CLONED
    job = fetching.wait_note("began", "tool.git")["job"]
    assert (job["order"], job["ref"], job["depth"]) == ("clone", "", 0)
    done = session.files.clone(f"{HOST}/sdk.git", "src/", "v1", 3)
    assert done == replace(CLONED, path="src/sdk", branch="v1")
    job = fetching.wait_note("began", "sdk.git")["job"]
    assert (job["ref"], job["depth"], job["lfs"]) == ("v1", 3, False)
    session.files.clone(f"{HOST}/contents.git", lfs=True)
    job = fetching.wait_note("began", "contents.git")["job"]
    assert (job["lfs"], job["submodules"]) == (True, False)
    with pytest.raises(hearth.HearthError, match="fetch/submodules = yes"):
        session.files.clone(f"{HOST}/tool.git", "x", submodules=True)
    done = session.files.clone(f"{HOST}/lacks-3-2", path="x")
    assert done == replace(CLONED, path="x", lfs=3, submodules=2)
    done = session.files.clone(f"{HOST}/cached")
    assert (done.is_cached, done.note) == (True, "")
    assert session.files.clone(f"{HOST}/away").note == AWAY
    assert session.files.clone(f"{HOST}/detached").branch == ""


def test_a_repository_arrives(session: hearth.Session) -> None:
    done = session.files.clone(f"{HOST}/tool")
    assert session.files.read(f"{done.path}/README.md") == README
    names = [entry.name for entry in session.files.list(done.path)]
    assert names == ["README.md", "src"]
    with pytest.raises(hearth.FileExists):
        session.files.clone(f"{HOST}/tool")


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("refused", hearth.FetchRefused, "it is FetchRefused"),
        ("unreachable", hearth.FetchUnreachable, "it is FetchUnreachable"),
        ("invalid", hearth.BadRequest, "it is FetchInvalid"),
        ("dies", hearth.GatewayFailed, "ended without an answer"),
        ("hash", hearth.GatewayFailed, "commit"),
    ],
)
def test_an_error_of_a_clone_has_the_gateways_sentence(
    session: hearth.Session,
    name: str,
    kind: type[hearth.HearthError],
    text: str,
) -> None:
    with pytest.raises(kind, match=text):
        session.files.clone(f"{HOST}/{name}")
    assert session.files.list() == []


def test_a_clone_that_cannot_be(session: hearth.Session) -> None:
    with pytest.raises(hearth.BadRequest, match="ref must be the name"):
        session.files.clone(f"{HOST}/tool", ref="--upload-pack=x")
    with pytest.raises(hearth.BadRequest, match="from 1 to 1000000"):
        session.files.clone(f"{HOST}/tool", depth=-1)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("refused", hearth.FetchRefused, "it is FetchRefused"),
        ("unreachable", hearth.FetchUnreachable, "it is FetchUnreachable"),
        ("invalid", hearth.BadRequest, "it is FetchInvalid"),
        ("dies", hearth.GatewayFailed, "ended without an answer"),
        ("", hearth.BadRequest, "no name for the file"),
    ],
)
def test_an_error_has_the_gateways_sentence(
    session: hearth.Session,
    name: str,
    kind: type[hearth.HearthError],
    text: str,
) -> None:
    with pytest.raises(kind, match=text):
        session.files.fetch(f"{HOST}/{name}")
    assert session.files.list() == []


def test_a_place_that_cannot_be(
    fetching: Fetching, session: hearth.Session
) -> None:
    session.files.make_folder("plain")
    session.files.write("plain/x", b"mine")
    before = fetching.order("began")
    with pytest.raises(hearth.PathRefused, match="plain"):
        session.files.fetch(f"{HOST}/plain")
    with pytest.raises(hearth.FileExists, match="not empty"):
        session.files.clone(f"{HOST}/plain")
    assert fetching.order("began") == before
    with pytest.raises(hearth.BadRequest, match="64 hexadecimal digits"):
        session.files.fetch(f"{HOST}/plain", sha256="00")


def test_the_workspace_is_full(
    fetching: Fetching, session: hearth.Session
) -> None:
    narrow = fetching.create("--limit", "workspace_bytes=1M")
    twin = hearth.connect().attach(narrow.id)
    with pytest.raises(hearth.WorkspaceFull):
        twin.files.fetch(f"{HOST}/big-2000000")
    narrow.delete()


def test_a_profile_without_hosts(
    user: Gateway, sync_session: hearth.Session
) -> None:
    with pytest.raises(hearth.FetchRefused, match=ALLOW):
        sync_session.files.fetch(f"{HOST}/plain")


def test_a_token_without_the_scope_is_not_permitted(
    fetching: Fetching, session: hearth.Session
) -> None:
    made = fetching.json("token", "create", "--json", "--scope", "observe", "t")
    url = fetching.info()["http"]["url"]
    guest = hearth.connect(url, made["token"]).attach(session.id)
    with pytest.raises(hearth.NotPermitted):
        guest.files.fetch(f"{HOST}/plain")


class Asked(threading.Thread):
    """A fetch whose outcome is awaited."""

    def __init__(
        self, session: hearth.Session, name: str, order: str = "fetch"
    ) -> None:
        super().__init__(daemon=True)
        self.ask = getattr(session.files, order)
        self.url = f"{HOST}/{name}"
        self.outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.outcome = self.ask(self.url)
        except hearth.HearthError as error:
            self.outcome = error

    def end(self) -> Any:
        self.join(60)
        return self.outcome


@pytest.mark.parametrize("order", ["fetch", "clone"])
def test_a_cancellation(
    fetching: Fetching, session: hearth.Session, order: str
) -> None:
    asked = Asked(session, f"slow-{order}", order)
    fetching.wait_note("waits", f"slow-{order}")
    path = f"/hearth/sessions/{session.id}/fetches"
    (found,) = session.ask("GET", path).json()["fetches"]
    session.ask("DELETE", f"{path}/{found['number']}", accepted=(204,))
    assert isinstance(asked.end(), hearth.FetchCancelled)


def test_the_session_ends(fetching: Fetching, session: hearth.Session) -> None:
    asked = Asked(session, "slow-gone")
    fetching.wait_note("waits", "slow-gone")
    session.end()
    assert isinstance(asked.end(), hearth.SessionGone)


# ---- connections that break ----


@pytest.mark.parametrize("how", [LOSE_REQUEST, LOSE_ANSWER, STOP])
def test_a_fetch_is_repeated(
    session: hearth.Session, relay: Relay, how: str
) -> None:
    relay.plan["POST"] = [how]
    done = by(relay, session).files.fetch(f"{HOST}/plain")
    assert (done.path, done.sha256) == ("plain", HASH)
    assert session.files.read("plain") == PLAIN
    assert relay.seen.count("POST") == 2


def test_a_clone_is_repeated(session: hearth.Session, relay: Relay) -> None:
    relay.plan["POST"] = [LOSE_REQUEST]
    assert by(relay, session).files.clone(f"{HOST}/tool") == CLONED
    assert relay.seen.count("POST") == 2


@pytest.mark.parametrize("how", [LOSE_ANSWER, STOP])
def test_a_clone_whose_answer_is_lost(
    fetching: Fetching, session: hearth.Session, relay: Relay, how: str
) -> None:
    """The gateway gives it again."""
    relay.plan["POST"] = [how, how]
    before = fetching.order("began")
    assert by(relay, session).files.clone(f"{HOST}/tool") == CLONED
    assert relay.seen.count("POST") == 3
    assert fetching.order("began") == [*before, "tool"]
    with pytest.raises(hearth.FileExists, match="tool is a folder that is not"):
        session.files.clone(f"{HOST}/tool")  # that is another clone


def test_a_fetch_is_repeated_after_a_long_wait(
    fetching: Fetching, session: hearth.Session, relay: Relay
) -> None:
    """Longer than the client retries, which begins when the connection
    breaks."""
    relay.plan["POST"] = [LOSE_ANSWER, LOSE_REQUEST]
    retries = 1.0
    asked = Asked(by(relay, session, retry_seconds=retries), "slow-long")
    fetching.wait_note("waits", "slow-long")
    begun = time.monotonic()
    wait_for(lambda: time.monotonic() > begun + retries, "a long time")
    fetching.let("slow-long")
    done = asked.end()
    assert isinstance(done, hearth.FetchedFile), done
    assert relay.seen.count("POST") == 3


def test_the_same_is_awaited(session: hearth.Session) -> None:
    async def fetch() -> None:
        async with hearth.aio.connect() as gateway:
            twin = await gateway.attach(session.id)
            done = await twin.files.fetch(f"{HOST}/plain")
            assert done.sha256 == HASH
            with pytest.raises(hearth.FetchRefused):
                await twin.files.fetch(f"{HOST}/refused")
            assert await twin.files.clone(f"{HOST}/tool") == CLONED
            with pytest.raises(hearth.FetchRefused):
                await twin.files.clone(f"{HOST}/refused")

    asyncio.run(fetch())
