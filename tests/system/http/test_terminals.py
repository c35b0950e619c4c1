"""Jupyter's terminals: a shell beside a kernel, over terminado's WebSocket."""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
import websocket
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import Answer, Closed, Kernel, Refused, Web

HERE = "/api/terminals"


class Terminal:
    """A client of one terminal, which says what JupyterLab says."""

    def __init__(self, web: Web, name: str) -> None:
        path = f"/terminals/websocket/{name}"
        url = web.url.replace("http", "ws", 1).rstrip("/") + path
        header = [f"Authorization: token {web.token}"] if web.token else []
        try:
            self.ws = websocket.create_connection(
                url,
                timeout=DEADLINE,
                header=header,
                suppress_origin=True,
                skip_utf8_validation=True,  # slow; receive() decodes
                sslopt={"cert_reqs": ssl.CERT_NONE},
            )
        except websocket.WebSocketBadStatusException as refused:
            web.check("GET", path, None, Refused(refused))
            raise
        self.pieces: list[str] = []  # of its output
        assert self.receive() == ["setup", {}]

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.ws.close()

    def send(self, *message: Any) -> None:
        self.ws.send(json.dumps(message))

    def type(self, text: str) -> None:
        self.send("stdin", text)

    def receive(self) -> list[Any]:
        opcode, data = self.ws.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            raise Closed(struct.unpack(">H", data[:2])[0], data[2:].decode())
        assert opcode == websocket.ABNF.OPCODE_TEXT
        message: list[Any] = json.loads(data.decode())
        if message[0] == "stdout":
            self.pieces.append(message[1])
        return message

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def until(self, text: str) -> str:
        seen = self.text
        while text not in seen:
            assert self.receive()[0] == "stdout"
            seen = seen[-len(text) :] + self.pieces[-1]
        return self.text

    def close_code(self) -> int:
        """Return what it is closed with, after the output."""
        try:
            while True:
                self.receive()
        except Closed as closed:
            return int(closed.code)


def make(web: Web, **body: Any) -> Any:
    answer = web.post(HERE, body)
    assert answer.status == 200, answer
    return answer.json


@pytest.fixture
def terminal(kernel: Kernel) -> Any:
    return make(kernel.web, session=kernel.id)


def names(web: Web) -> list[str]:
    listed = [model["name"] for model in web.get(HERE).json]
    assert web.get("/api/status").json["terminals"] == len(listed)
    reported = f"terminal_currently_running_total {len(listed)}.000000"
    assert reported in web.get("/metrics").body.decode()
    return listed


def test_a_shell_in_the_sandbox(kernel: Kernel, terminal: Any) -> None:
    with Terminal(kernel.web, terminal["name"]) as client:
        client.send("set_size", 33, 44, 500, 700)
        client.type("echo $TERM `stty size`; echo ü-$((6 * 7)); pwd\r")
        client.until("ü-42\r\n/workspace")
        assert "xterm-256color 33 44" in client.text

    shown = kernel.web.get(
        f"/hearth/sessions/{kernel.id}/processes/{terminal['process']}"
    ).json
    assert shown["terminal"]
    assert shown["state"] == "running"


def test_is_listed_shown_and_ended(kernel: Kernel, terminal: Any) -> None:
    web, one = kernel.web, f"{HERE}/{terminal['name']}"
    assert terminal["session"] == kernel.id
    assert terminal["name"] in names(web)
    assert web.get(one).json["name"] == terminal["name"]
    with Terminal(web, terminal["name"]) as client:
        assert web.ask("DELETE", one).status == 204
        while client.receive()[0] != "disconnect":
            pass
        assert client.close_code() == 1000
    assert terminal["name"] not in names(web)
    assert web.get(one).status == 404
    assert web.ask("DELETE", one).status == 404
    number = terminal["process"]
    path = f"/hearth/sessions/{kernel.id}/processes/{number}"
    wait_for(lambda: web.get(path).json["state"] == "ended", "its end")
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        Terminal(web, terminal["name"])
    assert refused.value.status_code == 404


def test_outlives_its_clients_and_repeats(
    kernel: Kernel, terminal: Any
) -> None:
    web, name = kernel.web, terminal["name"]
    with Terminal(web, name) as first:
        first.type("A=kept; echo $A-then\r")
        first.until("kept-then")
    with Terminal(web, name) as second, Terminal(web, name) as third:
        second.until("kept-then")
        second.type("echo $A-now\r")
        third.until("kept-now")
        second.until("kept-now")


def test_recent_output_is_bounded(kernel: Kernel, terminal: Any) -> None:
    with Terminal(kernel.web, terminal["name"]) as client:
        client.type("yes 0123456789ü | head -n 60000; echo e''nd\r")
        client.until("end\r\n")
        assert len(client.text.encode()) > 700_000
    with Terminal(kernel.web, terminal["name"]) as again:
        again.until("end\r\n")
        assert len(again.text.encode()) <= 70_000
        assert "\ufffd" not in again.text


