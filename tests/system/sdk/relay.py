"""A relay before a gateway, which does to requests what a test says."""

from __future__ import annotations

import http.client
import http.server
import json
import threading
from types import TracebackType
from typing import Any, Optional
from urllib.parse import urlsplit

# What is done to a request.
PASS = "pass"
LOSE_REQUEST = "lose request"  # the connection breaks, the gateway gets nothing
LOSE_ANSWER = (
    "lose answer"  # the connection breaks when the gateway has done it
)
LATE = "late"  # the connection breaks; the gateway gets it before the next one
STOP = "stop"  # the gateway does it, and the answer is that it stops

_STOPPING = {"message": "it stops", "reason": "-", "ename": "GatewayStopping"}


class Relay:
    """`plan` has what is done to the next requests of a method, in order; the
    others pass. `seen` has the methods of all requests. Without `has_names`
    the answers are those of a gateway that names no errors."""

    def __init__(self, url: str, has_names: bool = True) -> None:
        self.target = urlsplit(url).netloc
        self.has_names = has_names
        self.plan: dict[str, list[str]] = {}
        self.seen: list[str] = []
        self.late: list[http.server.BaseHTTPRequestHandler] = []
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self) -> None:
                relay.answer(self)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Handler
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, asked: http.server.BaseHTTPRequestHandler) -> None:
        method = str(asked.command)
        size = int(asked.headers.get("Content-Length", 0))
        body = asked.rfile.read(size)
        self.seen.append(method)
        plan = self.plan.get(method)
        what = plan.pop(0) if plan else PASS
        asked.close_connection = True
        if what == LATE:
            self.late.append(asked)
        if what in (LATE, LOSE_REQUEST):
            return
        if method == "DELETE":
            while self.late:
                self._ask(self.late.pop(), b"")
        status, headers, data = self._ask(asked, body)
        if what == STOP:
            status, data = 503, json.dumps(_STOPPING).encode()
        if what != LOSE_ANSWER:
            self._send(asked, status, headers, data)

    def _ask(
        self, asked: http.server.BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, Any, bytes]:
        connection = http.client.HTTPConnection(self.target)
        names = ("Authorization", "Content-Type")
        headers = {
            name: asked.headers[name] for name in names if name in asked.headers
        }
        connection.request(asked.command, asked.path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def _send(
        self,
        asked: http.server.BaseHTTPRequestHandler,
        status: int,
        headers: Any,
        data: bytes,
    ) -> None:
        if status >= 400 and not self.has_names:
            error = json.loads(data)
            error.pop("ename", None)
            data = json.dumps(error).encode()
        asked.send_response(status)
        for name in ("Content-Type", "WWW-Authenticate"):
            if name in headers:
                asked.send_header(name, headers[name])
        asked.send_header("Content-Length", str(len(data)))
        asked.end_headers()
        asked.wfile.write(data)
