"""Servers of the Model Context Protocol that an agent starts: hearth's beside
jupyter-mcp-server, which works on ipykernel, in turns.

The latter is not among the peers' packages: `python3 -m venv .venv-jupyter-mcp`
and `pip install jupyter-mcp-server ipykernel pandas matplotlib` there. Both are
spoken to on their standard input and output, and what they work on runs before
they start: a gateway, and a Jupyter Server. jupyter-mcp-server starts a kernel
when it starts itself.

mcp-run-python 0.0.22 is not measured. With Deno from PyPI its start ends at
"Import 'https://jsr.io/@std/cli/meta.json' failed"; its Pyodide then loads
micropip and pydantic from a CDN. The registries of Python and npm lack both.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from clients import BenchError
from ending import end, end_family
from figures import OURS, Figure
from measures import IMPORTS
from sides import Hearth, free_ports
from views import SAMPLES, count_tokens

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".venv-jupyter-mcp/bin"
THEIRS = "jupyter-mcp-server"
ERA = "2025-11-25"  # a revision that both speak
TRIPS = 5  # in a round; theirs takes a second each
PATIENCE_S = 60.0
# What the last two samples have instead of a sample of the views: a cell that
# does not end, and one after the kernel's death.
LONG = (
    "import time\nprint('epoch 12/100 loss 0.31', flush=True)\ntime.sleep(60)"
)
LONG_S = 2
DEATH = "import os; os.kill(os.getpid(), 9)"
DEATH_S = 10  # theirs waits for an answer of the dead kernel
NAMES = (
    "the tools",
    *(name for name, *_ in SAMPLES),
    "over its time limit",
    "after the kernel's death",
)


class Server:
    """One that an agent has started."""

    def __init__(self, argv: list[str], env: dict[str, str], tool: str) -> None:
        self.tool = tool
        self.last_id = 0
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        client = {"name": "bench", "version": "1"}
        self.ask(
            "initialize",
            protocolVersion=ERA,
            capabilities={},
            clientInfo=client,
        )
        self.write({"method": "notifications/initialized"})
        self.tools = self.ask("tools/list")["tools"]
        self.start_ms = self.since()

    def since(self) -> float:
        return 1000 * (time.perf_counter() - self.begun)

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}))
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdout
        self.last_id += 1
        self.write({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last_id and "method" not in answer:
                if "result" not in answer:
                    raise BenchError(f"{method}: {line[:300]}")
                return answer["result"]
        raise BenchError(f"{method}: the server has ended")

    def execute(self, code: str, **more: Any) -> str:
        """The texts of the answer, which a model reads."""
        result = self.ask(
            "tools/call", name=self.tool, arguments={"code": code, **more}
        )
        return "\n".join(
            part["text"] for part in result["content"] if part["type"] == "text"
        )

    def stop(self) -> None:
        end(self.process)


class Ours:
    """`hearth mcp`; each server has a session of its own."""

    name = OURS

    def __init__(self, side: Hearth) -> None:
        self.side = side

    @contextmanager
    def server(self) -> Iterator[Server]:
        self.side.settle()
        folders = {
            "HEARTH_RUNTIME_DIR": str(self.side.runtime),
            "HEARTH_STATE_DIR": str(self.side.scratch / "state"),
            "HEARTH_CONFIG": str(self.side.scratch / "hearth.cfg"),
        }
        made = Server(
            [str(self.side.program), "mcp", "--no-start"], folders, "execute"
        )
        try:
            yield made
        finally:
            made.stop()


class Theirs:
    """jupyter-mcp-server, with its Jupyter Server."""

    name = THEIRS

    def __init__(self, scratch: Path) -> None:
        self.folder = scratch / "jupyter-mcp"
        self.folder.mkdir()
        self.url = f"http://127.0.0.1:{free_ports(1)[0]}"
        self.env = {
            f"JUPYTER_{name}_DIR": str(self.folder / name.lower())
            for name in ("RUNTIME", "CONFIG", "DATA")
        }
        self.env["IPYTHONDIR"] = str(self.folder / "ipython")
        self.jupyter = subprocess.Popen(
            [
                str(PROGRAMS / "jupyter"),
                "server",
                "--allow-root",
                "--no-browser",
                f"--port={self.url.rpartition(':')[2]}",
                "--IdentityProvider.token=bench",
                f"--ServerApp.root_dir={self.folder}",
            ],
            env={**os.environ, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.wait_until_up()

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/api", timeout=5).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.jupyter.poll():
                    self.stop()
                    raise BenchError("Jupyter Server is not up") from None
                time.sleep(0.05)

    @contextmanager
    def server(self) -> Iterator[Server]:
        made = Server(
            [
                str(PROGRAMS / "jupyter-mcp-server"),
                "--transport",
                "stdio",
                "--jupyter-url",
                self.url,
                "--jupyter-token",
                "bench",
            ],
            self.env,
            "execute_code",
        )
        try:
            yield made
        finally:
            made.stop()

    def stop(self) -> None:
        end_family(self.jupyter)


@contextmanager
def both(side: Hearth) -> Iterator[list[Ours | Theirs]]:
    found: list[Ours | Theirs] = [Ours(side)]
    if not (PROGRAMS / "jupyter-mcp-server").exists():
        print(f"not beside it, since not here: {THEIRS} in .venv-jupyter-mcp")
        yield found
        return
    theirs = Theirs(side.scratch)
    try:
        yield [*found, theirs]
    finally:
        theirs.stop()


def session_of(server: Server, text: str) -> dict[str, str]:
    """Return the argument that names the session; theirs has one alone."""
    if server.tool != "execute":
        return {}
    return {"session": text.split("session ")[1].split(maxsplit=1)[0]}


def trip(server: Server, more: dict[str, str]) -> float:
    begun = time.perf_counter()
    text = server.execute("1+1", **more)
    spent = 1000 * (time.perf_counter() - begun)
    if "2" not in text.split():
        raise BenchError(f"1+1 is {text!r}")
    return spent


def measure_times(
    places: list[Ours | Theirs], rounds: int, seen: dict[str, list[str]]
) -> list[Figure]:
    """How fast they are; `seen` gets what a model reads of each, by side."""
    start = Figure("an agent's server, to its tools", "ms", "")
    first = Figure("the same to its first result, imports", "ms", "")
    again = Figure("1+1 by an agent's server, p50", "ms", "")
    for number in range(rounds):
        for place in places:
            with place.server() as server:
                text = server.execute(IMPORTS)
                first.add(place.name, server.since())
                start.add(place.name, server.start_ms)
                more = session_of(server, text)
                again.add(
                    place.name,
                    median(trip(server, more) for _ in range(TRIPS)),
                )
                if not number:
                    seen[place.name] = texts_of(server, more)
    return [start, first, again]


def texts_of(server: Server, more: dict[str, str]) -> list[str]:
    """Return what a model reads, in the order of NAMES; the kernel dies."""
    texts = [tools_text(server)]
    texts += (server.execute(code, **more) for _, code, _ in SAMPLES)
    texts.append(server.execute(LONG, timeout=LONG_S, **more))
    server.execute(DEATH, timeout=DEATH_S, **more)
    texts.append(server.execute("df", **more))
    return texts


def tools_text(server: Server) -> str:
    """Return the text of the tools that a model reads."""
    members = ("name", "description", "inputSchema")
    return json.dumps(
        [{key: tool.get(key) for key in members} for tool in server.tools],
        separators=(",", ":"),
    )


def measure_servers(side: Hearth, rounds: int) -> list[Figure]:
    seen: dict[str, list[str]] = {}
    with both(side) as places:
        figures = measure_times(places, min(rounds, 5), seen)
    tokens = [Figure(f"tokens by MCP: {name}", "", "") for name in NAMES]
    tokens[0].must, tokens[0].most = "600", 600
    for name, texts in seen.items():
        for figure, count in zip(tokens, count_tokens(texts)):
            figure.add(name, count)
    return [*figures, *tokens]
