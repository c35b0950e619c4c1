"""`hearth mcp`: what comes before the answer to a request or without one, and
tasks; a gateway that is killed meanwhile."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from pathlib import Path
from typing import ClassVar, Iterator, Optional

import pytest
from deadline import wait_for
from harness import Gateway, Session
from pipe import META, Json, Pipe, session_of, text_of

CHANGED = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"
UNTIL = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
TASKS: Json = {
    f"{META}clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }
}


@pytest.fixture
def own() -> Iterator[Gateway]:
    """A gateway that may be killed, and whose calls do not wait for long."""
    gateway = Gateway("--set", "mcp/block=0.1s").start()
    try:
        yield gateway
    finally:
        gateway.end()


def go(gateway: Gateway, session: str) -> None:
    done = gateway.run("files", "put", session, "/dev/null", "go")
    assert done.returncode == 0, done.stderr


def test_progress_comes_before_the_answer(
    gateway: Gateway, session: Session
) -> None:
    """The next request is answered meanwhile."""
    pipe = Pipe(gateway)
    number = pipe.send(
        "tools/call",
        {
            "name": "execute",
            "arguments": {
                "session": session.id,
                "code": "print('epoch 3/9', flush=True)\n" + UNTIL + "'done'",
            },
            "_meta": {"progressToken": "p"},
        },
    )
    counts: list[int] = []
    while len(counts) < 2:
        notice = pipe.read()
        assert notice["method"] == "notifications/progress"
        assert notice["params"]["progressToken"] == "p"
        assert notice["params"]["message"] == "epoch 3/9"
        counts.append(notice["params"]["progress"])
    assert 0 < counts[0] < counts[1]
    go(gateway, session.id)
    while "id" not in (answer := pipe.read()):
        assert answer["method"] == "notifications/progress"
    assert answer["id"] == number
    assert "done" in text_of(answer)
    pipe.close()


def ask_task(pipe: Pipe, method: str, task: str) -> Json:
    found: Json = pipe.ask(method, {"taskId": task, "_meta": TASKS})["result"]
    return found


def started(pipe: Pipe, code: str) -> str:
    """Start code as a task. Return the task's id."""
    call = {"name": "execute", "arguments": {"code": code}, "_meta": TASKS}
    made = pipe.ask("tools/call", call)["result"]
    assert made["resultType"] == "task", made
    task: str = made["taskId"]
    return task


def test_a_task_outlives_its_gateway(own: Gateway) -> None:
    pipe = Pipe(own)
    task = started(pipe, UNTIL + "print('done')")
    session = task.split(".")[0]
    own.note_namespace(own.json("session", "show", "--json", session)["pid"])
    assert ask_task(pipe, "tasks/get", task)["status"] == "working"
    own.kill()
    own.start()
    assert ask_task(pipe, "tasks/get", task)["status"] == "working"
    go(own, session)

    def ended() -> Optional[Json]:
        found = ask_task(pipe, "tasks/get", task)
        return found if found["status"] != "working" else None

    found = wait_for(ended, "the task's end")
    assert found["status"] == "completed"
    assert "done" in found["result"]["content"][0]["text"]
    pipe.close()


def test_a_task_is_cancelled(own: Gateway) -> None:
    pipe = Pipe(own)
    task = started(pipe, "import time\nwhile True: time.sleep(0.01)")
    ask_task(pipe, "tasks/cancel", task)
    wait_for(
        lambda: ask_task(pipe, "tasks/get", task)["status"] == "cancelled",
        "a cancelled task",
    )
    pipe.close()


