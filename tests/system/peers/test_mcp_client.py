"""The official Python client of the Model Context Protocol, unmodified, in both
eras and over both transports."""

from __future__ import annotations

import asyncio
import base64
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator

import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOOLS = ["execute", "wait", "read_output", "files", "session"]
PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"


@asynccontextmanager
async def over_http(
    gateway: Gateway, mode: str, **options: Any
) -> AsyncIterator[Any]:
    http = gateway.info()["http"]
    async with create_mcp_http_client(
        headers={"Authorization": f"Bearer {http['token']}"}
    ) as agent:
        transport = streamable_http_client(
            f"{http['url']}mcp", http_client=agent
        )
        async with Client(transport, mode=mode, **options) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    gateway: Gateway, mode: str, **options: Any
) -> AsyncIterator[Any]:
    server = StdioServerParameters(
        command=str(HEARTH), args=["mcp", "--no-start"], env=gateway.env
    )
    async with Client(server, mode=mode, **options) as client:
        yield client


TRANSPORTS = {"http": over_http, "stdio": over_stdio}


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


async def use(client: Any) -> str:
    """A few turns of an agent; returns the session that they were in."""
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS
    first = await client.call_tool("execute", {"code": "said = 41"})
    assert not first.is_error, first
    session = text_of(first).split("session ")[1].split(" ", maxsplit=1)[0]
    turn = {"session": session}
    value = await client.call_tool("execute", {"code": "said + 1", **turn})
    assert text_of(value).splitlines()[1] == "42"
    plot = await client.call_tool("execute", {"code": PLOT, **turn})
    assert plot.content[1].type == "image"
    image = base64.b64decode(plot.content[1].data)
    assert image.startswith(b"\x89PNG")
    wrong = await client.call_tool("execute", {"code": "1 / 0", **turn})
    assert wrong.is_error
    assert "ZeroDivisionError" in text_of(wrong)
    ended = await client.call_tool("session", {"action": "end", **turn})
    assert not ended.is_error
    return session


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", sorted(TRANSPORTS))
def test_an_agent(gateway: Gateway, transport: str, mode: str) -> None:
    async def run() -> None:
        async with TRANSPORTS[transport](gateway, mode) as client:
            assert await use(client)

    asyncio.run(asyncio.wait_for(run(), 2 * DEADLINE))


def test_progress(gateway: Gateway) -> None:
    seen: list[float] = []

    async def heard(progress: float, *_: Any) -> None:
        seen.append(progress)

    async def run() -> None:
        async with over_http(gateway, "2026-07-28") as client:
            result = await client.call_tool(
                "execute",
                {"code": "import time; time.sleep(7)"},
                progress_callback=heard,
            )
            assert not result.is_error
            session = text_of(result).split("session ")[1].split()[0]
            await client.call_tool(
                "session", {"action": "end", "session": session}
            )

    asyncio.run(asyncio.wait_for(run(), 2 * DEADLINE))
    assert seen == sorted(seen)
    assert seen
