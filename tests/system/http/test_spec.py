"""/api/spec.yaml says what there is, and answers are as it says; those of the
other tests, too (contract.py)."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, Iterator, Optional
from urllib.parse import quote

import jsonschema
import pytest
from contract import CONTRACTS, Contract
from deadline import wait_for
from web import Answer, Kernel, Web


@pytest.fixture(scope="module")
def spec(web: Web) -> dict[str, Any]:
    answer = web.get("/api/spec.yaml")
    assert answer.status == 200
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_paths_have_the_described_methods(
    spec: dict[str, Any], web: Web
) -> None:
    """OPTIONS reads them from the table of routes (contract.py compares)."""
    assert len(spec["paths"]) > 25
    for path in spec["paths"]:
        answer = web.ask("OPTIONS", re.sub(r"\{\w+\}", "x", path))
        assert answer.status == 200, path


def test_each_route_is_described(spec: dict[str, Any]) -> None:
    for path, item in spec["paths"].items():
        for operation in item.values():
            assert operation["summary"], path
            assert "x-scope" in operation, path  # out of the table of routes
            assert "default" not in operation["responses"], path


def types_of(part: Any) -> Iterator[Any]:
    """Find the types of all schemas in a part of the document."""
    if isinstance(part, list):
        for one in part:
            yield from types_of(one)
    if isinstance(part, dict):
        for name, one in part.items():
            if name == "type":
                yield one
            yield from types_of(one)


def test_a_type_is_one_of_openapi(spec: dict[str, Any]) -> None:
    """A list of them is of OpenAPI 3.1, and this is 3.0: see `nullable`."""
    found = list(types_of({**spec["paths"], **spec["components"]["schemas"]}))
    assert len(found) > 300
    for one in found:
        # A property may have the name.
        assert isinstance(one, (str, dict)), one


def test_parameters_are_declared(spec: dict[str, Any]) -> None:
    for path, item in spec["paths"].items():
        holes = re.findall(r"\{([^}]*)\}", path)
        assert len(holes) == len(set(holes)), path
        for operation in item.values():
            reported = [p for p in operation["parameters"] if p["in"] == "path"]
            assert [p["name"] for p in reported] == holes
            assert all(p["required"] is True for p in reported)


def wrong_value(schema: dict[str, Any]) -> Optional[str]:
    """Return a value that a query's schema does not permit."""
    return None if schema == {"type": "string"} else "no-such-value"


def test_queries_are_read(spec: dict[str, Any], kernel: Kernel) -> None:
    """A number or word of the schema is refused if it is not one."""
    kernel.socket().value("1")
    looked_at = 0
    names = {
        "path": f"workspaces/{kernel.id}",
        "event": "1",
        "process": "1",
    }
    for template, item in spec["paths"].items():
        path = re.sub(
            r"\{(\w+)\}", lambda m: names.get(m[1], kernel.id), template
        )
        for method, operation in item.items():
            for given in operation["parameters"]:
                value = wrong_value(given["schema"])
                if given["in"] != "query" or not value:
                    continue
                answer = kernel.web.ask(
                    method.upper(), f"{path}?{given['name']}={value}"
                )
                wanted = 404 if given["name"] == "buffer" else 400
                assert answer.status == wanted, (path, given["name"])
                looked_at += 1
    assert looked_at == 35


