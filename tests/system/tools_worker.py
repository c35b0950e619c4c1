"""The worker that reaches a tool server by its URL, alone, without a
gateway."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

from deadline import DEADLINE
from downloading import PACKAGE
from fake_mcp import KEY

MAIN = (
    "import os, sys; os.dup2(int(sys.argv[3]), 3); "
    "sys.path.insert(0, sys.argv[1]); "
    "from hearth_downloads.tools.worker import main; main(sys.argv[2])"
)
Json = dict[str, Any]


class Worker:
    """The process, and a gateway's end of its standard input and output."""

    def __init__(self, url: str, ca_file: str = "", **more: str) -> None:
        description = {
            "name": "weather",
            "url": url,
            "headers": [["Authorization", KEY]],
            **more,
        }
        number = os.memfd_create("description")
        os.write(number, json.dumps(description).encode())
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", MAIN, PACKAGE, ca_file, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(number,),
        )
        os.close(number)
        self.last = 0
        self.answers: dict[int, Json] = {}
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)

    def send(self, method: str, params: Json, **more: Any) -> int:
        assert self.process.stdin
        if "id" not in more:
            self.last += 1
            more["id"] = self.last
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        line = json.dumps({**message, **more}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return int(more["id"] or 0)

    def answer(self, number: int) -> Json:
        while number not in self.answers:
            message = json.loads(self.lines.get(timeout=DEADLINE))
            self.answers[message["id"]] = message
        return self.answers[number]

    def ask(self, method: str, params: Json) -> Json:
        return self.answer(self.send(method, params))

    def start(self) -> Worker:
        found = self.ask("initialize", {"protocolVersion": "2025-11-25"})
        assert "result" in found, found
        return self

    def call(self, name: str, **arguments: Any) -> Json:
        params = {"name": name, "arguments": arguments}
        return self.ask("tools/call", params)

    def fault(self, name: str = "add") -> str:
        """Return the sentence by which a call fails."""
        return str(self.call(name, a=1, b=1)["error"]["message"])

    def tools(self) -> list[str]:
        names: list[str] = []
        params: dict[str, Any] = {}
        while True:
            result = self.ask("tools/list", params)["result"]
            names += [one["name"] for one in result["tools"]]
            if "nextCursor" not in result:
                return names
            params = {"cursor": result["nextCursor"]}

    def end(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.thread.join()
        self.process.stdout.close()


Begin = Callable[..., Worker]


@contextmanager
def workers() -> Iterator[Begin]:
    """Starts some; all are ended."""
    made: list[Worker] = []

    def make(url: str, ca_file: str = "", **more: str) -> Worker:
        made.append(Worker(url, ca_file, **more))
        return made[-1]

    yield make
    for one in made:
        one.end()
