"""Packages of sessions over REST, by a worker that does what the tests say."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest
from deadline import wait_for
from packages_gateway import KEY, Packaged
from records import wait_record
from rpc import Rpc, head_of
from rpc import text_of as said
from web import Answer, Kernel, Web, text_of

NEW = {"name": "humanize", "version": "1.0"}
NONE: dict[str, Any] = {
    "packages": [],
    "added": [],
    "changed": [],
    "removed": [],
    "present": [],
    "notes": [],
    "restart": [],
}

LIE = {**NONE, "status": "ok", "added": [{"name": "untrue", "version": "6"}]}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Packaged]:
    made = Packaged()
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def here(web: Web) -> Iterator[str]:
    """The path of a session's packages."""
    kernel = web.create()
    yield f"/hearth/sessions/{kernel}/packages"
    web.delete(kernel)


def add(web: Web, path: str, *names: str) -> Answer:
    return web.ask("POST", path, {"packages": list(names)})


class Asked(threading.Thread):
    """A request that waits for its answer."""

    def __init__(self, web: Web, path: str, *names: str) -> None:
        super().__init__(daemon=True)
        self.web, self.path, self.names = web, path, names
        self.answer: Any = None
        self.start()

    def run(self) -> None:
        self.answer = add(self.web, self.path, *self.names)

    def end(self) -> Answer:
        self.join(60)
        answer: Answer = self.answer
        return answer


def test_add_list_and_remove(web: Web, here: str) -> None:
    answer = add(web, here, "humanize")
    assert (answer.status, answer.json) == (
        200,
        {**NONE, "packages": [{**NEW, "requested": True}], "added": [NEW]},
    )
    answer = web.get(here)
    assert answer.status == 200
    assert [one["name"] for one in answer.json["packages"]] == [
        "humanize",
        "six",
    ]
    answer = web.ask("DELETE", f"{here}/humanize")
    assert (answer.status, answer.json) == (200, {**NONE, "removed": [NEW]})
    changed = add(web, here, "many").json
    assert changed["changed"] == [{"name": "x", "from": "1.0", "to": "1.1"}]
    assert changed["present"] == [{"name": "numpy", "version": "2.2.0"}]
    assert changed["notes"] == ["x 1.1 was yanked"]


def test_a_model_asks_in_its_code(web: Web, here: str) -> None:
    rpc, session = Rpc(web), here.split("/")[3]
    rpc.call("execute", session=session, code="kept = 7")
    code = "%pip install humanize\nprint('went on', kept)"
    done = rpc.call("execute", session=session, code=code)
    assert not done["isError"]
    assert "added humanize 1.0\nwent on 7" in said(done)
    done = rpc.call("execute", session=session, code="%pip install refused")
    assert done["isError"]
    assert "state kept" in head_of(done)
    assert "it is PackagesRefused" in said(done)


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("invalid", 400, "it is PackagesInvalid"),
        ("refused", 403, "it is PackagesRefused"),
        ("conflict", 409, "it is PackagesConflict"),
        ("unreachable", 502, "it is PackagesUnreachable"),
        ("dies", 500, "ended without an answer"),
        ("nojson", 500, "no JSON object"),
    ],
)
def test_faults(
    web: Web, here: str, name: str, status: int, message: str
) -> None:
    answer = add(web, here, name)
    assert answer.status == status
    assert message in answer.json["message"]
    named = message.removeprefix("it is ")
    assert answer.json["ename"] == (
        named if named != message else "PackagesFailed"
    )


@pytest.mark.parametrize(
    "body",
    [
        {"packages": []},
        {"packages": "humanize"},
        {"packages": [1]},
        {"packages": [""]},
        {"packages": ["a"] * 101},
        {"packages": None},
    ],
    ids=str,
)
def test_bodies_that_are_none(web: Web, here: str, body: Any) -> None:
    answer = web.ask("POST", here, body)
    assert answer.status == 400
    assert answer.json["message"] == (
        "packages must be an array of 1 to 100 texts, each of 1 to 20000 bytes "
        'without control characters, as ["humanize>=4"]'
    )


def test_more_bodies_that_are_none(web: Web, here: str) -> None:
    for body in ({}, {"packages": ["a"], "upgrade": True}, {"names": ["a"]}):
        answer = web.ask("POST", here, body)
        assert answer.status == 400
        assert "the one member `packages`" in answer.json["message"]
    twice = b'{"packages": ["a"], "packages": ["b"]}'
    answer = web.ask("POST", here, raw=twice)
    assert answer.status == 400
    assert "duplicate object key" in answer.json["message"]
    for name in ("a\nb", "x" * 20001):
        answer = add(web, here, name)
        assert answer.status == 400
        assert "without control characters" in answer.json["message"]
    for raw in (b"[]", b"{", b"\xff"):
        assert web.ask("POST", here, raw=raw).status == 400


