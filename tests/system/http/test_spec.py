"""/api/spec.yaml says what there is, and answers are as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from deadline import wait_for
from web import Answer, Kernel, Web

SOURCES = Path(__file__).parents[3] / "gateway" / "http"
ROW = re.compile(
    r"\{METHOD_(GET|POST|PUT|PATCH|DELETE),\s*\"(/[^\"]*)\",\s*"
    r"(?:SCOPE|AUTH)_\w+"
)


@pytest.fixture(scope="module")
def spec(web: Web) -> dict[str, Any]:
    answer = web.get("/api/spec.yaml")
    assert answer.status == 200
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_every_route_stands_in_it(spec: dict[str, Any]) -> None:
    told = {
        (method.upper(), re.sub(r"\{[^}]*\}", "{}", path))
        for path, item in spec["paths"].items()
        for method in item
    }
    there = {
        (method, path.replace("{*}", "{}"))
        for source in SOURCES.glob("route_*.c")
        for method, path in ROW.findall(source.read_text())
    }
    assert len(there) > 25
    assert told == there


def test_parameters_are_declared(spec: dict[str, Any]) -> None:
    for path, item in spec["paths"].items():
        holes = re.findall(r"\{([^}]*)\}", path)
        assert len(holes) == len(set(holes)), path
        for operation in item.values():
            assert [p["name"] for p in operation["parameters"]] == holes
            assert all(p["required"] is True for p in operation["parameters"])


def check(spec: dict[str, Any], method: str, path: str, found: Answer) -> None:
    operation = spec["paths"][path][method]
    assert str(found.status) in operation["responses"], found
    response = operation["responses"][str(found.status)]
    if "content" not in response:
        return
    schema = response["content"]["application/json"]["schema"]
    jsonschema.Draft7Validator(
        {**schema, "components": spec["components"]},
        format_checker=jsonschema.FormatChecker(),
    ).validate(found.json)


def test_answers_are_as_it_says(spec: dict[str, Any], kernel: Kernel) -> None:
    web, here = kernel.web, f"/api/kernels/{kernel.id}"
    own = f"/hearth/sessions/{kernel.id}"
    for path in ("/api", "/api/status", "/api/me", "/api/kernelspecs"):
        check(spec, "get", path, web.get(path))
    check(spec, "get", "/metrics", web.get("/metrics"))
    check(spec, "get", "/api/spec.yaml", web.get("/api/spec.yaml"))
    check(spec, "get", "/api/kernels", web.get("/api/kernels"))
    one = "/api/kernels/{kernel}"
    check(spec, "get", one, web.get(here))
    check(spec, "post", f"{one}/interrupt", web.post(f"{here}/interrupt"))
    check(spec, "post", f"{one}/restart", web.post(f"{here}/restart"))
    begun = web.post(f"{here}/execute", {"code": "1"})
    check(spec, "post", f"{one}/execute", begun)
    check(spec, "get", f"{one}/execute", web.get(f"{here}/execute"))
    location = begun.headers["Location"]
    ended = wait_for(
        lambda: (found := web.get(location)).status != 202 and found, "the end"
    )
    check(spec, "get", f"{one}/requests/{{request}}", ended)
    mine = "/hearth/sessions/{session}"
    check(spec, "get", mine, web.get(own))
    check(spec, "post", f"{mine}/keepalive", web.post(f"{own}/keepalive"))
    noted = web.post(f"{own}/notes", {"text": "x"})
    check(spec, "post", f"{mine}/notes", noted)
    check(spec, "get", f"{mine}/events", web.get(f"{own}/events"))
    record = web.get(f"{own}/events/1")
    check(spec, "get", f"{mine}/events/{{event}}", record)
    made = web.post(
        "/api/sessions",
        {
            "path": "a.ipynb",
            "name": "a",
            "type": "notebook",
            "kernel": {"id": kernel.id},
        },
    )
    check(spec, "post", "/api/sessions", made)
    check(spec, "get", "/api/sessions", web.get("/api/sessions"))
    document = f"/api/sessions/{made.json['id']}"
    check(spec, "get", "/api/sessions/{session}", web.get(document))
    renamed = web.ask("PATCH", document, {"path": "b.ipynb"})
    check(spec, "patch", "/api/sessions/{session}", renamed)
    check(spec, "get", "/api/contents", web.get("/api/contents"))
    file, files = f"workspaces/{kernel.id}/a.txt", "/api/contents/{path}"
    body = {"type": "file", "format": "text", "content": "x"}
    web.ask("PUT", f"/api/contents/{file}", body)
    saved = web.ask("PUT", f"/api/contents/{file}", body)
    check(spec, "put", files, saved)
    moved = {"path": f"workspaces/{kernel.id}/b.txt"}
    renamed = web.ask("PATCH", f"/api/contents/{file}", moved)
    check(spec, "patch", files, renamed)
    removed = web.ask("DELETE", f"/api/contents/{moved['path']}")
    check(spec, "delete", files, removed)
    missing = web.get(here + "0")
    jsonschema.validate(missing.json, spec["components"]["schemas"]["Error"])
    check(spec, "delete", one, web.ask("DELETE", here))


def test_who_may(web: Web) -> None:
    assert web.with_token(None).get("/api/spec.yaml").status == 401
