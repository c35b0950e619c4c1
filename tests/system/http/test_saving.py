"""Files of workspaces, written as Jupyter's contents; and checkpoints."""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from harness import Gateway
from test_contents import KEYS
from web import Answer, Kernel, Web

from workspace import Workspace, memory, refused

pytestmark = pytest.mark.usefixtures("empty")


def text(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "file", "format": "text", "content": content, **more}


def binary(content: bytes, **more: Any) -> dict[str, Any]:
    coded = base64.encodebytes(content).decode()
    return {"type": "file", "format": "base64", "content": coded, **more}


def saved(answer: Answer, status: int = 200) -> dict[str, Any]:
    assert answer.status == status, answer
    model: dict[str, Any] = answer.json
    assert set(model) == KEYS
    assert model["content"] is None
    assert model["format"] is None
    return model


# --- PUT ---


@pytest.mark.parametrize(
    "content",
    [
        "",
        "plain",
        'ä "quoted" \\ / \b\f\n\r\t\x01 \x00 \U0001f600 \u2028',
        "\U0001f600" * 100_000,
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_text(workspace: Workspace, content: str, ascii_only: bool) -> None:
    raw = json.dumps(text(content), ensure_ascii=ascii_only).encode()
    answer = workspace.web.ask("PUT", f"{workspace.api}/new.txt", raw=raw)
    model = saved(answer, 201)
    assert model["size"] == len(content.encode())
    assert answer.headers["Location"] == f"{workspace.api}/new.txt"
    assert (workspace.folder / "new.txt").read_bytes() == content.encode()
    saved(workspace.ask("PUT", "/new.txt", text("other")))
    assert (workspace.folder / "new.txt").read_text() == "other"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 57, 58, 400_000, 1_000_001])
def test_base64(workspace: Workspace, size: int) -> None:
    data = os.urandom(size)
    saved(workspace.ask("PUT", "/data", binary(data)), 201)
    assert (workspace.folder / "data").read_bytes() == data
    plain = base64.b64encode(data).decode().replace("/", "\\/")
    raw = json.dumps(binary(b"")).replace('""', f'"{plain}"').encode()
    saved(workspace.web.ask("PUT", f"{workspace.api}/data", raw=raw))
    assert (workspace.folder / "data").read_bytes() == data


def test_a_file_belongs_to_the_session(workspace: Workspace) -> None:
    saved(workspace.ask("PUT", "/mine", text("x")), 201)
    got = workspace.kernel.socket().value(
        "import os; (os.stat('mine').st_uid == os.getuid(), "
        "open('mine', 'a').write('y'))"
    )
    assert got == "(True, 1)"


def test_notebooks(workspace: Workspace) -> None:
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "id": "a",
                "metadata": {},
                "source": 'print("[{,:}]\\\\")\n' * 3,
                "outputs": [],
                "execution_count": None,
            }
        ],
        "metadata": {"empty": [{}, [], ""], "n": [-1.5e3, True, False]},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    body = {"type": "notebook", "format": "json", "content": notebook}
    model = saved(workspace.ask("PUT", "/one.ipynb", body), 201)
    assert model["type"] == "notebook"
    written = (workspace.folder / "one.ipynb").read_text()
    assert written == json.dumps(notebook, indent=1) + "\n"
    assert workspace.get("/one.ipynb").json["content"] == notebook


def test_notebooks_of_older_formats(workspace: Workspace) -> None:
    """JupyterLab would not show them: the error says what to do instead."""
    old = {"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": []}]}
    (workspace.folder / "old.ipynb").write_text(json.dumps(old))
    message = refused(workspace.get("/old.ipynb"), 400)
    assert "is of nbformat 3" in message
    assert "jupyter nbconvert --to notebook --inplace" in message
    shown = workspace.get("/old.ipynb?type=file")
    assert json.loads(shown.json["content"]) == old
    assert workspace.get("/old.ipynb?content=0").status == 200
    assert workspace.file("/old.ipynb").status == 200


