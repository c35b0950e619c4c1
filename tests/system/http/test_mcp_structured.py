"""Results of tools for programs: by the schemas that are listed, without
base64."""

from __future__ import annotations

import json
from typing import Any, Iterator

import pytest
from rpc import Json, Rpc, session_of, text_of
from web import Web

PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


@pytest.fixture(scope="module")
def rpc(web: Web) -> Rpc:
    return Rpc(web, "/mcp/structured")


@pytest.fixture(scope="module")
def session(rpc: Rpc) -> Iterator[str]:
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


def check(schema: Json, value: object) -> None:
    """The little of JSON Schema that the schemas use."""
    if "enum" in schema:
        assert value in schema["enum"]
        return
    assert isinstance(value, TYPES[schema["type"]]), (schema, value)
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema.get("required", [])) <= set(value)
        assert set(value) <= set(schema["properties"])
        for name, member in value.items():
            check(schema["properties"][name], member)
    if isinstance(value, list):
        for item in value:
            check(schema["items"], item)


def structured(rpc: Rpc, name: str, **arguments: Any) -> Json:
    tools = rpc.result("tools/list")["tools"]
    (schema,) = (t["outputSchema"] for t in tools if t["name"] == name)
    result = rpc.call(name, **arguments)
    found: Json = result["structuredContent"]
    check(schema, found)
    assert "base64" not in json.dumps(found)
    return found


def test_only_this_endpoint_has_schemas(rpc: Rpc, web: Web) -> None:
    for tool in rpc.result("tools/list")["tools"]:
        assert tool["outputSchema"]["type"] == "object"
    plain = Rpc(web)
    for tool in plain.result("tools/list")["tools"]:
        assert "outputSchema" not in tool
    assert "structuredContent" not in plain.call("session", action="list")


def test_each_schema_has_the_same_state(rpc: Rpc) -> None:
    """No schema can refer to that of another tool."""
    tools = rpc.result("tools/list")["tools"]
    states = [t["outputSchema"]["properties"]["state"] for t in tools]
    assert len(states) == 5
    assert all(state == states[0] for state in states)


def test_what_a_run_gives(rpc: Rpc, session: str) -> None:
    code = (
        "import sys\nprint('out \\x1b[31mred\\x1b[0m')\n"
        "print('err', file=sys.stderr)\nnew = 1\nkept + 1"
    )
    found = structured(rpc, "execute", code=code, session=session)
    assert found["status"] == "ok"
    assert found["session"].startswith(session)
    assert found["cell"] == 2
    assert found["stdout"] == "out red\n"
    assert found["stderr"] == "err\n"
    assert found["result"] == "42"
    assert found["state"] == {"kept": True, "lost": []}
    assert "new" in json.dumps(found["namespace"])
    assert found["ms"] > 0
    assert "error" not in found


def test_what_an_error_gives(rpc: Rpc, session: str) -> None:
    found = structured(rpc, "execute", code="1 / 0", session=session)
    assert found["status"] == "error"
    assert found["error"]["name"] == "ZeroDivisionError"
    assert found["error"]["value"] == "division by zero"
    assert "1 / 0" in found["error"]["traceback"]
    assert "\x1b" not in found["error"]["traceback"]
    found = structured(rpc, "execute", code="1", session="absent")
    assert found["status"] == "error"
    assert "There is no session absent" in found["text"]


def test_a_time_limit_has_the_status_that_rest_gives(
    rpc: Rpc, session: str
) -> None:
    code = "while True: pass"
    found = structured(rpc, "execute", code=code, session=session, timeout=1)
    assert found["status"] == "timeout"
    assert found["state"]["kept"] is True


def test_an_image_is_named_by_its_uri(rpc: Rpc, session: str) -> None:
    result = rpc.call("execute", code=PLOT, session=session)
    (image,) = result["structuredContent"]["images"]
    assert image["width"] > 100
    (block,) = (b for b in result["content"] if b["type"] == "image")
    assert block["data"] not in json.dumps(result["structuredContent"])
    (content,) = rpc.result("resources/read", {"uri": image["uri"]})["contents"]
    assert content["blob"] == block["data"]


def test_a_long_text_is_cut_in_the_middle(rpc: Rpc, session: str) -> None:
    code = "print('ä' * 400000 + 'middle' + 'ö' * 400000)"
    found = structured(rpc, "execute", code=code, session=session)
    text = found["stdout"]
    assert (1 << 20) - 10 < len(text.encode()) < (1 << 20) + 40
    assert text.startswith("ää")
    assert text.endswith("öö\n")
    assert "\n… cut …\n" in text
    assert "middle" not in text


def test_the_endpoint_of_one_session(web: Web, rpc: Rpc, session: str) -> None:
    bound = Rpc(web, f"/mcp/structured/sessions/{session}")
    for tool in bound.result("tools/list")["tools"]:
        assert tool["outputSchema"]["type"] == "object"
        assert "session" not in tool["inputSchema"]["properties"]
    assert structured(bound, "execute", code="kept + 1")["result"] == "42"
    other = session_of(rpc.call("execute", code="kept = 0"))
    refused = structured(bound, "execute", code="kept", session=other)
    assert refused["status"] == "error"
    rpc.call("session", action="end", session=other)


def test_a_lost_state_is_named(rpc: Rpc) -> None:
    session = session_of(rpc.call("execute", code="x = 1"))
    code = "import os; os.kill(os.getpid(), 9)"
    found = structured(rpc, "execute", code=code, session=session)
    assert found["status"] == "lost"
    assert not found["state"]["kept"]
    assert found["state"]["cause"]
    rpc.call("session", action="end", session=session)


def test_other_tools_give_their_text(rpc: Rpc, session: str) -> None:
    written = {"action": "write", "path": "a.txt", "content": "zwölf"}
    structured(rpc, "files", session=session, **written)
    read = {"action": "read", "path": "a.txt"}
    found = structured(rpc, "files", session=session, **read)
    assert found == {"status": "ok", "text": "zwölf"}
    listed = structured(rpc, "session", action="list")
    assert session in listed["text"]
    result = rpc.call("session", action="list")
    assert listed["text"].splitlines()[0] == text_of(result).splitlines()[0]


def test_a_command_gives_its_streams(rpc: Rpc, session: str) -> None:
    run = {"action": "run", "command": "echo out; echo err >&2; exit 3"}
    found = structured(rpc, "session", session=session, **run)
    assert found["status"] == "error"
    assert found["process"] == 1
    assert found["exit_code"] == 3
    assert found["stdout"] == "out\n"
    assert found["stderr"] == "err\n"
    ended = {"action": "run", "command": "sleep 600", "timeout": 0.1}
    found = structured(rpc, "session", session=session, **ended)
    assert "exit_code" not in found
    assert found["stdout"] == found["stderr"] == ""
    assert "its time limit of 0.1 s was over" in found["text"]
