"""Servers of Git LFS that lie, lead elsewhere, never end or attack."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cloning import Folder
from depth import spread
from git_server import GitServer, Repository, redirect, say
from lfs_server import LfsServer, pointer_of

ATTRIBUTES = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
ONE = hashlib.sha256(b"one").hexdigest()
CANNOT = "sent no answer about Git LFS that can be read: "


@pytest.fixture
def lfs(server: GitServer) -> LfsServer:
    return LfsServer(server)


@pytest.fixture
def made(server: GitServer, lfs: LfsServer) -> Repository:
    return make(server, lfs, lfs.put(b"one"))


def make(server: GitServer, lfs: LfsServer, *pointers: str) -> Repository:
    """Serve a repository of these pointers."""
    made = server.make()
    files = {f"{n}.bin": pointer for n, pointer in enumerate(pointers)}
    made.commit({".gitattributes": ATTRIBUTES, **files})
    lfs.serve(made)
    return made


def refuse(folder: Folder, made: Repository, **settings: Any) -> Any:
    """Return the fault, by which no content was kept."""
    fault = folder.refuse(made.url, lfs=True, **settings)
    assert folder.names("entries") == []
    assert folder.names("objects") == []
    return fault


def test_a_content_with_another_hash(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    other = hashlib.sha256(b"other").hexdigest()
    lfs.put(b"12345", name=other)
    made = make(server, lfs, pointer_of(b"other"))
    fault = refuse(folder, made)
    assert fault.ename == "FetchRefused"
    assert f"another content than the pointer {other[:12]}" in fault.text
    assert hashlib.sha256(b"12345").hexdigest() in fault.text


@pytest.mark.parametrize(
    ("size", "why"), [(2, "it is larger"), (4, "it has 3 bytes, and is to ha")]
)
def test_a_pointer_with_another_size(
    folder: Folder, server: GitServer, lfs: LfsServer, size: int, why: str
) -> None:
    lfs.put(b"one")
    made = make(server, lfs, pointer_of(b"one", size=size))
    fault = refuse(folder, made)
    assert fault.ename == "FetchRefused"
    assert why in fault.text


def test_one_content_with_two_sizes(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    made = make(server, lfs, lfs.put(b"one"), pointer_of(b"one", size=100))
    fault = refuse(folder, made)
    assert "name one content and different sizes" in fault.text
    assert lfs.batches == []


def test_many_files_of_one_large_content(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    """Each file has it: together they are too much."""
    content = bytes(400_000)
    made = make(server, lfs, *[lfs.put(content)] * 3)
    fault = refuse(folder, made, max_bytes=1 << 20)
    assert "the repository with its Git LFS contents has 1.1 MiB" in fault.text
    assert lfs.batches == []


def test_too_many_contents(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    pointers = [lfs.put(b"%d" % n) for n in range(4)]
    made = make(server, lfs, *pointers)
    folder.hook = "from hearth_downloads.clone import contents\n"
    folder.hook += "contents.FILES_MAX = 3"
    fault = refuse(folder, made)
    assert "has 4 Git LFS contents, and 3 are the most" in fault.text
    assert lfs.batches == []


@pytest.mark.parametrize("has_length", [False, True])
def test_a_content_that_never_ends(
    folder: Folder, made: Repository, server: GitServer, has_length: bool
) -> None:
    def script(handler: Any) -> None:
        handler.send_response(200)
        if has_length:
            handler.send_header("Content-Length", str(1 << 50))
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(60_000))

    server.scripts[f"/objects/{ONE}"] = script
    fault = refuse(folder, made)
    assert fault.ename == "FetchRefused"
    assert "it is larger" in fault.text


def test_a_server_that_is_silent(
    folder: Folder, made: Repository, server: GitServer, lfs: LfsServer
) -> None:
    def script(handler: Any) -> None:
        server.ended.wait()

    server.scripts[f"/objects/{ONE}"] = script
    fault = refuse(folder, made, silence=1)
    assert fault.ename == "FetchUnreachable"
    assert "sent nothing for 1 seconds" in fault.text


def action(href: str, header: Any = None) -> Any:
    """Return a change of the answer: where the object is."""

    def change(answer: Any) -> Any:
        found = {"href": href, "header": header or {}}
        answer["objects"][0]["actions"] = {"download": found}
        return answer

    return change


@pytest.mark.parametrize(
    ("href", "why"),
    spread(
        [
            (
                "https://other.example/x?key=secret",
                "at other.example, which is not",
            ),
            (
                "http://169.254.169.254/latest?secret",
                "at 169.254.169.254:80, which",
            ),
            (
                "http://127.0.0.1:1/secret?secret",
                "at 127.0.0.1:1, which is not",
            ),
            ("http://[::1]/x", "at [::1]:80, which is not permitted"),
            ("https://b\u00fccher.example/x", "at xn--bcher-kva.example, whi"),
            (
                "file:///etc/passwd",
                "at file:///etc/passwd, which is no URL with",
            ),
            ("ftp://other.example/x", "which is no URL with http or https"),
            ("https://a:secret@x/r", "which is no URL with http or https"),
            ("/objects/x", "which is no URL with http or https"),
            ("http://x/\r\nX: y", "which is no URL with http or https"),
            ("", "which is no URL with http or https"),
        ]
    ),
)
def test_where_an_object_may_be(
    folder: Folder, made: Repository, lfs: LfsServer, href: str, why: str
) -> None:
    lfs.change = action(href)
    fault = refuse(folder, made)
    assert fault.ename == "FetchRefused"
    assert why in fault.text
    assert "?" not in fault.text
    assert "secret@" not in fault.text


def test_a_name_that_leads_to_this_machine(
    folder: Folder, made: Repository, server: GitServer, lfs: LfsServer
) -> None:
    port = server.place.partition(":")[2]
    folder.hook = (
        "import socket\nreal = socket.getaddrinfo\n"
        "socket.getaddrinfo = lambda h, *a, **k: "
        "real(b'127.0.0.1' if h == b'lfs.example' else h, *a, **k)"
    )
    lfs.change = action(f"http://lfs.example:{port}/objects/{ONE}")
    allow = [server.place, f"lfs.example:{port}"]
    fault = refuse(folder, made, allow=allow)
    assert fault.ename == "FetchRefused"
    assert "lfs.example was not asked: its address 127.0.0.1" in fault.text
    assert lfs.heads == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("http://169.254.169.254/secret", "at 169.254.169.254:80, which is no"),
        ("file:///etc/passwd", "which is no URL with https or http"),
        ("http://other.example/x", "at other.example:80, which is not perm"),
    ],
)
@pytest.mark.parametrize("step", ["batch", "object"])
def test_redirects_are_judged(
    folder: Folder,
    made: Repository,
    server: GitServer,
    target: str,
    why: str,
    step: str,
) -> None:
    batch = f"/{made.path.name}/info/lfs/objects/batch"
    path = batch if step == "batch" else f"/objects/{ONE}"
    server.scripts[path] = redirect(target)
    fault = refuse(folder, made)
    assert fault.ename == "FetchRefused"
    assert why in fault.text


def test_a_permitted_host_gets_no_headers_of_another(
    folder: Folder,
    made: Repository,
    server: GitServer,
    lfs: LfsServer,
    tmp_path: Path,
) -> None:
    lfs.header = {"Authorization": "Basic eA=="}
    with GitServer(tmp_path) as other:
        theirs = LfsServer(other)
        theirs.put(b"one")
        path = f"/objects/{ONE}"
        server.scripts[path] = redirect(other.url(path))
        allow = [server.place, other.place]
        assert folder.clone(made.url, lfs=True, allow=allow).lfs == 0
        (head,) = theirs.heads
        assert "authorization" not in head


@pytest.mark.parametrize(
    ("name", "value"),
    spread(
        [
            ("X-A", "a\r\nX-Injected: yes"),
            ("X-A", "a\r\n X-Injected: yes"),  # which http.client passes
            ("X-A", "a\nX-Injected: yes"),
            ("X-A", "a\x00b"),
            ("X-A", "a\x85b"),
            ("X-A", 7),
            ("X-A", None),
            ("X-A", "a" * 8193),
            ("X-A\r\nX-Injected: yes", "a"),
            ("X A", "a"),
            ("", "a"),
            ("X" * 101, "a"),
            ("Host", "other.example"),
            ("host", "other.example"),
            ("Connection", "keep-alive"),
            ("Proxy-Authorization", "Basic eA=="),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "5"),
            ("Upgrade", "h2c"),
            ("Range", "bytes=0-0"),
            ("Accept-Encoding", "gzip"),
        ]
    ),
)
def test_headers_that_are_not_sent(
    folder: Folder, made: Repository, lfs: LfsServer, name: str, value: Any
) -> None:
    lfs.header = {name: value}
    fault = refuse(folder, made)
    assert fault.ename == "FetchUnreachable"
    assert CANNOT in fault.text
    assert "header" in fault.text
    assert "which is not sent" in fault.text
    assert lfs.heads == []


def test_too_many_headers(
    folder: Folder, made: Repository, lfs: LfsServer
) -> None:
    lfs.header = {f"X-{n}": "a" for n in range(20)}
    assert folder.clone(made.url, lfs=True).lfs == 0
    lfs.header["X-20"] = "a"
    fault = folder.refuse(made.url, lfs=True, deny=["8.8.8.8"])
    assert "an object with more than 20 headers" in fault.text


LONG = {f"X-{n}": 8189 * "a" for n in range(4)}  # 32 KiB with their names


def test_the_longest_headers_are_sent(
    folder: Folder, made: Repository, lfs: LfsServer
) -> None:
    lfs.header = LONG
    folder.clone(made.url, lfs=True)
    (head,) = lfs.heads
    for name, value in LONG.items():
        assert head[name.lower()] == value


@pytest.mark.parametrize(
    "more", [{"Y": ""}, {f"Y-{n}": 8192 * "a" for n in range(16)}]
)
def test_headers_that_are_too_long_together(
    folder: Folder, made: Repository, lfs: LfsServer, more: dict[str, str]
) -> None:
    """The second ones are more than the proxy reads of a request."""
    lfs.header = {**LONG, **more}
    fault = refuse(folder, made)
    assert fault.ename == "FetchUnreachable"
    assert CANNOT in fault.text
    assert "an object with headers of more than 32768 bytes" in fault.text
    assert lfs.heads == []


def changed(**members: Any) -> Any:
    """Return a change of the answer's only object."""

    def change(answer: Any) -> Any:
        answer["objects"][0].update(members)
        return answer

    return change