def test_only_who_is_there_is_asked(kernel: Kernel, terminal: Any) -> None:
    """A later client's terminal would type its answer into the shell."""
    queries = [r"\033[6n", r"\033[>c", r"\033]11;?\a", r"\033P$qm\033\\"]
    words = "a" + "z".join([*queries, r"\033[1mz\n"])
    shown = [query.encode().decode("unicode-escape") for query in queries]
    with Terminal(kernel.web, terminal["name"]) as client:
        client.type(f"printf '{words}'\r")
        client.until("\033[1mz")
        for query in shown:
            assert query in client.text
    with Terminal(kernel.web, terminal["name"]) as later:
        later.until("azzzz\033[1mz")
        for query in shown:
            assert query not in later.text


def test_the_smallest_screen_counts(kernel: Kernel, terminal: Any) -> None:
    web, name = kernel.web, terminal["name"]
    with Terminal(web, name) as wide:
        wide.send("set_size", 30, 100)
        with Terminal(web, name) as narrow:
            narrow.send("set_size", 40, 50)
            narrow.type("stty size\r")
            narrow.until("30 50\r\n")
        wide.type("until stty size | grep -q ' 100'; do :; done; echo wi''de\r")
        wide.until("wide\r\n")


def test_more_input_than_is_read(kernel: Kernel, terminal: Any) -> None:
    """It waits; past a bound the client is asked to come back."""
    with Terminal(kernel.web, terminal["name"]) as client:
        client.type("stty raw -echo; echo re''ady; head -c 900000 | md5sum\r")
        client.until("ready")
        client.type("x" * 900_000)
        client.until("  -")
        assert hashlib.md5(b"x" * 900_000).hexdigest() in client.text
        client.type("echo re''st; sleep 600\r")
        client.until("rest")
        client.type("y" * 1_000_000)
        client.type("z" * 1_000_000)
        assert client.close_code() == 1013


def test_the_programs_end(kernel: Kernel, terminal: Any) -> None:
    with Terminal(kernel.web, terminal["name"]) as client:
        client.type("exit\r")
        while client.receive()[0] != "disconnect":
            pass
        assert client.close_code() == 1000
    assert terminal["name"] not in names(kernel.web)


def test_the_kernels_end(kernel: Kernel, terminal: Any) -> None:
    """A restart ends the sandbox, and what is in it."""
    with Terminal(kernel.web, terminal["name"]) as client:
        kernel.web.post(f"/api/kernels/{kernel.id}/restart")
        while client.receive()[0] != "disconnect":
            pass
    other = make(kernel.web, session=kernel.id)
    with Terminal(kernel.web, other["name"]) as client:
        kernel.web.delete(kernel.id)
        while client.receive()[0] != "disconnect":
            pass
    assert names(kernel.web) == []


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_gateways_end(how: str) -> None:
    """The next one has the same terminals."""
    gateway = Gateway().start()
    try:
        web = Web.of(gateway)
        kernel = web.create()
        name = make(web, name="mine", session=kernel)["name"]
        ended = make(web, session=kernel)["name"]
        client = Terminal(web, name)
        client.type("A=before; echo $A-that\r")
        client.until("before-that")
        if how == "kill":
            gateway.kill()
        else:
            gateway.terminate()
            assert client.close_code() == 1012
        gateway.start()
        web.renew()
        assert names(web) == [name, ended]
        with Terminal(web, name) as again:
            again.type("echo $A-this\r")
            again.until("before-this")
        assert web.ask("DELETE", f"{HERE}/{ended}").status == 204
        assert names(web) == [name]
    finally:
        gateway.end()


# ---- which session ----


@pytest.fixture
def alone() -> Iterator[Web]:
    gateway = Gateway().start()
    try:
        yield Web.of(gateway)
    finally:
        gateway.end()


def document(web: Web, path: str) -> str:
    body = {"path": path, "type": "notebook", "name": path.rpartition("/")[2]}
    answer = web.post("/api/sessions", {**body, "kernel": {"name": "python3"}})
    assert answer.status == 201, answer
    kernel: str = answer.json["kernel"]["id"]
    web.gateway.note_namespace(
        web.gateway.json("session", "show", "--json", kernel)["pid"]
    )
    return kernel


def test_chooses_a_session(alone: Web) -> None:
    def refused(status: int, **body: Any) -> str:
        answer: Answer = alone.post(HERE, body)
        assert answer.status == status, answer
        message: str = answer.json["message"]
        return message

    assert "start a notebook first" in refused(404)
    first = document(alone, "a/one.ipynb")
    assert make(alone)["session"] == first
    agents = alone.create(title="agents")
    # The agent's has no document: a person means the other one.
    assert make(alone)["session"] == first
    second = document(alone, "b/two.ipynb")
    assert "there are 3" in refused(409)
    assert "there are 3" in refused(409, cwd="")
    assert make(alone, cwd="b")["session"] == second
    assert make(alone, cwd="/a/")["session"] == first
    assert make(alone, cwd=f"workspaces/{agents}")["session"] == agents
    assert make(alone, session="agents", cwd="")["session"] == agents
    assert make(alone, session=second[:13])["session"] == second
    assert "no living session" in refused(404, session="absent")
    # And a second document beside the first one.
    document(alone, "a/three.ipynb")
    refused(409, cwd="a")


