"""The REST interface: the codes and bodies that clients insist on."""

from __future__ import annotations

import ast
import http.client
import re
import threading
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from web import STAMP, Kernel, Web

UUID = re.compile(r"\w+-\w+-\w+-\w+-\w+")
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_the_environment_of_a_kernel(web: Web) -> None:
    """KERNEL_... comes in, also into the next one, and nothing else."""
    kernel = Kernel(
        web,
        web.create(
            env={
                "KERNEL_USERNAME": 'anna "\u00e4"',
                "KERNEL_GATEWAY": "no",
                "PATH": "/evil",
                "LD_PRELOAD": "/evil.so",
                "PYTHONPATH": "/evil",
            }
        ),
    )
    code = "import os; dict(sorted(os.environ.items()))"
    try:
        ws = kernel.socket()
        found = ast.literal_eval(ws.value(code))
        assert found["KERNEL_USERNAME"] == 'anna "\u00e4"'
        assert found["KERNEL_GATEWAY"] == "1"
        assert "evil" not in str(found)
        assert str(web.token) not in str(found)
        answer = web.post(f"/api/kernels/{kernel.id}/restart")
        assert answer.status == 200, answer
        assert ast.literal_eval(ws.value(code)) == found
    finally:
        kernel.close()


def test_info_prints_url_and_token(gateway: Gateway, web: Web) -> None:
    reported = gateway.runtime / "http.json"
    assert reported.stat().st_mode & 0o777 == 0o600
    assert web.token
    assert re.fullmatch(r"[0-9a-f]{48}", web.token)
    printed = gateway.run("gateway", "info").stdout
    assert web.url in printed
    assert web.token in printed
    assert web.token not in gateway.log.read_text()


def test_version_needs_no_token(web: Web) -> None:
    answer = web.with_token(None).get("/api")
    assert answer.status == 200
    assert answer.json["version"]


def test_status(web: Web) -> None:
    found = web.get("/api/status").json
    assert STAMP.fullmatch(found["started"])
    assert STAMP.fullmatch(found["last_activity"])
    assert found["kernels"] == 0
    assert found["connections"] == 0


def test_me(web: Web) -> None:
    asked = '{"kernels":["read","execute"],"contents":["write"]}'
    found = web.get(f"/api/me?permissions={asked}").json
    assert set(found["identity"]) == {
        "username",
        "name",
        "display_name",
        "initials",
        "avatar_url",
        "color",
    }
    assert found["permissions"]["kernels"] == ["read", "execute"]
    assert found["permissions"]["contents"] == ["write"]
    answer = web.get("/api/me?permissions=7")
    assert answer.status == 400
    assert "JSON dict" in answer.json["message"]


def test_kernelspecs(web: Web) -> None:  # A-U1
    found = web.get("/api/kernelspecs").json
    assert found["default"] in found["kernelspecs"]
    for name, spec in found["kernelspecs"].items():
        assert spec["name"] == name
        assert isinstance(spec["resources"], dict)
        assert all(isinstance(word, str) for word in spec["spec"]["argv"])
        assert isinstance(spec["spec"]["language"], str)
        assert isinstance(spec["spec"]["display_name"], str)
        assert spec["spec"]["argv"][-2:] == ["-f", "{connection_file}"]
        assert spec["spec"]["metadata"]["debugger"] is False
        assert web.get(f"/api/kernelspecs/{name}").json == spec
        for path in spec["resources"].values():
            picture = web.get(path)
            assert picture.status == 200
            assert picture.body.startswith(b"<svg")
            assert "sandbox" in picture.headers["Content-Security-Policy"]
    assert web.get("/api/kernelspecs/none").status == 404
    assert web.get("/kernelspecs/python3/none.png").status == 404
    assert web.get("/kernelspecs/none/logo-svg.svg").status == 404


def test_python_means_the_default_python(web: Web) -> None:
    """jupyter_client has the same rule, and some clients send nothing else."""
    made = web.post("/api/kernels", {"name": "python"})
    assert made.status == 201
    assert made.json["name"] == "python3"
    web.delete(made.json["id"])
    document = {"path": "a.ipynb", "type": "notebook", "name": "a"}
    made = web.post("/api/sessions", {**document, "kernel": {"name": "python"}})
    assert made.status == 201, made.json
    assert made.json["kernel"]["name"] == "python3"
    web.delete(made.json["kernel"]["id"])


