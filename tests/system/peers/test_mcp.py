"""Datalayer's jupyter-mcp-server, unmodified, on a session that an agent uses:
what a model calls by the Model Context Protocol runs there."""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

from deadline import DEADLINE
from harness import Gateway, Session
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = Path(sys.executable).parent / "jupyter-mcp-server"
PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"

Call = tuple[str, dict[str, Any]]


async def ask(gateway: Gateway, session: Session, calls: list[Call]) -> Any:
    http = gateway.info()["http"]
    server = StdioServerParameters(
        command=str(SERVER),
        args=[
            *("start", "--transport", "stdio"),
            *("--jupyter-url", http["url"], "--jupyter-token", http["token"]),
            *("--code-sandbox-id", session.id),
            *("--start-new-code-sandbox", "false"),
        ],
    )
    with (gateway.folder / "mcp.log").open("w") as log:
        async with (
            stdio_client(server, errlog=log) as (source, sink),
            ClientSession(source, sink) as client,
        ):
            await client.initialize()
            return [
                (await client.call_tool(name, arguments)).content[0]
                for name, arguments in calls
            ]


def test_a_model_calls_the_tools(gateway: Gateway, session: Session) -> None:
    session.exec("said = 41; open('report.txt', 'w').write('by the agent')")
    calls: list[Call] = [
        ("execute_code", {"code": "said += 1; said"}),
        ("execute_code", {"code": PLOT}),
        ("execute_code", {"code": "1 / 0"}),
        ("list_kernels", {}),
        ("list_files", {"path": f"workspaces/{session.id}"}),
    ]
    value, plot, error, kernels, files = asyncio.run(
        asyncio.wait_for(ask(gateway, session, calls), 2 * DEADLINE)
    )
    assert value.text == "42"
    assert plot.type == "image"
    assert base64.b64decode(plot.data).startswith(b"\x89PNG")
    assert "ZeroDivisionError" in error.text
    assert session.id in kernels.text
    assert "report.txt" in files.text
    # The agent's next turn sees what the model did.
    assert session.exec("said").stdout.strip().endswith("42")