def twice(answer: Any) -> Any:
    return {"objects": [answer["objects"][0]] * 2}


@pytest.mark.parametrize(
    ("change", "why"),
    spread(
        [
            (changed(oid="0" * 64), "an object that was not asked for"),
            (changed(oid=["x"]), "an object that was not asked for"),
            (changed(size=4), "another size than its pointer"),
            (changed(size=True), "another size than its pointer"),
            (changed(size=3.0), "another size than its pointer"),
            (changed(size=-3), "another size than its pointer"),
            (changed(actions={}), "without an href"),
            (changed(actions=[]), "without an href"),
            (changed(actions={"download": {"href": 7}}), "without an href"),
            (changed(actions={"upload": {"href": "x"}}), "without an href"),
            (twice, "it has 2 objects, and 1 were asked for"),
            (
                lambda a: {"objects": a["objects"] * 100_000},
                "it has more than 2097152 bytes",
            ),
            (
                lambda a: {"objects": [{}] * 100_000},
                "it has 100000 objects, and 1 were asked for",
            ),
            (lambda a: {**a, "transfer": "tus"}, "another transfer than basic"),
            (lambda a: {**a, "hash_algo": "md5"}, "another hash than sha256"),
            (lambda a: {"message": "no"}, "it has no list of objects"),
            (lambda a: {"objects": {"x": 1}}, "it has no list of objects"),
            (lambda a: b"[]", "its JSON is no object"),
            (lambda a: b"", "it is no JSON"),
            (lambda a: b"\xff\xfe\x00", "it is no JSON"),
            (lambda a: b"<html>", "it is no JSON"),
            (lambda a: b"[" * 1_000_000, "its JSON is too deep"),
            (lambda a: b'{"a":' * 300_000, "its JSON is too deep"),
            (
                lambda a: b'{"a":' + b"9" * 2_000_000 + b"}",
                "number that is too l",
            ),
            (lambda a: b'{"a":NaN}', "its JSON has NaN"),
            (lambda a: b'{"a":1,"a":2}', "has a member twice"),
            (lambda a: bytes(3 << 20), "it has more than 2097152 bytes"),
        ]
    ),
)
def test_answers_that_cannot_be_read(
    folder: Folder, made: Repository, lfs: LfsServer, change: Any, why: str
) -> None:
    lfs.change = change
    fault = refuse(folder, made)
    assert fault.ename == "FetchUnreachable"
    assert CANNOT in fault.text
    assert why in fault.text


