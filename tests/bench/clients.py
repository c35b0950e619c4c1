"""A Jupyter client of raw ZeroMQ sockets: no waits and no costs of its own."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import zmq

DELIMITER = b"<IDS|MSG>"
PATIENCE_MS = 120_000


class BenchError(Exception):
    """Something did not happen as it must; no figure is worth anything."""


class Signer:
    """Makes and opens signed messages with one key."""

    def __init__(self, key: str) -> None:
        self.hmac = hmac.new(key.encode(), digestmod=hashlib.sha256)
        self.session = uuid.uuid4().hex
        self.count = 0

    def sign(self, parts: list[bytes]) -> bytes:
        signature = self.hmac.copy()
        for part in parts:
            signature.update(part)
        return signature.hexdigest().encode()

    def request(
        self, kind: str, content: dict[str, Any]
    ) -> tuple[str, list[bytes]]:
        self.count += 1
        header = {
            "msg_id": f"{self.session}_{self.count}",
            "session": self.session,
            "username": "bench",
            "date": "2026-01-01T00:00:00.000000Z",
            "msg_type": kind,
            "version": "5.4",
        }
        parts = [
            json.dumps(header).encode(),
            b"{}",
            b"{}",
            json.dumps(content).encode(),
        ]
        return header["msg_id"], [DELIMITER, self.sign(parts), *parts]

    def open(self, frames: list[bytes]) -> tuple[str, str, bytes]:
        """Type, parent's id and unparsed content of a message."""
        at = frames.index(DELIMITER)
        signature, *parts = frames[at + 1 : at + 6]
        if not hmac.compare_digest(signature, self.sign(parts)):
            raise BenchError("a message is not signed with the key")
        parent = json.loads(parts[1]) or {}  # xeus says null
        return (
            json.loads(parts[0])["msg_type"],
            parent.get("msg_id", ""),
            parts[3],
        )


def is_idle(frames: list[bytes], mark: bytes) -> bool:
    """Whether it is the last message of a request, by a look at the bytes."""
    *_, header, parent, _, content = frames
    return (
        len(content) < 100
        and b'"idle"' in content
        and b'"status"' in header
        and mark in parent
    )


@dataclass
class Outcome:
    """The outcome of a cell."""

    seconds: float = 0.0
    status: str = ""
    messages: int = 0
    text: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # displays that are text
    result: str = ""


class Client:
    """Shell and iopub of one kernel."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        connection: dict[str, Any],
    ) -> None:
        self.signer = Signer(connection["key"])
        self.shell = context.socket(zmq.DEALER)
        self.iopub = context.socket(zmq.SUB)
        self.iopub.setsockopt(zmq.SUBSCRIBE, b"")
        for sock, key in ((self.shell, "shell"), (self.iopub, "iopub")):
            sock.setsockopt(zmq.LINGER, 0)
            # A kernel that is just being started does not listen yet.
            sock.setsockopt(zmq.RECONNECT_IVL, 2)
            sock.setsockopt(zmq.RECONNECT_IVL_MAX, 10)
            # Nothing of what is counted may be dropped on this side.
            sock.setsockopt(zmq.RCVHWM, 0)
            port = connection[f"{key}_port"]
            if connection["transport"] == "ipc":
                sock.connect(f"ipc://{connection['ip']}-{port}")
            else:
                sock.connect(f"tcp://{connection['ip']}:{port}")
            sock.setsockopt(zmq.RCVTIMEO, PATIENCE_MS)

    def close(self) -> None:
        self.shell.close()
        self.iopub.close()

    def wait_for_welcome(self, patience_ms: int = PATIENCE_MS) -> None:
        """Until the subscription counts: both sides say so."""
        deadline = time.monotonic() + patience_ms / 1000
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not self.iopub.poll(int(1000 * left)):
                raise BenchError(f"no iopub_welcome in {patience_ms / 1e3} s")
            kind, _, _ = self.signer.open(self.iopub.recv_multipart())
            if kind == "iopub_welcome":
                return

    def execute_request(self, code: str) -> tuple[str, list[bytes]]:
        """Its id, and the frames to be sent."""
        return self.signer.request(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": True,
            },
        )

    def execute(self, code: str) -> Outcome:
        """Run a cell; return the time until both its reply and `idle` are here.

        Messages are opened and compared afterwards: a client's own work is not
        measured.
        """
        outcome = Outcome()
        msg_id, frames = self.execute_request(code)
        mark = f'"{msg_id}"'.encode()
        reported: list[list[bytes]] = []
        started = time.perf_counter()
        try:
            self.shell.send_multipart(frames)
            while not reported or not is_idle(reported[-1], mark):
                reported.append(self.iopub.recv_multipart())
            # Both sides send it before `idle`.
            while not outcome.status:
                answer = self.shell.recv_multipart()
                if mark in answer[-3]:
                    outcome.seconds = time.perf_counter() - started
                    self.take_reply(answer, outcome)
        except zmq.Again:
            raise BenchError(f"no answer to {code[:40]!r}") from None
        for message in reported:
            self.take_output(message, msg_id, outcome)
        if outcome.status != "ok":
            raise BenchError(f"{code[:40]!r}: {outcome.status}")
        return outcome

    def take_reply(self, frames: list[bytes], outcome: Outcome) -> None:
        kind, _, content = self.signer.open(frames)
        if kind == "execute_reply":
            reply = json.loads(content)
            outcome.status = reply["status"]
            if outcome.status == "error":
                outcome.status = f"{reply['ename']}: {reply['evalue']}"

    def take_output(
        self, frames: list[bytes], msg_id: str, outcome: Outcome
    ) -> None:
        kind, parent, raw = self.signer.open(frames)
        if parent != msg_id or kind == "status":
            return
        content = json.loads(raw)
        outcome.messages += 1
        if kind == "stream":
            outcome.text.append(content["text"])
        elif kind == "execute_result":
            outcome.result = content["data"]["text/plain"]
        elif kind == "display_data":
            data = content["data"]
            if "image/png" in data:
                outcome.pictures.append(data["image/png"])
            else:
                outcome.shown.append(data["text/plain"])