def test_folders(workspace: Workspace) -> None:
    saved(workspace.ask("PUT", "/folder", {"type": "directory"}), 201)
    assert (workspace.folder / "folder").is_dir()
    saved(workspace.ask("PUT", "/folder", {"type": "directory"}))
    saved(workspace.ask("PUT", "/folder/x", text("x")), 201)
    refused(workspace.ask("PUT", "/folder", text("x")), 400)
    refused(workspace.ask("PUT", "/none/x", text("x")), 404)
    refused(workspace.ask("PUT", "/none/x", {"type": "directory"}), 404)


def test_an_empty_body_is_an_empty_file(workspace: Workspace) -> None:
    saved(workspace.ask("PUT", "/new"), 201)
    assert (workspace.folder / "new").read_bytes() == b""


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{", "JSON"),
        (b"[]", "JSON"),
        (b'{"type":"file","format":"text","content":"\xff"}', "JSON"),
        (b'{"format":"text","content":""}', "type"),
        (b'{"type":"x","format":"text","content":""}', "type"),
        (b'{"type":"file\\u0000x","format":"text","content":""}', "type must"),
        (b'{"type":"directory\\u0000"}', "type must be file"),
        (b'{"type":"file","format":"text\\u0000","content":""}', "format"),
        (b'{"type":"file","format":"text"}', "content"),
        (b'{"type":"file","content":""}', "format"),
        (b'{"type":"file","format":"json","content":""}', "format"),
        (b'{"type":"file","format":"text","content":{}}', "text"),
        (b'{"type":"notebook","format":"json","content":""}', "object"),
        (b'{"type":"file","format":"text","content":"\\ud800"}', "surrogate"),
        (b'{"type":"file","format":"text","content":"\\ud800\\n"}', "surro"),
        (b'{"type":"file","format":"text","content":"\\udc00"}', "surrogate"),
        (b'{"type":"file","format":"base64","content":"abc"}', "base64"),
        (b'{"type":"file","format":"base64","content":"a=bc"}', "base64"),
        (b'{"type":"file","format":"base64","content":"ab==cd=="}', "base64"),
        (b'{"type":"file","format":"base64","content":"ab-_"}', "base64"),
        (b'{"type":"file","format":"base64","content":"\\u0041"}', "base64"),
        (b'{"copy_from":"x"}', "copy"),
        (b'{"type":"file","format":"text","content":"","chunk":0}', "chunk"),
        (b'{"type":"file","format":"text","content":"","chunk":"1"}', "chunk"),
        (b'{"type":"notebook","content":{},"chunk":1}', "large file"),
    ],
)
def test_refused_saves(workspace: Workspace, body: bytes, word: str) -> None:
    (workspace.folder / "file").write_text("before")
    answer = workspace.web.ask("PUT", f"{workspace.api}/file", raw=body)
    assert word in refused(answer, 400)
    assert (workspace.folder / "file").read_text() == "before"
    assert workspace.names() == ["file"]


def test_saved_cells_are_not_trusted(workspace: Workspace) -> None:
    """Jupyter Server would sign the notebook: there is no such store."""
    (workspace.folder / "x.ipynb").write_text("{}")
    refused(workspace.ask("POST", "/x.ipynb/trust"), 404)
    assert workspace.names() == ["x.ipynb"]


# --- Chunks ---


def test_chunked(gateway: Gateway, workspace: Workspace) -> None:
    pieces = [os.urandom(1 << 20) for _ in range(40)]
    before = memory(gateway)
    for i, piece in enumerate(pieces[:-1], 1):
        answer = workspace.ask("PUT", "/big", binary(piece, chunk=i))
        model = saved(answer, 201 if i == 1 else 200)
        assert model["size"] == i << 20
        assert workspace.names() == []
    assert memory(gateway) - before < 24 << 20
    model = saved(workspace.ask("PUT", "/big", binary(pieces[-1], chunk=-1)))
    assert model["size"] == 40 << 20
    assert (workspace.folder / "big").read_bytes() == b"".join(pieces)


