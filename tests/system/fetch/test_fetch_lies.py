"""Servers that lie, and what each of them gets."""

from __future__ import annotations

import itertools
import os
import socket
from typing import Any

import pytest
from depth import spread
from fake_files import Asked, FakeFiles, redirect, say
from fetching import Folder, Refusal, digest

OK = b"HTTP/1.1 200 OK\r\n"
MOST = 1 << 20
LENGTH = b"Content-Length: %d\r\n\r\n"


def flood(head: bytes, piece: bytes, count: int = 10_000) -> Any:
    """Return a script that sends a piece again and again."""

    def script(client: socket.socket, asked: Asked) -> None:
        client.sendall(head)
        for _ in range(count):
            client.sendall(piece)

    return script


def drip(server: FakeFiles, head: bytes, piece: bytes) -> Any:
    """Return a script that sends a piece ten times a second."""

    def script(client: socket.socket, asked: Asked) -> None:
        client.sendall(head)
        while not server.ended.wait(0.1):
            client.sendall(piece)

    return script


def test_refuses_a_length_that_is_too_large(
    folder: Folder, server: FakeFiles
) -> None:
    """No byte of the body is waited for."""

    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(OK + LENGTH % (5 << 30))
        server.ended.wait(60)

    server.scripts["/a"] = serve
    fault = folder.refuse(server.url("/a"), max_bytes=4 << 30)
    assert fault.ename == "FetchRefused"
    assert fault.text == (
        "the file has 5.0 GiB, more than profile/python3/fetch/max_bytes "
        "permits (4.0 GiB)"
    )
    assert server.count("/a") == 1


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (OK + b"\r\n", bytes(65536)),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n",
            b"10000\r\n" + bytes(65536) + b"\r\n",
        ),
    ],
    ids=["no-length", "chunked"],
)
def test_ends_a_body_that_grows_too_large(
    folder: Folder, server: FakeFiles, head: bytes, piece: bytes
) -> None:
    server.scripts["/a"] = flood(head, piece, 1 << 20)
    fault = folder.refuse(server.url("/a"), max_bytes=MOST)
    assert fault.ename == "FetchRefused"
    assert "more than profile/python3/fetch/max_bytes" in fault.text
    assert server.count("/a") == 1
    assert folder.names("partial") == folder.objects() == []


def test_takes_a_file_of_the_very_limit(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", bytes(MOST))
    assert folder.fetch(server.url("/a"), max_bytes=MOST).size == MOST
    server.put("/a", bytes(MOST + 1), has_length=False)
    assert folder.refuse(server.url("/a"), max_bytes=MOST)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254:80"),
        ("http://127.0.0.1:{other}/", "127.0.0.1:{other}"),
        ("http://localhost:{port}/", "localhost:{port}"),
        ("http://[::1]:{port}/", "[::1]:{port}"),
        ("https://other.example/", "other.example"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("https://lo\u00adcal.example/", "local.example"),
    ],
)
def test_a_redirect_leads_to_no_other_place(
    folder: Folder, server: FakeFiles, target: str, why: str
) -> None:
    with FakeFiles() as other:
        ports = {"port": server.port, "other": other.port}
        server.scripts["/a"] = redirect(target.format(**ports))
        fault = folder.refuse(server.url("/a"))
        assert other.accepted == 0
    assert server.accepted == 1
    assert fault.ename == "FetchRefused"
    assert fault.text == (
        f"{server.url('/a')} redirects to {why.format(**ports)}, which is not "
        "permitted here: profile/python3/fetch/allow permits "
        f"{server.place}"
    )


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("file:///etc/passwd", "redirects to file:///etc/passwd, which is no"),
        ("ftp://127.0.0.1/", "which is no URL"),
        ("http://u:p@127.0.0.1:{port}/", "which is no URL"),
        ("http://127.1:{port}/", "which is no URL"),
        ("//[/", "which is no URL"),
        ("/a", "redirects more than 5 times"),
        ("", "redirects to nowhere"),
        ("https://h.example/" + "a" * 2000, "a URL with more than 2000 bytes"),
    ],
)
def test_a_redirect_is_no_trick(
    folder: Folder, server: FakeFiles, target: str, why: str
) -> None:
    server.scripts["/a"] = redirect(target.format(port=server.port))
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchRefused"
    assert why in fault.text
    assert server.accepted <= 6


@pytest.mark.parametrize(
    "target",
    [
        "ftp://cdn.example/x?sig=SECRET",
        "ftp://cdn.example/x#SECRET",
        "http://u:SECRET@127.0.0.1:{port}/",
        "http://u:SECRET/x@127.0.0.1:{port}/",
        "http://127.1/x?SECRET",
        "http://127.0.0.1:{port}/x?SECRET" + "a" * 2000,
        "/nowhere?SECRET",
        "https://other.example/x?SECRET",
    ],
)
def test_no_sentence_has_a_secret(
    folder: Folder, server: FakeFiles, target: str
) -> None:
    """Neither that of the URL nor that of where it redirects to."""
    server.scripts["/a"] = redirect(target.format(port=server.port))
    fault = folder.refuse(server.url("/a?key=SECRET#SECRET"))
    assert server.url("/a") in fault.text or "/nowhere" in fault.text
    assert "SECRET" not in fault.text


