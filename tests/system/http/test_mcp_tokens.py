"""A client of the Model Context Protocol is its Mcp-Session-Id with its token:
another token under the same one has no say in its calls."""

from __future__ import annotations

import threading
from pathlib import Path

from deadline import wait_for
from harness import Gateway
from rpc import Json, Rpc, order, session_of, text_of
from rpc_streams import Old
from web import Web

WAIT = """
import os, time
open('begun', 'w').close()
while not os.path.exists('go'): time.sleep(0.01)
7"""


def cancel(client: Old, number: int) -> None:
    note: Json = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": number},
    }
    sent = client.headers(note["method"], {})
    assert client.web.post(client.path, note, headers=sent).status == 202


def test_another_token_cancels_nothing(web: Web, gateway: Gateway) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    old, other = Old(web), Old(web.with_token(made["token"]))
    other.name = old.name
    session = session_of(Rpc(web).call("execute", code="1"))
    about = gateway.json("session", "show", "--json", session)
    workspace = Path(about["workspace"])
    results: list[Json] = []

    def call() -> None:
        results.append(old.result("tools/call", order(session, WAIT)))

    for canceller, last in ((other, "7"), (old, "KeyboardInterrupt")):
        running = threading.Thread(target=call)
        running.start()
        wait_for((workspace / "begun").exists, "the cell")
        cancel(canceller, old.count)
        if canceller is other:
            (workspace / "go").touch()
        running.join()
        assert text_of(results.pop()).splitlines()[-1].startswith(last)
        for name in ("begun", "go"):
            (workspace / name).unlink(missing_ok=True)
    gateway.run("token", "revoke", made["id"])
    Rpc(web).call("session", action="end", session=session)
