"""The Model Context Protocol at /mcp: both eras, the five tools, and what is
refused."""

from __future__ import annotations

import base64
import concurrent.futures
import json
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from harness import Gateway
from rpc import (
    LEGACY,
    META,
    NEWEST,
    Rpc,
    caller,
    events_of,
    head_of,
    images_of,
    order,
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


# ---- execute ----


def test_variables_stay(rpc: Rpc, session: str) -> None:
    result = rpc.call("execute", code="kept + 1", session=session)
    assert not result["isError"]
    assert " ok " in head_of(result)
    assert "(new)" not in head_of(result)
    assert text_of(result).splitlines()[1] == "42"


def test_an_error_is_the_tools(rpc: Rpc, session: str) -> None:
    result = rpc.call("execute", code="1 / 0", session=session)
    assert result["isError"]
    assert "ZeroDivisionError" in head_of(result)


def test_a_plot_in_one_round_trip(rpc: Rpc, session: str) -> None:
    code = "import matplotlib.pyplot as plt; plt.plot([1, 2, 3]);"
    result = rpc.call("execute", code=code, session=session)
    (image,) = images_of(result)
    assert image.startswith(PNG)
    assert result["content"][1]["mimeType"] == "image/png"


def test_a_timeout_keeps_the_state(rpc: Rpc, session: str) -> None:
    code = "import time\nwhile True: time.sleep(0.01)"
    result = rpc.call("execute", code=code, session=session, timeout=0.5)
    assert result["isError"]
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "41"


def test_a_key_runs_once(rpc: Rpc, session: str) -> None:
    rpc.call("execute", code="runs = 0", session=session)
    sent = {"code": "runs += 1; print('runs', runs)", "session": session}
    one, other = (
        rpc.call("execute", {"hearth/key": "a"}, **sent) for _ in range(2)
    )
    assert text_of(one).splitlines()[1:] == text_of(other).splitlines()[1:]
    last = rpc.call("execute", code="runs", session=session)
    assert text_of(last).splitlines()[1] == "1"
    changed = rpc.call(
        "execute", {"hearth/key": "a"}, code="runs += 5", session=session
    )
    assert changed["isError"]


def test_a_key_makes_one_session(rpc: Rpc) -> None:
    one, other = (
        rpc.call("execute", {"hearth/key": "new"}, code="id(object)")
        for _ in range(2)
    )
    assert session_of(one) == session_of(other)
    rpc.call("session", action="end", session=session_of(one))


def test_a_client_that_goes_cancels(rpc: Rpc, session: str) -> None:
    code = "import time\nprint('begun')\nwhile True: time.sleep(0.01)"
    with caller(rpc, order(session, code)):
        wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
    wait_for(lambda: "idle" in shown(rpc, session), "an idle session")
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "41"


def test_a_client_that_leaves_its_wait_interrupts_no_cell(
    rpc: Rpc, session: str
) -> None:
    """The cell before it is another client's."""

    (whole,) = (
        one["id"]
        for one in rpc.web.get("/api/kernels").json
        if one["id"].startswith(session)
    )

    def journal_bytes() -> int:
        return int(
            rpc.web.get(f"/hearth/sessions/{whole}").json["journal_bytes"]
        )

    first = (
        "import pathlib, time\nlate = 0\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "first = 'whole'"
    )
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(
            Rpc(rpc.web).call, "execute", code=first, session=session
        )
        wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
        before = journal_bytes()
        code = "late = 1 #" + 3000 * "x"
        with caller(rpc, order(session, code)):
            wait_for(lambda: journal_bytes() > before + 3000, "a cell in wait")
            waiting = journal_bytes()
        wait_for(lambda: journal_bytes() > waiting, "its end")
        rpc.call(
            "files", session=session, action="write", path="go", content="1"
        )
        assert not running.result()["isError"]
    after = rpc.call("execute", code="(first, late)", session=session)
    assert text_of(after).splitlines()[1] == "('whole', 0)"


def shown(rpc: Rpc, session: str) -> str:
    return text_of(rpc.call("session", action="show", session=session))


def test_progress_comes_before_the_answer(rpc: Rpc, session: str) -> None:
    code = "import time\nprint('epoch 3/9', flush=True)\ntime.sleep(7)"
    answer = rpc.ask(
        "tools/call",
        {"name": "execute", "arguments": {"code": code, "session": session}},
        {"progressToken": "p"},
    )
    assert answer.headers["X-Accel-Buffering"] == "no"
    *notices, last = events_of(answer)
    assert notices
    for notice in notices:
        assert notice["method"] == "notifications/progress"
        assert notice["params"]["progressToken"] == "p"
        assert notice["params"]["message"] == "epoch 3/9"
    counts = [notice["params"]["progress"] for notice in notices]
    assert counts == sorted(set(counts))
    assert not last["result"]["isError"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "code is missing"),
        ({"code": 7}, "code must be of type string"),
        ({"code": "1", "time": 1}, "there is no argument time"),
        ({"code": "1", "timeout": 0}, "timeout must be"),
        ({"code": "1", "max_tokens": 1}, "max_tokens must be"),
        ({"code": "1", "session": "absent"}, "There is no session absent"),
    ],
)
def test_arguments_that_do_not_fit(rpc: Rpc, arguments: Any, text: str) -> None:
    result = rpc.call("execute", **arguments)
    assert result["isError"]
    assert text in text_of(result)