@pytest.mark.parametrize("letter", [b"\xc3\xa9", b"\xe9"])
def test_a_redirect_may_have_any_letters(
    folder: Folder, server: FakeFiles, letter: bytes
) -> None:
    """Most servers write UTF-8, and some Latin-1."""
    server.put("/%C3%A9", b"here")
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /%s\r\n\r\n"
    server.scripts["/a"] = say(head % letter)
    assert folder.fetch(server.url("/a")).content == b"here"


def test_a_redirect_without_a_location(
    folder: Folder, server: FakeFiles
) -> None:
    server.scripts["/a"] = say(
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"
    )
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchRefused"
    assert f"{server.url('/a')} redirects to nowhere" in fault.text
    assert server.count("/a") == 1


def test_a_name_leads_nowhere_here(folder: Folder, server: FakeFiles) -> None:
    """The operator has listed it, and its owner lets it lead here."""
    url = f"http://localhost:{server.port}/a"
    fault = folder.refuse(url, allow=[f"localhost:{server.port}"])
    assert fault.ename == "FetchRefused"
    assert "localhost was not asked: its address" in fault.text
    assert server.accepted == 0


def test_a_name_leads_to_no_private_network(
    folder: Folder, server: FakeFiles
) -> None:
    folder.hook = (
        "import socket; real = socket.getaddrinfo\n"
        "socket.getaddrinfo = lambda host, *a, **k: real(b'10.0.0.5', *a, **k)"
    )
    fault = folder.refuse("https://data.example/", allow=["*"])
    assert fault.ename == "FetchRefused"
    assert "its address 10.0.0.5 is a private" in fault.text
    assert "profile/python3/fetch/private permits nothing" in fault.text


def test_says_what_cannot_be_reached(folder: Folder) -> None:
    with socket.socket() as silent:  # has the port, and does not listen
        silent.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        for scheme in ("http", "https"):
            fault = folder.refuse(f"{scheme}://{place}/a", allow=[place])
            assert fault.ename == "FetchUnreachable"
            text = f"{place} cannot be reached: Connection refused"
            assert fault.text == text
    folder.hook = (
        "import socket\n"
        "def fail(*a, **k): raise socket.gaierror(-2, 'Name unknown')\n"
        "socket.getaddrinfo = fail"
    )
    fault = folder.refuse("https://data.example/a", allow=["*"])
    assert fault.ename == "FetchUnreachable"
    assert "data.example:443 cannot be reached: Name unknown" in fault.text


@pytest.mark.parametrize(
    ("status", "tries"),
    [
        ("401 Unauthorized", 1),
        ("403 Forbidden", 1),
        ("404 Not Found", 1),
        ("500 Internal Server Error", 5),
        ("502 Bad Gateway", 5),
        ("204 No Content", 1),
        ("206 Partial Content", 1),
        ("304 Not Modified", 1),
        ("416 Range Not Satisfiable", 1),
        ("300 Multiple Choices", 1),
        ("999", 1),
    ],
)
def test_says_what_a_server_answers(
    folder: Folder, server: FakeFiles, status: str, tries: int
) -> None:
    server.scripts["/a"] = say(
        f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    fault = folder.refuse(f"{server.url('/a')}?key=secret")
    assert fault.ename == "FetchUnreachable"
    if status != "999":
        assert fault.text == f"{server.url('/a')} answered {status}"
    assert server.count("/a") in (tries, 5 if status == "999" else tries)


def test_a_passing_failure_passes(folder: Folder, server: FakeFiles) -> None:
    file = server.put("/a", b"one")
    answers = itertools.count()

    def serve(client: socket.socket, asked: Asked) -> None:
        if next(answers) < 2:
            busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
            client.sendall(busy)
        else:
            file.serve(client, asked)

    server.scripts["/a"] = serve
    assert folder.fetch(server.url("/a")).content == b"one"


@pytest.mark.parametrize(
    ("answer", "why"),
    spread([
        (
            OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "no number",
        ),
        (OK + b"Content-Length: -3\r\n\r\nabc", "no number"),
        (OK + b"Content-Length: 3, 3\r\n\r\nabc", "no number"),
        (
            OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n0\r\n\r\n",
            "in two ways",
        ),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "not understood"),
        (
            OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
            "not understood",
        ),
        (OK + b"x: y\r\n" * 101 + b"\r\n", "more than 100 headers"),
        (OK + b"x: " + b"y" * 70_000 + b"\r\n\r\n", "more than 65536 bytes"),
        (OK + b"x: \0\r\n\r\n", "control character"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "changes the protocol"),
        (b"nonsense\r\n\r\n", "no line of HTTP/1.1"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 17, "more than 16 answers"),
    ]),
)  # fmt: skip
def test_refuses_a_head_with_two_meanings(
    folder: Folder, server: FakeFiles, answer: bytes, why: str
) -> None:
    server.scripts["/a"] = say(answer)
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert why in fault.text
    assert "sent no answer that can be read" in fault.text
    assert folder.objects() == folder.names("entries") == []


