"""The Model Context Protocol at /mcp: both eras, the list of the tools, an
endpoint of one session, resources, and what is refused."""

from __future__ import annotations

import base64
import json
from typing import Any, Iterator

import pytest
from harness import Gateway
from rpc import (
    LEGACY,
    META,
    NEWEST,
    Rpc,
    head_of,
    images_of,
    session_of,
    text_of,
)
from web import Web

pytestmark = pytest.mark.warm

TOOLS = ["execute", "wait", "read_output", "files", "session"]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture(scope="module")
def session(web: Web) -> Iterator[str]:
    rpc = Rpc(web)
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


# ---- the protocol ----


def test_discovery(rpc: Rpc) -> None:
    found = rpc.result("server/discover")
    assert found["resultType"] == "complete"
    assert found["supportedVersions"][:2] == [NEWEST, LEGACY]
    assert "tools" in found["capabilities"]
    assert found["_meta"][f"{META}serverInfo"]["name"] == "hearth"
    assert found["ttlMs"] > 0
    assert found["cacheScope"] == "private"


def test_the_handshake_of_before(web: Web) -> None:
    rpc = Rpc(web, era=LEGACY)
    asked = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    answer = rpc.ask("initialize", asked)
    assert answer.json["result"]["protocolVersion"] == "2025-06-18"
    assert answer.json["result"]["serverInfo"]["name"] == "hearth"
    assert "resultType" not in answer.json["result"]
    named = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    noted = web.post("/mcp", body, headers={**rpc.headers("", {}), **named})
    assert noted.status == 202, noted
    assert not noted.body
    assert rpc.result("ping") == {}
    listed = rpc.result("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == TOOLS
    assert "ttlMs" not in listed
    answer = rpc.ask("tools/call", {"name": "nonsense"})
    assert answer.status == 200
    assert answer.json["error"]["code"] == -32602


def test_tools_are_listed_in_one_order(rpc: Rpc) -> None:
    one, other = rpc.ask("tools/list"), rpc.ask("tools/list")
    assert one.json["result"] == other.json["result"]
    tools = one.json["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)
    words = sum(
        len(json.dumps([t["name"], t["description"], t["inputSchema"]]))
        for t in tools
    )
    # Less than 600 tokens; test_mcp_node.py counts them with a tokenizer.
    assert words < 2430


def test_only_what_changes_nothing_is_read_only(rpc: Rpc) -> None:
    """wait can interrupt, and has the loss of variables reported."""
    tools = rpc.result("tools/list")["tools"]
    hints = {tool["name"]: tool["annotations"] for tool in tools}
    read_only = [name for name in TOOLS if hints[name].get("readOnlyHint")]
    assert read_only == ["read_output"]
    assert hints["wait"]["destructiveHint"] is False


def test_methods_that_are_gone(rpc: Rpc) -> None:
    for method in ("initialize", "ping", "logging/setLevel", "no/such"):
        answer = rpc.ask(method)
        assert answer.status == 404, answer
        assert answer.json["error"]["code"] == -32601
        assert answer.json["id"] == rpc.count


def test_other_methods_of_http(web: Web) -> None:
    for method in ("GET", "DELETE"):
        answer = web.ask(method, "/mcp")
        assert answer.status == 405, answer
        assert "POST" in answer.headers["Allow"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b"[" * 100000, -32700),
    ],
)
def test_invalid_messages(rpc: Rpc, raw: bytes, code: int) -> None:
    sent = {**rpc.headers("x", {}), "Content-Type": "application/json"}
    answer = rpc.web.ask("POST", "/mcp", raw=raw, headers=sent)
    assert answer.status == 400, answer
    assert answer.json["error"]["code"] == code
    assert rpc.result("server/discover")


def test_headers_that_are_not_the_body(rpc: Rpc) -> None:
    for name, value in (
        ("Mcp-Method", "tools/list"),
        ("Mcp-Name", "wait"),
        ("MCP-Protocol-Version", "2027-01-01"),
    ):
        answer = rpc.ask("tools/call", {"name": "session"}, None, {name: value})
        assert answer.status == 400, answer
        assert answer.json["error"]["code"] == -32020
    text = {"Content-Type": "text/plain"}
    assert rpc.ask("tools/list", None, None, text).status == 415


def test_a_revision_that_is_not_spoken(rpc: Rpc) -> None:
    answer = rpc.ask(
        "tools/list",
        None,
        {f"{META}protocolVersion": "v999"},
        {"MCP-Protocol-Version": "v999"},
    )
    assert answer.status == 400, answer
    error = answer.json["error"]
    assert error["code"] == -32022
    assert error["data"]["requested"] == "v999"
    assert NEWEST in error["data"]["supported"]


# ---- who may ----


def test_tokens_come_in_the_header_alone(web: Web) -> None:
    anonymous = Rpc(web.with_token(None))
    answer = anonymous.ask("tools/list")
    assert answer.status == 401, answer
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    anonymous.path = f"/mcp?token={web.token}"
    assert anonymous.ask("tools/list").status == 401


def test_pages_of_others_are_refused(rpc: Rpc) -> None:
    answer = rpc.ask("tools/list", headers={"Origin": "https://evil.example"})
    assert answer.status == 403, answer
    own = {"Origin": f"http://{rpc.web.host}:{rpc.web.port}"}
    assert rpc.ask("tools/list", headers=own).status == 200


def test_no_authorization_server(web: Web) -> None:
    for name in ("oauth-protected-resource/mcp", "oauth-authorization-server"):
        answer = web.with_token(None).get(f"/.well-known/{name}")
        assert answer.status == 404, answer
        assert answer.json["message"]


