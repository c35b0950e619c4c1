"""How the client finds a gateway, and what it says when there is none."""

from __future__ import annotations

import http.server
import json
import os
import threading
from pathlib import Path
from typing import Iterator

import hearth
import pytest
from harness import Gateway
from surroundings import live_as

COUNT = "n = globals().get('n', 0) + 1\nn"


def test_none_runs(folders: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    live_as(folders, monkeypatch)
    with pytest.raises(hearth.GatewayNotFound, match="hearth gateway start"):
        hearth.connect().sessions()
    with pytest.raises(hearth.GatewayNotFound):
        hearth.connect(program="/nonexistent/hearth").sessions()


def test_one_is_started(
    folders: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders.be_cold()
    live_as(folders, monkeypatch)
    with pytest.raises(hearth.GatewayNotFound):
        hearth.connect().sessions()
    monkeypatch.delenv("HEARTH_AUTOSTART")
    with pytest.raises(hearth.GatewayNotFound):
        hearth.connect(start=False).sessions()
    try:
        with hearth.connect() as gateway:
            assert gateway.sessions() == []
            assert gateway.url() == folders.info()["http"]["url"]
    finally:
        folders.run("gateway", "stop", "--end-sessions")


def test_the_file_is_enough(
    user: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the program, as where only the client is installed."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with hearth.session() as session:
        assert session.run("1 + 1").text == "2"
    forged = tmp_path / "http.json"
    forged.write_text(json.dumps({"url": "http://127.0.0.1:1/", "token": "x"}))
    forged.chmod(0o666)
    monkeypatch.setenv("HEARTH_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(hearth.GatewayNotFound, match="not this user's own"):
        hearth.connect().sessions()
    forged.unlink()
    with pytest.raises(hearth.GatewayNotFound, match="No such file"):
        hearth.connect().sessions()


def test_the_variables_name_one(
    user: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = user.info()["http"]
    monkeypatch.setenv("HEARTH_RUNTIME_DIR", "/nonexistent")
    monkeypatch.setenv("HEARTH_URL", info["url"])
    monkeypatch.setenv("HEARTH_TOKEN", info["token"])
    with hearth.session() as session:
        assert session.run("1 + 1").text == "2"
    monkeypatch.setenv("HEARTH_TOKEN", "wrong")
    with pytest.raises(hearth.TokenRefused):
        hearth.connect().sessions()


def test_tokens(user: Gateway) -> None:
    url = user.info()["http"]["url"]
    made = user.json("token", "create", "--json", "--scope", "observe", "t")
    gateway = hearth.connect(url, made["token"])
    assert isinstance(gateway.sessions(), list)
    with pytest.raises(hearth.NotPermitted, match="lacks the scope execute"):
        gateway.session()
    user.run("token", "revoke", made["id"])
    with pytest.raises(hearth.TokenRefused):
        gateway.sessions()


def test_nothing_listens() -> None:
    gateway = hearth.connect("http://127.0.0.1:1/", "x", retry_seconds=0.1)
    with pytest.raises(hearth.GatewayUnreachable, match="could not be sent"):
        gateway.sessions()


class Other(http.server.BaseHTTPRequestHandler):
    """A server that is no gateway, or one that goes in the middle."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>")

    def do_POST(self) -> None:
        self.server.posts += 1  # type: ignore[attr-defined]
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other() -> Iterator[http.server.HTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
    server.posts = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_another_server(other: http.server.HTTPServer) -> None:
    url = f"http://127.0.0.1:{other.server_port}"
    gateway = hearth.connect(url, retry_seconds=0.1)
    with pytest.raises(hearth.GatewayFailed, match="is it a hearth gateway"):
        gateway.sessions()
    # Whether a session was made is unknown: it is not asked for again.
    with pytest.raises(hearth.GatewayUnreachable, match="whether it was done"):
        gateway.session()
    assert other.posts == 1  # type: ignore[attr-defined]


def test_an_interrupt_is_sent_once(other: http.server.HTTPServer) -> None:
    """A second one would interrupt code that handles the first."""
    url = f"http://127.0.0.1:{other.server_port}"
    gateway = hearth.connect(url)
    with pytest.raises(hearth.GatewayUnreachable, match="whether it was done"):
        hearth.Session(gateway._transport, "some").interrupt()
    assert other.posts == 1  # type: ignore[attr-defined]


def test_a_full_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway("--set", "sessions/sessions_max=1")
    live_as(gateway, monkeypatch)
    try:
        gateway.start()
        with (
            hearth.connect() as client,
            client.session(),
            pytest.raises(hearth.GatewayFull, match="sessions_max"),
        ):
            client.session()
    finally:
        gateway.end()


def test_exactly_once_over_a_killed_gateway(alone: Gateway) -> None:
    """The client waits for the answer while the gateway is killed, and a new
    one, with another token, takes over."""
    with hearth.session() as session:
        workspace = Path(session.info().workspace)
        seen: list[str] = []

        def take(output: hearth.Output) -> None:
            seen.append(output.text)
            if len(seen) == 1:
                alone.kill()
                alone.start()
                (workspace / "go").touch()

        result = session.run(
            f"{COUNT}\nimport os\nprint('first', flush=True)\n"
            "while not os.path.exists('go'): pass\nprint('second')\nn",
            on_output=take,
        )
        assert result.text == "1"
        assert "".join(seen).startswith("first\nsecond\n")
        assert "".join(seen).count("first") == 1
        assert result.state == hearth.Kept()


def test_a_key_outlives_the_gateway(alone: Gateway) -> None:
    with hearth.session() as session:
        first = session.run(COUNT, key="k")
        cursor = session.cursor
        alone.kill()
        alone.start()
        again = session.run(COUNT, key="k")
        assert (again.id, again.text) == (first.id, "1")
        assert session.run(COUNT).text == "2"
        assert session.cursor > cursor


def test_a_gateway_is_started_again(
    folders: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the command line does: the next request finds none and starts one."""
    folders.be_cold()
    live_as(folders, monkeypatch)
    monkeypatch.delenv("HEARTH_AUTOSTART")
    try:
        with hearth.session() as session:
            folders.note_namespace(
                folders.json("session", "show", "--json", session.id)["pid"]
            )
            session.run(COUNT)
            os.kill(folders.info()["pid"], 9)
            assert session.run(COUNT).text == "2"
    finally:
        folders.run("gateway", "stop", "--end-sessions")