class Listening(Pipe):
    """A client of 2026-07-28 with one subscription."""

    def __init__(self, gateway: Gateway, **wanted: object) -> None:
        super().__init__(gateway)
        self.listening = self.send(
            "subscriptions/listen", {"notifications": wanted, "_meta": TASKS}
        )
        taken = self.hear("notifications/subscriptions/acknowledged")
        assert taken == {"notifications": wanted}

    def hear(self, method: str) -> Json:
        """Read until a notification of that name. Changes come besides: a new
        session has one of its own."""
        while True:
            message = self.read()
            assert message.get("method") in (method, CHANGED, UPDATED), message
            params: Json = message["params"]
            subscription = params.pop("_meta")[f"{META}subscriptionId"]
            assert subscription == self.listening
            if message["method"] == method:
                return params

    def cancel(self) -> None:
        self.write(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": self.listening},
            }
        )

    def drain(self) -> None:
        """Read what came before the pipe has taken the last line."""
        number = self.send("server/discover")
        while self.read().get("id") != number:
            pass


def test_a_subscription_outlives_gateways_that_are_killed(
    own: Gateway,
) -> None:
    """The client hears of what may have changed meanwhile, in the place of a
    second acknowledgement. More often than a call would be sent again."""
    session = own.create()
    uri = f"hearth://sessions/{session.id}/notebook.ipynb"
    pipe = Listening(
        own, resourcesListChanged=True, resourceSubscriptions=[uri]
    )
    session.exec("1")
    assert pipe.hear(UPDATED) == {"uri": uri}
    for _ in range(4):
        own.kill()
        own.start()
        assert pipe.hear(CHANGED) == {}
        assert pipe.hear(UPDATED) == {"uri": uri}
        session.exec("1")
        assert pipe.hear(UPDATED) == {"uri": uri}
    pipe.cancel()
    pipe.drain()
    session.exec("1")
    pipe.ask("server/discover")
    pipe.close()


def test_a_task_is_notified_by_the_next_gateway(own: Gateway) -> None:
    made = Pipe(own)
    task = started(made, UNTIL)
    made.close()
    session = task.split(".")[0]
    own.note_namespace(own.json("session", "show", "--json", session)["pid"])
    pipe = Listening(own, taskIds=[task])
    assert pipe.hear("notifications/tasks")["status"] == "working"
    own.kill()
    own.start()
    assert pipe.hear("notifications/tasks")["status"] == "working"
    go(own, session)
    assert pipe.hear("notifications/tasks")["status"] == "completed"
    pipe.close()


def test_a_subscription_is_given_up_while_there_is_no_gateway(
    own: Gateway,
) -> None:
    session = own.create()
    uri = f"hearth://sessions/{session.id}/notebook.ipynb"
    pipe = Listening(own, resourceSubscriptions=[uri])
    own.kill()
    pipe.cancel()
    own.start()
    pipe.drain()
    session.exec("1")
    pipe.ask("server/discover")
    pipe.close()


def test_a_client_that_ends_does_not_wait_for_its_subscription(
    gateway: Gateway, session: Session
) -> None:
    pipe = Listening(gateway, resourcesListChanged=True)
    pipe.execute("1", session=session.id)
    while "id" not in (answer := pipe.read()):
        pass
    assert session_of(answer)
    pipe.close()


def test_many_subscriptions_hold_up_no_request(gateway: Gateway) -> None:
    """Nor the end of the input. One beyond 64 is refused, and there is room for
    it after another is cancelled. All come at once, and more requests than are
    sent at a time."""
    pipe = Pipe(gateway)
    wanted = {"notifications": {"resourcesListChanged": True}}
    for _ in range(65):
        pipe.send("subscriptions/listen", wanted)
    asked = {pipe.send("server/discover") for _ in range(70)}
    opened: set[int] = set()
    answers: dict[int, Json] = {}
    while len(opened) < 64 or len(answers) < 71:
        message = pipe.read()
        if "id" in message:
            answers[message["id"]] = message
        elif "acknowledged" in message["method"]:
            opened.add(message["params"]["_meta"][f"{META}subscriptionId"])
    assert "64 subscriptions" in answers.pop(65)["error"]["message"]
    assert opened == set(range(1, 65))
    assert answers.keys() == asked
    pipe.write(
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 7},
        }
    )
    number = pipe.send("subscriptions/listen", wanted)
    while "acknowledged" not in (message := pipe.read())["method"]:
        pass
    assert message["params"]["_meta"][f"{META}subscriptionId"] == number
    pipe.close()


