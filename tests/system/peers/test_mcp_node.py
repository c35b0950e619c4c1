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
from harness import HEARTH, Gateway
from test_mcp_conformance import MODULES, NODE

HERE = Path(__file__).resolve().parent
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector"
TOOLS = ["execute", "wait", "read_output", "files", "session"]


def run(gateway: Gateway, *words: str) -> str:
    done = subprocess.run(
        [NODE, *words],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
        env={**gateway.env, "HOME": str(gateway.folder)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
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


def inspect(gateway: Gateway, *words: str) -> Any:
    """Return the output of the inspector's command line."""
    program = str(INSPECTOR / "clients" / "launcher" / "build" / "index.js")
    url, token = commands(gateway, "http")
    shown = run(
        gateway,
        *(program, "--cli", *words, "--format", "json", url),
        *("--transport", "http", "--header", f"Authorization: Bearer {token}"),
    )
    return json.loads(shown)


def test_the_inspector_finds_nothing_wrong(gateway: Gateway) -> None:
    found = inspect(gateway, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in found["result"]["tools"]] == TOOLS
    listed = inspect(gateway, "--method", "resources/list")
    assert "resources" in listed["result"]


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