def test_chunks_out_of_order(workspace: Workspace) -> None:
    assert "chunk 1" in refused(
        workspace.ask("PUT", "/x", text("a", chunk=2)), 409
    )
    refused(workspace.ask("PUT", "/x", text("a", chunk=-1)), 409)
    saved(workspace.ask("PUT", "/x", text("a", chunk=1)), 201)
    refused(workspace.ask("PUT", "/x", text("b", chunk=3)), 409)
    refused(workspace.ask("PUT", "/x", text("b", chunk=2)), 409)
    saved(workspace.ask("PUT", "/x", text("a", chunk=1)), 201)
    saved(workspace.ask("PUT", "/x", text("b", chunk=1)), 201)
    saved(workspace.ask("PUT", "/x", text("c", chunk=2)))
    saved(workspace.ask("PUT", "/x", text("d", chunk=-1)))
    assert (workspace.folder / "x").read_text() == "bcd"


def test_a_chunk_that_is_wrong_leaves_nothing(workspace: Workspace) -> None:
    saved(workspace.ask("PUT", "/x", binary(b"a", chunk=1)), 201)
    refused(
        workspace.ask("PUT", "/x", {**binary(b"", chunk=2), "content": "!"}),
        400,
    )
    refused(workspace.ask("PUT", "/x", binary(b"b", chunk=-1)), 409)
    assert workspace.names() == []


# --- POST, PATCH, DELETE ---


def test_new_files_get_names(workspace: Workspace) -> None:
    for name in ("Untitled.ipynb", "Untitled1.ipynb"):
        answer = workspace.ask("POST", "", {"type": "notebook"})
        assert saved(answer, 201)["name"] == name
        assert answer.headers["Location"] == f"{workspace.api}/{name}"
        content = workspace.get(f"/{name}").json["content"]
        assert (content["cells"], content["nbformat"]) == ([], 4)
    for name in ("untitled.txt", "untitled1.txt"):
        answer = workspace.ask("POST", "", {"type": "file", "ext": ".txt"})
        assert saved(answer, 201)["name"] == name
    assert saved(workspace.ask("POST"), 201)["name"] == "untitled"
    for name in ("Untitled Folder", "Untitled Folder 1"):
        answer = workspace.ask("POST", "", {"type": "directory"})
        assert saved(answer, 201)["name"] == name
    answer = workspace.ask("POST", "/Untitled%20Folder", {"ext": ".py"})
    assert saved(answer, 201)["path"] == (
        f"{workspace.path}/Untitled Folder/untitled.py"
    )
    assert answer.headers["Location"].endswith("Untitled%20Folder/untitled.py")
    refused(workspace.ask("POST", "/untitled.txt", {}), 400)
    refused(workspace.ask("POST", "/none", {}), 404)
    refused(workspace.ask("POST", "", {"type": "x"}), 400)
    refused(workspace.ask("POST", "", {"type": "file", "ext": "/../x"}), 400)


def test_copies(workspace: Workspace) -> None:
    data = os.urandom(3_000_000)
    (workspace.folder / "x.tar.gz").write_bytes(data)
    (workspace.folder / "below").mkdir()
    body = {"copy_from": f"{workspace.path}/x.tar.gz"}
    for name in ("x-Copy1.tar.gz", "x-Copy2.tar.gz"):
        assert saved(workspace.ask("POST", "", body), 201)["name"] == name
        assert (workspace.folder / name).read_bytes() == data
    again = {"copy_from": f"/{workspace.path}/x-Copy2.tar.gz"}
    made = saved(workspace.ask("POST", "", again), 201)
    assert made["name"] == "x-Copy3.tar.gz"
    made = saved(workspace.ask("POST", "/below", body), 201)
    assert made["path"] == f"{workspace.path}/below/x.tar.gz"
    for other in ("none", "below"):
        wrong = workspace.ask(
            "POST", "", {"copy_from": f"{workspace.path}/{other}"}
        )
        assert wrong.status in (400, 404), wrong
    recording = f"recordings/{workspace.kernel.id}.ipynb"
    refused(workspace.ask("POST", "", {"copy_from": recording}), 400)


@pytest.fixture
def other(web: Web) -> Iterator[Workspace]:
    """Another session's."""
    kernel = Kernel(web, web.create())
    yield Workspace(web, kernel)
    kernel.close()


