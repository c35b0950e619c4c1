"""Clients that no package registry has as something that runs by itself: each
sends here, byte for byte where that matters, what its source sends, and what
it needs of the answers is looked at. (Those that can be installed are in
tests/system/peers.)"""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Callable
from urllib.parse import urlencode

import pytest
import websocket
from browser import Browser
from client import execute_content
from deadline import DEADLINE
from harness import Gateway
from web import V1, Answer, Message, Web, decode_v1, encode_v1

# As Python's websockets and Go's and Rust's libraries name themselves.
WEBSOCKETS = "User-Agent: Python/3.11 websockets/15.0.1"
DEFLATE = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"


class Wire:
    """A WebSocket, and nothing that a client does not do."""

    def __init__(
        self, web: Web, path: str, *lines: str, v1: bool = False
    ) -> None:
        self.ws = websocket.create_connection(
            web.url.replace("http", "ws", 1).rstrip("/") + path,
            timeout=DEADLINE,
            header=list(lines),
            subprotocols=[V1] if v1 else None,
            suppress_origin=True,
        )

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.ws.close()

    def until(self, is_last: Callable[[Message], bool]) -> list[Message]:
        """Text frames, as JSON."""
        found: list[Message] = []
        while not found or not is_last(found[-1]):
            data = self.ws.recv()
            assert isinstance(data, str)
            found.append(json.loads(data))
        return found


