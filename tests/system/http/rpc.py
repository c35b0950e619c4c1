"""A client of the Model Context Protocol that hides nothing: what is sent and
what comes back."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
from typing import Any, Iterator, Optional

from web import Answer, Web

NEWEST = "2026-07-28"
LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"
Json = dict[str, Any]


class Rpc:
    def __init__(self, web: Web, path: str = "/mcp", era: str = NEWEST):
        self.web = web
        self.path = path
        self.era = era
        self.count = 0

    def headers(self, method: str, params: Json) -> dict[str, str]:
        made = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.web.token}",
            "MCP-Protocol-Version": self.era,
        }
        if self.web.token is None:
            del made["Authorization"]
        if self.era == NEWEST:
            made["Mcp-Method"] = method
            name = params.get("name", params.get("uri", params.get("taskId")))
            if isinstance(name, str):
                made["Mcp-Name"] = name
        return made

    def body(self, method: str, params: Json, meta: Json) -> Json:
        self.count += 1
        if self.era == NEWEST:
            meta = {
                f"{META}protocolVersion": NEWEST,
                f"{META}clientCapabilities": {},
                **meta,
            }
        if meta:
            params = {**params, "_meta": meta}
        return {
            "jsonrpc": "2.0",
            "id": self.count,
            "method": method,
            "params": params,
        }

    def ask(
        self,
        method: str,
        params: Optional[Json] = None,
        meta: Optional[Json] = None,
        headers: Optional[dict[str, str]] = None,
    ) -> Answer:
        sent = self.headers(method, params or {})
        sent.update(headers or {})
        body = self.body(method, params or {}, meta or {})
        return self.web.post(self.path, body, headers=sent)

    def result(self, method: str, params: Optional[Json] = None) -> Json:
        answer = self.ask(method, params)
        assert answer.status == 200, answer
        found = answer.json
        assert found["id"] == self.count
        result: Json = found["result"]
        return result

    def call(
        self, name: str, _meta: Optional[Json] = None, **args: Any
    ) -> Json:
        answer = self.ask(
            "tools/call", {"name": name, "arguments": args}, meta=_meta
        )
        assert answer.status == 200, answer
        result: Json = answer.json["result"]
        return result


class Older(Rpc):
    """A client of an older revision, with its name."""

    def __init__(
        self, web: Web, path: str = "/mcp", capabilities: Optional[Json] = None
    ) -> None:
        super().__init__(web, path, LEGACY)
        asked = {
            "protocolVersion": LEGACY,
            "capabilities": capabilities or {},
        }
        answer = self.ask("initialize", asked)
        self.offered: Json = answer.json["result"]["capabilities"]
        self.name = answer.headers["Mcp-Session-Id"]

    def headers(self, method: str, params: Json) -> dict[str, str]:
        made = super().headers(method, params)
        if hasattr(self, "name"):
            made["Mcp-Session-Id"] = self.name
        return made


def text_of(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text


def head_of(result: Json) -> str:
    return text_of(result).split("\n", maxsplit=1)[0]


def session_of(result: Json) -> str:
    """The id that the first line names."""
    return head_of(result).split("session ")[1].split(" ", maxsplit=1)[0]


def images_of(result: Json) -> list[bytes]:
    return [
        base64.b64decode(block["data"], validate=True)
        for block in result["content"]
        if block["type"] == "image"
    ]


def events_of(answer: Answer) -> list[Json]:
    """The messages of a stream."""
    assert answer.headers["Content-Type"] == "text/event-stream", answer
    return [
        json.loads(line[len("data: ") :])
        for line in answer.body.decode().splitlines()
        if line.startswith("data: ")
    ]


@contextlib.contextmanager
def streamed(rpc: Rpc, params: Json, meta: Json) -> Iterator[Iterator[Json]]:
    """Call a tool; its messages can be read while it runs."""
    connection = rpc.web.connect()
    connection.request(
        "POST",
        rpc.path,
        json.dumps(rpc.body("tools/call", params, meta)),
        {
            **rpc.headers("tools/call", params),
            "Content-Type": "application/json",
        },
    )
    with connection.getresponse() as response:
        yield (
            json.loads(line[len(b"data: ") :])
            for line in response
            if line.startswith(b"data: ")
        )
    connection.close()


def order(session: str, code: str) -> Json:
    """The parameters of a call that runs code."""
    return {"name": "execute", "arguments": {"code": code, "session": session}}


@contextlib.contextmanager
def caller(
    rpc: Rpc, params: Json, meta: Optional[Json] = None
) -> Iterator[None]:
    """A client that goes while its call of a tool is under way."""
    data = json.dumps(rpc.body("tools/call", params, meta or {})).encode()
    head = "".join(
        f"{name}: {value}\r\n"
        for name, value in rpc.headers("tools/call", params).items()
    )
    with socket.create_connection((rpc.web.host, rpc.web.port)) as client:
        client.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}"
            "Content-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n".encode()
            + data
        )
        yield
