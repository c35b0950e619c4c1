"""`hearth mcp` as an agent starts it: a line for each message."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Optional

from deadline import DEADLINE
from harness import HEARTH, Gateway
from lines import next_line

META = "io.modelcontextprotocol/"
MODERN = {
    f"{META}protocolVersion": "2026-07-28",
    f"{META}clientCapabilities": {},
}
Json = dict[str, Any]


class Pipe:
    def __init__(
        self,
        gateway: Gateway,
        *words: str,
        env: Optional[Json] = None,
        may_start: bool = False,
    ) -> None:
        allowed = [] if may_start else ["--no-start"]
        self.process = subprocess.Popen(
            [HEARTH, "mcp", *allowed, *words],
            env={**gateway.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.count = 0

    def write(self, message: Json) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def send(
        self, method: str, params: Optional[Json] = None, modern: bool = True
    ) -> int:
        self.count += 1
        sent = dict(params or {})
        if modern:
            sent["_meta"] = {**MODERN, **sent.get("_meta", {})}
        self.write(
            {
                "jsonrpc": "2.0",
                "id": self.count,
                "method": method,
                "params": sent,
            }
        )
        return self.count

    def read(self) -> Json:
        line = next_line(self.process, DEADLINE)
        assert line, "nothing was said in time"
        found: Json = json.loads(line)
        return found

    def ask(
        self, method: str, params: Optional[Json] = None, **how: Any
    ) -> Json:
        number = self.send(method, params, **how)
        answer = self.read()
        assert answer["id"] == number, answer
        return answer

    def execute(self, code: str, **arguments: Any) -> int:
        return self.send(
            "tools/call",
            {"name": "execute", "arguments": {"code": code, **arguments}},
        )

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(DEADLINE) == 0


def text_of(answer: Json) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


def session_of(answer: Json) -> str:
    return text_of(answer).split("session ")[1].split(" ", maxsplit=1)[0]