def check_model(model: dict[str, object]) -> None:  # A-U3, A-U4
    assert UUID.fullmatch(str(model["id"]))
    assert model["name"] == "python3"
    assert STAMP.fullmatch(str(model["last_activity"]))
    assert model["execution_state"] in ("starting", "idle", "busy")
    assert type(model["connections"]) is int


@pytest.mark.parametrize(
    ("raw", "headers"),
    [
        (None, {}),
        (b"", {"Content-Length": "0"}),
        (b"{}", {"Content-Type": "application/json"}),
        (b"null", {"Content-Type": "application/json"}),
        (b'{"name":"python3","env":{"KERNEL_USERNAME":"x"}}', {}),
        (b'{"name":"python3","path":"a/b.ipynb"}', {}),
    ],
)
def test_kernel_life(
    web: Web, raw: bytes, headers: dict[str, str]
) -> None:  # A-U2, A-U5, A-U6
    answer = web.ask("POST", "/api/kernels", raw=raw, headers=headers)
    assert answer.status == 201, answer
    model = answer.json
    check_model(model)
    path = f"/api/kernels/{model['id']}"
    empty: dict[str, Any] = {}
    assert answer.headers["Location"] == path
    try:
        assert model["id"] in [m["id"] for m in web.get("/api/kernels").json]
        check_model(web.get(path + "?1700000000000").json)
        for body in (None, empty):
            assert web.post(path + "/interrupt", body).status == 204
        for body in (None, empty):
            answer = web.post(path + "/restart?1700000000000", body)
            assert answer.status == 200, answer
            check_model(answer.json)
    finally:
        assert web.ask("DELETE", path).status == 204
    assert web.ask("DELETE", path).status == 404
    assert web.get(path).status == 404
    assert web.get("/api/kernels").json == []


@pytest.mark.parametrize("door", ["kernels", "sessions"])
def test_a_kernel_that_was_deleted_can_be_revived(web: Web, door: str) -> None:
    """The answer comes when it is gone, so a revival finds it so."""
    for number in range(10):
        if door == "sessions":
            made = web.post(
                "/api/sessions",
                {
                    "path": f"{number}.ipynb",
                    "name": "",
                    "type": "notebook",
                    "kernel": {"name": "python3"},
                },
            )
            assert made.status == 201, made
            kernel, path = made.json["kernel"]["id"], made.json["id"]
        else:
            kernel = path = web.create()
        assert web.ask("DELETE", f"/api/{door}/{path}").status == 204
        revived = web.post(f"/hearth/sessions/{kernel}/revive")
        assert revived.status == 200, revived
        web.delete(kernel)


def test_unknown_kernels(web: Web) -> None:
    path = f"/api/kernels/{UNKNOWN}"
    for method, tail in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/interrupt"),
        ("POST", "/restart"),
    ]:
        answer = web.ask(method, path + tail)
        assert answer.status == 404, answer
        assert UNKNOWN in answer.json["message"]
        assert answer.json["reason"] == "Not Found"
        assert answer.json["ename"] == "UnknownSession"


def test_the_beginning_of_an_id_is_not_found(web: Web) -> None:
    kernel = web.create()
    try:
        for method in ("GET", "DELETE"):
            path = f"/api/kernels/{kernel[:8]}"
            assert web.ask(method, path).status == 404
        assert web.get(f"/api/kernels/{kernel}").status == 200
    finally:
        web.delete(kernel)


def test_a_kernel_that_is_gone_says_why(web: Web) -> None:
    kernel = web.create(idle_timeout=0.3)
    path = f"/api/kernels/{kernel}"
    wait_for(lambda: web.get(path).status == 404, "the end of the session")
    message = web.get(path).json["message"]
    assert kernel in message
    assert "idle" in message, message
    tombstone = web.get(f"/hearth/sessions/{kernel}")
    assert tombstone.status == 410
    assert tombstone.json["reason"] == "idle"


def test_bad_creations(web: Web) -> None:
    for body, status, word in [
        (b'{"name":"none"}', 500, "none"),
        (b"{", 400, "Invalid JSON"),
        (b"[]", 400, "object"),
        (b'{"env":[]}', 400, "env"),
        (b'{"env":{"KERNEL_A":1}}', 400, "KERNEL_A"),
        (b'{"env":{"KERNEL_a b":"x"}}', 400, "KERNEL_a"),
        (b'{"idle_timeout":-1}', 400, "idle_timeout"),
        (b'{"lifetime":"1h"}', 400, "lifetime"),
        (b'{"name":"\xff"}', 400, "Invalid JSON"),
        (b'{"name":5}', 400, "name must be a text"),
        (b'{"restart":"AAA"}', 400, "restart must be"),
        (b'{"idle_timeout":1e300}', 400, "idle_timeout"),
        (b'{"cell_time_limit":3155760001}', 400, "cell_time_limit"),
    ]:
        answer = web.ask("POST", "/api/kernels", raw=body)
        assert answer.status == status, answer
        assert word in answer.json["message"], answer
        assert answer.json["reason"]
    assert web.get("/api/kernels").json == []


