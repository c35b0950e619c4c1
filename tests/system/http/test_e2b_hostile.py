"""What clients of E2B's door send that is no request of theirs, or is for what
is not theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from door import Box, Door
from harness import Gateway
from web import Kernel, Web

UNKNOWN = "00000000-0000-4000-8000-000000000000"
CLEAR = "\x1b[2J"


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.fixture(scope="module")
def door(web: Web) -> Door:
    return Door(web)


@pytest.fixture(scope="module")
def box(door: Door) -> Iterator[Box]:
    made = door.create(timeout=3600)
    yield made
    assert made.value("6 * 7") == "42"  # whatever came, it lives
    made.kill()


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"templateID": "base\\u0000"}',
        b'{"a":' * 3000,
        b"{}{}",
    ],
)
@pytest.mark.parametrize(
    "path",
    ["/v2/sandboxes", "/sandboxes", "/execute", "/contexts"],
)
def test_bodies_that_are_no_objects(
    door: Door, box: Box, path: str, raw: bytes
) -> None:
    headers = {"E2b-Sandbox-Id": box.id}
    door.fails(400, "POST", path, headers=headers, raw=raw)


@pytest.mark.parametrize(
    "wish",
    [
        {"timeout": -1},
        {"timeout": "60"},
        {"timeout": 1e300},
        {"timeout": True},
        {"metadata": []},
        {"metadata": {"a": 1}},
        {"metadata": {"": "a"}},
        {"metadata": {"a": "x" * 65536}},
        {"envVars": {"a": None}},
        {"envVars": "a"},
        {"envVars": {"A=B": "c"}},
        {"envVars": {"A": "b", "": "c"}},
    ],
)
def test_wishes_of_wrong_types(door: Door, wish: dict[str, Any]) -> None:
    body = {"templateID": "base", **wish}
    (name,) = wish
    raw = encoded(body)
    assert name in door.fails(400, "POST", "/v2/sandboxes", raw=raw)


@pytest.mark.parametrize(
    "template", ["", "x", "../base", "x" * 5000, CLEAR, None, 7]
)
def test_templates_that_are_none(door: Door, template: Any) -> None:
    raw = encoded({"templateID": template})
    text = door.fails(404, "POST", "/v2/sandboxes", raw=raw)
    assert "There is no template" in text or text == "Not Found"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"code": None},
        {"code": 7},
        {"code": "1", "env_vars": []},
        {"code": "1", "env_vars": {"A": 1}},
        {"code": "1", "env_vars": {"A=B": "1"}},
        {"code": "1", "env_vars": {"A": "x" * 65536}},
        {"code": "1", "language": 7},
        {"code": "1", "language": "rust"},
        {"code": "1", "context_id": 7},
        {"code": "1", "context_id": "default", "language": "python"},
    ],
)
def test_code_that_is_none(door: Door, box: Box, asked: Any) -> None:
    headers = {"E2b-Sandbox-Id": box.id}
    door.fails(400, "POST", "/execute", headers=headers, raw=encoded(asked))


@pytest.mark.parametrize(
    "name", [UNKNOWN, "x", "..", "%2e%2e", "x" * 3000, "ü", "1%0a2"]
)
def test_ids_that_are_invented(door: Door, name: str) -> None:
    for method, path in (
        ("GET", f"/sandboxes/{quote(name, safe='%')}"),
        ("DELETE", f"/sandboxes/{quote(name, safe='%')}"),
        ("POST", f"/v2/sandboxes/{quote(name, safe='%')}/connect"),
    ):
        answer = door.ask(method, path)
        assert answer.status in (400, 404, 405), answer
    header = name.encode("ascii", "replace").decode()
    door.fails(502, "GET", "/health", headers={"E2b-Sandbox-Id": header})


def test_a_beginning_of_an_id_is_no_id(door: Door, box: Box) -> None:
    short = box.id[:8]
    door.fails(404, "GET", f"/sandboxes/{short}")
    door.fails(502, "GET", "/health", headers={"E2b-Sandbox-Id": short})


def test_sessions_of_others_are_no_sandboxes(
    door: Door, kernel: Kernel
) -> None:
    """A client that ends all its sandboxes does not end a person's session."""
    listed = door.ask("GET", "/v2/sandboxes").json
    assert kernel.id not in [model["sandboxID"] for model in listed]
    for method, path in (
        ("GET", f"/sandboxes/{kernel.id}"),
        ("DELETE", f"/sandboxes/{kernel.id}"),
        ("POST", f"/v2/sandboxes/{kernel.id}/connect"),
    ):
        door.fails(404, method, path)
    headers = {"E2b-Sandbox-Id": kernel.id}
    door.fails(502, "POST", "/execute", {"code": "1"}, headers)
    with kernel.socket() as socket:
        assert socket.value("6 * 7") == "42"