def test_no_such_session(web: Web) -> None:
    path = "/hearth/sessions/nothing/packages"
    assert web.get(path).status == 404
    assert add(web, path, "humanize").status == 404
    assert web.ask("DELETE", f"{path}/humanize").status == 404


def test_a_session_that_is_gone_gets_no_package(web: Web) -> None:
    """Some can be removed (test_packages_permitted.py)."""
    gone = web.create()
    web.delete(gone)
    path = f"/hearth/sessions/{gone}/packages"
    assert web.get(path).status == 200
    assert add(web, path, "humanize").status == 404


def test_scopes(web: Web, here: str) -> None:
    def token(*scopes: str) -> Web:
        body = {"name": "-".join(scopes), "scopes": list(scopes)}
        made = web.ask("POST", "/hearth/tokens", body).json
        return web.with_token(made["token"])

    looks = token("observe")
    assert looks.get(here).status == 200
    refused = add(looks, here, "humanize")
    assert (refused.status, "ename" in refused.json) == (403, False)
    assert looks.ask("DELETE", f"{here}/humanize").status == 403
    runs = token("execute")
    assert add(runs, here, "humanize").status == 200
    record = wait_record(web.gateway, event="package", package="humanize")
    assert record["who"].startswith("token=")


def test_the_answer_waits_for_the_job(
    gateway: Packaged, web: Web, here: str
) -> None:
    asked = Asked(web, here, "slow-rest")
    gateway.wait_note("began", "slow-rest")
    assert web.get("/api/kernels").status == 200  # others do not wait
    assert web.get(here).status == 200
    assert asked.answer is None
    gateway.let("slow-rest")
    assert asked.end().json["added"] == [
        {"name": "slow-rest", "version": "1.0"}
    ]


def test_the_client_goes(gateway: Packaged, web: Web, here: str) -> None:
    connection = web.connect()
    connection.request(
        "POST",
        here,
        b'{"packages": ["slow-client"]}',
        {"Authorization": f"token {web.token}"},
    )
    gateway.wait_note("began", "slow-client")
    connection.close()
    gateway.let("slow-client")
    wait_record(gateway, event="package", package="slow-client")


def test_a_client_answers_no_call_of_the_gateway(
    gateway: Packaged, web: Web
) -> None:
    """Whatever number it tries: a cell believes what the gateway says."""
    kernel = Kernel(web, web.create())
    path = f"/hearth/sessions/{kernel.id}/tools/calls"
    with kernel.socket() as ws:
        cell = ws.execute("%pip install slow-cell")
        gateway.wait_note("began", "slow-cell")
        tried = [
            web.post(f"{path}/{number}", {"result": LIE})
            for number in range(1, 100)
        ]
        refused = {answer.status: answer for answer in tried}
        assert sorted(refused) == [403, 409]
        said = refused[403].json["message"]
        assert "the gateway answers it by itself" in said
        gateway.let("slow-cell")
        assert text_of(ws.finish(cell)) == "added slow-cell 1.0\n"
    kernel.close()


def test_the_session_ends(gateway: Packaged, web: Web) -> None:
    kernel = web.create()
    asked = Asked(web, f"/hearth/sessions/{kernel}/packages", "slow-end")
    gateway.wait_note("began", "slow-end")
    web.delete(kernel)
    answer = asked.end()
    assert answer.status == 404
    assert "ended before one of its jobs" in answer.json["message"]


def test_too_many_wait(gateway: Packaged, web: Web, here: str) -> None:
    first = Asked(web, here, "slow-many")
    gateway.wait_note("began", "slow-many")
    asked = [Asked(web, here, f"n{at}") for at in range(3)]
    busy = wait_for(
        lambda: [one for one in asked if one.answer is not None], "an answer"
    )[0]
    assert busy.answer.status == 503
    assert busy.answer.headers["Retry-After"] == "10"
    gateway.let("slow-many")
    answers = [one.end() for one in [first, *asked] if one is not busy]
    assert [answer.status for answer in answers] == [200] * 3


def test_a_profile_without_an_index() -> None:
    gateway = Packaged("--set", f"{KEY}=")
    try:
        gateway.start()
        web = Web.of(gateway)
        path = f"/hearth/sessions/{web.create()}/packages"
        for answer in (web.get(path), add(web, path, "humanize")):
            assert (answer.status, answer.json["ename"]) == (403, "PackagesOff")
            assert "profile/python3/packages/index" in answer.json["message"]
    finally:
        gateway.end()