@pytest.mark.parametrize(
    "change",
    [
        {"path": 5},
        {"name": [1]},
        {"type": {}},
        {"kernel": "python3"},
        {"kernel": {"name": 5}},
        {"kernel": {"id": 5}},
    ],
)
def test_bad_documents(web: Web, change: dict[str, Any]) -> None:
    body = {"path": "a", "name": "a", "type": "x", "kernel": {}}
    answer = web.post("/api/sessions", {**body, **change})
    assert answer.status == 400, answer
    assert "must be" in answer.json["message"]
    assert web.get("/api/kernels").json == []


def test_sessions(web: Web) -> None:  # A-U7
    body = {
        "path": "work/a.ipynb",
        "type": "notebook",
        "name": "a.ipynb",
        "kernel": {"name": "python3"},
    }
    answer = web.post("/api/sessions", body)
    assert answer.status == 201, answer
    made = answer.json
    check_model(made["kernel"])
    path = f"/api/sessions/{made['id']}"
    assert answer.headers["Location"] == path
    assert made["notebook"] == {"path": "work/a.ipynb", "name": "a.ipynb"}
    try:
        again = web.post("/api/sessions", body)
        assert again.status == 201
        assert again.json["id"] == made["id"]
        assert [m["id"] for m in web.get("/api/sessions").json] == [made["id"]]
        assert web.get(path).json["kernel"]["id"] == made["kernel"]["id"]
        changed = web.ask("PATCH", path, {"path": "b.ipynb", "name": "b"})
        assert changed.status == 200
        assert changed.json["path"] == "b.ipynb"
        other = web.create()
        changed = web.ask("PATCH", path, {"kernel": {"id": other}})
        assert changed.json["kernel"]["id"] == other
        web.delete(made["kernel"]["id"])
    finally:
        assert web.ask("DELETE", path).status == 204
    assert web.get(path).status == 404
    assert web.ask("DELETE", path).status == 404
    assert web.get("/api/sessions").json == []
    assert web.get("/api/kernels").json == []


def test_a_change_is_answered_when_the_old_kernel_has_ended(web: Web) -> None:
    body = {"path": "x", "type": "notebook", "kernel": {"name": "python3"}}
    made = web.post("/api/sessions", body).json
    with Kernel(web, made["kernel"]["id"]).socket() as socket:
        # Its end takes a while.
        socket.run("import atexit, time; atexit.register(time.sleep, 1.5)")
    path = f"/api/sessions/{made['id']}"
    changed = web.ask("PATCH", path, {"kernel": {"name": "python3"}})
    assert changed.status == 200, changed
    listed = [model["id"] for model in web.get("/api/kernels").json]
    assert listed == [changed.json["kernel"]["id"]]
    assert web.get(path).json["kernel"]["id"] == listed[0]
    # The next one has ended before it is to be.
    web.delete(listed[0])
    answer = web.ask("PATCH", path, {"kernel": {"name": "python3"}})
    assert answer.status == 200, answer
    web.ask("DELETE", path)
    assert web.get("/api/kernels").json == []


def test_a_session_whose_kernel_ended_first(web: Web) -> None:
    body = {"path": "x", "type": "console", "name": "", "kernel": {}}
    made = web.post("/api/sessions", body).json
    assert "notebook" not in made
    web.delete(made["kernel"]["id"])
    answer = web.ask("DELETE", f"/api/sessions/{made['id']}")
    assert answer.status == 410, answer
    assert web.get("/api/sessions").json == []


def test_bad_sessions(web: Web) -> None:
    for body, word in [
        (None, "No JSON data"),
        ({"path": "x"}, "type"),
        ({"type": "notebook"}, "path"),
        (
            {"path": "x", "type": "console", "kernel": {"id": UNKNOWN}},
            "No such kernel",
        ),
    ]:
        answer = web.post("/api/sessions", body)
        assert answer.status == 400, answer
        assert word in answer.json["message"], answer
    old = web.post(
        "/api/sessions",
        {"notebook": {"path": "x.ipynb"}, "kernel": {"name": "python3"}},
    )
    assert old.status == 201, old
    answer = web.ask("DELETE", f"/api/sessions/{old.json['id']}")
    assert answer.status == 204