def test_scopes_decide_what_is_listed(
    web: Web, gateway: Gateway, session: str
) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    rpc = Rpc(web.with_token(made["token"]))
    listed = rpc.result("tools/list")["tools"]
    assert [t["name"] for t in listed] == ["wait", "read_output", "session"]
    assert "kept" not in text_of(rpc.call("session", action="list"))
    for name, arguments in (
        ("execute", {"code": "1"}),
        ("files", {"action": "list", "session": session}),
        ("wait", {"session": session, "interrupt": True}),
        ("session", {"action": "end", "session": session}),
    ):
        answer = rpc.ask("tools/call", {"name": name, "arguments": arguments})
        assert answer.status == 403, (name, answer)
        needed = answer.headers["WWW-Authenticate"]
        assert 'error="insufficient_scope"' in needed
        assert 'scope="' in needed
    gateway.run("token", "revoke", made["id"])


def marks(schema: Any) -> list[str]:
    """The arguments that clients are to repeat in a header line."""
    if isinstance(schema, list):
        return [mark for part in schema for mark in marks(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["x-mcp-header"]] if "x-mcp-header" in schema else []
    return own + marks(list(schema.values()))


def test_no_argument_is_repeated_in_a_header(web: Web, session: str) -> None:
    """A server may have clients do that, and then has to compare the two. This
    one does not, so such a header is not one that it knows."""
    rpc = Rpc(web)
    for path in ("/mcp", "/mcp/structured", f"/mcp/sessions/{session}"):
        assert marks(Rpc(web, path).result("tools/list")["tools"]) == []
    answer = rpc.ask(
        "tools/call",
        {"name": "execute", "arguments": {"code": "40 + 2"}},
        headers={"Mcp-Param-Code": "=?base64?!?="},
    )
    assert answer.status == 200, answer
    assert text_of(answer.json["result"]).endswith("\n42")


# ---- an endpoint of one session ----


def test_a_bound_endpoint(web: Web, session: str) -> None:
    bound = Rpc(web, f"/mcp/sessions/{session}")
    for tool in bound.result("tools/list")["tools"]:
        assert "session" not in tool["inputSchema"]["properties"]
        assert "session" not in tool["inputSchema"].get("required", [])
    assert text_of(bound.call("execute", code="kept")).splitlines()[1] == "41"
    other = session_of(Rpc(web).call("execute", code="1"))
    refused = bound.call("execute", code="kept", session=other)
    assert refused["isError"]
    assert other not in text_of(bound.call("session", action="list"))
    Rpc(web).call("session", action="end", session=other)


# ---- resources ----


def test_resources_are_the_live_sessions(rpc: Rpc, session: str) -> None:
    listed = rpc.result("resources/list")
    assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
    uri, notebook = (
        resource["uri"]
        for resource in listed["resources"]
        if resource["uri"].startswith(f"hearth://sessions/{session}")
    )
    assert notebook == f"{uri}/notebook.ipynb"
    (content,) = rpc.result("resources/read", {"uri": uri})["contents"]
    assert content["uri"] == uri
    assert json.loads(content["text"])["state"] == "idle"
    templates = rpc.result("resources/templates/list")["resourceTemplates"]
    assert [t["uriTemplate"] for t in templates] == [
        "hearth://sessions/{id}",
        "hearth://sessions/{id}/notebook.ipynb",
        "hearth://sessions/{id}/outputs/{cell}.{n}",
        "hearth://sessions/{id}/files/{+path}",
    ]


def test_an_output_is_a_resource(rpc: Rpc, session: str) -> None:
    """A result that is too big has a link to the whole, which is there."""
    code = (
        "import matplotlib.pyplot as plt\n"
        "for i in range(5): plt.figure(); plt.plot([i]); plt.show()"
    )
    result = rpc.call("execute", code=code, session=session)
    assert len(images_of(result)) == 4
    (link,) = (b for b in result["content"] if b["type"] == "resource_link")
    (content,) = rpc.result("resources/read", {"uri": link["uri"]})["contents"]
    assert content["mimeType"] == link["mimeType"]
    assert base64.b64decode(content["blob"])[:4] in (PNG[:4], b"RIFF")
    rpc.call("execute", code="print('in full')", session=session)
    result = rpc.call("execute", code="_i", session=session)
    cell = int(head_of(result)[1:].split("]")[0]) - 1
    uri = f"hearth://sessions/{session}/outputs/{cell}.1"
    (content,) = rpc.result("resources/read", {"uri": uri})["contents"]
    assert "in full" in content["text"]


def test_no_such_resource(web: Web, rpc: Rpc, session: str) -> None:
    wrong = [
        "hearth://",
        "hearth://sessions/",
        "hearth://sessions/absent",
        f"hearth://sessions/{session}/",
        f"hearth://sessions/{session}/journal",
        f"hearth://sessions/{session}/outputs/",
        f"hearth://sessions/{session}/outputs/999.1",
        f"hearth://sessions/{session}/outputs/../../x",
        f"hearth://sessions/{session}/outputs/{'9' * 100}.1",
        f"hearth://sessions/{'x' * 100}",
        "file:///etc/passwd",
    ]
    for uri in wrong:
        answer = rpc.ask("resources/read", {"uri": uri})
        assert answer.status == 400, uri
        assert answer.json["error"]["code"] == -32602
        assert answer.json["error"]["data"] == {"uri": uri}
    assert rpc.ask("resources/read").status == 400
    other = session_of(rpc.call("execute", code="1"))
    bound = Rpc(web, f"/mcp/sessions/{session}")
    uri = f"hearth://sessions/{other}"
    assert rpc.ask("resources/read", {"uri": uri}).status == 200
    assert bound.ask("resources/read", {"uri": uri}).status == 400
    assert len(bound.result("resources/list")["resources"]) == 2
    rpc.call("session", action="end", session=other)