class Walk:
    """Each operation and each answer that is no refusal, once at least."""

    def __init__(self, contract: Contract, kernel: Kernel) -> None:
        self.contract = contract
        self.web = kernel.web
        self.kernel = kernel

    def ask(
        self,
        status: int,
        method: str,
        path: str,
        body: Any = None,
        **options: Any,
    ) -> Answer:
        """contract.py holds the answer against the document."""
        answer = self.web.ask(method, path, body, **options)
        assert answer.status == status, answer
        return answer

    def of_the_gateway(self) -> None:
        names = ("status", "me", "spec.yaml", "swagger.yaml", "swagger.json")
        for path in ("/api", *(f"/api/{name}" for name in names)):
            self.ask(200, "GET", path)
        self.ask(200, "GET", '/api/me?permissions={"kernels":["read"]}')
        for path in ("/metrics", "/hearth/gateway", "/hearth/tokens"):
            self.ask(200, "GET", path)
        specs = self.ask(200, "GET", "/api/kernelspecs").json
        self.ask(200, "GET", f"/api/kernelspecs/{specs['default']}")
        for found in specs["kernelspecs"].values():
            for picture in found["resources"].values():
                self.ask(200, "GET", picture)
        body = {"name": "n", "scopes": ["observe"]}
        made = self.ask(201, "POST", "/hearth/tokens", body)
        self.ask(200, "GET", "/hearth/tokens")
        self.ask(204, "DELETE", made.headers["Location"])

    def of_a_browser(self) -> None:
        self.ask(401, "GET", "/login?token=wrong")
        cookie = self.ask(200, "GET", "/login").headers["Set-Cookie"]
        xsrf = cookie.partition(";")[0]
        sent = {"Cookie": xsrf}
        for status, token in ((401, "wrong"), (302, self.web.token)):
            form = f"token={token}&{xsrf}".encode()
            self.ask(status, "POST", "/login", raw=form, headers=sent)
        self.ask(302, "GET", f"/login?token={self.web.token}&next=/api")
        self.ask(302, "GET", "/logout")
        page = {"Accept": "text/html"}
        self.ask(200, "GET", "/", headers=page)
        for path in ("", "/window.css", "/window.js"):
            self.ask(200, "GET", f"/hearth/window{path}")
        url = self.web.gateway.run("window", "--url").stdout.strip()
        code = {"code": url.partition("#code=")[2]}
        self.ask(201, "POST", "/hearth/window", code)

    def of_kernels(self) -> None:
        made = self.ask(201, "POST", "/api/kernels", {"name": "python3"})
        here = made.headers["Location"]
        self.ask(200, "GET", "/api/kernels")
        self.ask(200, "GET", here)
        self.ask(204, "POST", f"{here}/interrupt")
        self.ask(200, "POST", f"{here}/restart")
        self.ask(204, "DELETE", here)

    def of_runs(self) -> None:
        here = f"/api/kernels/{self.kernel.id}"

        def until(location: str, status: int) -> None:
            wait_for(lambda: self.web.get(location).status == status, "it")

        done = self.ask(202, "POST", f"{here}/execute", {"code": "1"})
        until(done.headers["Location"], 200)
        code = "name = input(); import os; os._exit(int(name))"
        body = {"code": code, "silent": False}
        asked = self.ask(202, "POST", f"{here}/execute", body)
        location = asked.headers["Location"]
        until(location, 300)
        other = self.ask(202, "POST", f"{here}/execute", {"code": "1"})
        self.ask(202, "GET", other.headers["Location"])
        self.ask(200, "GET", f"{here}/execute")
        self.ask(201, "POST", f"{here}/input", {"input": "1"})
        until(location, 500)

    def of_sessions(self) -> None:
        body = {"path": "a.ipynb", "name": "a", "type": "notebook"}
        here = self.ask(201, "POST", "/api/sessions", body).headers["Location"]
        self.ask(200, "GET", "/api/sessions")
        self.ask(200, "GET", here)
        self.ask(200, "PATCH", here, {"path": "b.ipynb"})
        self.ask(204, "DELETE", here)

    def of_hearth(self) -> None:
        here = f"/hearth/sessions/{self.kernel.id}"
        self.ask(200, "GET", here)
        self.ask(200, "GET", "/hearth/sessions?all=1")
        self.ask(200, "POST", f"{here}/keepalive")
        self.ask(200, "POST", f"{here}/interrupt")
        self.ask(201, "POST", f"{here}/notes", {"text": "x", "by": "y"})
        self.ask(200, "GET", f"{here}/events?since=0&wait=1&follow=0")
        self.ask(200, "GET", f"{here}/page")
        self.ask(200, "GET", f"{here}/fetches")
        record = self.ask(200, "GET", f"{here}/events/1").json
        schemas = self.contract.strict
        jsonschema.validate(
            record, {"$ref": "#/components/schemas/Record", **schemas}
        )
        run = f"/api/kernels/{self.kernel.id}/execute?view=model"
        asked = self.ask(202, "POST", run, {"code": "print(1)"})
        location = asked.headers["Location"]
        wait_for(
            lambda: self.web.get(location).status == 200, f"200 of {location}"
        )
        cell = self.ask(200, "GET", location).json["view"]["cell"]
        self.ask(200, "GET", f"{here}/outputs/out:{cell}.1?lines=1")
        gone = self.web.create()
        self.web.delete(gone)
        self.ask(410, "GET", f"/hearth/sessions/{gone}")
        self.ask(200, "POST", f"/hearth/sessions/{gone}/revive")
        self.web.delete(gone)

    def of_tools(self) -> None:
        here = f"/hearth/sessions/{self.kernel.id}/tools"
        self.ask(200, "PUT", here, {"tools": [{"name": "t"}]})
        self.ask(200, "GET", here)
        run = f"/api/kernels/{self.kernel.id}/execute"
        code = "from hearth import tools; tools.t(a=1)"
        self.ask(202, "POST", run, {"code": code})
        (call,) = self.ask(200, "GET", f"{here}/calls?wait=60").json["calls"]
        self.ask(200, "POST", f"{here}/calls/{call['call']}", {"result": 1})
        self.ask(204, "DELETE", f"{here}?provider=agent")

    def of_processes(self) -> None:
        here = f"/hearth/sessions/{self.kernel.id}/processes"
        wanted = {"argv": ["cat"], "terminal": {"rows": 5, "columns": 50}}
        made = self.ask(201, "POST", here, wanted).json["process"]
        one = f"{here}/{made}"
        self.ask(200, "GET", here)
        self.ask(200, "GET", one)
        self.ask(200, "GET", f"{one}/output?from=0&wait=0&encoding=utf-8")
        self.ask(204, "POST", f"{one}/input", {"text": "x"})
        size = {"rows": 6, "columns": 60}
        self.ask(204, "POST", f"{one}/resize", size)
        self.ask(204, "POST", f"{one}/signal", {"signal": "CONT"})
        self.ask(204, "DELETE", one)

    def of_terminals(self) -> None:
        made = self.ask(
            200, "POST", "/api/terminals", {"session": self.kernel.id}
        )
        one = f"/api/terminals/{made.json['name']}"
        self.ask(200, "GET", "/api/terminals")
        self.ask(200, "GET", one)
        self.ask(204, "DELETE", one)

    def of_contents(self) -> None:
        root, below = "/api/contents", f"workspaces/{self.kernel.id}"
        here = f"{root}/{below}"
        text = {"type": "file", "format": "text", "content": "abc"}
        for folder in ("", "/recordings", "/workspaces"):
            self.ask(200, "GET", root + folder)
        self.ask(200, "GET", f"{root}/recordings/{self.kernel.id}.ipynb?hash=1")
        self.ask(201, "PUT", f"{here}/a.txt", text)
        self.ask(200, "PUT", f"{here}/a.txt", {**text, "chunk": None})
        self.ask(200, "GET", f"{here}?content=1&type=directory")
        self.ask(200, "GET", f"{here}/a.txt?format=base64&hash=1")
        self.ask(201, "POST", here, {"copy_from": f"{below}/a.txt"})
        self.ask(201, "POST", here, {"type": "notebook", "ext": ".ipynb"})
        self.ask(200, "GET", f"{here}/Untitled.ipynb")
        kept = self.ask(201, "POST", f"{here}/a.txt/checkpoints")
        self.ask(200, "GET", f"{here}/a.txt/checkpoints")
        self.ask(204, "POST", kept.headers["Location"])
        self.ask(204, "DELETE", kept.headers["Location"])
        moved = {"path": f"{below}/b.txt"}
        self.ask(200, "PATCH", f"{here}/a.txt", moved)
        self.ask(200, "GET", f"/files/{below}/b.txt")
        part = {"Range": "bytes=1-1"}
        self.ask(206, "GET", f"/files/{below}/b.txt", headers=part)
        self.ask(
            416, "GET", f"/files/{below}/b.txt", headers={"Range": "bytes=9-"}
        )
        self.ask(204, "DELETE", f"{here}/b.txt")
        self.ask(403, "POST", root, text)
        strange = quote(f"{here}/ü [1].txt")
        self.ask(201, "PUT", strange, text)


