"""Gateways that `hearth mcp` has started itself, and that end under it."""

from __future__ import annotations

import json
import os
import signal
import socket
from typing import Any

from accepting import Accepting
from deadline import wait_for
from harness import Gateway
from pipe import Json, Pipe, text_of
from processes import start_time, stat_fields


def http_of(folders: Gateway) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (folders.runtime / "http.json").read_text()
    )
    return found


def is_over(pid: int) -> bool:
    """Whether it can be reaped: its first thread may end before others, which
    hold its port."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return len(threads) <= 1 and start_time(pid) is None


def kill(folders: Gateway) -> dict[str, Any]:
    """Return what the file of the gateway says, which outlives it."""
    http = http_of(folders)
    os.kill(http["pid"], signal.SIGKILL)
    wait_for(lambda: is_over(http["pid"]), "its end")
    return http


def test_one_that_is_killed_is_replaced(alone: Gateway) -> None:
    """It is a child of the process that asks, which reaps it."""
    alone.be_cold()
    pipe = Pipe(alone, may_start=True)
    assert pipe.ask("server/discover")["result"]
    parent = int(stat_fields(http_of(alone)["pid"])[1])
    assert parent == pipe.process.pid
    for _ in range(2):
        old = kill(alone)
        assert len(pipe.ask("tools/list")["result"]["tools"]) == 5
        assert http_of(alone)["pid"] != old["pid"]
        assert not stat_fields(old["pid"]), "it is not reaped"
    pipe.close()


def test_one_that_is_stopped_is_replaced(alone: Gateway) -> None:
    alone.be_cold()
    pipe = Pipe(alone, may_start=True)
    assert pipe.ask("server/discover")["result"]
    old = http_of(alone)
    assert alone.run("gateway", "stop").returncode == 0
    wait_for(lambda: is_over(old["pid"]), "its end")
    assert pipe.ask("server/discover")["result"]
    assert not stat_fields(old["pid"]), "it is not reaped"
    pipe.close()


class Old(Pipe):
    """A client of a revision with `initialize`, whose stream is open."""

    def __init__(self, folders: Gateway) -> None:
        super().__init__(folders, may_start=True)
        self.heard: list[Json] = []
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
        assert self.answer(self.send("initialize", asked, modern=False))
        assert self.run("1")
        (shown,) = folders.sessions()
        folders.note_namespace(shown["pid"])
        self.session: str = shown["id"]
        uri = {"uri": f"hearth://sessions/{self.session}/notebook.ipynb"}
        assert self.answer(self.send("resources/subscribe", uri, modern=False))
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.hear()

    def answer(self, number: int) -> Json:
        while (said := self.read()).get("id") != number:
            self.heard.append(said)
        assert "result" in said, said
        return said

    def run(self, code: str, **arguments: Any) -> Json:
        call = {"name": "execute", "arguments": {"code": code, **arguments}}
        return self.answer(self.send("tools/call", call, modern=False))

    def hear(self) -> None:
        """Wait for a notification of the resource."""
        while True:
            said = self.heard.pop(0) if self.heard else self.read()
            if said["method"] == "notifications/resources/updated":
                return


def test_who_takes_the_port_of_one_gets_nothing(alone: Gateway) -> None:
    """No token and no code, neither by a call nor by the stream."""
    alone.be_cold()
    alone.configure("http\n    port = 0\n")
    old = Old(alone)
    taken: list[bytes] = []

    def take(connection: socket.socket) -> None:
        taken.append(connection.recv(4096))

    thief = Accepting(take, kill(alone)["port"])
    try:
        old.heard.clear()
        answer = old.run("'kept: ' + str(41 + 1)", session=old.session)
        assert "kept: 42" in text_of(answer)
        old.hear()
        assert http_of(alone)["port"] != thief.port
        assert not taken
    finally:
        thief.close()
    old.close()
