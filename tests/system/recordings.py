"""Sessions whose recordings a test looks at, and their revival."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from client import Client, Turn, execute_content
from deadline import wait_for
from harness import HEARTH, Gateway, Session


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


def begin_revival(
    gateway: Gateway, session: Session, slow: str
) -> subprocess.Popen[str]:
    """Begin the revival of a session with three cells: returns when the second
    one, `slow`, has begun again, at which that one waits."""
    run_all(session, "a = 1", slow, "b = 1")
    session.delete()
    session.wait_state("gone")
    reviver = subprocess.Popen(
        [HEARTH, "session", "revive", session.id],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def is_in_second_cell() -> bool:
        rows = gateway.json("notebook", "trace", "--json", session.id)
        return rows[-1].get("turn") == 5 and rows[-1]["status"] == "running"

    wait_for(is_in_second_cell, "the cell runs again")
    return reviver


def revive(gateway: Gateway, session: Session) -> dict[str, Any]:
    done = gateway.run("session", "revive", "--json", session.id)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    whole = (
        report["is_complete"]
        and not report["different"]
        and not report["variables"]["missing"]
        and not report["variables"]["different"]
    )
    assert done.returncode == (0 if whole else 1), done.stderr
    return report
