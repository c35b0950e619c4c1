"""The worker that reaches a tool server by its URL, alone: both eras of the
protocol over HTTP, TLS, and servers that are away."""

from __future__ import annotations

import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from authority import Authority
from deadline import DEADLINE, wait_for
from fake_mcp import KEY, MODERN, FakeMcp, Handler
from tools_worker import Begin, workers

ERAS = ("legacy", "modern")


@pytest.fixture
def begin() -> Iterator[Begin]:
    with workers() as make:
        yield make


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
