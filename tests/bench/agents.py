"""What an agent's call costs: the Model Context Protocol beside what it goes
through, in turns.

A new session's first call is one request that makes the session and runs its
cell; beside it the same by the management socket and ZeroMQ. Both come out of
the pool.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from clients import BenchError
from figures import OURS, Figure
from measures import IMPORTS, first_result
from sides import Hearth

BY_ZMQ = "by ZeroMQ"
BY_REST = "by REST"
NEWEST = "2026-07-28"
META = "io.modelcontextprotocol/"
STARTS = 5  # of each way in a round
TRIPS = 100
PATIENCE_S = 60.0


class Agent:
    """One connection, which stays open: by MCP and by REST."""

    def __init__(self, side: Hearth) -> None:
        about = json.loads((side.runtime / "http.json").read_text())
        host, _, port = about["url"].split("/")[2].rpartition(":")
        self.token = about["token"]
        self.link = http.client.HTTPConnection(
            host, int(port), timeout=PATIENCE_S
        )

    def ask(self, method: str, path: str, body: Any, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.token}", **headers}
        data = None if body is None else json.dumps(body)
        self.link.request(method, path, data, sent)
        answer = self.link.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise BenchError(f"{path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def call(self, name: str, **arguments: Any) -> str:
        """The text of a tool's result."""
        meta = {
            f"{META}protocolVersion": NEWEST,
            f"{META}clientCapabilities": {},
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        answer = self.ask(
            "POST",
            "/mcp",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": params,
            },
            **{
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": NEWEST,
                "Mcp-Method": "tools/call",
                "Mcp-Name": name,
            },
        )
        result = answer["result"]
        if result["isError"]:
            raise BenchError(f"{name}: {result}")
        text: str = result["content"][0]["text"]
        return text

    def run(self, kernel: str, code: str) -> Any:
        """The result of a cell by REST, which is asked for until it is
        there."""
        path = f"/api/kernels/{kernel}/execute"
        place = self.ask("POST", path, {"code": code})["request_url"]
        while True:
            found = self.ask("GET", place, None)
            if not found["pending"]:
                return found


@contextmanager
def agent_of(side: Hearth) -> Iterator[Agent]:
    agent = Agent(side)
    try:
        yield agent
    finally:
        agent.link.close()


def session_of(text: str) -> str:
    return text.split("session ")[1].split(maxsplit=1)[0]


def first_call(side: Hearth, agent: Agent) -> float:
    """From the call to its result, ms."""
    side.settle()
    started = time.perf_counter()
    text = agent.call("execute", code=IMPORTS)
    spent = 1000 * (time.perf_counter() - started)
    agent.call("session", action="end", session=session_of(text))
    return spent


def measure_first_call(side: Hearth, rounds: int) -> Figure:
    figure = Figure(
        "an agent's first execute, new session, with imports",
        "ms",
        "3 ms more",
        most_more=3,
    )
    with agent_of(side) as agent:
        for number in range(rounds + 1):
            for _ in range(STARTS):
                spent, beside = first_call(side, agent), first_result(side)
                if number:  # the first round warms
                    figure.add(OURS, spent)
                    figure.add(BY_ZMQ, beside)
    ours, theirs = figure.values[OURS], figure.values[BY_ZMQ]
    figure.note = (
        f"{median(ours) - median(theirs):+.2f} ms; "
        f"by the least {min(ours) - min(theirs):+.2f}"
    )
    return figure


def measure_trips(side: Hearth, rounds: int) -> Figure:
    """1+1 in a session that is there."""
    figure = Figure(
        "1+1 by an agent's call, p50", "ms", "1.5x of REST", least=1 / 1.5
    )
    with agent_of(side) as agent:
        session = session_of(agent.call("execute", code="1+1"))
        (kernel,) = (
            one["id"]
            for one in agent.ask("GET", "/api/kernels", None)
            if one["id"].startswith(session)
        )
        for number in range(rounds + 1):
            times: dict[str, list[float]] = {OURS: [], BY_REST: []}
            for _ in range(TRIPS):
                begun = time.perf_counter()
                text = agent.call("execute", code="1+1", session=session)
                times[OURS].append(1000 * (time.perf_counter() - begun))
                if text.splitlines()[1] != "2":
                    raise BenchError(f"1+1 is {text!r}")
                begun = time.perf_counter()
                found = agent.run(kernel, "1+1")
                times[BY_REST].append(1000 * (time.perf_counter() - begun))
                if found["status"] != "ok":
                    raise BenchError(f"1+1 is {found!r}")
            for name, values in times.items():
                if number:
                    figure.add(name, median(values))
        agent.call("session", action="end", session=session)
    ratio = median(figure.values[OURS]) / median(figure.values[BY_REST])
    figure.note = f"{ratio:.2f} of REST"
    return figure


def measure_agents(side: Hearth, rounds: int) -> list[Figure]:
    return [measure_first_call(side, rounds), measure_trips(side, rounds)]
