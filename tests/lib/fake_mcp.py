"""A server of the Model Context Protocol over HTTP on 127.0.0.1, for tests.

    with FakeMcp("modern") as server:
        ... server.url ...
        assert server.methods() == ["server/discover", "tools/list"]

It is of one era, and strict. For a method it may have a script that answers in
its place, and does what it likes with the connection.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Optional

Json = dict[str, Any]
MODERN = "2026-07-28"
KEY = "Bearer s3cret"
NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}


def tool(name: str, properties: Json) -> Json:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": f"{name}.", "inputSchema": schema}


REGION = {"type": "string", "x-mcp-header": "Region"}
TOOLS = [
    tool("add", NUMBERS),
    tool("key", {}),
    tool("hang", {}),
    tool("ask", {}),
    tool("region", {"region": REGION, "to": {"properties": {"n": {
        "type": "integer", "x-mcp-header": "To-N"}}}}),
    tool("wrong", {"list": {"type": "array", "items": REGION}}),
]  # fmt: skip


@dataclass
class Asked:
    """A request, as the server has got it."""

    verb: str
    headers: dict[str, str]
    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", self.verb))


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # the client has gone

    def _take(self) -> None:
        headers = {name.lower(): text for name, text in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        message = json.loads(body) if body else {}
        self.asked = Asked(self.command, headers, message)
        fake = self.server.fake
        with fake.changed:
            fake.asked.append(self.asked)
            fake.changed.notify_all()
        script = fake.scripts.get(self.asked.method)
        self.close_connection = True
        if script:
            script(self)
        else:
            fake.answer(self)

    do_POST = do_GET = do_DELETE = _take

    # ---- answers ----

    def send(
        self, status: int, kind: str = "", body: bytes = b"", **more: str
    ) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, message: Json, status: int = 200, **more: str) -> None:
        message = {"jsonrpc": "2.0", **message}
        self.send(
            status, "application/json", json.dumps(message).encode(), **more
        )

    def begin_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def send_event(self, message: Json, number: str = "") -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}, indent=1)
        lines = "".join(f"data: {line}\n" for line in text.split("\n"))
        name = f"id: {number}\n" if number else ""
        self.wfile.write(f"{name}{lines}\n".encode())

    def result(self, result: Json) -> None:
        """Answer, with events if the server does that."""
        if self.server.fake.is_modern:
            result = {"resultType": "complete", **result}
        message = {"id": self.asked.message["id"], "result": result}
        if not self.server.fake.has_events:
            self.send_json(message)
            return
        self.begin_events()
        self.wfile.write(b": keep-alive\n\nevent: other\ndata: no JSON\n\n")
        note = {"method": "notifications/progress", "params": {"progress": 1}}
        self.send_event(note)
        self.send_event(message)

    def error(self, status: int, code: int, text: str, **more: Any) -> None:
        error = {"code": code, "message": text, **more}
        number = self.asked.message.get("id")
        self.send_json({"id": number, "error": error}, status)

    def hangs_until_left(self) -> bool:
        """Wait for the client's end of the connection, in the answer."""
        self.connection.settimeout(60)
        try:
            self.begin_events()
            return not self.rfile.read(1)
        except socket.timeout:
            return False
        except OSError:
            return True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    fake: FakeMcp

    def handle_error(self, *_: Any) -> None:
        pass