def test_its_folder(kernel: Kernel) -> None:
    web = kernel.web
    shown = web.gateway.json("session", "show", "--json", kernel.id)
    (Path(shown["workspace"]) / "deep").mkdir()
    for body in (
        {"cwd": f"workspaces/{kernel.id}/deep"},
        {"cwd": "deep", "session": kernel.id},
    ):
        with Terminal(web, make(web, **body)["name"]) as client:
            client.type("pwd\r")
            client.until("/workspace/deep\r\n")


def test_names(kernel: Kernel, terminal: Any) -> None:
    web = kernel.web
    assert make(web, name=terminal["name"])["process"] == terminal["process"]
    assert make(web, name="a_B-9", session=kernel.id)["name"] == "a_B-9"
    for name in ("", "a/b", "a b", "x" * 65, "ü"):
        answer = web.post(HERE, {"name": name, "session": kernel.id})
        assert answer.status == 400, name
    assert web.post(HERE, {"name": 3}).status == 400


# ---- who may, and what is no message ----


def test_who_only_looks(
    gateway: Gateway, kernel: Kernel, terminal: Any
) -> None:
    token = gateway.json("token", "create", "--json", "-s", "observe", "t")
    looker = kernel.web.with_token(token["token"])
    try:
        with Terminal(kernel.web, terminal["name"]) as typist:
            typist.type("echo see''n\r")
            typist.until("seen")
            with Terminal(looker, terminal["name"]) as client:
                client.until("seen")
                client.send("set_size", 7, 7)
                client.type("touch dangerous\r")
                client.until("may only look")
            typist.type("ls; stty size; echo af''ter\r")
            assert "dangerous" not in typist.until("after")
            assert "7 7" not in typist.text
        assert looker.post(HERE, {"session": kernel.id}).status == 403
        assert looker.ask("DELETE", f"{HERE}/1").status == 403
    finally:
        gateway.run("token", "revoke", token["id"])


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("", 1007),
        ("{}", 1007),
        ("[]", 1007),
        ("[1]", 1007),
        ("x", 1007),
        ("[" * 5000, 1007),
        ('["a"' + " " * 2_100_000 + "]", 1009),
    ],
)
def test_what_is_no_message(
    kernel: Kernel, terminal: Any, sent: str, code: int
) -> None:
    with Terminal(kernel.web, terminal["name"]) as client:
        client.ws.send(sent)
        assert client.close_code() == code
    with Terminal(kernel.web, terminal["name"]) as again:
        again.type("echo al''ive\r")
        again.until("alive")


@pytest.mark.parametrize(
    "message",
    [
        ["unknown", 1], ["stdin"], ["stdin", 3], ["stdin", None],
        ["set_size"], ["set_size", 1], ["set_size", None, None],
        ["set_size", -1, 0], ["set_size", 1e9, 2.5], ["set_size", "a", []],
    ],
)  # fmt: skip
def test_what_is_passed_over(
    kernel: Kernel, terminal: Any, message: list[Any]
) -> None:
    with Terminal(kernel.web, terminal["name"]) as client:
        client.send(*message)
        client.type("echo al''ive\r")
        client.until("alive")


def test_has_no_subprotocol(kernel: Kernel, terminal: Any) -> None:
    url = kernel.web.url.replace("http", "ws", 1)
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        websocket.create_connection(
            f"{url}terminals/websocket/{terminal['name']}",
            timeout=DEADLINE,
            header=[f"Authorization: token {kernel.web.token}"],
            subprotocols=["v1.kernel.websocket.jupyter.org"],
            suppress_origin=True,
        )
    assert refused.value.status_code == 400


def test_a_client_that_does_not_read(kernel: Kernel, terminal: Any) -> None:
    """It holds the program, and no memory; when it has gone, that goes on."""
    web, name = kernel.web, terminal["name"]
    with contextlib.ExitStack() as stack:
        deaf = stack.enter_context(Terminal(web, name))
        deaf.type("yes | head -c 8000000; echo do''ne\r")
        path = f"/hearth/sessions/{kernel.id}/processes/{terminal['process']}"
        sizes: list[Optional[int]] = [None]

        def stands() -> bool:
            sizes.append(web.get(path).json["stdout_bytes"])
            return sizes[-1] == sizes[-2] and sizes[-1] != 0

        wait_for(stands, "the program is held")
        assert (sizes[-1] or 0) < 8_000_000
    with Terminal(web, name) as other:
        other.until("done")
