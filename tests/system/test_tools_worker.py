"""The worker that reaches a tool server by its URL, alone: both eras of the
protocol over HTTP, and servers that do not behave."""

from __future__ import annotations

import json
import os
import queue
import resource
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from authority import Authority
from deadline import DEADLINE, wait_for
from downloading import PACKAGE
from fake_mcp import KEY, MODERN, FakeMcp, Handler

MAIN = (
    "import os, sys; os.dup2(int(sys.argv[3]), 3); "
    "sys.path.insert(0, sys.argv[1]); "
    "from hearth_downloads.tools.worker import main; main(sys.argv[2])"
)
ERAS = ("legacy", "modern")
Json = dict[str, Any]


class Worker:
    """The process, and a gateway's end of its standard input and output."""

    def __init__(self, url: str, ca_file: str = "", **more: str) -> None:
        order = {
            "name": "weather",
            "url": url,
            "headers": [["Authorization", KEY]],
            **more,
        }
        number = os.memfd_create("order")
        os.write(number, json.dumps(order).encode())
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", MAIN, PACKAGE, ca_file, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(number,),
        )
        os.close(number)
        self.last = 0
        self.answers: dict[int, Json] = {}
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)

    def send(self, method: str, params: Json, **more: Any) -> int:
        assert self.process.stdin
        if "id" not in more:
            self.last += 1
            more["id"] = self.last
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        line = json.dumps({**message, **more}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return int(more["id"] or 0)

    def answer(self, number: int) -> Json:
        while number not in self.answers:
            message = json.loads(self.lines.get(timeout=DEADLINE))
            self.answers[message["id"]] = message
        return self.answers[number]

    def ask(self, method: str, params: Json) -> Json:
        return self.answer(self.send(method, params))

    def start(self) -> Worker:
        found = self.ask("initialize", {"protocolVersion": "2025-11-25"})
        assert "result" in found, found
        return self

    def call(self, name: str, **arguments: Any) -> Json:
        params = {"name": name, "arguments": arguments}
        return self.ask("tools/call", params)

    def fault(self, name: str = "add") -> str:
        """Return the sentence by which a call fails."""
        return str(self.call(name, a=1, b=1)["error"]["message"])

    def tools(self) -> list[str]:
        names, params = [], {}
        while True:
            result = self.ask("tools/list", params)["result"]
            names += [one["name"] for one in result["tools"]]
            if "nextCursor" not in result:
                return names
            params = {"cursor": result["nextCursor"]}

    def end(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.thread.join()
        self.process.stdout.close()


@pytest.fixture
def begin() -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []

    def make(url: str, ca_file: str = "", **more: str) -> Worker:
        made.append(Worker(url, ca_file, **more))
        return made[-1]

    yield make
    for one in made:
        one.end()


Begin = Callable[..., Worker]


@pytest.fixture
def server() -> Iterator[FakeMcp]:
    with FakeMcp() as made:
        yield made


@pytest.fixture(params=ERAS)
def either(request: pytest.FixtureRequest) -> Iterator[FakeMcp]:
    """A server of each era."""
    with FakeMcp(request.param) as made:
        yield made


# ---- both eras ----


@pytest.mark.parametrize("has_events", [False, True])
def test_calls_in_both_eras(
    either: FakeMcp, begin: Begin, has_events: bool
) -> None:
    either.has_events = has_events
    worker = begin(either.url).start()
    listed = worker.tools()
    assert listed[:3] == ["add", "key", "hang"]
    assert ("wrong" in listed) == (not either.is_modern)
    found = worker.call("add", a=2, b=40)["result"]
    assert found["structuredContent"] == {"sum": 42}
    text = worker.call("key")["result"]["content"][0]["text"]
    assert text == "set"
    assert "there is no tool" in worker.fault("nothing")
    opened = either.methods()[:3]
    if either.is_modern:
        assert opened[:2] == ["server/discover", "tools/list"]
    else:
        assert opened == [
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]
    assert all(one.headers["authorization"] == KEY for one in either.asked)


def test_arguments_in_headers(begin: Begin) -> None:
    with FakeMcp("modern") as server:
        worker = begin(server.url).start()
        assert "region" in worker.tools()
        done = worker.call("region", region="eu-1", to={"n": 7})
        assert "result" in done, done
        assert "result" in worker.call("region")
        worker.call("region", region=" é")
        asked = server.asked[-1].headers
        assert asked["mcp-param-region"] == "=?base64?IMOp?="
        assert "mcp-param-to-n" not in asked


def test_a_server_that_speaks_an_older_revision(
    server: FakeMcp, begin: Begin
) -> None:
    server.version = "2025-06-18"
    worker = begin(server.url).start()
    assert "result" in worker.call("add", a=1, b=1)
    server.version = "2024-11-05"
    said = begin(server.url).ask("initialize", {"protocolVersion": "x"})
    text = said["error"]["message"]
    assert "speaks the revision 2024-11-05 of MCP; known are" in text


def test_a_session_that_is_lost(server: FakeMcp, begin: Begin) -> None:
    """A session is made anew, once for all calls that wait."""
    worker = begin(server.url).start()
    assert "result" in worker.call("add", a=1, b=1)
    server.sessions.clear()
    numbers = [
        worker.send(
            "tools/call", {"name": "add", "arguments": {"a": i, "b": 1}}
        )
        for i in range(8)
    ]
    for i, number in enumerate(numbers):
        result = worker.answer(number)["result"]
        assert result["structuredContent"] == {"sum": i + 1}
    assert server.made == 2
    worker.end()
    assert server.sessions == set()  # it was given back


def _unavailable(handler: Handler) -> None:
    """Answer as a proxy that has no server to pass it to."""
    handler.send(404, "text/html", b"<p>no backend")


def test_a_server_that_is_away_for_a_while(
    either: FakeMcp, begin: Begin
) -> None:
    """Check that a failure meanwhile makes no later call fail."""
    worker = begin(either.url).start()
    methods = ("tools/call", "server/discover", "initialize")
    either.scripts.update(dict.fromkeys(methods, _unavailable))
    either.sessions.clear()
    assert "has no endpoint there (404)" in worker.fault()
    either.scripts.clear()
    assert "result" in worker.call("add", a=1, b=1)


def test_a_session_that_is_lost_in_plain_text(
    server: FakeMcp, begin: Begin
) -> None:
    """The Python SDK, up to 1.20, says it without an error of JSON-RPC."""
    worker = begin(server.url).start()
    text = b"Bad Request: No valid session ID provided"

    def refuse(handler: Handler) -> None:
        if handler.asked.headers["mcp-session-id"] in server.sessions:
            server.answer(handler)
        else:
            handler.send(400, "text/plain", text)

    server.sessions.clear()
    with server.script("tools/call", refuse):
        assert "result" in worker.call("add", a=1, b=1)
    assert server.made == 2
    play = _refuse_with(text)
    with server.script("tools/call", play):
        assert "says that the request is wrong (400)" in worker.fault()
    assert server.made == 3  # it was asked for one more, once


def _refuse_with(text: bytes) -> Callable[[Handler], None]:
    return lambda handler: handler.send(400, "text/plain", text)


def test_a_call_that_begins_while_it_is_opened_again(
    server: FakeMcp, begin: Begin
) -> None:
    """It waits for that, and is sent with the new session."""
    worker = begin(server.url).start()
    begun, may_end = threading.Event(), threading.Event()

    def wait(handler: Handler) -> None:
        begun.set()
        may_end.wait(DEADLINE)
        handler.error(400, -32600, "no session id was provided")

    server.sessions.clear()
    params = {"name": "add", "arguments": {"a": 1, "b": 1}}
    with server.script("server/discover", wait):
        numbers = [worker.send("tools/call", params)]
        assert begun.wait(DEADLINE)
        numbers += [worker.send("tools/call", params) for _ in range(3)]
        worker.ask("nothing", {})  # it has read all of them
        may_end.set()
        assert all("result" in worker.answer(one) for one in numbers)
    assert server.made == 2


def test_calls_that_are_cancelled_while_it_is_opened_again(
    server: FakeMcp, begin: Begin
) -> None:
    """They end at once, and one that is not shares what came of it."""
    worker = begin(server.url).start()
    may_end = threading.Event()

    def wait(handler: Handler) -> None:
        may_end.wait(DEADLINE)
        handler.send(503)

    server.sessions.clear()
    params = {"name": "add", "arguments": {"a": 1, "b": 1}}
    scripts = {"server/discover": wait, "initialize": wait}
    server.scripts.update(scripts)
    numbers = [worker.send("tools/call", params) for _ in range(8)]
    server.wait(lambda: "server/discover" in server.methods()[3:])
    threads = Path(f"/proc/{worker.process.pid}/task")
    for one in numbers[:7]:
        gone = {"requestId": one, "reason": "late"}
        worker.send("notifications/cancelled", gone, id=None)
    wait_for(lambda: len(list(threads.iterdir())) <= 4, "the end of 7 calls")
    may_end.set()
    text = worker.answer(numbers[7])["error"]["message"]
    assert "has a failure of its own (503)" in text
    assert server.methods()[3:].count("initialize") == 1
    server.scripts.clear()
    assert "result" in worker.call("add", a=1, b=1)


def test_a_server_of_another_era_takes_its_place(
    server: FakeMcp, begin: Begin
) -> None:
    worker = begin(server.url).start()
    server.is_modern = True

    def unknown(handler: Handler) -> None:
        is_old = handler.asked.headers["mcp-protocol-version"] != MODERN
        if is_old:
            handler.error(400, -32022, "no such version")
        else:
            server.answer(handler)

    with server.script("tools/call", unknown):
        assert "result" in worker.call("add", a=1, b=1)
    assert server.made == 1


def test_requests_of_the_server(server: FakeMcp, begin: Begin) -> None:
    worker = begin(server.url).start()
    text = worker.call("ask")["result"]["content"][0]["text"]
    assert text == "asked"
    answers = {
        one.message["id"]: one.message
        for one in server.asked
        if one.message and "method" not in one.message
    }
    assert answers["q1"]["result"] == {}
    assert answers["q2"]["error"]["code"] == -32601


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n17\r\n"
)
EVENT = b"retry: 1\nid: e7\ndata:\n\n"
CUTS = {
    "after an event": EVENT,
    "in an event": EVENT + b'id: e8\ndata: {"jsonrpc": "2.',
    "in a line": EVENT + b"id: e",
    "in lines of data": EVENT + b'data: {"jsonrpc": "2.0",\n',
}


@pytest.mark.parametrize("kind", [*CUTS, "in a chunk", "before a chunk"])
def test_a_stream_goes_on_where_it_broke_off(
    server: FakeMcp, begin: Begin, kind: str
) -> None:
    """An event that was not whole comes again, and its id is not said."""
    worker = begin(server.url).start()
    waiting: list[int] = []
    last: list[str] = []

    def cut(handler: Handler) -> None:
        waiting.append(handler.asked.message["id"])
        if kind in CUTS:
            handler.begin_events()
            handler.wfile.write(CUTS[kind])
        else:
            more = b"ff\r\nid: e8\nda" if kind == "in a chunk" else b""
            handler.wfile.write(CHUNKED + EVENT + b"\r\n" + more)

    def resume(handler: Handler) -> None:
        last.append(handler.asked.headers["last-event-id"])
        handler.begin_events()
        handler.send_event({"id": waiting[0], "result": {"content": []}})

    with server.script("tools/call", cut), server.script("GET", resume):
        assert "result" in worker.call("add", a=1, b=1)
    assert last == ["e7"]
    assert server.methods().count("tools/call") == 1


def test_a_mark_before_the_first_event(server: FakeMcp, begin: Begin) -> None:
    worker = begin(server.url).start()

    def play(handler: Handler) -> None:
        handler.begin_events()
        handler.wfile.write(b"\xef\xbb\xbf")
        number = handler.asked.message["id"]
        handler.send_event({"id": number, "result": {"content": []}})

    with server.script("tools/call", play):
        assert "result" in worker.call("add", a=1, b=1)


def test_calls_that_hang_hold_up_no_other(
    either: FakeMcp, begin: Begin
) -> None:
    """The end of one is said to the server, in the way of its era."""
    worker = begin(either.url).start()
    params = {"name": "hang", "arguments": {}}
    numbers = [worker.send("tools/call", params) for _ in range(20)]
    assert "result" in worker.call("add", a=1, b=1)
    either.wait(lambda: either.methods().count("tools/call") == 21)
    gone = {"requestId": numbers[3], "reason": "late"}
    worker.send("notifications/cancelled", gone, id=None)
    either.wait(lambda: numbers[3] in either.left)
    if not either.is_modern:
        either.wait(lambda: "notifications/cancelled" in either.methods())
        said = next(
            one.message
            for one in either.asked
            if one.method == "notifications/cancelled"
        )
        assert said["params"]["requestId"] == numbers[3]
    assert either.left == [numbers[3]]
    assert "result" in worker.call("add", a=1, b=1)
    worker.end()
    either.wait(lambda: len(either.left) == 20)


@pytest.fixture
def descriptors() -> Iterator[Callable[[int], None]]:
    """Sets how many this process may have, and those that it starts."""
    kind = resource.RLIMIT_NOFILE
    old = resource.getrlimit(kind)
    yield lambda count: resource.setrlimit(kind, (min(count, old[1]), old[1]))
    resource.setrlimit(kind, old)


def test_more_calls_than_it_takes(
    server: FakeMcp, begin: Begin, descriptors: Callable[[int], None]
) -> None:
    """It has a descriptor for each."""
    descriptors(256)
    worker = begin(server.url).start()
    descriptors(4096)
    params = {"name": "hang", "arguments": {}}
    for i in range(1, 1025):
        worker.send("tools/call", params)
        if i % 128 == 0:  # no more than the server's queue has room for
            count = i
            server.wait(lambda: server.methods().count("tools/call") >= count)
    said = f"the server weather ({server.origin}) has 1024 calls already"
    assert worker.fault().startswith(said)
    gone = {"requestId": worker.last - 1, "reason": "late"}
    worker.send("notifications/cancelled", gone, id=None)
    server.wait(lambda: server.left)


def test_servers_over_tls(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("authority")
    authority = Authority(folder, "ours")
    pair = authority.issue("IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with FakeMcp("modern", context) as server:
        worker = begin(server.url, str(authority.certificate)).start()
        assert "result" in worker.call("add", a=1, b=1)
        number = worker.send("tools/call", {"name": "hang", "arguments": {}})
        server.wait(lambda: server.asked[-1].message.get("id") == number)
        gone = {"requestId": number, "reason": "late"}
        worker.send("notifications/cancelled", gone, id=None)
        server.wait(lambda: number in server.left)
        asked = len(server.asked)
        other = Authority(folder, "other")
        text = begin(server.url, str(other.certificate)).ask(
            "initialize", {"protocolVersion": "2025-11-25"}
        )["error"]["message"]
        assert "has a certificate that is not trusted" in text
        assert len(server.asked) == asked


# ---- servers that do not behave ----


def _redirect(status: int, where: str) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status, Location=where)


def _events(*lines: bytes) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        handler.begin_events()
        for line in lines:
            handler.wfile.write(line)

    return play


def _endless(piece: bytes) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        handler.begin_events()
        try:
            while True:
                handler.wfile.write(piece)
        except OSError:
            handler.server.fake.note_left(handler.asked.message["id"])

    return play


def _raw(text: bytes) -> Callable[[Handler], None]:
    return lambda handler: handler.connection.sendall(text)


def _body(text: str, kind: str = "application/json") -> Callable[..., None]:
    return lambda handler: handler.send(200, kind, text.encode())


def _deep(depth: int) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        text = '{"jsonrpc":"2.0","id":%d,"result":{"a":%s%s}}'
        number = handler.asked.message["id"]
        _body(text % (number, "[" * depth, "]" * depth))(handler)

    return play


def _head(handler: Handler) -> str:
    """Return the beginning of an answer."""
    return f'{{"jsonrpc":"2.0","id":{handler.asked.message["id"]},'


def _reset(handler: Handler) -> None:
    now = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    os.close(handler.connection.detach())


def _many_heads(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(1000):
        handler.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 1000))


OAUTH = b'{"error": "invalid_token", "error_description": "it has expired"}'

HOSTILE = {
    "401": (lambda h: h.send(401), "(401); `headers` must have the right"),
    "403": (lambda h: h.error(403, -1, "no scope"), "lacks a right: no scope"),
    "404": (
        lambda h: h.send(404),
        "has no endpoint there (404); `url` must be that of streamable HTTP",
    ),
    "405": (lambda h: h.send(405), "takes no POST there (405)"),
    "429": (
        lambda h: h.send(429, Retry_After="7"),
        "too many requests (429), and wants a pause of 7 s",
    ),
    "500": (lambda h: h.send(500), "has a failure of its own (500)"),
    "503": (
        lambda h: h.error(503, 1, "\x1b[31mred\nline"),
        "has a failure of its own (503): red line",
    ),
    "503 later": (
        lambda h: h.send(503, Retry_After="7"),
        "has a failure of its own (503), and wants a pause of 7 s",
    ),
    "a reason": (
        lambda h: h.send(400, "text/plain", b"no\nquota"),
        "says that the request is wrong (400): no quota",
    ),
    "OAuth": (
        lambda h: h.send(401, "application/json", OAUTH),
        "must have the right Authorization: it has expired",
    ),
    "302": (
        _redirect(302, "/other?key=hidd3n"),
        "redirects to /other (302), which is no answer; `url` must be where",
    ),
    "away": (
        _redirect(307, "http://127.0.0.2:1/mcp"),
        "redirects to http://127.0.0.2:1 (307), and keys are not taken there",
    ),
    "scheme": (_redirect(308, "//other/mcp"), "and keys are not taken there"),
    "nowhere": (_redirect(307, ""), "redirects (307)"),
    "around": (_redirect(307, "/mcp"), "redirects without end"),
    "html": (_body("<p>", "text/html"), "answers with text/html; an endpoint"),
    "no type": (
        lambda h: h.send(200, body=b"{}"),
        "answers with no type; an endpoint",
    ),
    "202": (lambda h: h.send(202), "answers without a body (202)"),
    "empty": (
        lambda h: h.send(200, "application/json"),
        "answers without a body (200)",
    ),
    "gzip": (
        lambda h: h.send(
            200, "application/json", b"x", Content_Encoding="gzip"
        ),
        "answers with the encoding gzip, which was not asked for",
    ),
    "no JSON": (_body("{"), "sends what is no JSON"),
    "NaN": (_body('{"jsonrpc":"2.0","x":NaN}'), "sends what is no JSON"),
    "binary": (
        lambda h: h.send(200, "application/json", b"\xff\xfe\x00"),
        "sends what is no JSON",
    ),
    "deep": (_deep(130), "it is nested too deeply"),
    "deeper": (_deep(100_000), "it is nested too deeply"),
    "objects": (_body('{"a":' * 9000), "it is nested too deeply"),
    "a deep error": (
        lambda h: h.send(500, "application/json", b"[" * 9000),
        "has a failure of its own (500)",
    ),
    "digits": (
        _body('{"jsonrpc":"2.0","x":' + "9" * 4200 + "}"),
        "sends what is no JSON",
    ),
    "a list": (_body("[]"), "is no message of JSON-RPC 2.0"),
    "another id": (
        _body('{"jsonrpc":"2.0","id":"x","result":{}}'),
        "answers with another id",
    ),
    "other ids": (
        lambda h: (h.begin_events(), h.send_event({"id": 0, "result": {}})),
        "answers with another id",
    ),
    "no result": (
        lambda h: h.send_json({"id": h.asked.message["id"]}),
        "answers with no result, and no error of a text",
    ),
    "infinity": (
        lambda h: _body(f'{_head(h)}"result":{{"x":1e999}}}}')(h),
        "sends a number that JSON cannot have",
    ),
    "half a pair": (
        lambda h: h.result({"content": [], "x": "cut \ud83d"}),
        r"sends half of a surrogate pair, \ud83d, which is no character",
    ),
    "half a pair in an error": (
        lambda h: h.error(200, -1, "cut \ud83d"),
        r"sends half of a surrogate pair, \ud83d, which is no character",
    ),
    "cut": (
        _raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9999\r\n\r\n{"
        ),
        "ends its answer before the end",
    ),
    "cut chunk": (
        _raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nff\r\ndata: {"
        ),
        "ends its answer before the end",
    ),
    "no HTTP": (_raw(b"SSH-2.0-x\r\n"), "answers with what is no HTTP"),
    "reset": (_reset, "breaks off the connection: Connection reset by peer"),
    "closed": (_raw(b""), "closes the connection without an answer"),
    "heads": (_many_heads, "answers with what is no HTTP"),
    "bad event": (_events(b"data: {no\n\n"), "sends what is no JSON"),
    "no answer": (_events(b": x\n\n"), "ends its answer before the end"),
    "endless line": (_endless(b"x" * 65536), "an event of more than 32 MiB"),
    "endless event": (
        _endless(b"data: " + b"x" * 65536 + b"\n"),
        "an event of more than 32 MiB",
    ),
    "task": (
        lambda h: h.result({"resultType": "task", "taskId": "1"}),
        "gives a task, which code cannot use",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Iterator[tuple[FakeMcp, Worker]]:
    """A server whose calls are scripts, and its worker."""
    with FakeMcp("modern") as made:
        worker = Worker(made.url)
        try:
            yield made, worker.start()
        finally:
            worker.end()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_server(hostile: tuple[FakeMcp, Worker], kind: str) -> None:
    """Each has a sentence, and the next call is served."""
    server, worker = hostile
    play, expected = HOSTILE[kind]
    with server.script("tools/call", play):
        said = worker.fault()
    assert said.startswith(f"the server weather ({server.origin}) "), said
    assert expected in said
    assert KEY not in said
    assert "\n" not in said
    assert "\x1b" not in said
    assert "result" in worker.call("add", a=1, b=1)


ECHOES = {
    "an error": lambda h, text: h.error(403, -1, text),
    "a plain error": lambda h, text: h.send(400, "text/plain", text.encode()),
    "an error of a call": lambda h, text: h.error(200, -1, text),
    "a type": lambda h, text: h.send(200, f"text/{text}", b"x"),
    "a redirect": lambda h, text: h.send(302, Location=f"/{text}"),
    "another origin": lambda h, text: h.send(307, Location=f"http://{text}/"),
}


@pytest.mark.parametrize("kind", ECHOES)
def test_a_server_that_echoes_a_key(begin: Begin, kind: str) -> None:
    """Neither the key nor a part of it is in a sentence."""
    with FakeMcp("modern") as server:
        worker = begin(f"{server.url}?key=hidd3n-one").start()
        for text in (KEY, "s3cret", "hidd3n-one", "." * 96 + "s3cret"):
            echo = text.replace(" ", "")

            def play(handler: Handler, echo: str = echo) -> None:
                ECHOES[kind](handler, echo)

            with server.script("tools/call", play):
                said = worker.fault()
            assert "s3c" not in said
            assert "hidd3n" not in said
            assert "***" in said or len(text) > 100
        assert "result" in worker.call("add", a=1, b=1)


def test_a_variable_that_is_not_set(begin: Begin) -> None:
    with FakeMcp("modern") as server:
        worker = begin(server.url, missing="TICKETS_KEY").start()
        said = "; the variable TICKETS_KEY of its entry is not set"
        for status, is_named in ((401, True), (403, True), (400, False)):
            refuse = _refuse_as(status)
            with server.script("tools/call", refuse):
                assert worker.fault().endswith(said) == is_named


def _refuse_as(status: int) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status)


def test_a_body_without_end(hostile: tuple[FakeMcp, Worker]) -> None:
    server, worker = hostile

    def play(handler: Handler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        )
        try:
            while True:
                handler.wfile.write(b" " * 65536)
        except OSError:
            server.note_left(handler.asked.message["id"])

    with server.script("tools/call", play):
        assert "answers with more than 32768 KiB" in worker.fault()
    server.wait(lambda: worker.last in server.left)


def test_brackets_in_texts(hostile: tuple[FakeMcp, Worker]) -> None:
    """Only those outside of texts are counted."""
    server, worker = hostile
    text = '"\\[[' * 500

    def play(handler: Handler) -> None:
        handler.result({"content": [], "x": text})

    with server.script("tools/call", play):
        assert worker.call("add")["result"]["x"] == text


def test_a_redirect_within_the_origin(
    hostile: tuple[FakeMcp, Worker],
) -> None:
    server, worker = hostile
    once = [True]

    def play(handler: Handler) -> None:
        if once.pop() if once else False:
            handler.send(307, Location=f"{server.origin}/mcp/")
        else:
            server.answer(handler)

    with server.script("tools/call", play):
        assert "result" in worker.call("add", a=1, b=1)


def test_nothing_listens(begin: Begin) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp?key=s3cret"
        said = begin(url).ask("initialize", {"protocolVersion": "x"})
    text = said["error"]["message"]
    assert "is not reached: Connection refused" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("content", [None, b"no PEM"])
def test_authorities_that_cannot_be_read(
    begin: Begin, tmp_path_factory: pytest.TempPathFactory, content: Any
) -> None:
    path = tmp_path_factory.mktemp("authority") / "ours.pem"
    if content:
        path.write_bytes(content)
    worker = begin("https://127.0.0.1:1/mcp", str(path))
    for _ in range(2):
        said = worker.ask("initialize", {"protocolVersion": "x"})
        text = said["error"]["message"]
        assert "is not asked: its certificate is judged by" in text
        assert f"{path}, which cannot be read as PEM" in text


def test_a_server_that_speaks_no_tls(server: FakeMcp, begin: Begin) -> None:
    worker = begin(server.url.replace("http:", "https:"))
    said = worker.ask("initialize", {"protocolVersion": "x"})
    text = said["error"]["message"]
    assert text.endswith(" speaks no TLS at that port, and `url` says https")


def test_a_server_without_tls_is_asked_once(begin: Begin) -> None:
    """A connection that fails in one era fails in the other."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/mcp"
        worker = begin(url)
        number = worker.send("initialize", {"protocolVersion": "x"})
        listener.settimeout(DEADLINE)
        listener.accept()[0].close()
        text = worker.answer(number)["error"]["message"]
        assert text.startswith(url[:-4])
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_it_ends_with_its_input(begin: Begin) -> None:
    """Also while it waits for the first answer of a server."""
    with FakeMcp() as server:

        def play(handler: Handler) -> None:
            if handler.hangs_until_left():
                server.note_left("it")

        with server.script("server/discover", play):
            worker = begin(server.url)
            worker.send("initialize", {"protocolVersion": "x"})
            server.wait(lambda: server.asked)
            worker.end()
            server.wait(lambda: server.left)


def test_its_keys_are_in_no_list(server: FakeMcp, begin: Begin) -> None:
    worker = begin(server.url).start()
    for name in ("cmdline", "environ"):
        text = Path(f"/proc/{worker.process.pid}/{name}").read_bytes()
        assert b"s3cret" not in text