def test_an_object_that_comes_twice(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    """In the place of another one that was asked for."""
    made = make(server, lfs, lfs.put(b"one"), lfs.put(b"two"))
    lfs.change = twice
    assert "it has an object twice" in refuse(folder, made).text


def test_objects_that_are_not_there_are_counted(
    folder: Folder, server: GitServer, lfs: LfsServer
) -> None:
    def change(answer: Any) -> Any:
        answer["objects"].pop()
        answer["objects"][0]["error"] = {"code": 410, "message": "\x1b[31mx\n"}
        return answer

    pointers = [pointer_of(b"%d" % n) for n in range(4)]
    made = make(server, lfs, lfs.put(b"one"), *pointers)
    lfs.change = change
    fault = refuse(folder, made)
    assert fault.ename == "FetchUnreachable"
    assert "has not " in fault.text
    assert "of the Git LFS contents that the pointers name: " in fault.text
    assert "410 x (1)" in fault.text
    assert "no word of it (1)" in fault.text
    assert "404 Object does not exist (" in fault.text


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (401, "without a user and a password"),
        (403, "without a user and a password"),
        (404, "without a user and a password"),
        (422, "answered 422"),
        (500, "answered 500"),
    ],
)
def test_a_server_without_the_api(
    folder: Folder, made: Repository, server: GitServer, status: int, why: str
) -> None:
    path = f"/{made.path.name}/info/lfs/objects/batch"
    server.scripts[path] = say(b"no", status=status)
    fault = refuse(folder, made)
    assert fault.ename == "FetchUnreachable"
    assert why in fault.text


