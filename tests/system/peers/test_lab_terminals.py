"""Terminals of the page that `hearth lab` opens: shells in sessions."""

from __future__ import annotations

import http.cookiejar
import struct
import urllib.request
from collections.abc import Iterator
from typing import Any, Optional

import pytest
import websocket
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from lab import PATIENCE, Lab, LabServer
from playwright.sync_api import Page
from test_lab import hearth_lab, through
from test_terminals import Terminal
from web import Web

pytestmark = pytest.mark.timeout(10 * PATIENCE)

HERE = "/api/terminals"


@pytest.fixture(scope="module")
def sessions(gateway: Gateway) -> Iterator[list[Session]]:
    made = [gateway.create("--name", f"shell-{i}") for i in range(3)]
    yield made
    for session in made:
        session.delete()


@pytest.fixture(scope="module")
def attached(
    gateway: Gateway,
    sessions: list[Session],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LabServer]:
    """One on all sessions, whose own terminals are installed and off."""
    folder = tmp_path_factory.mktemp("terminals")
    yield from hearth_lab(gateway, folder, terminals=True)


@pytest.fixture
def web(attached: LabServer, gateway: Gateway) -> Web:
    return through(attached, gateway)


def make(web: Web, session: Session) -> Any:
    answer = web.post(HERE, {"session": session.id})
    assert answer.status == 200, answer
    return answer.json


def names(web: Web) -> list[str]:
    return [model["name"] for model in web.get(HERE).json]


def notebook(session: Session) -> str:
    return f"{session.model['name']}-{session.id[:8]}.ipynb"


def refused(
    server: LabServer, name: str, *headers: str, origin: Optional[str] = None
) -> int:
    """Return the status of a handshake's refusal."""
    url = server.info["url"].replace("http", "ws", 1)
    with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
        websocket.create_connection(
            f"{url}terminals/websocket/{name}",
            timeout=DEADLINE,
            header=list(headers),
            suppress_origin=origin is None,
            origin=origin,
        )
    return int(refusal.value.status_code)


def test_a_shell_in_the_sandbox(
    gateway: Gateway, sessions: list[Session], web: Web
) -> None:
    made = make(web, sessions[0])
    with Terminal(web, made["name"]) as client:
        client.send("set_size", 33, 44, 500, 700)
        client.type("echo `stty size`; echo ü-$((6 * 7)); touch by-a-person\r")
        client.until("ü-42\r\n")
        assert "33 44" in client.text
        wait_for((sessions[0].workspace / "by-a-person").exists, "the file")
        # All of a long output comes, in its order.
        client.type("clear; seq 1 30000; echo $((6 * 7))-over\r")
        text = client.until("42-over")
        assert "\r\n".join(map(str, range(1, 30001))) in text
    # It is the gateway's, one of the session's programs.
    path = f"/hearth/sessions/{sessions[0].id}/processes/{made['process']}"
    shown = Web.of(gateway).get(path).json
    assert (shown["state"], shown["terminal"]) == ("running", True)


def test_is_listed_shown_and_ended(sessions: list[Session], web: Web) -> None:
    made = make(web, sessions[0])
    one = f"{HERE}/{made['name']}"
    assert made["name"] in names(web)
    assert web.get(one).json["session"] == sessions[0].id
    with Terminal(web, made["name"]) as client:
        assert web.ask("DELETE", one).status == 204
        while client.receive()[0] != "disconnect":
            pass
        assert client.close_code() == 1000
    assert made["name"] not in names(web)


def test_ends_with_its_session(sessions: list[Session], web: Web) -> None:
    made = make(web, sessions[2])
    with Terminal(web, made["name"]) as client:
        client.type("echo $((6 * 7))-here\r")
        client.until("42-here")
        sessions[2].delete()
        while client.receive()[0] != "disconnect":
            pass
        assert client.close_code() == 1000
    wait_for(lambda: made["name"] not in names(web), "its end")


def test_it_belongs_to_the_notebook(sessions: list[Session], web: Web) -> None:
    for session in sessions[:2]:
        answer = web.post(HERE, {"cwd": notebook(session)})
        assert answer.json["session"] == session.id
    # Which of several is meant is not guessed.
    answer = web.post(HERE, {"cwd": ""})
    assert answer.status == 409
    assert "several have a notebook here" in answer.json["message"]