@pytest.mark.parametrize("size", [0, 1, 3_000_001])
def test_copies_between_workspaces(
    workspace: Workspace, other: Workspace, size: int
) -> None:
    data = os.urandom(size)
    (other.folder / "x.bin").write_bytes(data)
    (workspace.folder / "below").mkdir()
    body = {"copy_from": f"{other.path}/x.bin"}
    for below, name in (
        ("", "x.bin"),
        ("", "x-Copy1.bin"),
        ("/below", "x.bin"),
    ):
        answer = workspace.ask("POST", below, body)
        assert saved(answer, 201)["path"] == f"{workspace.path}{below}/{name}"
        assert answer.headers["Location"] == f"{workspace.api}{below}/{name}"
        assert (workspace.folder / below[1:] / name).read_bytes() == data
    assert sorted(other.names()) == ["x.bin"]
    mine = workspace.kernel.socket().value("open('x.bin', 'a').write('y')")
    assert mine == "1"  # it is the session's own


def has_begun(pid: int, folder: Path) -> bool:
    """Whether a file that has no name yet has something in it."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(entry).startswith(f"{folder}/#"):
                return entry.stat().st_size > 0
        except FileNotFoundError:
            continue
    return False


def test_a_copy_whose_name_is_taken_meanwhile(
    gateway: Gateway, workspace: Workspace, other: Workspace
) -> None:
    """It begins anew under the next one, with the first byte."""
    taken = workspace.folder / "x.bin"
    body = {"copy_from": f"{other.path}/x.bin"}
    size = 4 << 20
    while True:  # it is stopped before its end, sooner or later
        data = os.urandom(size)
        (other.folder / "x.bin").write_bytes(data)
        with ThreadPoolExecutor() as pool:
            copy = pool.submit(workspace.ask, "POST", "", body)
            while not copy.done() and not has_begun(
                gateway.pid, workspace.folder
            ):
                pass
            os.kill(gateway.pid, signal.SIGSTOP)
            try:
                with suppress(FileExistsError), taken.open("x") as made:
                    made.write("first")
            finally:
                os.kill(gateway.pid, signal.SIGCONT)
            name = saved(copy.result(), 201)["name"]
        if name != "x.bin":
            break
        taken.unlink()
        size *= 2
    assert name == "x-Copy1.bin"
    assert (workspace.folder / name).read_bytes() == data
    assert taken.read_text() == "first"


def test_copies_of_missing_files(
    workspace: Workspace, other: Workspace
) -> None:
    (other.folder / "link").symlink_to("/etc/passwd")
    (other.folder / "folder").mkdir()
    (other.folder / ".hidden").write_text("x")
    for name, status in (
        ("none", 404),
        ("link", 400),
        ("folder", 400),
        (".hidden", 400),
        ("", 400),
    ):
        body = {"copy_from": f"{other.path}/{name}"}
        refused(workspace.ask("POST", "", body), status)
    unknown = "workspaces/00000000-0000-4000-8000-000000000000/x"
    refused(workspace.ask("POST", "", {"copy_from": unknown}), 404)
    assert workspace.names() == []


def test_renaming(workspace: Workspace) -> None:
    (workspace.folder / "a").write_text("A")
    (workspace.folder / "b").write_text("B")
    (workspace.folder / "below").mkdir()
    to = f"{workspace.path}/below/c"
    answer = workspace.ask("PATCH", "/a", {"path": to})
    assert saved(answer)["path"] == to
    assert answer.headers["Location"] == f"{workspace.api}/below/c"
    assert (workspace.folder / "below" / "c").read_text() == "A"
    refused(workspace.ask("PATCH", "/b", {"path": to}), 409)
    refused(workspace.ask("PATCH", "/a", {"path": f"{workspace.path}/d"}), 404)
    for wrong in (
        {},
        {"path": "b"},
        {"path": f"{workspace.path}/../x"},
        {"path": f"{workspace.path}/.x"},
        {"path": f"{workspace.path}"},
        {"path": "recordings/x.ipynb"},
        {"path": "workspaces/00000000-0000-4000-8000-000000000000/b"},
    ):
        refused(workspace.ask("PATCH", "/b", wrong), 400)
    assert (workspace.folder / "b").read_text() == "B"


def test_deleting(workspace: Workspace) -> None:
    (workspace.folder / "file").write_text("x")
    (workspace.folder / "folder").mkdir()
    (workspace.folder / "folder" / "x").write_text("x")
    assert workspace.ask("DELETE", "/file").status == 204
    refused(workspace.ask("DELETE", "/file"), 404)
    refused(workspace.ask("DELETE", "/folder"), 400)
    assert workspace.ask("DELETE", "/folder/x").status == 204
    assert workspace.ask("DELETE", "/folder").status == 204
    refused(workspace.ask("DELETE"), 400)
    assert workspace.folder.is_dir()


def test_tricks(workspace: Workspace, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    (workspace.folder / "dir").symlink_to(tmp_path)
    (workspace.folder / "link").symlink_to(secret)
    (workspace.folder / "b").write_text("B")
    for below in (
        "/dir/new",
        "/../new",
        "/%2e%2e/new",
        "/\\x2e\\x2e/new",
        "/.new",
        "/x/../.new",
        "/" + "a" * 300,
        "/\\",
    ):
        for answer in (
            workspace.ask("PUT", below, text("x")),
            workspace.ask("PUT", below, {"type": "directory"}),
            workspace.ask("PATCH", below, {"path": f"{workspace.path}/c"}),
            workspace.ask("DELETE", below),
            workspace.ask("POST", f"{below}/checkpoints"),
        ):
            assert answer.status in (400, 403, 404), (below, answer)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]
    # A link is replaced, not followed.
    saved(workspace.ask("PUT", "/link", text("mine")))
    assert secret.read_text() == "the secret"
    assert not (workspace.folder / "link").is_symlink()
    refused(
        workspace.ask("PATCH", "/dir/secret", {"path": f"{workspace.path}/c"}),
        400,
    )
    refused(
        workspace.ask("PATCH", "/b", {"path": f"{workspace.path}/dir/c"}), 400
    )
    refused(
        workspace.ask(
            "POST", "", {"copy_from": f"{workspace.path}/dir/secret"}
        ),
        400,
    )


# --- Checkpoints ---


def test_checkpoints(workspace: Workspace) -> None:
    def listed(below: str = "/file") -> list[str]:
        found = workspace.get(f"{below}/checkpoints")
        assert found.status == 200, found
        return [one["id"] for one in found.json]

    (workspace.folder / "file").write_text("first")
    assert listed() == []
    refused(workspace.ask("POST", "/file/checkpoints/checkpoint"), 404)
    refused(workspace.ask("DELETE", "/file/checkpoints/checkpoint"), 404)
    answer = workspace.ask("POST", "/file/checkpoints")
    assert answer.status == 201
    assert set(answer.json) == {"id", "last_modified"}
    location = answer.headers["Location"]
    assert location == f"{workspace.api}/file/checkpoints/checkpoint"
    assert listed() == ["checkpoint"]
    (workspace.folder / "file").write_text("second")
    assert workspace.web.post(location).status == 204
    assert (workspace.folder / "file").read_text() == "first"
    (workspace.folder / "file").write_text("third")
    assert workspace.ask("POST", "/file/checkpoints").status == 201
    (workspace.folder / "file").unlink()
    assert workspace.web.post(location).status == 204
    assert (workspace.folder / "file").read_text() == "third"
    assert workspace.web.ask("DELETE", location).status == 204
    assert listed() == []
    refused(workspace.ask("POST", "/none/checkpoints"), 404)
    refused(workspace.ask("POST", "/checkpoints"), 400)
    refused(workspace.ask("POST", "/file/checkpoints/other"), 404)


def test_checkpoints_go_with_their_files(workspace: Workspace) -> None:
    (workspace.folder / "a").mkdir()
    (workspace.folder / "a" / "x").write_text("first")
    assert workspace.ask("POST", "/a/x/checkpoints").status == 201
    saved(workspace.ask("PATCH", "/a", {"path": f"{workspace.path}/b"}))
    (workspace.folder / "b" / "x").write_text("second")
    assert workspace.get("/a/x/checkpoints").json == []
    assert workspace.ask("POST", "/b/x/checkpoints/checkpoint").status == 204
    assert (workspace.folder / "b" / "x").read_text() == "first"
    assert workspace.ask("DELETE", "/b/x").status == 204
    (workspace.folder / "b" / "x").write_text("another")
    assert workspace.get("/b/x/checkpoints").json == []
    # Where a file was there is a folder now, and the other way round.
    assert workspace.ask("POST", "/b/x/checkpoints").status == 201
    (workspace.folder / "b" / "x").unlink()
    (workspace.folder / "b" / "x").mkdir()
    (workspace.folder / "b" / "x" / "y").write_text("y")
    assert workspace.ask("POST", "/b/x/y/checkpoints").status == 201
    (workspace.folder / "b" / "x" / "y").unlink()
    (workspace.folder / "b" / "x").rmdir()
    (workspace.folder / "b" / "x").write_text("x")
    assert workspace.ask("POST", "/b/x/checkpoints").status == 201


def test_checkpoints_are_out_of_reach(workspace: Workspace) -> None:
    (workspace.folder / "file").write_text("content of the checkpoint")
    assert workspace.ask("POST", "/file/checkpoints").status == 201
    found = list(workspace.folder.parent.glob("**/checkpoints/file"))
    assert len(found) == 1
    assert workspace.folder not in found[0].parents
    assert (
        workspace.kernel.socket().value(
            f"import os; os.path.exists({str(found[0])!r})"
        )
        == "False"
    )
    # The entries in their place lead nowhere.
    (workspace.folder / "file").unlink()
    (workspace.folder / "file").symlink_to("/etc/passwd")
    refused(workspace.ask("POST", "/file/checkpoints"), 400)


# --- Bounds ---


@pytest.fixture
def narrow() -> Iterator[Workspace]:
    """A workspace with little room."""
    gateway = Gateway(
        "--set",
        "sessions/checkpoint_bytes=64K",
        "--set",
        "profile/python3/limits/workspace_bytes=1M",
    )
    try:
        web = Web.of(gateway.start())
        kernel = Kernel(web, web.create())
        yield Workspace(web, kernel)
        kernel.close()
    finally:
        gateway.end()


def test_full_workspaces(narrow: Workspace) -> None:
    workspace = narrow
    saved(workspace.ask("PUT", "/small", text("x" * 1000)), 201)
    message = refused(workspace.ask("PUT", "/big", text("x" * 2_000_000)), 507)
    assert "may hold 1048576" in message
    assert workspace.names() == ["small"]
    saved(workspace.ask("PUT", "/chunk", text("x" * 600_000, chunk=1)), 201)
    refused(workspace.ask("PUT", "/chunk", text("x" * 600_000, chunk=2)), 507)
    assert workspace.names() == ["small"]
    huge = Kernel(workspace.web, workspace.web.create())
    source = Workspace(workspace.web, huge)
    (source.folder / "a").write_bytes(b"x" * 2_000_000)
    body = {"copy_from": f"{source.path}/a"}
    refused(workspace.ask("POST", "", body), 507)
    assert workspace.names() == ["small"]
    huge.close()
    saved(workspace.ask("PUT", "/middle", text("x" * 70_000)), 201)
    message = refused(workspace.ask("POST", "/middle/checkpoints"), 507)
    assert "checkpoint_bytes" in message
    for name in ("a", "b", "c", "d"):
        saved(workspace.ask("PUT", f"/{name}", text("x" * 25_000)), 201)
    for name in ("a", "b"):
        assert workspace.ask("POST", f"/{name}/checkpoints").status == 201
    refused(workspace.ask("POST", "/c/checkpoints"), 507)
    # Those whose file the session removed make room.
    (workspace.folder / "a").unlink()
    assert workspace.ask("POST", "/c/checkpoints").status == 201
    assert workspace.get("/a/checkpoints").json == []


def test_scopes_are_required(gateway: Gateway, workspace: Workspace) -> None:
    def holder(scopes: str) -> Web:
        made = gateway.json("token", "create", "--json", "-s", scopes, "t")
        return workspace.web.with_token(made["token"])

    path = f"{workspace.api}/file"
    assert holder("files").ask("PUT", path, text("x")).status == 201
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        answer = holder("observe,execute").ask(method, path, text("x"))
        assert "files" in refused(answer, 403)
        assert workspace.web.with_token(None).ask(method, path).status == 401
    assert holder("files").ask("DELETE", path).status == 204
