"""Files from outside over REST, by a worker that does what the tests say."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
from deadline import wait_for
from fetch_gateway import ALLOW, AWAY, COMMIT, HOST, PLAIN, README, Fetching
from keys import two_tokens
from records import wait_record
from web import Answer, Web

HASH = hashlib.sha256(PLAIN).hexdigest()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    made = Fetching()
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def here(web: Web) -> Iterator[str]:
    """The path of a session's fetches."""
    kernel = web.create()
    yield f"/hearth/sessions/{kernel}/fetches"
    web.delete(kernel)


def fetch(web: Web, here: str, name: str, **members: Any) -> Answer:
    return web.ask("POST", here, {"url": f"{HOST}/{name}", **members})


def workspace(web: Web, path: str) -> Path:
    about = web.gateway.json("session", "show", "--json", path.split("/")[3])
    return Path(about["workspace"])


class Asked(threading.Thread):
    """A request that waits for its answer."""

    def __init__(self, web: Web, path: str, name: str, **body: Any) -> None:
        super().__init__(daemon=True)
        self.web, self.path, self.name_of_file = web, path, name
        self.body = body
        self.answer: Optional[Answer] = None
        self.start()

    def run(self) -> None:
        self.answer = fetch(self.web, self.path, self.name_of_file, **self.body)

    def end(self) -> Answer:
        self.join(60)
        assert self.answer is not None
        return self.answer


def test_a_file_arrives(web: Web, here: str) -> None:
    answer = fetch(web, here, "plain.csv?key=1", path="d/", sha256=HASH)
    assert (answer.status, answer.json) == (
        200,
        {
            "path": "d/plain.csv",
            "size": len(PLAIN),
            "sha256": HASH,
            "url": f"{HOST}/plain.csv?key=1",
            "cached": False,
            "encoding": "",
        },
    )
    placed = workspace(web, here) / "d/plain.csv"
    assert placed.read_bytes() == PLAIN
    answer = fetch(web, here, "cached")
    assert (answer.json["cached"], answer.json["path"]) == (True, "cached")
    assert fetch(web, here, "zipped").json["encoding"] == "gzip"
    assert web.get(here).json == {"fetches": []}


def test_a_repository_arrives(web: Web, here: str) -> None:
    answer = fetch(
        web,
        here,
        "lacks-1-2.git?key=1",
        **{"kind": "repository", "path": "d/", "ref": "v1", "depth": 1},
        lfs=True,
    )
    assert answer.status == 200
    said = answer.json
    counts = {said.pop("bytes"), said.pop("files")}
    assert all(type(count) is int and count > 1 for count in counts)
    assert said == {
        "path": "d/lacks-1-2",
        "url": f"{HOST}/lacks-1-2.git?key=1",
        "commit": COMMIT,
        "branch": "v1",
        "lfs": 1,
        "submodules": 2,
        "cached": False,
    }
    away = fetch(web, here, "away", kind="repository")
    assert (away.status, away.json["note"]) == (200, AWAY)
    placed = workspace(web, here) / "d/lacks-1-2"
    assert (placed / "README.md").read_bytes() == README
    again = fetch(web, here, "plain", kind="repository", path="d/lacks-1-2")
    assert (again.status, again.json["ename"]) == (409, "FolderNotEmpty")
    assert "another `path` (--into)" in again.json["message"]


@pytest.mark.parametrize(
    ("name", "status", "ename", "message"),
    [
        ("invalid", 400, "FetchInvalid", "it is FetchInvalid"),
        ("refused", 403, "FetchRefused", "it is FetchRefused"),
        ("unreachable", 502, "FetchUnreachable", "it is FetchUnreachable"),
        ("failed", 500, "FetchFailed", "it is FetchFailed"),
        ("dies", 500, "FetchFailed", "ended without an answer"),
        ("nofile", 500, "FetchFailed", "answered without the file"),
        ("folder", 500, "FetchFailed", "gave no plain file"),
        ("size", 500, "FetchFailed", "said that it has"),
    ],
)
def test_faults(
    web: Web, here: str, name: str, status: int, ename: str, message: str
) -> None:
    answer = fetch(web, here, name)
    assert (answer.status, answer.json["ename"]) == (status, ename)
    assert message in answer.json["message"]