def test_unknown_paths_and_methods(web: Web) -> None:
    for path in ("/", "/tree", "/api/none", "/api/kernels/a/b/c"):
        answer = web.get(path)
        assert answer.status == 404, answer
        assert answer.json["reason"] == "Not Found"
    answer = web.ask("PUT", "/api/kernels")
    assert answer.status == 405, answer
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert web.get("/api/kernels/").status == 200
    head = web.ask("HEAD", "/api/kernels")
    assert head.status == 200
    assert head.body == b""
    assert head.headers["Content-Length"] == "2"


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"memory": "3G"}, "limits/memory: 3G is more than"),
        ({"memory": 1}, "limits/memory"),
        ({"memories": 1}, "limits/memories"),
        ("512M", "must be an object"),
    ],
)
def test_limits_that_cannot_be(web: Web, limits: Any, says: str) -> None:
    document = {"path": "a", "type": "notebook"}
    for path, body in (("/api/kernels", {}), ("/api/sessions", document)):
        answer = web.post(path, {**body, "limits": limits})
        assert answer.status == 400
        assert says in answer.json["message"]


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"packages": {"cooldown": 60}}, "packages/cooldown: 60 is less than"),
        ({"packages": {"hosts": ["x.example"]}}, "packages/hosts"),
        ({"packages": {"deny": [7]}}, "packages/deny"),
        ({"packages": "no"}, "packages must be an object"),
        ({"packages": {"offline": None}}, "packages/offline"),
        ({"packages": {"require_hashes": 2}}, "packages/require_hashes"),
        ({"fetch": {"max_bytes": "5G"}}, "fetch/max_bytes: 5G is more than"),
        ({"fetch": {"private": []}}, "fetch/private"),
        ({"fetch": ["allow"]}, "fetch must be an object"),
    ],
)
def test_rules_that_are_not_stricter(web: Web, rules: Any, says: str) -> None:
    document = {"path": "a", "type": "notebook"}
    for path, body in (("/api/kernels", {}), ("/api/sessions", document)):
        answer = web.post(path, {**body, **rules})
        assert answer.status == 400
        assert says in answer.json["message"]


def test_stricter_rules_than_the_profiles(web: Web) -> None:
    rules = {
        "packages": {"deny": ["torch"], "cooldown": 1209600, "cells": False},
        "fetch": {"allow": [], "max_bytes": 65536},
    }
    document = {"path": "rules", "type": "notebook"}
    for path, body in (("/api/kernels", {}), ("/api/sessions", document)):
        answer = web.post(path, {**body, **rules})
        assert answer.status == 201, answer
        kernel = answer.json.get("kernel", answer.json)["id"]
        model = web.get(f"/hearth/sessions/{kernel}").json
        assert {name: model[name] for name in rules} == rules
        # What a model has can be asked for again.
        again = web.post("/api/kernels", rules).json["id"]
        for one in (kernel, again):
            assert web.ask("DELETE", f"/api/kernels/{one}").status == 204


def test_lower_limits_than_the_profiles(web: Web) -> None:
    answer = web.post("/api/kernels", {"limits": {"memory": "1G"}})
    assert answer.status == 201, answer
    kernel = answer.json["id"]
    model = web.gateway.json("session", "show", "--json", kernel)
    assert model["limits"] == {"memory": 1 << 30}
    assert web.ask("DELETE", f"/api/kernels/{kernel}").status == 204


def ask_until_it_is_gone(web: Web, path: str, seen: set[int]) -> None:
    try:
        while True:
            seen.add(web.get(path).status)
    except (OSError, http.client.HTTPException):
        return  # the gateway has ended


def test_orders_while_the_gateway_stops() -> None:
    """A session whose thread has ended already answers no request; the client
    gets an error, and the gateway ends all the same."""
    gateway = Gateway("--set", "profile/python3/pool/min=3").start()
    try:
        web = Web.of(gateway)
        kernel = web.create()
        seen: set[int] = set()
        threads = [
            threading.Thread(
                target=ask_until_it_is_gone,
                args=(web, f"/api/kernels/{kernel}", seen),
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        wait_for(lambda: 200 in seen, "an answer")
        gateway.terminate()
        for thread in threads:
            thread.join(DEADLINE)
            assert not thread.is_alive()
        assert seen <= {200, 503}
    finally:
        gateway.end()
