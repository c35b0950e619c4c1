"""Files at E2B's door: procedures, bytes, forms, and paths that lead
elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from door import Box, Door
from web import Answer, Web

BYTES = "application/octet-stream"
FORM = "multipart/form-data; boundary=MARK"


@pytest.fixture(scope="module")
def box(web: Web) -> Iterator[Box]:
    made = Door(web).create(timeout=3600)
    yield made
    assert made.value("6 * 7") == "42"  # whatever came, it lives
    made.kill()


def call(box: Box, name: str, body: Any) -> Answer:
    return box.ask("POST", f"/filesystem.Filesystem/{name}", body)


def send(box: Box, query: str, kind: str, raw: bytes, **more: str) -> Answer:
    headers = {**box.headers, "Content-Type": kind, **more}
    return box.door.ask("POST", f"/files{query}", None, headers, raw)


def write(box: Box, path: str, raw: bytes) -> None:
    answer = send(box, f"?path={quote(path)}", BYTES, raw)
    assert answer.status == 200, answer


def read(box: Box, path: str) -> Answer:
    return box.ask("GET", f"/files?path={quote(path)}")


def part(name: str, filename: str, raw: bytes) -> bytes:
    return (
        f'--MARK\r\nContent-Disposition: form-data; name="{name}"; '
        f'filename="{filename}"\r\nContent-Type: x/y\r\n\r\n'
    ).encode() + raw


def form(*parts: bytes) -> bytes:
    return b"\r\n".join([*parts, b"--MARK--\r\n"])


def test_bytes(box: Box) -> None:
    big = bytes(range(256)) * 4096
    for path in ("a", "/workspace/a", "/home/user/a", "~/a", "./a"):
        write(box, path, path.encode())
        assert read(box, "a").body == path.encode()
    write(box, "deep/er/big", big)
    assert read(box, "deep/er/big").body == big
    assert box.value("len(open('deep/er/big', 'rb').read(9))") == "9"
    write(box, "empty", b"")
    assert read(box, "empty").body == b""
    ranged = box.door.ask(
        "GET", "/files?path=a", None, {**box.headers, "Range": "bytes=1-2"}
    )
    assert (ranged.status, len(ranged.body)) == (206, 2)


def test_forms(box: Box) -> None:
    names = {
        "plain": "f/1",
        "quotes": 'f/\\"q\\"',
        "coded": "f/%22c%22",
        "ü": "f/ü",
    }
    body = form(
        *(part("file", sent, name.encode()) for name, sent in names.items())
    )
    answer = send(box, "", FORM, body)
    assert answer.status == 200, answer
    assert [entry["path"] for entry in answer.json] == [
        "/workspace/f/1",
        '/workspace/f/"q"',
        '/workspace/f/"c"',
        "/workspace/f/ü",
    ]
    assert read(box, 'f/"q"').body == b"quotes"
    tricky = b"\r\n--MAR\r\n\r\n--MARK"[:-1]
    one = form(part("other", "x", b"no"), part("file", "y", tricky))
    answer = send(box, "?path=one", FORM, one)
    assert answer.json == [
        {"name": "one", "type": "file", "path": "/workspace/one"}
    ]
    assert read(box, "one").body == tricky
    assert read(box, "x").status == 404


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        (FORM, b""),
        (FORM, b"--MARK"),
        (FORM, b"--MARK\r\n"),
        (FORM, b"--MARK\r\n\r\n"),
        (FORM, part("file", "a", b"cut")),
        (FORM, form(part("file", "a", b""))[:-5]),
        (FORM, b"x" + form(part("file", "a", b""))),
        (FORM, b"--MARK\r\nno end of the head\r\n--MARK--"),
        (FORM, form(*[part("file", "a", b"")] * 257)),
        ("multipart/form-data", form(part("file", "a", b""))),
        ("multipart/form-data; boundary=", b"----\r\n\r\n----"),
        ('multipart/form-data; boundary="M', form(part("file", "a", b""))),
        (f"multipart/form-data; boundary={'M' * 300}", b"--M"),
        (FORM, form(part("file", "../a", b""))),
        (FORM, form(part("file", "/etc/a", b""))),
        (FORM, form(part("file", "", b""))),
    ],
)
def test_forms_that_are_none(box: Box, kind: str, raw: bytes) -> None:
    answer = send(box, "", kind, raw)
    assert answer.status == 400, answer
    assert answer.json["code"] == 400


def test_other_bodies(box: Box) -> None:
    for kind in ("text/plain", "application/json", "multipart/mixed"):
        assert send(box, "?path=a", kind, b"x").status == 415
    packed = send(box, "?path=a", BYTES, b"x", **{"Content-Encoding": "gzip"})
    assert packed.status == 415
    twice = form(part("file", "a", b""), part("file", "b", b""))
    assert send(box, "?path=a", FORM, twice).status == 400
    link = send(box, "?path=a&signature=v1_x", BYTES, b"x")
    assert link.status == 501


def test_entries(box: Box) -> None:
    made = call(box, "MakeDir", {"path": "e/f"})
    assert made.json["entry"]["type"] == "FILE_TYPE_DIRECTORY"
    assert made.json["entry"]["path"] == "/workspace/e/f"
    again = call(box, "MakeDir", {"path": "e/f"})
    assert (again.status, again.json["code"]) == (409, "already_exists")
    write(box, "e/f/x", b"12345")
    seen = call(box, "Stat", {"path": "/home/user/e/f/x"}).json["entry"]
    assert seen["size"] == "5"
    assert seen["type"] == "FILE_TYPE_FILE"
    assert seen["permissions"] == "-rw-r--r--"
    assert (seen["mode"], seen["owner"]) == (0o644, "kernel")
    box.run("import os; os.symlink('f/x', '/workspace/e/link')")
    names = [
        e["name"] for e in call(box, "ListDir", {"path": "e"}).json["entries"]
    ]
    assert names == ["f", "link"]
    listed = call(box, "ListDir", {"path": "e", "depth": 2}).json["entries"]
    assert [(e["path"], e["type"]) for e in listed] == [
        ("/workspace/e/f", "FILE_TYPE_DIRECTORY"),
        ("/workspace/e/f/x", "FILE_TYPE_FILE"),
        ("/workspace/e/link", "FILE_TYPE_SYMLINK"),
    ]
    assert "e" in [e["name"] for e in call(box, "ListDir", {}).json["entries"]]
    moved = call(box, "Move", {"source": "e/f/x", "destination": "e/g/h/y"})
    assert moved.json["entry"]["name"] == "y"
    assert read(box, "e/g/h/y").body == b"12345"
    for path in ("e", "e", "never"):
        assert call(box, "Remove", {"path": path}).json == {}
    gone = call(box, "Stat", {"path": "e"})
    assert (gone.status, gone.json["code"]) == (404, "not_found")
    for name in ("WatchDir", "CreateWatcher"):
        refused = call(box, name, {"path": "e"})
        assert (refused.status, refused.json["code"]) == (501, "unimplemented")


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/", "/home", "/home/users/a", "/workspaces/a", "..",
     "a/../../b", "/workspace/../etc/passwd", "/proc/self/environ"],
)  # fmt: skip
def test_paths_that_lead_elsewhere(box: Box, path: str) -> None:
    for name in ("Stat", "ListDir", "MakeDir", "Remove"):
        answer = call(box, name, {"path": path})
        assert answer.status == 400, (name, answer)
        assert answer.json["code"] == "invalid_argument"
    for source, to in ((path, "a"), ("a", path)):
        body = {"source": source, "destination": to}
        assert call(box, "Move", body).status in (400, 404)
    assert read(box, path).status == 400
    assert send(box, f"?path={quote(path)}", BYTES, b"x").status == 400


def test_links_lead_nowhere(box: Box) -> None:
    box.run("import os; os.symlink('/etc', 'out'); os.symlink('/', 'root')")
    for path in ("out/passwd", "root/etc/passwd", "out"):
        assert read(box, path).status in (400, 404)
    assert send(box, "?path=out/x", BYTES, b"x").status in (400, 404)
    assert call(box, "ListDir", {"path": "out"}).status in (400, 404)


@pytest.mark.parametrize(
    "raw",
    [b"{", b"[]", b"7", b'{"path": 7}', b'{"path": null}', b"\xff",
     b'{"path": "a\\u0000b"}', b'{"a":' * 3000],
)  # fmt: skip
def test_procedures_without_a_request(box: Box, raw: bytes) -> None:
    headers = {**box.headers, "Content-Type": "application/json"}
    for name in ("Stat", "ListDir", "MakeDir", "Remove"):
        path = f"/filesystem.Filesystem/{name}"
        answer = box.door.ask("POST", path, None, headers, raw)
        assert answer.status == 400, answer
        assert answer.json["code"] == "invalid_argument"


def test_procedures_elsewhere(box: Box) -> None:
    path = "/filesystem.Filesystem/Stat"
    body = json.dumps({"path": "a"}).encode()
    for kind in ("application/proto", "application/connect+json", "text/x"):
        headers = {**box.headers, "Content-Type": kind}
        answer = box.door.ask("POST", path, None, headers, body)
        assert (answer.status, answer.json["code"]) == (415, "invalid_argument")
    gone = {**box.headers, "E2b-Sandbox-Id": "x"}
    answer = box.door.ask("POST", path, {"path": "a"}, gone)
    assert (answer.status, answer.json["code"]) == (502, "unavailable")
    answer = box.door.web.ask("POST", f"/e2b{path}", {"path": "a"})
    assert (answer.status, answer.json["code"]) == (401, "unauthenticated")
