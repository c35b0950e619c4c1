"""Sessions as notebooks while they live, and after."""

from __future__ import annotations

from typing import Any

from harness import Client, Turn


def ask(client: Client, code: str, **hearth: Any) -> Turn:
    """A cell with metadata of ours."""
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    return client.ask("shell", "execute_request", content, {"hearth": hearth})


def test_a_client_is_told_what_a_cell_did_when_it_asks(client: Client) -> None:
    asked = ask(client, "a = [1]\nopen('f', 'w').close()", namespace=True)
    figures = asked.reply["metadata"]["hearth"]

    assert figures["namespace"] == {
        "appeared": [{"name": "a", "type": "list", "size": 1}]
    }
    assert figures["files"] == {"written": ["f"]}
    plain = client.run("b = 1")
    assert set(plain.reply["metadata"]["hearth"]) == {"cpu_us", "rss_kib"}
    assert plain.reply["metadata"]["next_count"] == 3
    again = ask(client, "b", namespace=True)
    assert "namespace" not in again.reply["metadata"]["hearth"]
