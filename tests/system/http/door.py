"""E2B's door as its clients use it, without their SDK."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any, Optional

from web import Answer, Web

Json = dict[str, Any]
STREAM = "application/connect+json"


class Door:
    """A client of E2B's REST, with the key that is its token."""

    def __init__(self, web: Web, key: Optional[str] = None) -> None:
        self.web = web.with_token(None)
        self.key = key or web.token

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Optional[dict[str, str]] = None,
        raw: Optional[bytes] = None,
    ) -> Answer:
        sent = {"X-API-Key": self.key, **(headers or {})}
        kept = {name: value for name, value in sent.items() if value}
        return self.web.ask(method, f"/e2b{path}", body, kept, raw)

    def create(self, **wishes: Any) -> Box:
        body = {"templateID": "code-interpreter-v1", **wishes}
        made = self.ask("POST", "/v2/sandboxes", body)
        assert made.status == 201, made
        return Box(self, made.json)

    def fails(self, status: int, *asked: Any, **options: Any) -> str:
        """Ask for what is refused, and return the sentence."""
        answer = self.ask(*asked, **options)
        assert answer.status == status, answer
        assert answer.json["code"] == status, answer
        message: str = answer.json["message"]
        return message


class Box:
    """A sandbox, as its clients reach it."""

    def __init__(self, door: Door, access: Json) -> None:
        self.door = door
        self.id: str = access["sandboxID"]
        self.access = access
        self.headers = {
            "X-API-Key": "",
            "E2b-Sandbox-Id": self.id,
            "X-Access-Token": access["envdAccessToken"],
        }

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.door.ask(method, path, body, self.headers)

    def call(
        self,
        procedure: str,
        body: Any,
        headers: Optional[dict[str, str]] = None,
    ) -> Answer:
        """Call a procedure of the service of processes."""
        path = f"/process.Process/{procedure}"
        sent = {**self.headers, **(headers or {})}
        return self.door.ask("POST", path, body, sent)

    def stream(
        self,
        procedure: str,
        *messages: Json,
        raw: Optional[bytes] = None,
        headers: Optional[dict[str, str]] = None,
    ) -> list[Json]:
        """All messages of the answer; the last one is the error, or empty."""
        body = b"".join(map(frame, messages)) if raw is None else raw
        path = f"/process.Process/{procedure}"
        sent = {**self.headers, "Content-Type": STREAM, **(headers or {})}
        answer = self.door.ask("POST", path, None, sent, body)
        assert answer.status == 200, answer
        assert answer.headers["Content-Type"] == STREAM
        return frames(answer.body)

    def command(self, text: str, **more: Any) -> list[Json]:
        """The events of a command, without the end of the stream."""
        events = self.stream("Start", command(text, **more))
        assert events.pop() == {}
        return [of(event) for event in events]

    def run(self, code: str, **options: Any) -> list[Json]:
        """The lines but those that keep the stream alive."""
        answer = self.ask("POST", "/execute", {"code": code, **options})
        assert answer.status == 200, answer
        lines = [json.loads(line) for line in answer.body.splitlines()]
        return [line for line in lines if line["type"] != "keepalive"]

    def value(self, code: str, **options: Any) -> Any:
        (result,) = of_type(self.run(code, **options), "result")
        return result["text"]

    def kill(self) -> None:
        assert self.door.ask("DELETE", f"/sandboxes/{self.id}").status == 204


def of_type(lines: list[Json], name: str) -> list[Json]:
    return [line for line in lines if line["type"] == name]


# ---- messages of the Connect protocol ----


def frame(message: Json, flags: int = 0) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack(">BI", flags, len(text)) + text


def frames(body: bytes) -> list[Json]:
    found = []
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        found.append(json.loads(body[5 : 5 + size]))
        body = body[5 + size :]
        assert flags == (0 if body else 2)
    return found


def command(text: str, stdin: bool = False, **more: Any) -> Json:
    """As commands.run of the SDK asks for it."""
    process = {"cmd": "/bin/bash", "args": ["-l", "-c", text], **more}
    return {"process": process, "stdin": stdin}


def of(message: Json) -> Json:
    event: Json = message["event"]
    return event


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def output(events: list[Json], stream: str = "stdout") -> bytes:
    return b"".join(
        base64.b64decode(event["data"].get(stream, ""))
        for event in events
        if "data" in event
    )
