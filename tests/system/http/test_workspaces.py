"""Files of workspaces as Jupyter's contents, and as downloads."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import urllib.parse
from pathlib import Path

import pytest
from harness import Gateway
from test_contents import KEYS
from web import STAMP, Web

from workspace import Workspace, memory, refused

pytestmark = pytest.mark.usefixtures("empty")


# --- What is there ---


def test_workspaces_of_live_sessions(workspace: Workspace) -> None:
    listed = workspace.web.get("/api/contents/workspaces")
    assert listed.status == 200
    assert workspace.path in [entry["path"] for entry in listed.json["content"]]
    assert all(set(entry) == KEYS for entry in listed.json["content"])
    assert {entry["type"] for entry in listed.json["content"]} == {"directory"}


def test_files_written_by_a_cell_are_listed(workspace: Workspace) -> None:
    workspace.kernel.socket().run(
        "import os\n"
        "os.mkdir('results')\n"
        "open('results/table.csv', 'w').write('a,b\\n1,2\\n')\n"
        "open('results/mean.txt', 'w').write('1.5')\n"
        "open('.hidden', 'w').write('not shown')\n"
    )
    root = workspace.get().json
    assert set(root) == KEYS
    assert (root["type"], root["path"]) == ("directory", workspace.path)
    assert [entry["name"] for entry in root["content"]] == ["results"]
    assert root["content"][0]["content"] is None
    folder = workspace.get("/results").json
    assert folder["path"] == f"{workspace.path}/results"
    assert {entry["path"] for entry in folder["content"]} == {
        f"{workspace.path}/results/table.csv",
        f"{workspace.path}/results/mean.txt",
    }
    assert all(set(entry) == KEYS for entry in folder["content"])
    assert workspace.get("/results?content=0").json["content"] is None
    file = workspace.get("/results/table.csv").json
    assert set(file) == KEYS
    assert (file["type"], file["format"]) == ("file", "text")
    assert (file["content"], file["size"]) == ("a,b\n1,2\n", 8)
    assert (file["mimetype"], file["writable"]) == ("text/csv", True)
    assert STAMP.fullmatch(file["last_modified"])
    bare = workspace.get("/results/table.csv?content=0").json
    assert (bare["content"], bare["format"], bare["size"]) == (None, None, 8)


def test_formats(workspace: Workspace) -> None:
    text = 'ä "quoted" \\ \n\t\x01\x7f \U0001f600'
    (workspace.folder / "text").write_text(text)
    data = bytes(range(256)) * 3
    (workspace.folder / "data.png").write_bytes(data)
    assert workspace.get("/text").json["content"] == text
    assert workspace.get("/text").json["mimetype"] == "text/plain"
    forced = workspace.get("/text?format=base64").json
    assert base64.decodebytes(forced["content"].encode()) == text.encode()
    assert forced["format"] == "base64"
    model = workspace.get("/data.png").json
    assert (model["format"], model["mimetype"]) == ("base64", "image/png")
    assert model["content"] == base64.encodebytes(data).decode()
    answer = workspace.get("/data.png?format=text")
    refused(answer, 400)
    assert answer.json["reason"] == "bad format"
    (workspace.folder / "none").write_bytes(b"")
    assert workspace.get("/none").json["content"] == ""
    assert workspace.get("/none?format=base64").json["content"] == ""


def test_hashes(workspace: Workspace) -> None:
    data = os.urandom(700_001)
    (workspace.folder / "data").write_bytes(data)
    for wish in ("hash=1", "hash=1&content=0", "hash=1&format=base64"):
        model = workspace.get(f"/data?{wish}").json
        assert model["hash"] == hashlib.sha256(data).hexdigest()
        assert model["hash_algorithm"] == "sha256"
    assert workspace.get("/data").json["hash"] is None


def test_a_notebook_that_a_kernel_wrote_is_not_trusted(
    workspace: Workspace,
) -> None:
    cell = {"cell_type": "code", "source": "", "outputs": []}
    claims = {"metadata": {"trusted": True, "tags": ["a"]}}
    notebook = {
        "cells": [{**cell, **claims, "execution_count": None}] * 3,
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    (workspace.folder / "evil.ipynb").write_text(json.dumps(notebook))
    cells = workspace.get("/evil.ipynb").json["content"]["cells"]
    assert [cell["metadata"] for cell in cells] == [
        {"trusted": False, "tags": ["a"]}
    ] * 3


def test_notebooks(workspace: Workspace) -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["a\n", "b"]}
        ],
        "metadata": {"x": [1, 2.5e3, None, True, "\u00e4\\"]},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (workspace.folder / "one.ipynb").write_text(json.dumps(notebook, indent=1))
    model = workspace.get("/one.ipynb").json
    assert (model["type"], model["format"]) == ("notebook", "json")
    assert model["content"] == notebook
    assert model["mimetype"] is None
    as_file = workspace.get("/one.ipynb?type=file").json
    assert (as_file["type"], as_file["format"]) == ("file", "text")
    assert json.loads(as_file["content"]) == notebook


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b'{"a":1}x', b'{"a":\xff}', b'{"\xff":1}', b'{"a":01}'],
)
def test_invalid_notebooks(workspace: Workspace, text: bytes) -> None:
    (workspace.folder / "broken.ipynb").write_bytes(text)
    assert "Unreadable" in refused(workspace.get("/broken.ipynb"), 400)
    assert workspace.get("/broken.ipynb?type=file").status == 200
    assert workspace.get("/broken.ipynb?content=0").json["type"] == "notebook"


def test_types_that_do_not_fit(workspace: Workspace) -> None:
    (workspace.folder / "file").write_text("x")
    (workspace.folder / "folder").mkdir()
    for below in ("/file?type=directory", "/folder?type=file"):
        answer = workspace.get(below)
        refused(answer, 400)
        assert answer.json["reason"] == "bad type"
    for query in ("type=x", "format=x", "content=2", "hash=x"):
        refused(workspace.get(f"/file?{query}"), 400)


def test_a_long_folder(workspace: Workspace) -> None:
    names = [f"file-{i:04}" for i in range(2500)]
    for name in names:
        (workspace.folder / name).touch()
    assert workspace.names() == names


# --- Whatever the session made of it ---


def test_tricks(workspace: Workspace, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    (workspace.folder / "link").symlink_to(secret)
    (workspace.folder / "dir").symlink_to(tmp_path)
    os.mkfifo(workspace.folder / "fifo")
    (workspace.folder / "one").write_text("x")
    os.link(workspace.folder / "one", workspace.folder / "two")
    (workspace.folder / ".secret").write_text("the secret")
    assert workspace.names() == ["one", "two"]
    for below in (
        "/link",
        "/dir/secret",
        "/dir",
        "/fifo",
        "/../../../journal",
        "/%2e%2e/x",
        "/..%2f..%2fx",
        "/\\x2e\\x2e/x",
        "/.secret",
        "/x/../.secret",
        "//etc/passwd",
        "/\\",
        "/\\x00",
        "/" + "a" * 300,
        "/" + "a/" * 2100,
    ):
        for answer in (workspace.get(below), workspace.file(below)):
            assert answer.status in (400, 404), (below, answer)
            assert b"the secret" not in answer.body
            assert b"root:" not in answer.body
    for below in ("/one", "/two"):
        answer = workspace.get(below)
        assert "hard links" in refused(answer, 400)
        assert answer.json["ename"] == "PathRefused"
        assert workspace.get(f"{below}?content=0").status == 200
    assert (
        workspace.web.get(f"/api/contents/{workspace.path}/%ff").status == 400
    )


def test_names_that_are_no_text(workspace: Workspace) -> None:
    raw = b"a\xffb\\c \xe2\x80\xae\n"
    with open(os.path.join(os.fsencode(workspace.folder), raw), "wb") as file:
        file.write(b"inside")
    (entry,) = workspace.get().json["content"]
    assert entry["name"] == "a\\xffb\\\\c \\xe2\\x80\\xae\\x0a"
    quoted = "/" + urllib.parse.quote(entry["name"])
    model = workspace.get(quoted).json
    assert (model["content"], model["path"]) == ("inside", entry["path"])
    answer = workspace.file(quoted)
    assert answer.body == b"inside"
    assert "\n" not in answer.headers["Content-Disposition"]


def test_an_unknown_session(web: Web) -> None:
    none = "00000000-0000-4000-8000-000000000000"
    for below in (none, none[:8], none + "0", "x", f"{none}/x"):
        assert web.get(f"/api/contents/workspaces/{below}").status == 404
        assert web.get(f"/files/workspaces/{below}").status == 404


# --- Downloads ---


def test_downloads(workspace: Workspace) -> None:
    data = os.urandom(1_000_003)
    (workspace.folder / 'my "ä".bin').write_bytes(data)
    answer = workspace.file("/my%20%22%C3%A4%22.bin")
    assert answer.status == 200
    assert answer.body == data
    assert answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="my ____.bin"; '
        "filename*=UTF-8''my%20%22%C3%A4%22.bin"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Last-Modified"].endswith("GMT")
    head = workspace.web.ask(
        "HEAD", f"/files/{workspace.path}/my%20%22%C3%A4%22.bin"
    )
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(data))


def test_html_is_served_as_a_download(workspace: Workspace) -> None:
    for name in ("x.html", "x.svg", "x.js", "x.xml", "x.HTML"):
        (workspace.folder / name).write_text("<script>alert(1)</script>")
        answer = workspace.file(f"/{name}")
        assert answer.headers["Content-Type"] == "text/plain"
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-99", 10, 100),
        ("bytes=300000-", 300000, 600_000),
        ("bytes=-5", 599_995, 600_000),
        ("bytes=-999999", 0, 600_000),
        ("bytes=599999-9999999", 599_999, 600_000),
    ],
)
def test_ranges(workspace: Workspace, asked: str, start: int, end: int) -> None:
    data = os.urandom(600_000)
    (workspace.folder / "data").write_bytes(data)
    answer = workspace.file("/data", Range=asked)
    assert answer.status == 206
    assert answer.body == data[start:end]
    assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/600000"
    tag = answer.headers["ETag"]
    again = workspace.file("/data", Range=asked, If_Range=tag)
    assert again.status == 206
    other = workspace.file("/data", Range=asked, If_Range='"other"')
    assert (other.status, other.body) == (200, data)


def test_invalid_ranges(workspace: Workspace) -> None:
    (workspace.folder / "data").write_bytes(b"0123456789")
    for asked in ("bytes=10-", "bytes=99-100", "bytes=-0"):
        answer = workspace.file("/data", Range=asked)
        refused(answer, 416)
        assert answer.headers["Content-Range"] == "bytes */10"
    for asked in (
        "bytes=5-4",
        "bytes=0-1,3-4",
        "bytes=x",
        "lines=0-1",
        "bytes=",
        "bytes=99999999999999999999-",
    ):
        assert workspace.file("/data", Range=asked).body == b"0123456789"


def test_a_big_file_takes_no_memory(
    gateway: Gateway, workspace: Workspace
) -> None:
    """A sparse file of 3 GiB, read slowly and by ranges."""
    size = 3 << 30
    with open(workspace.folder / "big", "wb") as file:
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    assert workspace.file("/big", Range="bytes=-5").body == b"\0\0end"
    before = memory(gateway)
    connection = workspace.web.connect()
    connection.request(
        "GET",
        f"/files/{workspace.path}/big",
        headers={"Authorization": f"token {workspace.web.token}"},
    )
    response = connection.getresponse()
    assert int(response.headers["Content-Length"]) == size
    read = 0
    while read < 256 << 20:
        read += len(response.read(1 << 20))
    assert memory(gateway) - before < 16 << 20
    connection.close()


def test_a_file_that_changes_ends_the_answer(workspace: Workspace) -> None:
    path = workspace.folder / "data"
    path.write_bytes(b"x" * (64 << 20))
    connection = workspace.web.connect()
    connection.request(
        "GET",
        f"/files/{workspace.path}/data",
        headers={"Authorization": f"token {workspace.web.token}"},
    )
    response = connection.getresponse()
    response.read(1 << 20)
    path.write_bytes(b"y" * (64 << 20))
    with pytest.raises(http.client.IncompleteRead) as broken:
        response.read()
    assert b"y" not in broken.value.partial
    connection.close()


# --- Who may ---


def test_scopes_are_required(gateway: Gateway, workspace: Workspace) -> None:
    (workspace.folder / "file").write_text("x")

    def holder(scopes: str) -> Web:
        made = gateway.json("token", "create", "--json", "-s", scopes, "t")
        return workspace.web.with_token(made["token"])

    for path in (
        workspace.api,
        f"{workspace.api}/file",
        f"/files/{workspace.path}/file",
    ):
        assert holder("files").get(path).status == 200
        message = refused(holder("observe,execute").get(path), 403)
        assert "files" in message
        assert workspace.web.with_token(None).get(path).status == 401
    assert holder("files").get("/api/contents").status == 200
    assert holder("files").get("/api/contents/recordings").status == 403
    message = refused(holder("execute").get("/api/contents"), 403)
    assert "observe or files" in message
