"""Recorded notebooks as Jupyter's contents."""

from __future__ import annotations

import hashlib
import json

import nbformat
import pytest
from harness import Gateway
from web import STAMP, Kernel, Web

KEYS = {
    "name",
    "path",
    "type",
    "format",
    "mimetype",
    "created",
    "last_modified",
    "writable",
    "content",
    "size",
    "hash",
    "hash_algorithm",
}


def path_of(kernel: Kernel) -> str:
    return f"recordings/{kernel.id}.ipynb"


def test_folders(web: Web, kernel: Kernel) -> None:
    root = web.get("/api/contents").json
    assert set(root) == KEYS
    assert (root["type"], root["path"], root["format"]) == (
        "directory",
        "",
        "json",
    )
    assert [entry["path"] for entry in root["content"]] == [
        "recordings",
        "workspaces",
    ]
    for path in ("/api/contents/recordings", "/api/contents/recordings/"):
        listed = web.get(path).json["content"]
        assert path_of(kernel) in [entry["path"] for entry in listed]
    assert all(set(entry) == KEYS for entry in listed)
    assert all(entry["content"] is None for entry in listed)
    assert web.get("/api/contents?content=0").json["content"] is None
    assert web.get("/api/contents/recordings?type=file").status == 400


def test_a_live_sessions_notebook(web: Web, kernel: Kernel) -> None:
    kernel.socket().value("6 * 7")
    model = web.get(f"/api/contents/{path_of(kernel)}").json
    assert set(model) == KEYS
    assert model["type"] == "notebook"
    assert model["format"] == "json"
    assert model["writable"] is False
    assert model["name"] == f"{kernel.id}.ipynb"
    assert STAMP.fullmatch(model["created"])
    assert STAMP.fullmatch(model["last_modified"])
    notebook = nbformat.from_dict(model["content"])
    nbformat.validate(notebook)
    assert notebook.cells[0].source == "6 * 7"
    assert notebook.cells[0].outputs[0].data["text/plain"] == "42"
    assert web.get(f"/api/contents/{path_of(kernel)}?type=file").status == 400


def test_sizes_and_hashes(web: Web, kernel: Kernel) -> None:
    kernel.socket().value("'content'")
    path = path_of(kernel)
    bare = web.get(f"/api/contents/{path}?content=0").json
    assert bare["content"] is None
    assert bare["format"] is None
    file = web.get(f"/files/{path}")
    hashed = web.get(f"/api/contents/{path}?content=0&hash=1").json
    assert hashed["hash_algorithm"] == "sha256"
    assert hashed["hash"] == hashlib.sha256(file.body).hexdigest()
    assert hashed["size"] == len(file.body)


def test_downloads_run_nothing(web: Web, kernel: Kernel) -> None:
    answer = web.get(f"/files/{path_of(kernel)}")
    assert answer.status == 200
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    nbformat.validate(nbformat.reads(answer.body.decode(), as_version=4))


def test_after_the_end(gateway: Gateway, web: Web) -> None:
    kernel = Kernel(web, web.create())
    kernel.socket().value("'before the end'")
    kernel.close()
    web.delete(kernel.id)
    model = web.get(f"/api/contents/recordings/{kernel.id}.ipynb").json
    assert "before the end" in json.dumps(model["content"])


@pytest.mark.parametrize(
    "path",
    [
        "recordings/../../../../etc/passwd",
        "recordings/..%2f..%2fetc%2fpasswd",
        "../../files/etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "recordings/x.ipynb",
        "recordings/00000000-0000-4000-8000-000000000000.ipynb",
        "recordings/" + "a" * 200 + ".ipynb",
        "recordings//etc/passwd",
        "recordingsx",
        "etc/passwd",
        "recordings/%00.ipynb",
    ],
)
def test_other_paths(web: Web, path: str) -> None:
    for place in ("/api/contents/", "/files/"):
        answer = web.get(place + path)
        assert answer.status in (400, 404), answer
        assert b"root:" not in answer.body


def test_a_shortened_id_is_not_found(web: Web, kernel: Kernel) -> None:
    short = kernel.id[:8]
    assert web.get(f"/api/contents/recordings/{short}.ipynb").status == 404


def test_nothing_is_written(web: Web, kernel: Kernel) -> None:
    path = f"/api/contents/{path_of(kernel)}"
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        answer = web.ask(method, path, {"type": "notebook"})
        assert answer.status == 403, answer
        assert "read-only" in answer.json["message"]
    assert web.get(f"{path}/checkpoints").json == []


def test_scopes_are_required(
    gateway: Gateway, web: Web, kernel: Kernel
) -> None:
    def holder(scope: str) -> Web:
        made = gateway.json("token", "create", "--json", "--scope", scope, "t")
        return web.with_token(made["token"])

    path = f"/api/contents/{path_of(kernel)}"
    assert holder("observe").get(path).status == 200
    assert holder("files").get(path).status == 403
    assert web.with_token(None).get(path).status == 401


@pytest.mark.parametrize(
    "path", ["/apx", "/api/kernelz", "/api/statuz", "/api/content_", "/ap"]
)
def test_a_path_that_nearly_fits_does_not(web: Web, path: str) -> None:
    assert web.get(path).status == 404