def is_idle(message: Message) -> bool:
    """Wherever the type is looked for: at the top (A-U11)."""
    return (
        message["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
    )


def belongs(msg_id: str) -> Callable[[Message], bool]:
    return lambda m: m.get("parent_header", {}).get("msg_id") == msg_id


@pytest.fixture
def made(web: Web) -> Iterator[list[str]]:
    """Delete the kernels that a test has made."""
    kernels: list[str] = []
    yield kernels
    for kernel in kernels:
        web.delete(kernel)


def note(web: Web, made: list[str], kernel: str) -> str:
    shown = web.gateway.json("session", "show", "--json", kernel)
    web.gateway.note_namespace(shown["pid"])
    made.append(kernel)
    return kernel


# --- Open WebUI ---


def webui_message(code: str) -> Message:
    return {
        "header": {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "username": "user",
            "session": uuid.uuid4().hex,
            "date": "",
            "version": "5.3",
        },
        "parent_header": {},
        "metadata": {},
        "content": execute_content(code),
        "channel": "shell",
    }


def webui_run(ws: Wire, code: str) -> tuple[str, str, list[str]]:
    """Return the client's result of the answers: stdout, stderr, results."""
    message = webui_message(code)
    ws.ws.send(json.dumps(message))
    is_own = belongs(message["header"]["msg_id"])
    said = {"stdout": "", "stderr": ""}
    results = []
    for found in ws.until(lambda m: is_own(m) and is_idle(m)):
        content = found["content"]
        if not is_own(found):
            continue
        if found["msg_type"] == "stream":
            said[content["name"]] += content["text"]
        elif found["msg_type"] in ("execute_result", "display_data"):
            data = content["data"]
            results.append(data.get("image/png") or data["text/plain"])
        elif found["msg_type"] == "error":
            said["stderr"] += "\n".join(content["traceback"])
    return said["stdout"], said["stderr"], results


PLOT = (
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n"
    "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7"
)


@pytest.mark.parametrize("by", ["token", "password"])
def test_open_webui(web: Web, made: list[str], by: str) -> None:
    """open-webui/open-webui, backend/open_webui/utils/code_interpreter.py: a
    token in each query, or the page to log in by with Jupyter's field, whose
    cookies and XSRF token the rest shows. Its WebSocket has what the websockets
    library sends, and takes frames of 1 MiB."""
    query, lines = f"?token={web.token}", [WEBSOCKETS, DEFLATE]
    browser = Browser(web)
    shown: dict[str, str] = {}
    if by == "password":
        browser.ask("GET", "/login")
        xsrf = browser.cookies["_xsrf"]
        shown = {"X-XSRFToken": xsrf}
        form = urlencode({"_xsrf": xsrf, "password": web.token})
        headers = browser.ask("POST", "/login", form, headers=shown)
        while browser.status == 302:  # it follows, and 4xx would end it
            headers = browser.ask("GET", headers["Location"], headers=shown)
        assert browser.status == 200
        query = ""
        lines += [f"Cookie: {browser.cookie()}", f"X-XSRFToken: {xsrf}"]
    browser.ask("POST", f"/api/kernels{query}", headers=shown)
    assert 200 <= browser.status < 400
    kernel = note(web, made, json.loads(browser.body)["id"])
    path = f"/api/kernels/{kernel}/channels{query}"
    with Wire(web, path, *lines) as ws:
        out, err, results = webui_run(ws, PLOT)
        assert (out, err) == ("out\n", "err\n")
        assert results[0].startswith("iVBORw0K")
        assert results[-1] == "42"
        out, err, results = webui_run(ws, "1 / 0")
        assert "ZeroDivisionError" in err
        assert len(webui_run(ws, "'x' * (3 << 20)")[2]) == 1
    browser.ask("DELETE", f"/api/kernels/{kernel}{query}", headers=shown)
    assert 200 <= browser.status < 400


# --- Emacs ---


@pytest.mark.parametrize("by", ["password", "token"])
def test_emacs(web: Web, made: list[str], by: str) -> None:
    """emacs-jupyter/jupyter, jupyter-rest-api.el: the page to log in for its
    XSRF token, which is shown in a header from then on; a password by that
    page, a token in each request. Its WebSocket has the cookies, and a token
    twice (jupyter-api-add-websocket-headers)."""
    emacs = Browser(web)
    emacs.ask("GET", "/login")
    shown = {"X-XSRFTOKEN": emacs.cookies["_xsrf"]}
    lines = [f"X-XSRFTOKEN: {emacs.cookies['_xsrf']}"]
    if by == "password":
        headers = emacs.ask(
            "POST", "/login", f"password={web.token}", headers=shown
        )
        assert emacs.status == 302
        emacs.ask("GET", headers["Location"])
    else:
        shown["Authorization"] = f"token {web.token}"
        lines += [f"Authorization: token {web.token}"] * 2
    for path in ("/api/kernelspecs", "/api/kernels", "/api/sessions"):
        emacs.ask("GET", path, headers=shown)
        assert emacs.status == 200, path
    emacs.ask("POST", "/api/kernels", headers=shown)
    kernel = note(web, made, json.loads(emacs.body)["id"])
    cookies = emacs.cookie()
    assert "hearth-" in cookies
    path = f"/api/kernels/{kernel}/channels?session_id=emacs"
    for own in (lines, [line for line in lines if "token " not in line]):
        with Wire(web, path, *own, f"Cookie: {cookies}") as ws:
            assert "42" in webui_run(ws, "6 * 7")[2]


@pytest.mark.xfail(
    strict=True,
    reason="libwebsockets writes its answer over what came with the request",
)
def test_emacs_sends_before_it_is_answered(web: Web, made: list[str]) -> None:
    """websocket.el does not wait for the answer (RFC 6455, 4.1, wants that):
    where the gateway is slower, its first message is read with the handshake.
    handshake_0405() of libwebsockets, 4.1 to 4.5, composes the answer in the
    buffer of what was read, 384 bytes from its beginning."""
    kernel = note(web, made, web.create())
    request = (
        f"GET /api/kernels/{kernel}/channels?session_id=emacs HTTP/1.1\r\n"
        f"Host: {web.host}:{web.port}\r\n"
        "Upgrade: websocket\r\n"
        "Connection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\n"
        f"Authorization: token {web.token}\r\n\r\n"
    )
    text = json.dumps(webui_message("6 * 7"))
    frame = websocket.ABNF.create_frame(text, websocket.ABNF.OPCODE_TEXT)
    with socket.create_connection((web.host, web.port), DEADLINE) as plain:
        plain.sendall(request.encode() + frame.format())
        found = b""
        while b'"execute_reply"' not in found:
            more = plain.recv(1 << 16)
            assert more, found[-200:]
            found += more
    assert b'"text/plain":"42"' in found


# --- E2B's server in its template ---


@pytest.fixture(scope="module")
def inner() -> Iterator[Gateway]:
    """Beside it in one machine: no token, and a kernelspec by the language."""
    gateway = Gateway(
        *("--set", "http/auth=none"),
        *("--set", "http/force_profile=python3"),
    )
    try:
        yield gateway.start()
    finally:
        gateway.end()


class E2BContext:
    """One context: a session, a WebSocket that stays, one cell at a time."""

    def __init__(self, web: Web) -> None:
        self.web = web
        answer = web.post(
            "/api/sessions",
            {
                "path": str(uuid.uuid4()),
                "kernel": {"name": "python"},
                "type": "notebook",
                "name": str(uuid.uuid4()),
            },
        )
        assert answer.status == 201, answer
        self.session: str = answer.json["id"]
        self.kernel: str = answer.json["kernel"]["id"]
        shown = web.gateway.json("session", "show", "--json", self.kernel)
        web.gateway.note_namespace(shown["pid"])
        self.connect()

    def connect(self) -> None:
        path = f"/api/kernels/{self.kernel}/channels"
        self.ws = Wire(self.web, path, WEBSOCKETS, DEFLATE)

    def execute(self, code: str, background: bool = False) -> list[Message]:
        """Until what it takes for the end: idle, once the input was taken, or
        for what runs in the background once it was busy."""
        now = datetime.now(timezone.utc).isoformat()
        msg_id = str(uuid.uuid4())
        message = {
            "header": {
                "msg_id": msg_id,
                "username": "e2b",
                "session": self.session,
                "msg_type": "execute_request",
                "version": "5.3",
                "date": now,
            },
            "parent_header": {},
            "metadata": {
                "trusted": True,
                "deletedCells": [],
                "recordTiming": False,
                "cellId": str(uuid.uuid4()),
            },
            "content": {
                "code": code,
                "silent": background,
                "store_history": True,
                "user_expressions": {},
                "stop_on_error": True,
                "allow_stdin": False,
            },
        }
        self.ws.ws.send(json.dumps(message))
        is_own, is_accepted = belongs(msg_id), False

        def is_last(found: Message) -> bool:
            nonlocal is_accepted
            if not is_own(found):
                return False
            is_busy = found["content"].get("execution_state") == "busy"
            is_accepted |= is_busy and background
            is_accepted |= found["msg_type"] == "execute_input"
            return is_idle(found) and is_accepted

        return [m for m in self.ws.until(is_last) if is_own(m)]


def test_e2b(inner: Gateway) -> None:
    """e2b-dev/code-interpreter, template/server (contexts.py, messaging.py,
    main.py)."""
    web = Web.of(inner)
    context = E2BContext(web)
    # Its working directory, before anything else: in the background.
    assert [m["msg_type"] for m in context.execute("%cd /tmp", True)][-1] == (
        "status"
    )
    found = context.execute("import os\nprint(os.getcwd())\n6 * 7")
    kinds = [m["msg_type"] for m in found]
    assert kinds.index("execute_input") < kinds.index("stream")
    assert found[kinds.index("stream")]["content"]["text"] == "/tmp\n"
    assert found[kinds.index("stream")]["header"]["date"]
    assert type(found[1]["content"]["execution_count"]) is int
    result = found[kinds.index("execute_result")]["content"]["data"]
    assert result["text/plain"] == "42"
    failed = context.execute("1 / 0")
    (error,) = (m["content"] for m in failed if m["msg_type"] == "error")
    assert error["ename"] == "ZeroDivisionError"
    assert "".join(error["traceback"])
    assert context.execute("os.environ['A'] = 'b'", True)
    # It reconnects with what it had, and goes on.
    context.ws.ws.close()
    context.connect()
    assert context.execute("os.environ['A']")[-1]
    # A restart is asked for with the socket closed.
    context.ws.ws.close()
    path = f"/api/kernels/{context.kernel}"
    assert web.post(f"{path}/restart").status == 200
    context.connect()
    (error,) = (
        m["content"] for m in context.execute("os") if m["msg_type"] == "error"
    )
    assert error["ename"] == "NameError"
    assert 200 <= web.ask("DELETE", path).status < 300


def test_e2b_interrupts_a_cell_after_its_client_left(inner: Gateway) -> None:
    """Its caller went: an interrupt by REST, and the next cell runs."""
    web = Web.of(inner)
    context = E2BContext(web)
    context.ws.ws.send(
        json.dumps(
            {
                **webui_message("print('on', flush=True)\nwhile True: pass"),
                "channel": "shell",
            }
        )
    )
    context.ws.until(lambda m: m["msg_type"] == "stream")
    path = f"/api/kernels/{context.kernel}"
    assert 200 <= web.post(f"{path}/interrupt").status < 300
    found = context.execute("'next'")
    assert [m["msg_type"] for m in found].count("execute_result") == 1
    assert web.ask("DELETE", path).status == 204


def test_e2b_gets_an_error_when_its_kernel_dies(inner: Gateway) -> None:
    """It waits without an end: an error, then idle (A-U26)."""
    web = Web.of(inner)
    context = E2BContext(web)
    found = context.execute("import os; os._exit(3)")
    kinds = [m["msg_type"] for m in found]
    assert kinds.index("error") < len(kinds) - 1
    assert is_idle(found[-1])


# --- OpenSandbox's execd ---


class Execd:
    """Sessions by REST with `Authorization: Token`; for its WebSocket the
    query. Ids of messages are its session's and a counter."""

    def __init__(self, web: Web) -> None:
        self.web = web.with_token(None)
        self.shown = {"Authorization": f"Token {web.token}"}
        self.query = f"?token={web.token}"
        self.session = str(uuid.uuid4())
        self.counter = 0

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.web.ask(method, path, body, headers=self.shown)

    def connect(self, kernel: str) -> Wire:
        return Wire(
            self.web,
            f"/api/kernels/{kernel}/channels{self.query}",
            "User-Agent: Go-http-client/1.1",
        )

    def execute(self, ws: Wire, code: str) -> list[Message]:
        """All up to the first idle, whosesoever it is, and the reply: it looks
        at no parent. The idle may be that with which a new connection begins,
        as in Jupyter's servers; then all outputs have to come before the
        reply."""
        self.counter += 1
        zone = timezone(timedelta(hours=8))
        empty = dict.fromkeys(
            ("msg_id", "username", "session", "date", "msg_type", "version"), ""
        )
        message = {
            "header": {
                "msg_id": f"{self.session}-{self.counter}",
                "username": "go-client",
                "session": self.session,
                "date": datetime.now(zone).isoformat(timespec="seconds"),
                "msg_type": "execute_request",
                "version": "5.3",
            },
            "parent_header": empty,
            "metadata": {},
            "content": execute_content(code),
            "buffers": None,
            "channel": "shell",
        }
        ws.ws.send(json.dumps(message) + "\n")  # as Go's encoder ends it
        seen: set[str] = set()

        def is_over(found: Message) -> bool:
            seen.add("idle" if is_idle(found) else found["msg_type"])
            return seen >= {"idle", "execute_reply"}

        return ws.until(is_over)


def test_opensandbox(web: Web, made: list[str]) -> None:
    """alibaba/OpenSandbox, components/execd/pkg/jupyter (session/session.go,
    execute/execute.go, transport.go)."""
    execd = Execd(web)
    assert execd.ask("GET", "/api/kernelspecs").json["kernelspecs"]
    body = {
        "path": "work/a.ipynb",
        "name": "a",
        "type": "notebook",
        "kernel": {"name": "python3"},
    }
    session = execd.ask("POST", "/api/sessions", body)
    assert session.status in (200, 201)
    kernel = note(web, made, session.json["kernel"]["id"])
    path = f"/api/sessions/{session.json['id']}"
    listed = execd.ask("GET", "/api/sessions")
    assert session.json["id"] in [one["id"] for one in listed.json]
    assert execd.ask("GET", path).json["kernel"]["id"] == kernel
    with execd.connect(kernel) as ws:
        found = execd.execute(ws, "print('one')\n6 * 7")
        kinds = [m["msg_type"] for m in found]
        assert found[kinds.index("stream")]["content"]["text"] == "one\n"
        assert kinds.index("execute_result") < kinds.index("execute_reply")
        reply = found[kinds.index("execute_reply")]["content"]
        assert reply["execution_count"] == 1
        failed = execd.execute(ws, "1 / 0")
        reply = next(m for m in failed if m["msg_type"] == "execute_reply")
        assert reply["content"]["ename"] == "ZeroDivisionError"
    again = execd.connect(kernel)  # after a look at another one, say
    with again as ws:
        result = execd.execute(ws, "'kept'")
        assert "execute_result" in [m["msg_type"] for m in result]
    renamed = execd.ask("PATCH", path, {"name": "b", "path": "work/b.ipynb"})
    assert (renamed.status, renamed.json["name"]) == (200, "b")
    other = {
        "path": "c",
        "type": "notebook",
        "kernel": {"name": "", "id": kernel},
    }
    joined = execd.ask("POST", "/api/sessions", other)
    assert joined.json["kernel"]["id"] == kernel
    changed = execd.ask("PATCH", path, {"kernel": {"name": "python3"}})
    assert changed.status == 200
    note(web, made, changed.json["kernel"]["id"])
    assert execd.ask("DELETE", path).status in (200, 204)


# --- runtimed's client in Rust ---


def test_runtimed(web: Web, made: list[str]) -> None:
    """runtimed/runtimed, crates/jupyter-websocket-client (client.rs,
    websocket.rs, binary_protocol.rs): it wants all five members of a kernel,
    resources that are texts, and takes whatever is binary for v1."""
    anonymous = web.with_token(None)
    query = f"?token={web.token}"
    specs = anonymous.get(f"/api/kernelspecs{query}").json
    for spec in specs["kernelspecs"].values():
        assert all(type(v) is str for v in spec["resources"].values())
        assert {"argv", "display_name", "language"} <= set(spec["spec"])
    answer = anonymous.post(f"/api/kernels{query}", {"name": specs["default"]})
    model = answer.json
    kernel = note(web, made, model["id"])
    for name in ("id", "name", "last_activity", "execution_state"):
        assert type(model[name]) is str
    assert model["connections"] >= 0
    path = f"/api/kernels/{kernel}/channels{query}"
    agent = "User-Agent: runtimed/jupyter-websocket-client"
    with Wire(web, path, agent, v1=True) as ws:
        assert ws.ws.getsubprotocol() == V1
        msg_id = str(uuid.uuid4())
        header = {
            "msg_id": msg_id,
            "username": "runtimelib",
            "session": str(uuid.uuid4()),
            "date": datetime.now(timezone.utc).isoformat(),
            "msg_type": "execute_request",
            "version": "5.3",
        }
        content = execute_content("print('one')\n6 * 7")
        parts = {
            "channel": "shell",
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
        }
        ws.ws.send_binary(encode_v1(parts, ()))
        found: list[Message] = []
        while not found or found[-1]["header"]["msg_type"] != "execute_reply":
            opcode, data = ws.ws.recv_data()
            assert opcode == websocket.ABNF.OPCODE_BINARY
            found.append(decode_v1(data))
            head = found[-1]["header"]
            for name in (
                "msg_id",
                "username",
                "session",
                "msg_type",
                "version",
            ):
                assert type(head[name]) is str
            stamp = head["date"].replace("Z", "+00:00")
            assert datetime.fromisoformat(stamp).tzinfo
        kinds = [m["header"]["msg_type"] for m in found]
        assert "stream" in kinds
        assert "execute_result" in kinds
    anonymous.ask("DELETE", f"/api/kernels/{kernel}{query}")
