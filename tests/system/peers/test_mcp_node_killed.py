"""The official TypeScript client of the Model Context Protocol and the official
package for its tasks, unmodified, and a gateway that is killed in the middle
of a call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE
from harness import Gateway
from lines import next_line
from test_mcp_client_killed import MODERN, UNTIL, busy, own, patient, replace
from test_mcp_conformance import NODE
from test_mcp_node import commands

__all__ = ["own", "patient"]

CLIENT = Path(__file__).resolve().parent / "node" / "mcp_call.mjs"
CALL = {"code": UNTIL, "key": "a turn"}
TRANSPORTS = ["http", "stdio"]


class Call:
    """A call that a client of its own makes."""

    def __init__(
        self, gateway: Gateway, transport: str, mode: str, **call: Any
    ) -> None:
        self.process = subprocess.Popen(
            [
                NODE,
                CLIENT,
                mode,
                json.dumps(call),
                *commands(gateway, transport),
            ],
            env={**gateway.env, "HOME": str(gateway.folder)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def next(self) -> dict[str, str]:
        """Return what the client says next."""
        line = next_line(self.process, 2 * DEADLINE)
        found: dict[str, str] = json.loads(line)
        return found

    def said(self, what: str) -> str:
        found = self.next()
        assert list(found) == [what], found
        return found[what]

    def close(self) -> None:
        assert self.process.stdout
        self.process.stdout.close()
        assert self.process.wait(DEADLINE) == 0


def finished(gateway: Gateway, transport: str, mode: str, text: str) -> str:
    """Return the text of a keyed call. A machine that is very slow answers
    RUNNING, or that it is not ready; then the call is sent again."""
    while " ok " not in text.split("\n", maxsplit=1)[0]:
        assert "STATE LOST" not in text
        again = Call(gateway, transport, mode, **CALL)
        text = again.said("text")
        again.close()
    return text.splitlines()[-1]


@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_call_outlives_its_gateway(
    patient: Gateway, transport: str, mode: str
) -> None:
    """By standard input the client notices nothing. By HTTP it reports the end,
    and the call under its key is sent again. The code has run once."""
    call = Call(patient, transport, mode, **CALL)
    replace(patient, busy(patient))
    if transport == "http":
        assert "fetch failed" in call.said("error")
        text = ""
    else:
        text = call.said("text")
    call.close()
    assert finished(patient, transport, mode, text) == "1"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_task_outlives_its_gateway(own: Gateway, transport: str) -> None:
    """The client asks for it all the while. If it meets no gateway by HTTP, a
    client that connects anew takes the task up."""
    call = Call(own, transport, MODERN, **CALL, tasks=True)
    task = call.said("task")
    replace(own, task.split(".")[0])
    found = call.next()
    if transport == "http" and "error" in found:
        call.close()
        call = Call(own, transport, MODERN, task=task)
        assert call.said("task") == task
        found = call.next()
    assert list(found) == ["text"], found
    assert found["text"].splitlines()[-1] == "1"
    call.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_task_is_cancelled(own: Gateway, transport: str) -> None:
    call = Call(own, transport, MODERN, **CALL, tasks=True, cancel=True)
    call.said("task")
    assert call.said("status") == "cancelled"
    call.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_older_client_gets_no_task(own: Gateway, transport: str) -> None:
    """Its revision has none that hearth offers: the call answers RUNNING."""
    call = Call(own, transport, "legacy", **CALL, tasks=True)
    assert "RUNNING" in call.said("text")
    call.close()