class Crowded(http.server.BaseHTTPRequestHandler):
    """A gateway that ends the first stream, and then has no room: it says so,
    or a proxy does."""

    streams: ClassVar[int] = 0
    BUSY: ClassVar[list[tuple[int, str, bytes]]] = [
        (503, "application/json", b'{"message": "Too many connections"}'),
        (502, "text/html", b"<html>Bad Gateway</html>"),
        (429, "text/plain", b""),
    ]

    def say(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, message: Json) -> None:
        """Begin a stream, or refuse it. A stream ends after its message."""
        count = Crowded.streams
        Crowded.streams += 1
        if 0 < count <= len(self.BUSY):
            self.say(*self.BUSY[count - 1])
        else:
            body = f"data: {json.dumps(message)}\n\n".encode()
            self.say(200, "text/event-stream", body)

    def do_GET(self) -> None:
        self.stream({"jsonrpc": "2.0", "method": CHANGED})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["method"] == "subscriptions/listen":
            method = "notifications/subscriptions/acknowledged"
            params = {"notifications": {"resourcesListChanged": True}}
            self.stream({"jsonrpc": "2.0", "method": method, "params": params})
        elif "id" not in asked:
            self.say(202, "text/plain", b"")
        else:
            result = {"protocolVersion": "2025-06-18"}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            self.say(200, "application/json", json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def crowded() -> Iterator[Pipe]:
    Crowded.streams = 0
    gateway = Gateway()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Crowded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        pipe = Pipe(gateway, env={"HEARTH_URL": url})
        try:
            yield pipe
            pipe.close()
        finally:
            pipe.process.kill()
            server.shutdown()
            thread.join()
            gateway.sweep()


def test_a_subscription_outlives_a_gateway_without_room(crowded: Pipe) -> None:
    wanted = {"notifications": {"resourcesListChanged": True}}
    crowded.send("subscriptions/listen", wanted)
    assert "acknowledged" in crowded.read()["method"]
    assert crowded.read()["method"] == CHANGED
    assert Crowded.streams > len(Crowded.BUSY)


def test_the_stream_of_an_older_client_outlives_it_too(crowded: Pipe) -> None:
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
    crowded.ask("initialize", asked, modern=False)
    crowded.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for _ in range(2):
        assert crowded.read()["method"] == CHANGED
    assert Crowded.streams > len(Crowded.BUSY)


class Vanishing(Crowded):
    """A gateway whose streams end when the test says so."""

    is_away: ClassVar[threading.Event]

    def stream(self, message: Json) -> None:
        body = f"data: {json.dumps(message)}\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(2 * len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.is_away.wait()


def connecting(port: int) -> int:
    """Count the connections to the port that nothing has answered."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    return sum(
        row[2].endswith(f":{port:04X}") and row[3] == "02" for row in rows
    )


@pytest.mark.deep  # a connection that nothing answers takes 10 s
def test_a_gateway_that_does_not_answer_is_tried_once_for_all() -> None:
    """A connection to it takes 10 s, so 32 of them would hold up the end of the
    input for longer than anything is awaited here."""
    Vanishing.is_away = threading.Event()
    gateway = Gateway()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vanishing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        pipe = Pipe(gateway, env={"HEARTH_URL": f"http://127.0.0.1:{port}"})
        try:
            for _ in range(32):
                pipe.send(
                    "subscriptions/listen",
                    {"notifications": {"resourcesListChanged": True}},
                )
                assert "acknowledged" in pipe.read()["method"]
            server.shutdown()
            server.socket.close()
            with socket.create_server(("127.0.0.1", port), backlog=1) as full:
                waiting = [socket.socket() for _ in range(8)]
                for one in waiting:
                    one.setblocking(False)
                    one.connect_ex(full.getsockname())
                before = connecting(port)
                Vanishing.is_away.set()
                wait_for(lambda: connecting(port) > before, "a connection")
                pipe.close()
                for one in waiting:
                    one.close()
        finally:
            Vanishing.is_away.set()
            pipe.process.kill()
            gateway.sweep()