class FakeMcp:
    """The server, and what it was asked."""

    def __init__(
        self, era: str = "legacy", context: Optional[ssl.SSLContext] = None
    ) -> None:
        self.is_modern = era == "modern"
        self.version = MODERN if self.is_modern else "2025-11-25"
        self.has_events = False
        self.tools = list(TOOLS)
        self.sessions: set[str] = set()
        self.made = 0
        self.asked: list[Asked] = []
        self.left: list[Any] = []  # ids of calls whose client has gone
        self.changed = threading.Condition()
        self.scripts: dict[str, Callable[[Handler], None]] = {}
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.fake = self
        self.scheme = "http"
        if context:
            self.scheme = "https"
            self.http.socket = context.wrap_socket(
                self.http.socket, server_side=True
            )
        self.thread = threading.Thread(target=self.http.serve_forever)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.http.server_port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def __enter__(self) -> FakeMcp:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def methods(self) -> list[str]:
        return [one.method for one in self.asked]

    def wait(self, condition: Callable[[], Any], seconds: float = 60) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, seconds), self.methods()

    def note_left(self, number: Any) -> None:
        with self.changed:
            self.left.append(number)
            self.changed.notify_all()

    @contextmanager
    def script(
        self, method: str, play: Callable[[Handler], None]
    ) -> Iterator[None]:
        self.scripts[method] = play
        yield
        del self.scripts[method]

    # ---- the protocol ----

    def answer(self, handler: Handler) -> None:
        if handler.asked.verb == "DELETE":
            self.sessions.discard(
                handler.asked.headers.get("mcp-session-id", "")
            )
            handler.send(200)
        elif handler.asked.verb != "POST":
            handler.send(405)
        elif self.is_modern:
            self._answer_modern(handler)
        else:
            self._answer_legacy(handler)

    def _answer_modern(self, handler: Handler) -> None:
        headers, message = handler.asked.headers, handler.asked.message
        params = message.get("params", {})
        meta = params.get("_meta", {})
        wanted = {
            "mcp-protocol-version": meta.get(
                "io.modelcontextprotocol/protocolVersion"
            ),
            "mcp-method": message.get("method"),
            "mcp-name": params.get("name"),
        }
        if params.get("name") == "region":
            arguments = params["arguments"]
            wanted["mcp-param-region"] = arguments.get("region")
            number = arguments.get("to", {}).get("n")
            wanted["mcp-param-to-n"] = None if number is None else str(number)
        for name, value in wanted.items():
            if headers.get(name) != value:
                handler.error(400, -32020, f"{name} is {headers.get(name)!r}")
                return
        if "io.modelcontextprotocol/clientCapabilities" not in meta:
            handler.error(400, -32602, "no clientCapabilities")
        elif handler.asked.method == "server/discover":
            handler.result(
                {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
            )
        elif handler.asked.method in ("tools/list", "tools/call"):
            self._serve(handler)
        else:
            handler.error(404, -32601, "there is no such method")

    def _answer_legacy(self, handler: Handler) -> None:
        headers, message = handler.asked.headers, handler.asked.message
        session = headers.get("mcp-session-id")
        if message.get("method") == "initialize":
            self.made += 1
            self.sessions.add(f"session-{self.made}")
            result = {
                "protocolVersion": self.version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            }
            handler.send_json(
                {"id": message["id"], "result": result},
                Mcp_Session_Id=f"session-{self.made}",
            )
        elif session is None:
            handler.error(400, -32600, "no session id was provided")
        elif session not in self.sessions:
            handler.error(404, -32001, "there is no such session")
        elif headers.get("mcp-protocol-version") != self.version:
            handler.error(400, -32000, "another revision")
        elif "id" not in message or "method" not in message:
            handler.send(202)
        else:
            self._serve(handler)

    def _serve(self, handler: Handler) -> None:
        params = handler.asked.message["params"]
        if handler.asked.method == "tools/list":
            at = int(params.get("cursor", "0"))
            found: Json = {"tools": self.tools[at : at + 3]}
            if at + 3 < len(self.tools):
                found["nextCursor"] = str(at + 3)
            handler.result(found)
        else:
            self._call(handler, params["name"], params.get("arguments", {}))

    def _call(self, handler: Handler, name: str, arguments: Json) -> None:
        number = handler.asked.message["id"]
        if name == "add":
            total = arguments["a"] + arguments["b"]
            found: Json = {"content": [], "structuredContent": {"sum": total}}
        elif name == "key":
            has_key = handler.asked.headers.get("authorization") == KEY
            text = "set" if has_key else "not set"
            found = {"content": [{"type": "text", "text": text}]}
        elif name == "region":
            found = {"content": [{"type": "text", "text": "it is near"}]}
        elif name == "hang":
            if handler.hangs_until_left():
                self.note_left(number)
            return
        elif name == "ask":
            handler.begin_events()
            handler.send_event({"id": "q1", "method": "ping"})
            handler.send_event({"id": "q2", "method": "sampling/createMessage"})
            self.wait(lambda: self.answers() == 2)
            found = {"content": [{"type": "text", "text": "asked"}]}
            handler.send_event({"id": number, "result": found})
            return
        else:
            handler.error(200, -32602, f"there is no tool {name}")
            return
        handler.result(found)

    def answers(self) -> int:
        """Return how many of its own requests are answered."""
        return sum(
            "method" not in one.message for one in self.asked if one.message
        )