def test_a_length_that_is_too_long(folder: Folder, server: FakeFiles) -> None:
    """The connection ends before the file, each time."""
    server.scripts["/a"] = say(OK + LENGTH % 1000 + b"x" * 999)
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert "broke off after 999 bytes" in fault.text
    assert server.count("/a") == 5
    assert folder.objects() == []


def test_a_length_that_is_too_short(folder: Folder, server: FakeFiles) -> None:
    """All after the length is no part of the file."""
    server.scripts["/a"] = say(OK + LENGTH % 3 + b"abcdef")
    assert folder.fetch(server.url("/a")).content == b"abc"


@pytest.mark.parametrize(
    "body",
    [
        b"5\r\nabc",
        b"x\r\nabc\r\n0\r\n\r\n",
        b"3\r\nabc\r\n",
        b"3\r\nabcde",
        b"\r\n\r\n",
        b"-3\r\nabc\r\n0\r\n\r\n",
        b"+3\r\nabc\r\n0\r\n\r\n",
        b"0x3\r\nabc\r\n0\r\n\r\n",
        b"0_3\r\nabc\r\n0\r\n\r\n",
    ],
)
def test_chunks_that_break_off(
    folder: Folder, server: FakeFiles, body: bytes
) -> None:
    server.scripts["/a"] = say(
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + body
    )
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert server.count("/a") == 5


@pytest.mark.parametrize(
    "piece", [b"x: y\r\n" * 1000, b"1;" + b"x" * 60_000 + b"\r\na\r\n"]
)
def test_lines_between_chunks_are_bounded(
    folder: Folder, server: FakeFiles, piece: bytes
) -> None:
    first = b"0\r\n" if piece.startswith(b"x") else b""
    head = OK + b"Transfer-Encoding: chunked\r\n\r\n" + first
    server.scripts["/a"] = flood(head, piece)
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert "its heads have no end" in fault.text


def lie(server: FakeFiles, part: str, extra: str = "") -> None:
    """Break once, and then answer a request for the rest with that part."""
    file = server.put("/a", b"x" * 1000, etag='"1"', breaks=[100])

    def serve(client: socket.socket, asked: Asked) -> None:
        if "range" not in asked.fields:
            file.serve(client, asked)
            return
        first = int(asked.fields["range"][6:-1])
        text = part.format(first=first, wrong=first + 1)
        client.sendall(
            f"HTTP/1.1 206 Partial Content\r\n{extra}{text}\r\n\r\n".encode()
            + b"y" * (1000 - first)
        )

    server.scripts["/a"] = serve


@pytest.mark.parametrize(
    ("part", "extra"),
    [
        ("x: y", ""),
        ("Content-Range: bytes {wrong}-999/1000", ""),
        ("Content-Range: bytes {first}-999/1001", ""),
        ("Content-Range: bytes {first}-1000/1000", ""),
        ("Content-Range: bytes {first}-999/*", ""),
        ("Content-Range: bytes {first}-999/1000", 'ETag: "2"\r\n'),
        ("Content-Range: bytes {first}-999/1000", "Content-Encoding: x\r\n"),
        ("Content-Range: bytes {first}-999/1000", "Content-Length: 7\r\n"),
    ],
)
def test_a_part_of_something_else_is_not_joined(
    folder: Folder, server: FakeFiles, part: str, extra: str
) -> None:
    lie(server, part, extra)
    assert folder.fetch(server.url("/a")).content == b"x" * 1000


def test_the_very_part_is_joined(folder: Folder, server: FakeFiles) -> None:
    """Without this the test before would prove nothing."""
    lie(server, "Content-Range: bytes {first}-999/1000")
    content = folder.fetch(server.url("/a")).content
    assert set(content) == set(b"xy")
    assert len(content) == 1000


