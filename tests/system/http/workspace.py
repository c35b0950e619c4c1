"""A session's workspace, as Jupyter's contents and on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import Gateway
from web import Answer, Kernel, Web


class Workspace:
    """A session's workspace, from both sides."""

    def __init__(self, web: Web, kernel: Kernel) -> None:
        self.web = web
        self.kernel = kernel
        shown = web.gateway.json("session", "show", "--json", kernel.id)
        self.folder = Path(shown["workspace"])
        self.path = f"workspaces/{kernel.id}"
        self.api = f"/api/contents/{self.path}"

    def ask(self, method: str, below: str = "", body: Any = None) -> Answer:
        return self.web.ask(method, self.api + below, body)

    def get(self, below: str = "", **headers: str) -> Answer:
        return self.web.get(self.api + below, headers=headers)

    def file(self, below: str, **headers: str) -> Answer:
        named = {key.replace("_", "-"): text for key, text in headers.items()}
        return self.web.get(f"/files/{self.path}{below}", headers=named)

    def names(self, below: str = "") -> list[str]:
        answer = self.get(below)
        assert answer.status == 200, answer
        return sorted(entry["name"] for entry in answer.json["content"])


def refused(answer: Answer, status: int) -> str:
    assert answer.status == status, answer
    message: str = answer.json["message"]
    assert message
    return message


def memory(gateway: Gateway) -> int:
    pid = gateway.info()["pid"]
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024