def test_bodies_that_are_none(web: Web, here: str) -> None:
    url = f"{HOST}/plain"
    for body in (
        {},
        {"path": "x"},
        {"url": url, "replace": True},
        {"url": url, "order": "cancel"},
    ):
        answer = web.ask("POST", here, body)
        assert answer.status == 400
        assert "the body must have the member `url`" in answer.json["message"]
    for members, message in (
        ({"url": 7}, "url must be a text of 1 to 2000 bytes"),
        ({"url": ""}, "url must be a text of 1 to 2000 bytes"),
        ({"url": f"{HOST}/a\nb"}, "without spaces and control characters"),
        ({"url": f"{HOST}/" + "x" * 2000}, "url must be a text of 1 to 2000"),
        ({"url": f"{HOST}/"}, "the URL has no name for the file"),
        ({"url": url, "path": 7}, "path must be a text"),
        ({"url": url, "path": "/etc/x"}, "path"),
        ({"url": url, "sha256": "00"}, "64 hexadecimal digits"),
        ({"url": url, "sha256": HASH.upper()}, "lower case"),
        ({"url": url, "sha256": None}, "64 hexadecimal digits"),
        ({"url": url, "kind": "folder"}, "kind must be file or repository"),
        ({"url": url, "ref": "main"}, "add kind = repository"),
        ({"url": url, "kind": "repository", "ref": "-x"}, "ref must be"),
        ({"url": url, "kind": "repository", "depth": 0}, "depth must be"),
        ({"url": url, "kind": "repository", "lfs": 1}, "lfs must be true or"),
        ({"url": url, "lfs": True}, "add kind = repository"),
        ({"url": url, "submodules": True}, "add kind = repository"),
        (
            {"url": url, "kind": "repository", "submodules": 1},
            "submodules must be true or",
        ),
        ({"url": url, "kind": "repository", "sha256": HASH}, "is for a file"),
    ):
        answer = web.ask("POST", here, members)
        assert (answer.status, answer.json["ename"]) == (400, "BadRequest")
        assert message in answer.json["message"]
    for raw in (b"[]", b"{", b"\xff"):
        assert web.ask("POST", here, raw=raw).status == 400


def test_no_such_session(web: Web) -> None:
    gone = web.create()
    web.delete(gone)
    for session in (gone, "nothing"):
        path = f"/hearth/sessions/{session}/fetches"
        assert web.get(path).status == 404
        assert fetch(web, path, "plain").status == 404
        assert web.ask("DELETE", f"{path}/1").status == 404


def test_scopes(web: Web, here: str) -> None:
    def token(*scopes: str) -> Web:
        body = {"name": "-".join(scopes), "scopes": list(scopes)}
        made = web.ask("POST", "/hearth/tokens", body).json
        return web.with_token(made["token"])

    looks = token("observe")
    assert looks.get(here).status == 200
    refused = fetch(looks, here, "plain")
    assert (refused.status, "ename" in refused.json) == (403, False)
    assert looks.ask("DELETE", f"{here}/1").status == 403
    runs = token("execute")
    assert fetch(runs, here, "plain").status == 200
    record = wait_record(web.gateway, event="file", what="fetch", path="plain")
    assert record["who"].startswith("token=")


def test_a_list_and_a_cancellation(
    gateway: Fetching, web: Web, here: str
) -> None:
    asked = Asked(web, here, "slow-rest?key=secret")
    gateway.wait_note("waits", "slow-rest")
    other = web.create()
    path = f"/hearth/sessions/{other}/fetches"
    assert web.get(path).json == {"fetches": []}

    def running() -> Any:
        (found,) = web.get(here).json["fetches"]
        return found if found["bytes"] else None

    found = wait_for(running, "bytes in the list")
    number = found.pop("number")
    assert found == {
        "kind": "file",
        "url": f"{HOST}/slow-rest",
        "path": "slow-rest",
        "tag": "",
        "state": "running",
        "bytes": 5,
        "total": 10,
        "doing": "receiving",
    }
    for wrong in (f"{path}/{number}", f"{here}/{number + 1}", f"{here}/0"):
        answer = web.ask("DELETE", wrong)
        assert (answer.status, answer.json["ename"]) == (404, "FetchUnknown")
    assert web.ask("DELETE", f"{here}/x").status == 404
    assert asked.answer is None
    assert web.ask("DELETE", f"{here}/{number}").status == 204
    answer = asked.end()
    assert (answer.status, answer.json["ename"]) == (409, "FetchCancelled")
    gateway.wait_note("given up", "slow-rest")
    assert web.ask("DELETE", f"{here}/{number}").status == 404
    assert web.get(here).json == {"fetches": []}
    web.delete(other)


def test_the_client_goes(gateway: Fetching, web: Web, here: str) -> None:
    connection = web.connect()
    connection.request(
        "POST",
        here,
        f'{{"url": "{HOST}/slow-client"}}'.encode(),
        {"Authorization": f"token {web.token}"},
    )
    gateway.wait_note("waits", "slow-client")
    connection.close()
    gateway.let("slow-client")
    wait_for((workspace(web, here) / "slow-client").exists, "the file")


def test_the_session_ends(gateway: Fetching, web: Web) -> None:
    kernel = web.create()
    asked = Asked(web, f"/hearth/sessions/{kernel}/fetches", "slow-end")
    gateway.wait_note("waits", "slow-end")
    web.delete(kernel)
    answer = asked.end()
    assert (answer.status, answer.json["ename"]) == (404, "SessionGone")
    assert "ended before one of its fetches" in answer.json["message"]