# Elsewhere: test_scopes ends a gateway, every WebSocket gets a 101, test_mcp
# asks at MCP's door, test_e2b at E2B's, test_packages has an index, and
# test_fetches has hosts.
NOT_HERE = {
    ("post", "/mcp", 200),
    ("post", "/mcp", 202),
    ("get", "/mcp", 200),
    ("delete", "/mcp", 204),
    ("post", "/mcp/sessions/{session}", 200),
    ("post", "/mcp/sessions/{session}", 202),
    ("get", "/mcp/sessions/{session}", 200),
    ("delete", "/mcp/sessions/{session}", 204),
    ("post", "/mcp/structured", 200),
    ("post", "/mcp/structured", 202),
    ("get", "/mcp/structured", 200),
    ("delete", "/mcp/structured", 204),
    ("post", "/mcp/structured/sessions/{session}", 200),
    ("post", "/mcp/structured/sessions/{session}", 202),
    ("get", "/mcp/structured/sessions/{session}", 200),
    ("delete", "/mcp/structured/sessions/{session}", 204),
    ("post", "/api/shutdown", 200),
    ("get", "/api/kernels/{kernel}/channels", 101),
    ("get", "/terminals/websocket/{websocket}", 101),
    ("get", "/hearth/feed", 101),
    ("get", "/hearth/sessions/{session}/packages", 200),
    ("post", "/hearth/sessions/{session}/packages", 200),
    ("delete", "/hearth/sessions/{session}/packages/{package}", 200),
    ("post", "/hearth/sessions/{session}/fetches", 200),
    ("delete", "/hearth/sessions/{session}/fetches/{fetch}", 204),
}


