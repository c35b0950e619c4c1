"""Each route and each scope: who may what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import websocket
from browser import EVIL, Browser
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Answer, Kernel, Socket, Web, of_type

SCOPES = ("observe", "execute", "files", "admin")
ANYBODY, OBSERVE, EXECUTE, FILES, ADMIN = "", *SCOPES
# Written by hand: what the gateway's own table says is what is tested. A path
# below contents is looked at twice, as what it leads to decides.
ROUTES = {
    "GET /": ANYBODY,
    "GET /api": ANYBODY,
    "GET /hearth/feed": OBSERVE,
    "GET /hearth/window": ANYBODY,
    "GET /hearth/window/{window}": ANYBODY,
    "POST /hearth/window": ANYBODY,
    "GET /login": ANYBODY,
    "POST /login": ANYBODY,
    "GET /logout": ANYBODY,
    "GET /api/status": OBSERVE,
    "GET /api/me": OBSERVE,
    "GET /api/spec.yaml": OBSERVE,
    "GET /api/swagger.json": OBSERVE,
    "GET /api/swagger.yaml": OBSERVE,
    "GET /metrics": OBSERVE,
    "GET /api/kernelspecs": OBSERVE,
    "GET /api/kernelspecs/{kernelspec}": OBSERVE,
    "GET /kernelspecs/{kernelspec}/{file}": OBSERVE,
    "GET /api/kernels": OBSERVE,
    "POST /api/kernels": EXECUTE,
    "GET /api/kernels/{kernel}": OBSERVE,
    "DELETE /api/kernels/{kernel}": EXECUTE,
    "POST /api/kernels/{kernel}/interrupt": EXECUTE,
    "POST /api/kernels/{kernel}/restart": EXECUTE,
    "GET /api/kernels/{kernel}/channels": OBSERVE,
    "GET /api/terminals": OBSERVE,
    "POST /api/terminals": EXECUTE,
    "GET /api/terminals/{terminal}": OBSERVE,
    "DELETE /api/terminals/{terminal}": EXECUTE,
    "GET /terminals/websocket/{websocket}": OBSERVE,
    "POST /api/kernels/{kernel}/execute": EXECUTE,
    "GET /api/kernels/{kernel}/execute": OBSERVE,
    "GET /api/kernels/{kernel}/requests/{request}": OBSERVE,
    "POST /api/kernels/{kernel}/input": EXECUTE,
    "GET /api/sessions": OBSERVE,
    "POST /api/sessions": EXECUTE,
    "GET /api/sessions/{session}": OBSERVE,
    "PATCH /api/sessions/{session}": EXECUTE,
    "DELETE /api/sessions/{session}": EXECUTE,
    "GET /hearth/sessions/{session}/packages": OBSERVE,
    "POST /hearth/sessions/{session}/packages": EXECUTE,
    "DELETE /hearth/sessions/{session}/packages/{package}": EXECUTE,
    "GET /hearth/sessions/{session}/fetches": OBSERVE,
    "POST /hearth/sessions/{session}/fetches": EXECUTE,
    "DELETE /hearth/sessions/{session}/fetches/{fetch}": EXECUTE,
    "GET /hearth/sessions": OBSERVE,
    "GET /hearth/sessions/{session}": OBSERVE,
    "GET /hearth/sessions/{session}/page": OBSERVE,
    "POST /hearth/sessions/{session}/keepalive": EXECUTE,
    "POST /hearth/sessions/{session}/interrupt": EXECUTE,
    "POST /hearth/sessions/{session}/revive": EXECUTE,
    "POST /hearth/sessions/{session}/notes": EXECUTE,
    "GET /hearth/sessions/{session}/tools": OBSERVE,
    "PUT /hearth/sessions/{session}/tools": EXECUTE,
    "DELETE /hearth/sessions/{session}/tools": EXECUTE,
    "GET /hearth/sessions/{session}/tools/calls": EXECUTE,
    "POST /hearth/sessions/{session}/tools/calls/{call}": EXECUTE,
    "GET /hearth/sessions/{session}/events": OBSERVE,
    "GET /hearth/sessions/{session}/events/{event}": OBSERVE,
    "GET /hearth/sessions/{session}/outputs/{output}": OBSERVE,
    "GET /hearth/sessions/{session}/processes": OBSERVE,
    "POST /hearth/sessions/{session}/processes": EXECUTE,
    "GET /hearth/sessions/{session}/processes/{process}": OBSERVE,
    "DELETE /hearth/sessions/{session}/processes/{process}": EXECUTE,
    "GET /hearth/sessions/{session}/processes/{process}/output": OBSERVE,
    "POST /hearth/sessions/{session}/processes/{process}/input": EXECUTE,
    "POST /hearth/sessions/{session}/processes/{process}/signal": EXECUTE,
    "POST /hearth/sessions/{session}/processes/{process}/resize": EXECUTE,
    "GET /api/contents": "observe files",
    "POST /api/contents": FILES,
    "GET /api/contents/{path}": "observe files",
    "POST /api/contents/{path}": FILES,
    "PUT /api/contents/{path}": FILES,
    "PATCH /api/contents/{path}": FILES,
    "DELETE /api/contents/{path}": FILES,
    "GET /files/{path}": "observe files",
    "POST /e2b/sandboxes": EXECUTE,
    "GET /e2b/sandboxes": OBSERVE,
    "POST /e2b/v2/sandboxes": EXECUTE,
    "GET /e2b/v2/sandboxes": OBSERVE,
    "POST /e2b/v2/sandboxes/{sandbox}/connect": EXECUTE,
    "GET /e2b/sandboxes/{sandbox}": OBSERVE,
    "DELETE /e2b/sandboxes/{sandbox}": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/connect": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/resume": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/timeout": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/pause": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/fork": EXECUTE,
    "POST /e2b/sandboxes/{sandbox}/snapshots": EXECUTE,
    "GET /e2b/sandboxes/{sandbox}/metrics": OBSERVE,
    "GET /e2b/sandboxes/{sandbox}/logs": OBSERVE,
    "PUT /e2b/sandboxes/{sandbox}/network": EXECUTE,
    "GET /e2b/health": OBSERVE,
    "POST /e2b/execute": EXECUTE,
    "POST /e2b/contexts": EXECUTE,
    "GET /e2b/contexts": OBSERVE,
    "POST /e2b/contexts/{context}/restart": EXECUTE,
    "DELETE /e2b/contexts/{context}": EXECUTE,
    "GET /e2b/files": FILES,
    "POST /e2b/files": FILES,
    "POST /e2b/filesystem.Filesystem/Stat": FILES,
    "POST /e2b/filesystem.Filesystem/ListDir": FILES,
    "POST /e2b/filesystem.Filesystem/MakeDir": FILES,
    "POST /e2b/filesystem.Filesystem/Move": FILES,
    "POST /e2b/filesystem.Filesystem/Remove": FILES,
    "POST /e2b/filesystem.Filesystem/WatchDir": FILES,
    "POST /e2b/filesystem.Filesystem/CreateWatcher": FILES,
    "POST /e2b/process.Process/Start": EXECUTE,
    "POST /e2b/process.Process/Connect": EXECUTE,
    "POST /e2b/process.Process/List": OBSERVE,
    "POST /e2b/process.Process/SendInput": EXECUTE,
    "POST /e2b/process.Process/StreamInput": EXECUTE,
    "POST /e2b/process.Process/CloseStdin": EXECUTE,
    "POST /e2b/process.Process/SendSignal": EXECUTE,
    "POST /e2b/process.Process/Update": EXECUTE,
    "POST /mcp": "observe execute files",
    "GET /mcp": "observe execute files",
    "DELETE /mcp": "observe execute files",
    "POST /mcp/structured": "observe execute files",
    "GET /mcp/structured": "observe execute files",
    "DELETE /mcp/structured": "observe execute files",
    "POST /mcp/structured/sessions/{session}": "observe execute files",
    "GET /mcp/structured/sessions/{session}": "observe execute files",
    "DELETE /mcp/structured/sessions/{session}": "observe execute files",
    "POST /mcp/sessions/{session}": "observe execute files",
    "GET /mcp/sessions/{session}": "observe execute files",
    "DELETE /mcp/sessions/{session}": "observe execute files",
    "GET /.well-known/oauth-protected-resource": ANYBODY,
    "GET /.well-known/oauth-protected-resource/mcp": ANYBODY,
    "GET /.well-known/oauth-authorization-server": ANYBODY,
    "GET /.well-known/openid-configuration": ANYBODY,
    "GET /hearth/gateway": ADMIN,
    "POST /api/shutdown": ADMIN,
    "GET /hearth/tokens": ADMIN,
    "POST /hearth/tokens": ADMIN,
    "DELETE /hearth/tokens/{token}": ADMIN,
}
LACKS = "This token lacks the scope"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def holders(gateway: Gateway, web: Web) -> Iterator[dict[str, Web]]:
    """Return a client for each scope, without other scopes."""
    made = {
        scope: gateway.json("token", "create", "--json", "--scope", scope, "t")
        for scope in SCOPES
    }
    yield {scope: web.with_token(made[scope]["token"]) for scope in SCOPES}
    for token in made.values():
        gateway.run("token", "revoke", token["id"])


def test_the_table_is_whole(web: Web) -> None:
    spec = json.loads(web.get("/api/spec.yaml").body)
    reported = {
        f"{method.upper()} {path}": " ".join(operation.get("x-scope", []))
        for path, item in spec["paths"].items()
        for method, operation in item.items()
    }
    assert reported == ROUTES


def ask(web: Web, route: str, below: str = "") -> Answer:
    """Ask for a missing thing, with an invalid body: permitted clients get that
    error."""
    method, _, path = route.partition(" ")
    path = path.replace("{path}", below)
    path = re.sub(r"\{\w+\}", UNKNOWN, path)
    return web.ask(method, path, raw=b"{" if method != "GET" else None)


@pytest.mark.parametrize("route", [r for r in ROUTES if "{path}" not in r])
def test_scopes_are_required(
    web: Web, holders: dict[str, Web], route: str
) -> None:
    allowed = ROUTES[route].split()
    anonymous = ask(web.with_token(None), route)
    if not allowed:
        # The page of / is for browsers; programs learn nothing there.
        assert anonymous.status != 401 or route == "GET /", anonymous
        return
    assert anonymous.status == 401, anonymous
    for scope, holder in holders.items():
        answer = ask(holder, route)
        if scope in allowed:
            assert LACKS not in answer.body.decode(), (scope, answer)
        else:
            assert answer.status == 403, (scope, answer)
            message = answer.json["message"]
            assert message == f"{LACKS} {' or '.join(allowed)}", scope


@pytest.mark.parametrize("route", [r for r in ROUTES if "{path}" in r])
def test_scopes_below_contents(holders: dict[str, Web], route: str) -> None:
    """Files of workspaces are for files alone, recordings for observe."""
    reads = route.startswith("GET")
    for below, scope in (
        (f"workspaces/{UNKNOWN}/a", FILES),
        (f"recordings/{UNKNOWN}.ipynb", OBSERVE if reads else FILES),
    ):
        assert ask(holders[FILES].with_token(None), route, below).status == 401
        for name, holder in holders.items():
            answer = ask(holder, route, below)
            if name == scope:
                assert LACKS not in answer.body.decode(), answer
            else:
                assert answer.status == 403, (name, below, answer)
                assert LACKS in answer.json["message"]
                assert scope in answer.headers["WWW-Authenticate"]


def test_websockets(holders: dict[str, Web], kernel: Kernel) -> None:
    for scope, holder in holders.items():
        if scope == OBSERVE:
            Socket(holder, kernel.id).close()
            continue
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            Socket(holder, kernel.id)
        assert refused.value.status_code == 403, scope


# ---- admin ----


def test_tokens(holders: dict[str, Web], web: Web) -> None:
    admin = holders[ADMIN]
    body = {"name": "n", "scopes": ["observe", "files"]}
    made = admin.post("/hearth/tokens", body)
    assert made.status == 201, made
    path = made.headers["Location"]
    assert path == f"/hearth/tokens/{made.json['id']}"
    holder = web.with_token(made.json["token"])
    assert holder.get("/api/me").json["scopes"] == ["observe", "files"]
    assert holder.get("/api/me").json["identity"]["name"] == made.json["id"]
    listed = admin.get("/hearth/tokens")
    (found,) = (t for t in listed.json if t["id"] == made.json["id"])
    assert found["scopes"] == ["observe", "files"]
    assert found["name"] == "n"
    assert set(found) == {"id", "name", "scopes", "created"}
    assert made.json["token"] not in listed.body.decode()
    assert admin.ask("DELETE", path).status == 204
    assert holder.get("/api/me").status == 401
    assert admin.ask("DELETE", path).status == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scopes": []},
        {"scopes": "observe"},
        {"scopes": ["observe", "root"]},
        {"scopes": ["observe", 7]},
        {"scopes": ["observe"], "name": "x" * 101},
    ],
)
def test_bad_tokens(web: Web, body: Any) -> None:
    before = web.get("/hearth/tokens").json
    assert web.post("/hearth/tokens", body).status == 400
    assert web.get("/hearth/tokens").json == before


def test_the_gateway(holders: dict[str, Web], gateway: Gateway) -> None:
    found = holders[ADMIN].get("/hearth/gateway")
    assert found.status == 200, found
    assert found.json["pid"] == gateway.pid
    assert [p["name"] for p in found.json["profiles"]] == ["python3"]


@pytest.mark.parametrize("ends", [False, True])
def test_shutdown(ends: bool) -> None:
    gateway = Gateway().start()
    try:
        web = Web.of(gateway)
        kernel = web.create()
        assert web.post("/api/shutdown", {"end_sessions": 1}).status == 400
        answer = web.post("/api/shutdown", {"end_sessions": ends})
        assert answer.status == 200, answer
        assert answer.json == {}
        assert gateway.process
        gateway.process.wait(DEADLINE)
        gateway.process = None
        gateway.start()
        web.renew()
        there = [model["id"] for model in web.get("/api/kernels").json]
        assert there == ([] if ends else [kernel])
    finally:
        gateway.end()


# ---- cookies ----


@pytest.fixture
def browsers(gateway: Gateway, web: Web) -> Iterator[list[Browser]]:
    """Two people, each with a cookie for a token of his own."""
    made = [
        gateway.json(
            *("token", "create", "--json", "t", "--scope"),
            "observe,execute,files",
        )
        for _ in range(2)
    ]
    found = []
    for token in made:
        browser = Browser(web)
        browser.login(token["token"])
        browser.token_id = token["id"]
        found.append(browser)
    yield found
    for token in made:
        gateway.run("token", "revoke", token["id"])


def test_a_cookie_acts_as_its_token(browsers: list[Browser]) -> None:
    for browser in browsers:
        browser.ask("GET", "/api/me")
        found = json.loads(browser.body)["identity"]
        assert found["username"] == browser.token_id
    names = {json.loads(b.body)["identity"]["username"] for b in browsers}
    assert len(names) == 2


def test_viewers_with_cookies_are_distinguished(
    browsers: list[Browser], kernel: Kernel
) -> None:
    """One session_id of two people is two viewers: neither replaces the other
    nor gets what the other asked for."""
    anonymous = kernel.web.with_token(None)
    one, other = (
        Socket(
            anonymous,
            kernel.id,
            header=[f"Cookie: {browser.cookie()}"],
            query={"session_id": "same"},
        )
        for browser in browsers
    )
    with one, other:
        assert one.value("6 * 7") == "42"
        assert other.value("6 * 8") == "48"
        assert one.value("6 * 9") == "54"
        assert not of_type(other.seen, "execute_reply")[1:]


def test_uploads_with_cookies_are_distinguished(
    browsers: list[Browser], kernel: Kernel
) -> None:
    def send(browser: Browser, chunk: int, text: str) -> int:
        body = {"type": "file", "format": "text", "content": text}
        browser.ask(
            "PUT",
            f"/api/contents/workspaces/{kernel.id}/a.txt",
            json.dumps({**body, "chunk": chunk}),
            headers={"X-XSRFToken": browser.cookies["_xsrf"]},
        )
        return browser.status

    one, other = browsers
    assert send(one, 1, "one ") in (200, 201)
    assert send(other, 2, "two ") == 409
    assert send(one, -1, "end") in (200, 201)
    read = kernel.web.get(f"/files/workspaces/{kernel.id}/a.txt")
    assert read.body == b"one end"


def test_websockets_of_foreign_pages_with_a_cookie(
    browsers: list[Browser], kernel: Kernel
) -> None:
    """A page of another site, in a browser that is logged in here."""
    anonymous, cookie = kernel.web.with_token(None), browsers[0].cookie()
    evil = [f"{name}: {text}" for name, text in EVIL.items()]
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        Socket(anonymous, kernel.id, header=[f"Cookie: {cookie}", *evil])
    assert refused.value.status_code == 403
    body = refused.value.resp_body or b""
    assert b"https://evil.example may not use" in body
    own = f"Origin: http://{anonymous.host}:{anonymous.port}"
    with Socket(anonymous, kernel.id, header=[f"Cookie: {cookie}", own]) as ws:
        assert ws.value("1 + 1") == "2"
    assert wait_for(lambda: kernel.web.get("/api").status, "an answer") == 200