def test_a_part_that_becomes_too_large(
    folder: Folder, server: FakeFiles
) -> None:
    file = server.put("/a", bytes(1000), etag='"1"', has_length=False)

    def serve(client: socket.socket, asked: Asked) -> None:
        if "range" in asked.fields:
            client.sendall(
                b"HTTP/1.1 206 OK\r\n"
                b"Content-Range: bytes 3-9999999/10000000\r\n\r\n"
            )
        else:
            chunked = b'ETag: "1"\r\nTransfer-Encoding: chunked\r\n\r\n'
            client.sendall(OK + chunked + b"3\r\nabc\r\n")

    assert file
    server.scripts["/a"] = serve
    fault = folder.refuse(server.url("/a"), max_bytes=MOST)
    assert "the file has 9.5 MiB, more than" in fault.text


@pytest.mark.parametrize("head", [b"", OK, OK + LENGTH % 100])
def test_ends_a_silent_server(
    folder: Folder, server: FakeFiles, head: bytes
) -> None:
    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(head)
        server.ended.wait(60)

    server.scripts["/a"] = serve
    fault = folder.refuse(server.url("/a"), silence=1)
    assert fault.ename == "FetchUnreachable"
    assert server.url("/a") in fault.text
    assert "1 seconds" in fault.text


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (OK + LENGTH % 10_000, b"x" * 10),
        (OK, b"x"),
        (b"", b"x"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
)
def test_ends_a_server_that_trickles(
    folder: Folder, server: FakeFiles, head: bytes, piece: bytes
) -> None:
    """It never is silent, and would take years."""
    server.scripts["/a"] = drip(server, head, piece)
    fault = folder.refuse(server.url("/a"), silence=1)
    assert fault.ename == "FetchUnreachable"
    assert "at least 1.0 KiB a second" in fault.text


def test_ends_a_job_that_takes_too_long(
    folder: Folder, server: FakeFiles
) -> None:
    server.scripts["/a"] = drip(server, OK + LENGTH % (1 << 20), b"x" * 1000)
    fault = folder.refuse(server.url("/a"), seconds=3)
    assert fault.ename == "FetchFailed"
    assert "it took more than 3 seconds" in fault.text


def test_ends_a_server_that_ends_and_begins_again(
    folder: Folder, server: FakeFiles
) -> None:
    """Each try brings more than the one before, and all of them too much."""
    sizes = itertools.count(70_000, 70_000)

    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(OK + LENGTH % (1 << 20) + bytes(next(sizes)))

    server.scripts["/a"] = serve
    folder.hook = (
        "from hearth_downloads.fetch import transfer\ntransfer.SPARE_BYTES = 0"
    )
    fault = folder.refuse(server.url("/a"), max_bytes=MOST)
    assert fault.ename == "FetchRefused"
    assert "more than 4 times as much has come" in fault.text


def test_small_steps_are_no_progress(folder: Folder, server: FakeFiles) -> None:
    """A byte for each connection would be a million of them."""
    server.put("/a", bytes(1 << 20), etag='"1"', breaks=[1] * 1000)
    fault = folder.refuse(server.url("/a"))
    assert fault.ename == "FetchUnreachable"
    assert server.count("/a") == 5


def test_a_server_cannot_colour_the_answer(
    folder: Folder, server: FakeFiles
) -> None:
    server.scripts["/a"] = say(
        b"HTTP/1.1 404 \xc2\x9b31mred \xff\r\nContent-Length: 0\r\n\r\n"
    )
    folder.refuse(server.url("/a"))  # which looks at each letter
    server.scripts["/a"] = redirect("file:///\x1b]0;x\x07" + "y" * 5000)
    folder.refuse(server.url("/a"))


def test_facts_that_cannot_be_read_are_left_out(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", b"one", etag='"' + "x" * 600 + '"', modified="now")
    folder.fetch(server.url("/a"))
    folder.fetch(server.url("/a"))
    last = server.asked[1].fields
    assert not {"if-none-match", "if-modified-since"} & set(last)


def test_two_urls_may_have_one_object(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", b"one")
    server.put("/b", b"one")
    folder.fetch(server.url("/a"))
    folder.fetch(server.url("/b"))
    assert folder.objects() == [digest(b"one")]
    assert len(folder.names("entries")) == 2


def test_a_kind_of_fault_is_known(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"one")
    url = f"https://{server.place}/a"
    with pytest.raises(Refusal, match=r"FetchFailed: .*ca_file names /none"):
        folder.fetch(url, ca_file="/none")
    assert not os.listdir(folder.work / "jobs")
    assert server.accepted == 0


def test_http_needs_no_certificates(folder: Folder, server: FakeFiles) -> None:
    """A redirect to https does, and the sentence names the file."""
    server.put("/a", b"one")
    assert folder.fetch(server.url("/a"), ca_file="/none").content == b"one"
    server.scripts["/b"] = redirect(f"https://{server.place}/a")
    fault = folder.refuse(server.url("/b"), ca_file="/none")
    assert fault.ename == "FetchFailed"
    assert fault.text == (
        "fetch/ca_file names /none, which has no certificates that can be "
        "read (No such file or directory): it has to be a file in PEM"
    )