def test_too_many_wait(gateway: Fetching, web: Web, here: str) -> None:
    asked = [Asked(web, here, "slow-many") for _ in range(9)]
    wait_for(lambda: len(web.get(here).json["fetches"]) == 9, "nine fetches")
    busy = fetch(web, here, "plain")
    assert (busy.status, busy.json["ename"]) == (503, "FetchBusy")
    assert busy.headers["Retry-After"] == "10"
    gateway.let("slow-many")
    assert [one.end().status for one in asked] == [200] * 9


def test_the_workspace_is_full(web: Web, gateway: Fetching) -> None:
    session = gateway.create("--limit", "workspace_bytes=1M")
    path = f"/hearth/sessions/{session.id}/fetches"
    answer = fetch(web, path, "big-2000000")
    assert (answer.status, answer.json["ename"]) == (507, "WorkspaceFull")
    assert list(session.workspace.iterdir()) == []
    session.delete()


def test_a_path_that_is_taken(gateway: Fetching, web: Web, here: str) -> None:
    """It is refused before anything is downloaded."""
    before = gateway.order("began")
    (workspace(web, here) / "plain" / "x").mkdir(parents=True)
    answer = fetch(web, here, "plain")
    assert (answer.status, answer.json["ename"]) == (400, "IsFolder")
    answer = fetch(web, here, "plain", kind="repository")
    assert (answer.status, answer.json["ename"]) == (409, "FolderNotEmpty")
    assert gateway.order("began") == before


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_key(gateway: Fetching, web: Web, here: str, place: str) -> None:
    """Does the same request under the same key once."""

    def clone(name: str, **members: Any) -> Answer:
        body = {"url": f"{HOST}/{name}", "kind": "repository", **members}
        if place == "body":
            return web.ask("POST", here, {**body, "key": "k 1"})
        return web.ask("POST", here, body, {"Idempotency-Key": "k 1"})

    before = gateway.order("began")
    first = clone("plain")
    assert (first.status, first.json["path"]) == (200, "plain")
    again = clone("plain")
    assert (again.status, again.json) == (200, first.json)
    assert gateway.order("began") == [*before, "plain"]
    other = clone("plain", path="x")
    assert (other.status, other.json["ename"]) == (409, "FetchKeyUsed")
    assert "take another key" in other.json["message"]
    unnamed = fetch(web, here, "plain", kind="repository")
    assert (unnamed.status, unnamed.json["ename"]) == (409, "FolderNotEmpty")


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_key_of_two_tokens(
    gateway: Fetching, web: Web, here: str, place: str
) -> None:
    one, other = (
        web.with_token(token) for token in two_tokens(gateway, "files,execute")
    )

    def clone(web: Web) -> Answer:
        body = {"url": f"{HOST}/plain", "kind": "repository"}
        if place == "body":
            return web.ask("POST", here, {**body, "key": "k 1"})
        return web.ask("POST", here, body, {"Idempotency-Key": "k 1"})

    first = clone(one)
    assert first.status == 200, first
    refused = clone(other)
    assert (refused.status, refused.json["ename"]) == (409, "FolderNotEmpty")
    again = clone(one)
    assert (again.status, again.json) == (200, first.json)
    # A session's name, and the beginning of its id, name the same session.
    short = here.replace(here.split("/")[3], here.split("/")[3][:12])
    by_name = one.ask(
        "POST",
        short,
        {"url": f"{HOST}/plain", "kind": "repository", "key": "k 1"},
    )
    assert (by_name.status, by_name.json) == (200, first.json)


def test_a_key_that_is_none(web: Web, here: str) -> None:
    for key in ("", "k" * 256, 7, None):
        answer = fetch(web, here, "plain", key=key)
        assert (answer.status, answer.json["ename"]) == (400, "BadRequest")
        assert "key must be a text of 1 to 255" in answer.json["message"]
    for text in ("k" * 256, "\xff"):
        answer = web.ask(
            "POST", here, {"url": f"{HOST}/plain"}, {"Idempotency-Key": text}
        )
        assert answer.status == 400
    assert list(workspace(web, here).iterdir()) == []


def test_one_that_goes_on_is_joined(
    gateway: Fetching, web: Web, here: str
) -> None:
    first = Asked(web, here, "slow-joined", key="k")
    gateway.wait_note("waits", "slow-joined")
    second = Asked(web, here, "slow-joined", key="k")
    other = fetch(web, here, "plain", key="k")
    assert other.json["ename"] == "FetchKeyUsed"
    gateway.let("slow-joined")
    assert first.end().json == second.end().json
    assert gateway.order("began").count("slow-joined") == 1
    assert len(web.get(here).json["fetches"]) == 0


def test_a_profile_without_hosts() -> None:
    gateway = Fetching("--set", f"{ALLOW}=")
    try:
        gateway.start()
        web = Web.of(gateway)
        path = f"/hearth/sessions/{web.create()}/fetches"
        answer = fetch(web, path, "plain")
        assert (answer.status, answer.json["ename"]) == (403, "FetchOff")
        assert ALLOW in answer.json["message"]
        assert web.get(path).json == {"fetches": []}
    finally:
        gateway.end()
