"""The official TypeScript client of the Model Context Protocol and the official
inspector, unmodified, in both eras and over both transports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import bpe_openai
import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway, Session
from test_mcp_conformance import MODULES, NODE

HERE = Path(__file__).resolve().parent
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector"
TOOLS = ["execute", "wait", "read_output", "files", "session"]
IS_ERROR = 5  # how the inspector exits after a result with isError


def run(gateway: Gateway, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [NODE, *words],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
        env={**gateway.env, "HOME": str(gateway.folder)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def commands(gateway: Gateway, transport: str) -> list[str]:
    if transport == "stdio":
        return [str(HEARTH), "mcp", "--no-start"]
    http = gateway.info()["http"]
    return [f"{http['url']}mcp", http["token"]]


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_an_agent(gateway: Gateway, transport: str, mode: str) -> None:
    client = str(HERE / "node" / "mcp_client.mjs")
    found: dict[str, Any] = json.loads(
        run(gateway, client, mode, *commands(gateway, transport))
    )
    assert found["tools"] == TOOLS
    assert found["value"].splitlines()[1] == "42"
    assert found["image"] == "image/png"
    assert found["isError"]
    (asked,) = found["asked"]
    assert asked.endswith("Who is it? ")
    assert "hello Ada" in found["answered"]
    assert found["cells"] == 5


def inspect(
    gateway: Gateway, *words: str, path: str = "mcp", status: int = 0
) -> Any:
    """Return the output of the inspector's command line."""
    program = str(INSPECTOR / "clients" / "launcher" / "build" / "index.js")
    http = gateway.info()["http"]
    shown = run(
        gateway,
        *(program, "--cli", *words, "--format", "json", http["url"] + path),
        *("--transport", "http"),
        *("--header", f"Authorization: Bearer {http['token']}"),
        status=status,
    )
    return json.loads(shown)


def call(
    gateway: Gateway,
    endpoint: str,
    tool: str,
    arguments: dict[str, str],
    status: int = 0,
) -> Any:
    """Have the inspector call a tool. Return the structured result."""
    words = ["--method", "tools/call", "--tool-name", tool]
    for name, value in arguments.items():
        words += ["--tool-arg", f"{name}={value}"]
    answer = inspect(gateway, *words, path=endpoint, status=status)
    return answer["result"]["structuredContent"]


# The endpoints; {} is a session's id.
@pytest.mark.parametrize(
    "endpoint",
    [
        "mcp",
        "mcp/sessions/{}",
        "mcp/structured",
        "mcp/structured/sessions/{}",
    ],
)
def test_the_inspector_finds_nothing_wrong(
    gateway: Gateway, session: Session, endpoint: str
) -> None:
    path = endpoint.format(session.id)
    found = inspect(gateway, "--method", "tools/list", "--strict", path=path)
    tools = found["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    is_structured = "structured" in endpoint
    is_bound = "{}" in endpoint
    for tool in tools:
        assert ("outputSchema" in tool) == is_structured
        properties = tool["inputSchema"]["properties"]
        assert ("session" in properties) == (not is_bound)
    listed = inspect(gateway, "--method", "resources/list", path=path)
    uris = [found["uri"] for found in listed["result"]["resources"]]
    assert f"hearth://sessions/{session.id}" in uris


@pytest.mark.parametrize(
    "endpoint", ["mcp/structured", "mcp/structured/sessions/{}"]
)
def test_the_inspector_takes_structured_results(
    gateway: Gateway, session: Session, endpoint: str
) -> None:
    """It checks them by the schema of the tool's output."""
    path = endpoint.format(session.id)
    named = {} if "{}" in endpoint else {"session": session.id}
    done = call(gateway, path, "execute", {**named, "code": "print(6 * 7)"})
    assert done["stdout"] == "42\n"
    wrong = {**named, "code": "1 / 0"}
    failed = call(gateway, path, "execute", wrong, IS_ERROR)
    assert failed["error"]["name"] == "ZeroDivisionError"
    file = {"action": "write", "path": "a", "content": "b"}
    assert call(gateway, path, "files", {**named, **file})["status"] == "ok"


def test_the_tools_take_few_tokens(gateway: Gateway) -> None:
    """Models get few tokens of them, by the tokenizer of the benchmark."""
    found = inspect(gateway, "--method", "tools/list")["result"]["tools"]
    encoding = bpe_openai.get_encoding("o200k_base")
    parts = ("name", "description", "inputSchema")
    texts = [
        json.dumps({n: tool[n] for n in parts}, separators=(",", ":"))
        for tool in found
    ]
    assert sum(len(encoding.encode_ordinary(text)) for text in texts) < 600