def test_a_batch_that_fails_for_a_moment_is_asked_for_again(
    folder: Folder, made: Repository, server: GitServer, lfs: LfsServer
) -> None:
    path = f"/{made.path.name}/info/lfs/objects/batch"

    def script(handler: Any) -> None:
        server.scripts[path] = lfs.answer
        say(b"wait", status=503)(handler)

    server.scripts[path] = script
    assert folder.clone(made.url, lfs=True).lfs == 0
    assert lfs.batches[0]["objects"] == [{"oid": ONE, "size": 3}]


@pytest.mark.parametrize(
    ("leaves", "why"),
    [
        ("write('two')", "another content than the pointer"),
        ("write('longer')", "another content than the pointer"),
        ("os.symlink('/etc/passwd', name)", "has left no Git LFS content"),
        ("os.mkfifo(name)", "has left no Git LFS content"),
        ("os.mkdir(name)", "has left no Git LFS content"),
        ("write('one'); os.link(name, 'other')", "has left no Git LFS content"),
        ("pass", "has left no Git LFS content"),
        ("os.mkdir('report2'); os.rename('report', 'report2/x')", "without a"),
        (
            "[open(str(n), 'w') for n in range(900)]; time.sleep(60)",
            "more than",
        ),
        ("write('x' * (40 << 20)); time.sleep(60)", "more than the pointers"),
    ],
)
def test_a_client_that_was_taken_over(
    folder: Folder, made: Repository, leaves: str, why: str
) -> None:
    folder.hook = f"""
import os, time
from hearth_downloads.clone import objects_client

def write(text):
    with open({ONE!r}, "w") as file:
        file.write(text)

def run(order):
    os.chdir("/workspace")
    name = {ONE!r}
    with open("report", "w") as file:
        file.write('{{"ok": {{"status": 200}}}}')
    {leaves}
    os._exit(0)

objects_client.run = run
"""
    fault = refuse(folder, made)
    assert why in fault.text, fault.text


def test_a_client_sees_nothing_of_the_repository(
    folder: Folder, made: Repository
) -> None:
    """Its server may be another one than that of the repository."""
    folder.hook = """
import json, os
from hearth_downloads.clone import objects_client

def run(order):
    seen = " ".join(sorted(os.listdir("/workspace")))
    fault = {"kind": "batch", "url": "", "reason": f"[{seen}]", "size": -1}
    with open("/workspace/report", "w") as file:
        json.dump({"fault": fault}, file)
    os._exit(0)

objects_client.run = run
"""
    assert "can be read: []" in refuse(folder, made).text


def test_json_has_no_say_in_sentences(
    folder: Folder, made: Repository, lfs: LfsServer
) -> None:
    error = {"code": 10**30, "message": json.dumps(["x" * 10_000])}
    lfs.change = changed(error=error)
    assert CANNOT in refuse(folder, made).text
    lfs.change = changed(error={"code": 1, "message": "m" * 10_000})
    fault = refuse(folder, made)
    assert len(fault.text) < 500