def test_a_sandbox_is_named(door: Door, box: Box) -> None:
    assert "E2b-Sandbox-Id" in door.fails(400, "GET", "/health")
    for host, status in (
        (f"49999-{box.id}.localhost", 204),
        (f"49983-{box.id}.localhost:{door.web.port}", 204),
        (f"49983-{UNKNOWN}.localhost", 502),
        (f"{box.id}.localhost", 400),
        ("01234567-89ab-4def-8123-456789abcdef.localhost", 400),
        (f"-{box.id}.localhost", 400),
        (f"1-{box.id}", 403),
        (f"49999-{box.id}.evil.example", 403),
    ):
        answer = door.ask("GET", "/health", headers={"Host": host})
        assert answer.status == status, (host, answer)


def test_tokens(door: Door, box: Box, web: Web, gateway: Gateway) -> None:
    made = [
        gateway.json("token", "create", "--json", "--scope", scope, "t")
        for scope in ("observe", "execute")
    ]
    observer, runner = (Door(web, token["token"]) for token in made)
    body = {"templateID": "base"}
    here = {"E2b-Sandbox-Id": box.id}
    observer.fails(403, "POST", "/v2/sandboxes", body)
    observer.fails(403, "DELETE", f"/sandboxes/{box.id}")
    observer.fails(403, "POST", "/execute", {"code": "1"}, here)
    assert observer.ask("GET", f"/sandboxes/{box.id}").status == 200
    other = runner.create()
    assert other.access["envdAccessToken"] == made[1]["token"]
    assert other.value("6 * 7") == "42"
    for token in made:
        gateway.run("token", "revoke", token["id"])
    assert other.ask("GET", "/contexts").status == 401
    door.ask("DELETE", f"/sandboxes/{other.id}")


@pytest.mark.parametrize("key", ["x", "", "e2b_" + "0" * 40, "\xff", "a b"])
def test_keys_that_are_wrong(web: Web, key: str) -> None:
    for name in ("X-API-Key", "X-Access-Token", "E2B-Traffic-Access-Token"):
        anonymous = web.with_token(None)
        answer = anonymous.ask("GET", "/e2b/v2/sandboxes", headers={name: key})
        assert answer.status == 401, answer
        assert answer.json["code"] == 401


def test_keys_elsewhere(web: Web) -> None:
    """The headers count at the door alone, and there no token of the query."""
    anonymous = web.with_token(None)
    key = {"X-API-Key": str(web.token)}
    assert anonymous.ask("GET", "/api/me", headers=key).status == 401
    assert anonymous.ask("GET", "/e2bx", headers=key).status == 401
    assert anonymous.ask("GET", "/e2b/none", headers=key).status == 404
    query = f"/e2b/v2/sandboxes?token={web.token}"
    assert anonymous.ask("GET", query).status == 401


def test_pages_of_others(web: Web) -> None:
    """Pages of other origins are refused, also if they send a token."""
    answer = web.ask(
        "GET", "/e2b/v2/sandboxes", headers={"Origin": "https://evil.example"}
    )
    assert answer.status == 403, answer
