"""A client of the management socket, without a program for each request."""

from __future__ import annotations

from typing import Any

import zmq
from deadline import DEADLINE
from harness import Gateway
from jupyter_client.session import Session as JupyterSession


class Manager:
    def __init__(self, gateway: Gateway) -> None:
        key = (gateway.runtime / "management.key").read_text().strip()
        self.signer = JupyterSession(key=key.encode())
        self.socket: Any = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(f"ipc://{gateway.runtime}/management.sock")

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, kind: str, content: dict[str, Any]) -> dict[str, Any]:
        sent = self.signer.send(self.socket, f"{kind}_request", content)
        while True:
            assert self.socket.poll(int(DEADLINE * 1000)), (
                f"no answer to {kind}"
            )
            _, answer = self.signer.recv(self.socket)
            assert sent
            assert answer
            if answer["parent_header"]["msg_id"] == sent["header"]["msg_id"]:
                break
        found: dict[str, Any] = answer["content"]
        return found