def test_refusals_are_the_gateways(
    attached: LabServer, sessions: list[Session], web: Web
) -> None:
    for method in ("GET", "DELETE"):
        answer = web.ask(method, f"{HERE}/nonesuch")
        assert answer.status == 404
        assert answer.json["message"] == "Terminal not found: nonesuch"
    for body, status, words in (
        ({"session": "nonesuch"}, 404, "There is no living session nonesuch"),
        ({"session": 7}, 400, "session"),
        ({"name": "../x", "session": sessions[0].id}, 400, "letters, digits"),
        ([7], 400, "JSON object"),
    ):
        answer = web.post(HERE, body)
        assert answer.status == status, answer
        assert words in answer.json["message"]
    token = f"Authorization: token {attached.info['token']}"
    assert refused(attached, "nonesuch", token) == 404


def test_a_message_that_is_too_long(sessions: list[Session], web: Web) -> None:
    made = make(web, sessions[0])
    with Terminal(web, made["name"]) as client:
        # No more than the head of its frame is sent.
        assert client.ws.sock is not None
        client.ws.sock.sendall(b"\x81\xff" + struct.pack(">Q", 3 << 20))
        assert client.close_code() == 1009
    with Terminal(web, made["name"]) as client:
        client.type("echo $((6 * 7))-still\r")
        client.until("42-still")


def test_without_a_token(
    attached: LabServer, sessions: list[Session], web: Web
) -> None:
    made = make(web, sessions[0])
    stranger = web.with_token(None)
    for method, path in (
        ("GET", HERE),
        ("POST", HERE),
        ("GET", f"{HERE}/{made['name']}"),
        ("DELETE", f"{HERE}/{made['name']}"),
    ):
        body = {"session": sessions[0].id} if method == "POST" else None
        assert stranger.ask(method, path, body).status == 403
    assert refused(attached, made["name"]) == 403
    wrong = "Authorization: token " + "0" * 48
    assert refused(attached, made["name"], wrong) == 403
    assert made["name"] in names(web)


def test_another_sites_page(
    attached: LabServer, sessions: list[Session], web: Web
) -> None:
    """The browser sends the person's cookie along."""
    made = make(web, sessions[0])
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPCookieProcessor(jar),
    )
    opener.open(attached.url("lab"), timeout=PATIENCE).read()
    cookies = "Cookie: " + "; ".join(f"{c.name}={c.value}" for c in jar)
    evil = "http://evil.example"
    assert refused(attached, made["name"], cookies, origin=evil) == 403
    url = attached.info["url"].replace("http", "ws", 1)
    own = websocket.create_connection(
        f"{url}terminals/websocket/{made['name']}",
        timeout=DEADLINE,
        header=[cookies],
        origin=attached.info["url"].rstrip("/"),
    )
    assert own.recv() == '["setup",{}]'
    own.close()


def test_who_only_observes(
    gateway: Gateway,
    sessions: list[Session],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("observes")
    made = make(Web.of(gateway), sessions[0])
    arguments = ("--observe", sessions[0].id)
    for server in hearth_lab(gateway, folder, *arguments):
        web = through(server, gateway)
        assert made["name"] in names(web)
        answer = web.post(HERE, {})
        assert answer.status == 403
        assert "execute" in answer.json["message"]
        with Terminal(web, made["name"]) as client:
            client.type("touch by-an-observer\r")
            client.until("this token may only look")
    assert not (sessions[0].workspace / "by-an-observer").exists()


def test_in_the_browser(
    attached: LabServer, sessions: list[Session], web: Web, page: Page
) -> None:
    """From the launcher: in the session of the notebook that is open."""
    session = sessions[1]
    before = set(names(web))
    lab = Lab(page, attached.url(f"lab/tree/{notebook(session)}"))
    lab.wait_kernel()
    lab.command("launcher:create")
    page.locator(".jp-LauncherCard[data-category=Other]").get_by_text(
        "Terminal", exact=True
    ).click()
    lab.type("pwd; echo $((6 * 7))-seen", "42-seen")
    assert "/workspace" in lab.screen()
    lab.shot("hearth-lab-terminal")
    (name,) = set(names(web)) - before
    assert web.get(f"{HERE}/{name}").json["session"] == session.id
    lab.type("exit", "")
    wait_for(lambda: name not in names(web), "the shell's end")
