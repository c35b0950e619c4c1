"""Streams of notifications of the Model Context Protocol, in both eras."""

from __future__ import annotations

import contextlib
import http.client
import json
from typing import Iterator, Optional

from deadline import DEADLINE
from rpc import META, Json, Older, Rpc
from web import Web

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Stream:
    """The messages of an answer, as they come."""

    def __init__(self, link: http.client.HTTPConnection) -> None:
        self.link = link
        self.response = link.getresponse()
        assert self.response.status == 200, self.response.read()
        kind = self.response.headers["Content-Type"]
        assert kind == "text/event-stream"
        assert self.response.headers["X-Accel-Buffering"] == "no"
        assert self.response.headers["Cache-Control"] == "no-store"

    def next(self) -> Json:
        for line in self.response:
            if line.startswith(b"data: "):
                found: Json = json.loads(line[len(b"data: ") :])
                return found
        raise AssertionError("the stream has ended")


@contextlib.contextmanager
def connected(rpc: Rpc) -> Iterator[http.client.HTTPConnection]:
    link = http.client.HTTPConnection(
        rpc.web.host, rpc.web.port, timeout=DEADLINE
    )
    try:
        yield link
    finally:
        link.close()


@contextlib.contextmanager
def listening(
    rpc: Rpc, wanted: Json, declared: Optional[Json] = None
) -> Iterator[tuple[Stream, Json]]:
    """A stream, and what of it was acknowledged."""
    params = {"notifications": wanted}
    meta = {f"{META}clientCapabilities": declared or {}}
    sent = rpc.headers("subscriptions/listen", params)
    sent["Content-Type"] = "application/json"
    body = rpc.body("subscriptions/listen", params, meta)
    with connected(rpc) as link:
        link.request("POST", rpc.path, json.dumps(body), sent)
        stream = Stream(link)
        first = stream.next()
        method = "notifications/subscriptions/acknowledged"
        assert first["method"] == method
        assert first["params"]["_meta"] == {SUBSCRIPTION: body["id"]}
        yield stream, first["params"]["notifications"]


def updated(stream: Stream) -> str:
    message = stream.next()
    while message["method"] == "notifications/resources/list_changed":
        message = stream.next()
    assert message["method"] == "notifications/resources/updated", message
    uri: str = message["params"]["uri"]
    return uri


class Old(Older):
    """One that may subscribe to resources."""

    def __init__(self, web: Web, path: str = "/mcp") -> None:
        super().__init__(web, path)
        offered = self.offered["resources"]
        assert offered == {"subscribe": True, "listChanged": True}

    @contextlib.contextmanager
    def listen(self) -> Iterator[Stream]:
        with connected(self) as link:
            sent = {**self.headers("", {}), "Accept": "text/event-stream"}
            link.request("GET", self.path, headers=sent)
            yield Stream(link)
