"""The process: requests of the gateway on standard input, a line each.

Each has a thread, so one that waits holds up no other. It ends with standard
input, whatever a server does.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from typing import Any

from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools.client import Client
from hearth_downloads.tools.exchange import Aborted, Exchange
from hearth_downloads.tools.messages import (
    Message,
    error_of,
    write_message,
)
from hearth_downloads.tools.redaction import redact
from hearth_downloads.tools.server import read_server

CALLS_MAX = 1024  # as many as the gateway keeps
LIST_SECONDS = 20.0
MEMORY_MAX = 2 << 30
STACK = 512 * 1024  # of a thread; a quarter of the memory, for all calls
_NO_METHOD, _INTERNAL = -32601, -32603


class Worker:
    """The server, as the gateway sees it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.calls: dict[Any, Exchange] = {}
        self.lock = threading.Lock()

    def say(self, message: Message) -> None:
        """Write a message to the gateway; Unreachable if that cannot be."""
        line = write_message({"jsonrpc": "2.0", **message})
        with self.lock:
            try:
                sys.stdout.buffer.write(line + b"\n")
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                os._exit(0)  # the gateway's process has ended

    def _fail(self, message: Message, text: str) -> None:
        """Answer a request with a sentence about the server."""
        server = self.client.server
        shown = server.shown
        if message["method"] == "tools/call":
            shown = f"the server {server.name} ({shown})"
        text = redact(text, server.secrets)
        error = {"code": _INTERNAL, "message": f"{shown} {text}"}
        self.say({"id": message["id"], "error": error})

    def take(self, message: Message) -> None:
        """Take a message of the gateway."""
        method, number = message.get("method"), message.get("id")
        if method == "notifications/cancelled":
            call = self.calls.get(message["params"].get("requestId"))
            if call:
                call.abort()
        elif number is None or method is None:
            return
        elif method not in ("initialize", "tools/list", "tools/call"):
            error = {"code": _NO_METHOD, "message": "there is no such method"}
            self.say({"id": number, "error": error})
        elif len(self.calls) >= CALLS_MAX:
            text = f"has {CALLS_MAX} calls already that wait for it"
            self._fail(message, text)
        else:
            self._begin(message)

    def _begin(self, message: Message) -> None:
        is_list = message["method"] == "tools/list"
        exchange = Exchange(
            self.client.server, LIST_SECONDS if is_list else None
        )
        self.calls[message["id"]] = exchange
        arguments = (message, exchange)
        try:
            threading.Thread(
                target=self._serve, args=arguments, daemon=True
            ).start()
        except RuntimeError:
            del self.calls[message["id"]]
            text = "was not asked: the worker can start no further thread"
            self._fail(message, text)

    def _serve(self, message: Message, exchange: Exchange) -> None:
        number, method = message["id"], message["method"]
        try:
            with exchange:
                self.say({"id": number, **self._do(message, exchange)})
        except Aborted:
            if method == "tools/call":
                self.client.cancel(number)
            else:
                text = f"does not answer `{method}` in {LIST_SECONDS:g} s"
                self._fail(message, text)
        except Unreachable as fault:
            self._fail(message, fault.text)
        except MemoryError:
            self._fail(message, "answers with more than has room")
        except Exception as error:
            # Its text may quote a request.
            self._fail(message, f"was not asked: {type(error).__name__}")
        finally:
            self.calls.pop(number, None)

    def _do(self, message: Message, exchange: Exchange) -> Message:
        """Return what is answered: a result or an error."""
        if message["method"] == "initialize":
            self.client.open(exchange)
            return {
                "result": {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hearth", "version": "1"},
                }
            }
        answer = self.client.request(exchange, message)
        if "result" in answer:
            return {"result": answer["result"]}
        code, text = error_of(answer)
        if not text:
            raise Unreachable("answers with no result, and no error of a text")
        text = redact(text, self.client.server.secrets)
        return {"error": {"code": code, "message": text}}


def main(ca_file: str) -> None:
    """Be the process. `ca_file` names authorities; "": the system's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    threading.stack_size(STACK)
    client = Client(read_server(ca_file))
    worker = Worker(client)
    for line in sys.stdin.buffer:
        worker.take(json.loads(line))
    client.close()
    os._exit(0)
