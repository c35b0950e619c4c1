"""Messages of the Model Context Protocol that are whole as JSON-RPC, and have a
part that the protocol does not permit: an error that says what would be
right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rpc import LEGACY, NEWEST, Rpc
from web import Web

WHOLE = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}
LISTS = ("tools/list", "resources/list", "resources/templates/list")
VERSION = "params.protocolVersion must be a text"
CAPABILITIES = "params.capabilities must be an object"
CLIENT = "params.clientInfo must be an object with the texts name and version"


@pytest.mark.parametrize("era", [NEWEST, LEGACY])
@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("cursor", ["page 2", "", 7, None, {}])
def test_a_cursor_that_was_never_given(
    web: Web, era: str, method: str, cursor: Any
) -> None:
    answer = Rpc(web, era=era).ask(method, {"cursor": cursor})
    assert answer.status == (400 if era == NEWEST else 200)
    assert answer.json["error"]["code"] == -32602
    assert "leave the cursor out" in answer.json["error"]["message"]
    assert answer.json["id"] == 1


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"protocolVersion": None}, VERSION),
        ({"protocolVersion": 20251125}, VERSION),
        ({"protocolVersion": [LEGACY]}, VERSION),
        ({"capabilities": None}, CAPABILITIES),
        ({"capabilities": []}, CAPABILITIES),
        ({"clientInfo": None}, CLIENT),
        ({"clientInfo": "t 1"}, CLIENT),
        ({"clientInfo": ["t", "1"]}, CLIENT),
        ({"clientInfo": {"name": None, "version": "1"}}, CLIENT),
        ({"clientInfo": {"name": "t", "version": 1}}, CLIENT),
    ],
)
def test_an_initialize_with_a_wrong_part(
    web: Web, wrong: dict[str, Any], sentence: str
) -> None:
    answer = Rpc(web, era=LEGACY).ask("initialize", {**WHOLE, **wrong})
    assert answer.status == 200
    assert answer.json["error"]["code"] == -32602
    assert answer.json["error"]["message"].startswith(sentence)
    assert "Mcp-Session-Id" not in answer.headers


def test_an_initialize_without_a_version(web: Web) -> None:
    rpc = Rpc(web, era=LEGACY)
    for params in ({}, {**WHOLE, "protocolVersion": None}):
        params.pop("protocolVersion", None)
        answer = rpc.ask("initialize", params)
        assert answer.json["error"]["code"] == -32602
        assert answer.json["error"]["message"].startswith(VERSION)


@pytest.mark.parametrize("params", [None, [], [WHOLE], "x", 1, True])
def test_an_initialize_whose_params_are_no_object(
    web: Web, params: Any
) -> None:
    rpc = Rpc(web, era=LEGACY)
    body = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": params}
    answer = web.post(
        "/mcp",
        raw=json.dumps(body).encode(),
        headers={
            **rpc.headers("initialize", {}),
            "Content-Type": "application/json",
        },
    )
    assert answer.json["error"] == {
        "code": -32602,
        "message": "params must be an object",
    }
    assert answer.json["id"] == 5


def test_what_may_be_missing(web: Web) -> None:
    """Nothing depends on the client's name."""
    rpc = Rpc(web, era=LEGACY)
    for params in (
        WHOLE,
        {"protocolVersion": LEGACY},
        {"protocolVersion": "", "clientInfo": {"name": "t"}},
    ):
        answer = rpc.ask("initialize", params)
        assert answer.json["result"]["protocolVersion"] == LEGACY
