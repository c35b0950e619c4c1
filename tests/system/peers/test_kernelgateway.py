"""Jupyter Kernel Gateway's command line, variables and WebSocket test list."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
import websocket
from certificates import signed
from conftest import TOKEN
from deadline import wait_for
from kernelgateway import KernelGateway
from web import Kernel, Socket, Web

UNKNOWN = "00000000-0000-4000-8000-000000000000"


# --- The command line ---


def test_token_is_in_no_kernels_environment(  # A-SM1
    kernel_gateway: KernelGateway, kernel: Kernel
) -> None:
    assert Web.of(kernel_gateway).token == TOKEN
    code = f"""
import os, pathlib
found = [k for k, v in os.environ.items() if k[:3] == 'KG_' or {TOKEN!r} in v]
for path in pathlib.Path('/proc').glob('[0-9]*/environ'):
    try:
        found += [str(path)] * (b'KG_AUTH' in path.read_bytes())
    except PermissionError:
        pass
found"""
    with kernel.socket() as ws:
        assert ws.value(code) == "[]"
    assert TOKEN not in kernel_gateway.log.read_text()


def test_options_win_over_variables(made: KernelGateway) -> None:
    made.options = [
        "--KernelGatewayApp.auth_token='from-the-line'",
        "--port", "18711",
        "--KernelGatewayApp.base_url=deep/er",
        "--JupyterApp.log_level=WARN",
        "--KernelGatewayApp.max_kernels=2",
        "--MappingKernelManager.cull_idle_timeout=77",
        "-y",
        "--LabApp.collaborative=True",
        "--KernelGatewayApp.trust_xheaders=True",
    ]  # fmt: skip
    made.variables = {
        "KG_AUTH_TOKEN": "of-the-environment",
        "KG_PORT": "18712",
        "KG_IP": "localhost",
        "KG_PRESPAWN_COUNT": "2",
        "KG_ENV_WHITELIST": "HOME",
        "KG_FORCE_KERNEL_NAME": "python3",
        "KG_ALLOW_ORIGIN": "https://lab.example.org",
    }
    made.start()
    web = Web.of(made)
    assert web.token == "from-the-line"
    assert web.url == f"http://127.0.0.1:{web.port}/deep/er/"
    assert 18711 <= web.port < 18711 + 51
    assert web.with_token("of-the-environment").get("/api/me").status == 401
    # test_max_kernels; and whatever name is asked for, it is the forced one.
    names = ("nonsense", "python3")
    ids = [web.create(name=name) for name in names]
    refused = web.post("/api/kernels")
    assert refused.status == 403, refused
    web.delete(ids[0])
    ids[0] = web.create()
    shown = made.json("session", "show", "--json", ids[0])
    assert shown["profile"] == "python3"
    assert shown["idle_timeout"] == 77
    said = [
        line for line in made.log.read_text().splitlines() if "used" in line
    ]
    assert [line.split()[1] for line in said] == [
        "--LabApp.collaborative",
        "trust_xheaders",
    ]
    assert "from-the-line" not in made.log.read_text()
    preflight = web.with_token(None).ask(
        "OPTIONS", "/api/kernels", headers={"Origin": "https://lab.example.org"}
    )
    assert preflight.status in (200, 204)
    allowed = preflight.headers["Access-Control-Allow-Origin"]
    assert allowed == "https://lab.example.org"


def test_cors_as_configured(made: KernelGateway) -> None:
    """7.5: test_cors_headers, _options_headers; on every answer."""
    page = {"Origin": "https://lab.example.org"}
    made.variables = {
        "KG_PORT": "0",
        "KG_ALLOW_ORIGIN": page["Origin"],
        "KG_ALLOW_CREDENTIALS": "false",
        "KG_ALLOW_HEADERS": "Authorization, X-Own",
        "KG_ALLOW_METHODS": "GET, POST",
        "KG_EXPOSE_HEADERS": "Location, X-Reported",
        "KG_MAX_AGE": "5",
    }
    made.start()
    web = Web.of(made)
    for method in ("GET", "OPTIONS"):
        reported = web.ask(method, "/api/kernels", headers=page).headers
        start = "Access-Control-"
        assert reported[start + "Allow-Origin"] == page["Origin"]
        assert reported[start + "Allow-Credentials"] is None
        assert reported[start + "Allow-Headers"] == "Authorization, X-Own"
        assert reported[start + "Allow-Methods"] == "GET, POST"
        assert reported[start + "Expose-Headers"] == "Location, X-Reported"
    assert reported[start + "Max-Age"] == "5"
    assert "used" not in made.log.read_text()


def test_any_origin(made: KernelGateway) -> None:
    """7.5: test_check_origin. Never with a cookie."""
    made.variables = {"KG_PORT": "0", "KG_ALLOW_ORIGIN": "*"}
    made.start()
    page = {"Origin": "https://lab.example.org"}
    answer = Web.of(made).get("/api/kernelspecs", headers=page)
    assert answer.status == 200
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Credentials"] is None


def test_no_discovery(made: KernelGateway) -> None:
    """7.5: a client that has an id may use it all the same."""
    made.variables = {"KG_PORT": "0", "KG_LIST_KERNELS": "False"}
    made.start()
    web = Web.of(made)
    kernel = web.create()
    for path in ("/api/kernels", "/api/sessions"):
        answer = web.get(path)
        assert answer.status == 403, answer
        assert answer.json["reason"] == "Forbidden"
        assert kernel not in answer.body.decode()
    assert web.get(f"/api/kernels/{kernel}").status == 200


def test_kernels_that_wait(made: KernelGateway) -> None:
    """7.5: test_prespawn_count."""
    made.variables = {"KG_PORT": "0", "KG_PRESPAWN_COUNT": "2"}
    made.start()

    def pool() -> dict[str, int]:
        found: dict[str, int] = made.info()["profiles"][0]["pool"]
        return found

    wait_for(lambda: pool()["ready"] == 2, "two kernels that wait")
    assert pool()["target"] == 2
    web = Web.of(made)
    assert web.get("/api/kernels").json == []
    web.create()
    assert pool()["handed_out"] == 1
    assert pool()["forked"] == 0


def test_default_profile(made: KernelGateway) -> None:
    config = made.folder / "hearth.cfg"
    config.write_text("profile\n    bare\n        display_name = Bare\n")
    made.env["HEARTH_CONFIG"] = str(config)
    made.variables = {"KG_DEFAULT_KERNEL_NAME": "bare", "KG_PORT": "0"}
    made.start()
    web = Web.of(made)
    assert web.token is None  # as Kernel Gateway
    assert web.get("/api/kernelspecs").json["default"] == "bare"
    kernel = web.create()
    assert web.get(f"/api/kernels/{kernel}").json["name"] == "bare"


@pytest.mark.parametrize(
    ("words", "variables", "sentence"),
    [
        (["--KernelGatewayApp.auth_tokn=x"], {}, "auth_tokn"),
        (["--prot=1"], {}, "prot"),
        (["--port"], {}, "needs a value"),
        (["8888"], {}, "options begin with --"),
        (["--port=eight"], {}, "port: http/port"),
        (["--seed_uri=x.ipynb"], {}, "x.ipynb: No such file"),
        (["--client-ca=/nonexistent"], {}, "No such file"),
        (["--client-ca=/etc/passwd"], {}, "it is for HTTPS"),
        (["--api=kernel_gateway.notebook_http"], {}, "jupyter_websocket"),
        (["--certfile=/nonexistent"], {}, "No such file"),
        (["--KernelGatewayApp.kernel_manager_class=a.B"], {}, "classes"),
        ([], {"KG_SEED_URI": "http://x/y"}, "comes by https://"),
        ([], {"KG_DEFAULT_KERNEL_NAME": "ir"}, "no profile 'ir'"),
        ([], {"KG_FORCE_KERNEL_NAME": "ir"}, "no profile 'ir'"),
        ([], {"KG_MAX_KERNELS": "-1"}, "max_kernels"),
        ([], {"KG_LIST_KERNELS": "maybe"}, "neither True nor False"),
    ],
)
def test_refuses_with_a_sentence(
    made: KernelGateway,
    words: list[str],
    variables: dict[str, str],
    sentence: str,
) -> None:
    said = made.refusal(*words, **variables)
    assert said.returncode in (2, 5), said
    assert sentence in said.stderr
    assert not said.stdout


def test_help(made: KernelGateway) -> None:
    said = made.refusal("--help")
    assert said.returncode == 0
    assert "KG_AUTH_TOKEN" in said.stdout
    assert made.run("kernelgateway", "--help").stdout == said.stdout
    assert made.run("kernelgateway", "--version").stdout.startswith("hearth ")


def test_tls(made: KernelGateway) -> None:
    pem = str(signed(made.folder, "localhost"))
    made.variables = {
        "KG_CERTFILE": pem,
        "KG_KEYFILE": pem,
        "KG_PORT": "0",
        "KG_AUTH_TOKEN": "t",
    }
    made.start()
    web = Web.of(made)
    assert web.is_tls
    assert web.get("/api/kernels").json == []


# --- Its list of WebSocket tests, written anew ---


def test_nothing_runs_at_the_start(web: Web) -> None:
    for path in ("/api/kernels", "/api/sessions"):
        answer = web.get(path)
        assert (answer.status, answer.json) == (200, [])


def test_headless(web: Web) -> None:
    assert web.get("/tree").status == 404


def test_token_everywhere(web: Web, kernel: Kernel) -> None:
    anonymous = web.with_token(None)
    for path in (
        "/api/kernelspecs",
        "/api/kernels",
        f"/api/kernels/{kernel.id}",
    ):
        for who in (anonymous, web.with_token("fake-token")):
            answer = who.get(path)
            assert answer.status == 401, (path, answer)
            assert answer.json["reason"] == "Unauthorized"
    assert anonymous.post("/api/kernels").status == 401
    for token in (None, "fake-token"):
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            Socket(web.with_token(token), kernel.id)
        assert refused.value.status_code == 401
    with kernel.socket(header=["authorization: TOKEN " + TOKEN]) as ws:
        ws.ready()


def test_options_need_no_token(web: Web) -> None:
    assert web.with_token(None).ask("OPTIONS", "/api").status in (200, 204)


def test_foreign_origin(web: Web) -> None:
    foreign = {"Origin": "http://fake.example"}
    answer = web.with_token(None).get("/api", headers=foreign)
    assert answer.status == 404


def test_kernel_info_within_ten_messages(kernel: Kernel) -> None:
    with kernel.socket() as ws:
        message: dict[str, Any] = {
            "header": {
                "username": "",
                "version": "5.0",
                "session": uuid.uuid4().hex,
                "msg_id": "fake-msg-id",
                "msg_type": "kernel_info_request",
            },
            "parent_header": {},
            "channel": "shell",
            "content": {},
            "metadata": {},
            "buffers": {},
        }
        ws.ws.send(json.dumps(message))
        for _ in range(10):
            found = json.loads(ws.ws.recv())
            # Its helper reads this of every message.
            assert found["parent_header"]["msg_id"]
            if found["msg_type"] == "kernel_info_reply":
                break
        else:
            pytest.fail("no kernel_info_reply within ten messages")


def test_sessions_from_the_first_to_the_last(web: Web) -> None:
    made = web.post(
        "/api/sessions",
        {
            "id": "any-id",
            "notebook": {"path": "/some/path.ipynb"},
            "kernel": {"name": "python3"},
        },
    )
    assert made.status == 201, made
    kernel = Kernel(web, made.json["kernel"]["id"])
    web.gateway.note_namespace(
        web.gateway.json("session", "show", "--json", kernel.id)["pid"]
    )
    with kernel.socket() as ws:
        ws.ready()
    assert len(web.get("/api/sessions").json) == 1
    gone = web.ask("DELETE", f"/api/sessions/{made.json['id']}")
    assert gone.status == 204
    assert web.get("/api/sessions").json == []


def test_errors_are_json(web: Web) -> None:
    unknown = web.get(f"/api/kernels/{UNKNOWN}")
    assert unknown.status == 404
    assert UNKNOWN in unknown.json["message"]
    nowhere = web.get("/api/nowhere")
    assert nowhere.json["reason"] == "Not Found"


def test_kernels_live_and_die(web: Web) -> None:
    kernel = web.create(name="python3", env={"KERNEL_USERNAME": "x"})
    assert [k["id"] for k in web.get("/api/kernels").json] == [kernel]
    assert web.ask("DELETE", f"/api/kernels/{kernel}").status == 204
    assert web.get(f"/api/kernels/{kernel}").status == 404


def test_unknown_kernel_is_refused_at_the_handshake(web: Web) -> None:
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        Socket(web, UNKNOWN)
    assert refused.value.status_code == 404