def test_answers_match_the_description(
    spec: dict[str, Any], kernel: Kernel
) -> None:
    """And each that it names is given."""
    (contract,) = CONTRACTS
    contract.seen.clear()
    walk = Walk(contract, kernel)
    walk.of_the_gateway()
    walk.of_a_browser()
    walk.of_kernels()
    walk.of_sessions()
    walk.of_contents()
    walk.of_hearth()
    walk.of_tools()
    walk.of_processes()
    walk.of_terminals()
    walk.of_runs()  # it ends
    reported = {
        (method, path, int(status))
        for path, item in spec["paths"].items()
        for method, operation in item.items()
        for status in operation["responses"]
        if int(status) < 400 and not path.startswith("/e2b/")
    }
    assert reported - contract.seen == NOT_HERE


def test_answers_missing_in_the_description_are_found(
    spec: dict[str, Any], web: Web
) -> None:
    """The comparison itself: a status, a member, a header, a query, a body
    that the document lacks."""
    path = "/api/kernels/{kernel}"
    for change in (
        lambda d: d["paths"]["/api"]["get"]["responses"].pop("200"),
        lambda d: d["components"]["schemas"]["Version"]["properties"].pop(
            "server"
        ),
        lambda d: d["components"]["schemas"]["Version"]["required"].append("x"),
        lambda d: d["paths"]["/api"]["get"]["responses"]["200"].update(
            headers={"Location": {"required": True, "schema": {}}}
        ),
        lambda d: d["paths"].pop("/api"),
        lambda d: d["paths"].update({"/api": d["paths"][path]}),
    ):
        document = copy.deepcopy(spec)
        answer = web.get("/api")
        Contract(document).check("GET", "/api", None, answer)
        change(document)
        with pytest.raises(AssertionError):
            Contract(document).check("GET", "/api", None, answer)
    with pytest.raises(AssertionError):
        Contract(spec).check("GET", "/api?x=y", None, web.get("/api"))


def test_kernel_gateways_paths_are_described_too(
    spec: dict[str, Any], web: Web
) -> None:
    """7.5: test_get_swagger_yaml_spec, _json_spec."""
    assert web.get("/api/swagger.json").json == spec
    answer = web.get("/api/swagger.yaml")
    assert answer.headers["Content-Type"] == "text/x-yaml"
    assert json.loads(answer.body) == spec
    assert web.with_token(None).get("/api/swagger.json").status == 401


def test_scopes_are_required(web: Web) -> None:
    assert web.with_token(None).get("/api/spec.yaml").status == 401
