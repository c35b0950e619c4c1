"""Downloads with https: who is believed to be the server."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from authority import Authority, Pair
from fake_files import Asked, FakeFiles, redirect
from fetching import Folder

BIG = os.urandom(1 << 20)
# The worker finds the server by a name, which else may not lead here.
BY_NAME = """
import socket
real = socket.getaddrinfo
socket.getaddrinfo = lambda host, *a, **k: real(b"127.0.0.1", *a, **k)
from hearth_downloads.fetch import places
places.is_forbidden = lambda address: False
places.is_public = lambda address: True
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


def serve(pair: Pair, host: str = "127.0.0.1") -> FakeFiles:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return FakeFiles(context, host)


@pytest.fixture(scope="module")
def pair(authority: Authority) -> Pair:
    return authority.issue("IP:127.0.0.1")


@pytest.fixture
def secured(pair: Pair) -> Iterator[FakeFiles]:
    with serve(pair) as made:
        yield made


@pytest.fixture
def trusting(
    folder: Folder, secured: FakeFiles, place: Path, authority: Authority
) -> Folder:
    """Make a folder whose profile trusts the authority."""
    path = place / "authority.pem"
    path.write_bytes(authority.certificate.read_bytes())
    folder.settings["ca_file"] = str(path)
    folder.settings["allow"] = [secured.place]
    return folder


def test_fetches_a_file(trusting: Folder, secured: FakeFiles) -> None:
    secured.put("/a", BIG, etag='"1"', breaks=[200_000])
    assert trusting.fetch(secured.url("/a")).content == BIG
    assert secured.asked[1].fields["if-range"] == '"1"'
    assert trusting.fetch(secured.url("/a")).cached


def test_fetches_by_a_name(trusting: Folder, authority: Authority) -> None:
    pair = authority.issue("DNS:data.example")
    with serve(pair, "data.example") as server:
        server.put("/a", BIG)
        trusting.hook = BY_NAME
        allow = [f"*.example:{server.port}"]
        got = trusting.fetch(server.url("/a"), allow=allow)
        assert got.content == BIG
        assert server.asked[0].fields["host"] == server.place
        other = f"https://other.example:{server.port}/a"
        fault = trusting.refuse(other, allow=allow)
        assert fault.ename == "FetchUnreachable"
        assert "a certificate that is not trusted" in fault.text
        assert "other.example" in fault.text


def test_believes_no_other_authority(
    trusting: Folder, secured: FakeFiles
) -> None:
    secured.put("/a", b"one")
    fault = trusting.refuse(secured.url("/a"), ca_file="")
    assert fault.ename == "FetchUnreachable"
    assert "a certificate that is not trusted" in fault.text
    assert ": fetch/ca_file names" in fault.text
    assert secured.asked == []


def test_believes_no_other_name(trusting: Folder, authority: Authority) -> None:
    with serve(authority.issue("IP:127.0.0.2")) as server:
        server.put("/a", b"one")
        fault = trusting.refuse(server.url("/a"), allow=[server.place])
        assert fault.ename == "FetchUnreachable"
        assert "a certificate that is not trusted" in fault.text
        assert server.asked == []


def test_a_redirect_to_http_is_refused(
    trusting: Folder, secured: FakeFiles, server: FakeFiles
) -> None:
    """It is, even where the place is listed."""
    server.put("/b", b"one")
    secured.scripts["/a"] = redirect(server.url("/b"))
    allow = [secured.place, server.place]
    fault = trusting.refuse(secured.url("/a"), allow=allow)
    assert fault.ename == "FetchRefused"
    assert "does not go on without" in fault.text
    assert server.accepted == 0
    # The other way it goes on.
    server.scripts["/c"] = redirect(secured.url("/d"))
    secured.put("/d", b"two")
    assert trusting.fetch(server.url("/c"), allow=allow).content == b"two"


@pytest.mark.parametrize("has_length", [True, False])
def test_an_end_that_tls_does_not_announce_is_a_break(
    trusting: Folder, secured: FakeFiles, has_length: bool
) -> None:
    """Anyone on the way could have ended it."""

    def cut(client: socket.socket, asked: Asked) -> None:
        length = b"Content-Length: 5\r\n" if has_length else b""
        client.sendall(b"HTTP/1.1 200 OK\r\n" + length + b"\r\nabc")
        socket.socket(fileno=os.dup(client.fileno())).shutdown(socket.SHUT_RDWR)

    secured.scripts["/a"] = cut
    fault = trusting.refuse(secured.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert "broke off after 3 bytes" in fault.text
    assert secured.count("/a") == 5


@pytest.mark.parametrize("status", ["100 Continue", "102 x", "103 Early Hints"])
@pytest.mark.parametrize("count", [1, 16])
def test_skips_what_announces_an_answer(
    trusting: Folder, secured: FakeFiles, status: str, count: int
) -> None:
    """The proxy does it for http, and does not see this."""
    file = secured.put("/a", b"one")

    def serve(client: socket.socket, asked: Asked) -> None:
        head = f"HTTP/1.1 {status}\r\nLink: </style.css>\r\n\r\n"
        client.sendall(head.encode() * count)
        file.serve(client, asked)

    secured.scripts["/a"] = serve
    assert trusting.fetch(secured.url("/a")).content == b"one"
    assert secured.count("/a") == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, "more than 16 answers"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 17, "more than 16 answers"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"),
        (b"HTTP/1.1 100 Continue\r\n" + b"x: y\r\n" * 60_000, "100 headers"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 60_000, "100 headers"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, "more than 65536 bytes"),
        (b"nonsense\r\n", "nonsense"),
        (b"HTTP/1.1 abc\r\n\r\n", "abc"),
    ],
)
def test_a_head_is_bounded_in_a_tunnel(
    trusting: Folder, secured: FakeFiles, answer: bytes, why: str
) -> None:
    """The proxy does not see it, so the client has to."""

    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(answer)
        secured.ended.wait(60)

    secured.scripts["/a"] = serve
    fault = trusting.refuse(secured.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert "sent no answer that can be read" in fault.text
    assert why in fault.text


def test_a_handshake_that_never_ends(
    trusting: Folder, server: FakeFiles
) -> None:
    """The server takes the connection, and says nothing or nonsense."""
    url = f"https://{server.place}/a"
    settings = {"allow": [server.place], "silence": 1}
    fault = trusting.refuse(url, **settings)
    assert fault.ename == "FetchUnreachable"
    assert "1 seconds" in fault.text
