"""Sessions whose recordings a test looks at, and their revival."""

from __future__ import annotations

import json
from typing import Any

from client import Client, Turn, execute_content
from harness import Gateway, Session


def ask(connected: Client, code: str, **hearth: Any) -> Turn:
    """A cell with metadata of ours."""
    content = execute_content(code)
    return connected.ask(
        "shell", "execute_request", content, {"hearth": hearth}
    )


def run_all(session: Session, *cells: str) -> None:
    with session.client() as client:
        for cell in cells:
            client.run(cell)


def revive(gateway: Gateway, session: Session) -> dict[str, Any]:
    done = gateway.run("session", "revive", "--json", session.id)
    report: dict[str, Any] = json.loads(done.stdout)
    whole = (
        report["is_complete"]
        and not report["different"]
        and not report["variables"]["missing"]
        and not report["variables"]["different"]
    )
    assert done.returncode == (0 if whole else 1), done.stderr
    return report
