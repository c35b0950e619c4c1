"""The proxy alone: what it lets through, and what never reaches anything."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from typing import Callable

import pytest
from fake_network import FakeNetwork, judge_one_of_an_answer, resolve_twice
from hearth_downloads.core import proxy as module
from hearth_downloads.packages.rules import Rules
from proxying import LONG, Proxies, Servers, answer_plainly, read_all


def read_to_the_end(client: socket.socket) -> None:
    while client.recv(65536):
        pass


def test_asks_the_index_over_http(servers: Servers, proxies: Proxies) -> None:
    server = servers()
    running = proxies(Rules("http", "127.0.0.1", server.port))
    got = running.ask(f"GET http://127.0.0.1:{server.port}/simple/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert got.endswith(b"\r\n\r\nasked: GET /simple/ HTTP/1.1")
    assert got.lower().count(b"connection: close") == 1
    assert b"keep-alive" not in got
    assert running.proxy.received() > 0


def test_leads_a_tunnel_to_the_index(
    servers: Servers, proxies: Proxies
) -> None:
    def echo(client: socket.socket) -> None:
        while piece := client.recv(65536):
            client.sendall(piece[::-1])

    server = servers(echo)
    running = proxies(Rules("https", "127.0.0.1", server.port))
    with running.open() as client:
        client.sendall(
            f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n\r\n".encode()
        )
        assert client.recv(100) == b"HTTP/1.1 200 OK\r\n\r\n"
        client.sendall(b"abc")
        assert client.recv(100) == b"cba"
    assert running.proxy.received() == 3
    with running.open() as client:
        # What comes with the head is the tunnel's, too.
        client.sendall(
            f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n\r\nde".encode()
        )
        with client.makefile("rb") as got:
            assert got.read(21) == b"HTTP/1.1 200 OK\r\n\r\ned"


@pytest.mark.parametrize("size", [10, 100_000])
def test_passes_on_a_posts_body_and_nothing_after_it(
    servers: Servers, proxies: Proxies, size: int
) -> None:
    asked: list[bytes] = []
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        got = b""
        while not got.endswith(b"\r\n\r\n" + b"x" * size):
            got += client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        asked.append(got + read_all(client))
        ended.set()

    server = servers(serve)
    rules = Rules("http", "127.0.0.1", server.port)
    head = (
        f"POST http://127.0.0.1:{server.port}/a HTTP/1.1\r\n"
        f"Content-Length: {size}\r\n\r\n"
    )
    text = head + "x" * size + "GET / HTTP/1.1"
    got = proxies(rules, takes_posts=True).ask(text)
    assert got.startswith(b"HTTP/1.1 200")
    assert ended.wait(LONG)
    assert b"GET" not in asked[0]
    assert asked[0].startswith(b"POST /a HTTP/1.1\r\n")
    assert b"400 Bad Request" in proxies(rules).ask(text)
    assert server.accepted == 1


def test_answers_one_request_for_each_connection(
    servers: Servers, proxies: Proxies
) -> None:
    """A second one could be for another host."""
    index, other = servers(), servers()
    running = proxies(Rules("http", "127.0.0.1", index.port))
    got = running.ask(
        f"GET http://127.0.0.1:{index.port}/ HTTP/1.1\r\n\r\n"
        f"GET http://127.0.0.1:{other.port}/ HTTP/1.1\r\nHost: x"
    )
    assert got.count(b"HTTP/1.1 200") <= 1
    assert (index.accepted, other.accepted) == (1, 0)


def test_passes_on_no_request_after_an_answer(
    servers: Servers, proxies: Proxies
) -> None:
    later: list[bytes] = []
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        answer_plainly(client)
        later.append(client.recv(65536))
        ended.set()

    index = servers(serve)
    running = proxies(Rules("http", "127.0.0.1", index.port))
    text = f"GET http://127.0.0.1:{index.port}/ HTTP/1.1\r\n\r\n".encode()
    with running.open() as client:
        client.sendall(text)
        got = b""
        while b"asked:" not in got:
            got += client.recv(65536)
        client.sendall(text)
        assert ended.wait(LONG)
    assert later == [b""]


@pytest.mark.parametrize(
    "form",
    [
        "GET http://127.0.0.1:{other}/ HTTP/1.1",
        "GET http://127.0.0.1:{other}/ HTTP/1.1\r\nHost: 127.0.0.1:{index}",
        "CONNECT 127.0.0.1:{other} HTTP/1.1",
        "CONNECT 127.0.0.1:{index} HTTP/1.1",
        "GET http://localhost:{index}/ HTTP/1.1",
        "GET http://127.1:{index}/ HTTP/1.1",
        "GET http://2130706433:{index}/ HTTP/1.1",
        "GET http://0x7f000001:{index}/ HTTP/1.1",
        "GET http://[::ffff:127.0.0.1]:{index}/ HTTP/1.1",
        "GET http://0.0.0.0:{index}/ HTTP/1.1",
        "GET http://169.254.169.254/ HTTP/1.1",
        "CONNECT 169.254.169.254:443 HTTP/1.1",
    ],
)
def test_reaches_no_other_host_or_port(
    servers: Servers, proxies: Proxies, form: str
) -> None:
    index, other = servers(), servers()
    running = proxies(Rules("http", "127.0.0.1", index.port))
    got = running.ask(form.format(index=index.port, other=other.port))
    assert got.startswith(b"HTTP/1.1 403 ")
    assert running.reports()[0].kind == "host"
    assert (index.accepted, other.accepted) == (0, 0)


@pytest.mark.parametrize("name", ["localhost", "127.1", "0", "2130706433"])
def test_a_permitted_name_does_not_lead_to_this_machine(
    servers: Servers, proxies: Proxies, name: str
) -> None:
    server = servers()
    running = proxies(Rules("http", name, server.port))
    got = running.ask(f"GET http://{name}:{server.port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 403 ")
    assert running.reports()[0].kind == "address"
    assert server.accepted == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("answers", "wall"),
    [
        ([["9.9.9.9"], ["127.0.0.1"]], resolve_twice),
        ([["9.9.9.9"], ["169.254.169.254"]], resolve_twice),
        ([["127.0.0.1", "9.9.9.9"]], judge_one_of_an_answer),
        ([["::1", "169.254.169.254", "9.9.9.9"]], judge_one_of_an_answer),
    ],
)
def test_a_name_that_changes_its_mind_does_not_lead_to_this_machine(
    servers: Servers,
    proxies: Proxies,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    answers: list[list[str]],
    wall: Callable[..., None],
) -> None:
    """Without the wall it leads there, so the rest proves something."""
    index, here = servers(), servers()
    place = f"index.example:{here.port}"
    text = (
        f"CONNECT {place} HTTP/1.1\r\n\r\nx"
        if scheme == "https"
        else f"GET http://{place}/ HTTP/1.1"
    )
    hosts = {"9.9.9.9": index.port, "169.254.169.254": here.port}
    rules = Rules(scheme, "index.example", here.port)
    FakeNetwork({"index.example": answers}, hosts).replace(monkeypatch.setattr)
    assert proxies(rules).ask(text).startswith(b"HTTP/1.1 200 ")
    assert (index.accepted, here.accepted) == (1, 0)
    wall(monkeypatch.setattr)
    assert proxies(rules).ask(text).startswith(b"HTTP/1.1 200 ")
    assert (index.accepted, here.accepted) == (1, 1)


@pytest.mark.parametrize(
    "head",
    [
        "POST http://127.0.0.1:{index}/ HTTP/1.1",
        "GET http://127.0.0.1:{index}/ HTTP/1.1\r\nTransfer-Encoding: chunked",
        "GET http://127.0.0.1:{index}/ HTTP/1.1\r\nContent-Length: 5",
        "GET / HTTP/1.1",
        "x" * 70_000,
    ],
)
def test_refuses_a_doubtful_request(
    servers: Servers, proxies: Proxies, head: str
) -> None:
    index = servers()
    running = proxies(Rules("http", "127.0.0.1", index.port))
    got = running.ask(head.format(index=index.port))
    assert b"200" not in got
    assert running.reports()[0].kind == "head"
    assert index.accepted == 0


def test_bounds_what_is_received(servers: Servers, proxies: Proxies) -> None:
    def flood(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            client.sendall(bytes(65536))

    index = servers(flood)
    running = proxies(Rules("http", "127.0.0.1", index.port), max_bytes=1 << 20)
    text = f"GET http://127.0.0.1:{index.port}/ HTTP/1.1"
    assert len(running.ask(text)) <= (1 << 20) + 65536
    assert running.reports()[0].kind == "limit"
    # Nor is another connection made.
    assert running.ask(text).startswith(b"HTTP/1.1 403 ")
    assert index.accepted == 1


def test_the_very_limit_may_be_received(
    servers: Servers, proxies: Proxies
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 1000

    def serve(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(answer)

    index = servers(serve)
    rules = Rules("http", "127.0.0.1", index.port)
    running = proxies(rules, max_bytes=len(answer))
    text = f"GET http://127.0.0.1:{index.port}/ HTTP/1.1"
    assert running.ask(text) == answer
    # One more byte would be too much, and no host is refused before it comes.
    running.ask(text)
    assert index.accepted == 2
    assert running.reports()[0].kind == "limit"


def test_ends_a_silent_answer(servers: Servers, proxies: Proxies) -> None:
    ended = threading.Event()
    index = servers(lambda client: ended.wait(LONG) and None)
    running = proxies(Rules("http", "127.0.0.1", index.port), silence=0.3)
    running.ask(f"GET http://127.0.0.1:{index.port}/ HTTP/1.1")
    assert running.reports()[0].kind == "silent"
    ended.set()


def stop(client: socket.socket, ended: threading.Event) -> None:
    ended.wait(LONG)


def reset(client: socket.socket, ended: threading.Event) -> None:
    now = struct.pack("ii", 1, 0)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    client.close()


def flood_on(client: socket.socket, ended: threading.Event) -> None:
    while True:
        client.sendall(bytes(65536))


@pytest.mark.parametrize("go_on", [stop, reset, flood_on])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_answer_that_is_cut_looks_like_no_whole_one(
    servers: Servers,
    proxies: Proxies,
    scheme: str,
    go_on: Callable[[socket.socket, threading.Event], None],
) -> None:
    """Without a length, its end would be that of the connection."""
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        go_on(client, ended)

    index = servers(serve)
    running = proxies(Rules(scheme, "127.0.0.1", index.port), 1 << 20, 0.3)
    place = f"127.0.0.1:{index.port}"
    text = (
        f"CONNECT {place} HTTP/1.1\r\n\r\nx"
        if scheme == "https"
        else f"GET http://{place}/ HTTP/1.1\r\n\r\n"
    )
    with running.open() as client:
        client.sendall(text.encode())
        with pytest.raises(ConnectionResetError):
            read_to_the_end(client)
    ended.set()


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx: \0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 17 + b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_passes_no_answer_on_that_is_none(
    servers: Servers, proxies: Proxies, answer: bytes
) -> None:
    def serve(client: socket.socket) -> None:
        client.recv(65536)
        client.sendall(answer)

    index = servers(serve)
    running = proxies(Rules("http", "127.0.0.1", index.port))
    got = running.ask(f"GET http://127.0.0.1:{index.port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 502 ")
    assert running.reports()[0].kind == "head"


def test_says_what_cannot_be_reached(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    running = proxies(Rules("http", "127.0.0.1", port))
    got = running.ask(f"GET http://127.0.0.1:{port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 502 ")
    report = running.reports()[0]
    assert (report.kind, report.reason) == ("dial", "Connection refused")


def test_says_that_a_name_is_not_known(
    proxies: Proxies, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    running = proxies(Rules("http", "index.example", 80))
    with socket.socket() as client:  # create_connection would resolve
        client.connect(running.listener.getsockname())
        client.sendall(b"GET http://index.example/ HTTP/1.1\r\n\r\n")
        assert read_all(client).startswith(b"HTTP/1.1 502 ")
    report = running.reports()[0]
    assert (report.kind, report.reason) == ("dial", "Name not known")


def test_gives_up_a_host_that_does_not_take_a_connection(
    proxies: Proxies,
) -> None:
    with contextlib.ExitStack() as stack:
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        port = stack.enter_context(listener).getsockname()[1]
        for _ in range(4):  # the kernel takes one, and answers no other
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        running = proxies(Rules("http", "127.0.0.1", port), silence=0.3)
        got = running.ask(f"GET http://127.0.0.1:{port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 502 ")
    report = running.reports()[0]
    assert (report.kind, report.reason) == ("dial", "no answer in time")


def test_an_answer_may_take_longer_than_a_connection(
    servers: Servers, proxies: Proxies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DIAL_SECONDS", 0.2)

    def serve(client: socket.socket) -> None:
        time.sleep(0.5)
        answer_plainly(client)

    index = servers(serve)
    running = proxies(Rules("http", "127.0.0.1", index.port))
    got = running.ask(f"GET http://127.0.0.1:{index.port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 200 ")


def test_says_what_it_could_not_do(proxies: Proxies) -> None:
    class Broken(Rules):
        def permits(self, scheme: str, host: str, port: int) -> bool:
            raise ValueError("no such rule")

    running = proxies(Broken("http", "127.0.0.1", 1))
    assert running.ask("GET http://127.0.0.1:1/ HTTP/1.1") == b""
    (report,) = running.reports()
    assert (report.kind, report.place) == ("dial", "the proxy")
    assert "no such rule" in report.reason


def test_ends_a_client_that_asks_nothing(proxies: Proxies) -> None:
    running = proxies(Rules("http", "127.0.0.1", 1), silence=0.3)
    with running.open() as client:
        assert client.recv(1) == b""


def test_ends_a_request_whose_body_ends(
    servers: Servers, proxies: Proxies
) -> None:
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        read_all(client)
        ended.set()

    index = servers(serve)
    rules = Rules("http", "127.0.0.1", index.port)
    with proxies(rules, takes_posts=True).open() as client:
        client.sendall(
            f"POST http://127.0.0.1:{index.port}/ HTTP/1.1\r\n"
            "Content-Length: 9\r\n\r\nhalf".encode()
        )
        client.shutdown(socket.SHUT_WR)
        assert ended.wait(LONG)