# ---- wait ----


def test_wait_for_what_runs(rpc: Rpc, web: Web) -> None:
    session = session_of(rpc.call("execute", code="kept = 1"))
    kernel = next(
        model["id"]
        for model in web.get("/api/kernels").json
        if model["id"].startswith(session)
    )
    code = "import time\nwhile True: time.sleep(0.01)"
    sent = web.post(f"/api/kernels/{kernel}/execute", {"code": code})
    assert sent.status == 202
    wait_for(lambda: "busy" in shown(rpc, session), "a busy session")
    result = rpc.call("wait", session=session, seconds=0)
    assert not result["isError"]
    assert "RUNNING" in head_of(result)
    result = rpc.call("wait", session=session, interrupt=True)
    assert result["isError"]
    assert "KeyboardInterrupt" in text_of(result)
    again = rpc.call("execute", code="kept", session=session)
    assert text_of(again).splitlines()[1] == "1"
    rpc.call("session", action="end", session=session)


def test_a_handler_is_not_interrupted_again(rpc: Rpc, web: Web) -> None:
    """`wait` waits for it."""
    session = session_of(rpc.call("execute", code="1"))
    kernel = next(
        model["id"]
        for model in web.get("/api/kernels").json
        if model["id"].startswith(session)
    )
    code = (
        "import time\n"
        "try:\n    open('on', 'w').close()\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    time.sleep(2)\n    print('saved')"
    )
    sent = web.post(f"/api/kernels/{kernel}/execute", {"code": code})
    assert sent.status == 202
    workspace = Path(web.get(f"/hearth/sessions/{kernel}").json["workspace"])
    wait_for((workspace / "on").exists, "a cell that runs")
    result = rpc.call("wait", session=session, interrupt=True)
    assert not result["isError"]
    assert "saved" in text_of(result)
    rpc.call("session", action="end", session=session)


# ---- read_output ----


def test_cut_output_can_be_read(rpc: Rpc, session: str) -> None:
    code = "for i in range(20000): print('line', i)"
    result = rpc.call("execute", code=code, session=session, max_tokens=500)
    text = text_of(result)
    assert len(text) < 4000
    ref = text.split("ref=")[1].split()[0].rstrip("…")
    read = rpc.call(
        "read_output", session=session, ref=ref, from_line=7001, lines=2
    )
    assert text_of(read).splitlines()[1:] == ["line 7000", "line 7001"]
    read = rpc.call("read_output", session=session, ref=ref, grep="line 1234$")
    assert "line 1234" in text_of(read)
    assert "line 12345" not in text_of(read)


def test_references_of_no_output(rpc: Rpc, session: str) -> None:
    other = session_of(rpc.call("execute", code="1"))
    for ref in ("out:99.1", "out:1.99", "nonsense", "out:-1.1", "out:1"):
        read = rpc.call("read_output", session=session, ref=ref)
        assert read["isError"], ref
    read = rpc.call("read_output", session=other, ref="out:2.1")
    assert read["isError"]
    rpc.call("session", action="end", session=other)


# ---- session ----


def test_a_session_is_shown_restarted_and_ended(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="x = 1"))
    assert session in text_of(rpc.call("session", action="list"))
    assert "idle" in shown(rpc, session)
    assert not rpc.call("session", action="restart", session=session)["isError"]
    gone = rpc.call("execute", code="x", session=session)
    assert "NameError" in head_of(gone)
    rpc.call("session", action="end", session=session)
    wait_for(
        lambda: rpc.call("execute", code="1", session=session)["isError"],
        "the end",
    )
    assert session not in text_of(rpc.call("session", action="list"))


def test_a_dead_kernel_is_not_replaced_in_silence(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="x = 1"))
    code = "import os; os.kill(os.getpid(), 9)"
    died = rpc.call("execute", code=code, session=session)
    assert died["isError"]
    after = rpc.call("execute", code="x", session=session)
    assert after["isError"]
    assert "STATE LOST" in head_of(after)
    assert "; variable x gone; files kept. Call session" in head_of(after)
    for name, arguments in [
        ("session", {"action": "show"}),
        ("session", {"action": "run", "command": "true"}),
        ("wait", {}),
    ]:
        other = rpc.call(name, **arguments, session=session)
        assert "variable x gone" in text_of(other), other
    revived = rpc.call("session", action="restart", session=session)
    assert not revived["isError"]
    # The first answer that can know says what is gone: that of the cell in
    # which the kernel died if its end was in the journal, else the next one.
    again = rpc.call("execute", code="1 + 1", session=session)
    heads = (head_of(died), head_of(again))
    assert "STATE LOST" in heads[0]
    assert ["variable x gone" in head for head in heads].count(True) == 1
    assert text_of(again).splitlines()[-1] == "2"
    again = rpc.call("execute", code="1 + 2", session=session)
    assert "STATE LOST" not in head_of(again)
    rpc.call("session", action="end", session=session)


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
