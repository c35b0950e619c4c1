"""MCP servers that the configuration names by a URL: every session of the
profile has their tools, as it has those of programs."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from authority import Authority
from deadline import DEADLINE, wait_for
from fake_mcp import KEY, FakeMcp, Handler
from harness import HEARTH, Gateway, Session
from processes import start_time
from tool_gateway import IMPORT, ToolGateway, error_of, run

ADD = "tools.add(a=2, b=40)"


@pytest.fixture(name="serve")
def serve_one(serve: Any) -> Any:
    """A gateway with one server, `weather`."""

    def make(
        entry: dict[str, Any], *options: str, **variables: str
    ) -> ToolGateway:
        gateway: ToolGateway = serve(
            *options, variables=variables, weather=entry
        )
        return gateway

    return make


@pytest.fixture(params=["legacy", "modern"])
def server(request: pytest.FixtureRequest) -> Iterator[FakeMcp]:
    with FakeMcp(request.param) as made:
        yield made


def start(session: Session, code: str) -> subprocess.Popen[bytes]:
    """A cell that runs meanwhile."""
    return subprocess.Popen(
        [HEARTH, "exec", session.id, "-c", IMPORT + code],
        env=session.gateway.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_a_session_has_its_tools(serve: Any, server: FakeMcp) -> None:
    gateway = serve(
        {"type": "http", "url": server.url, "headers": {"Authorization": KEY}}
    )
    count = 5 if server.is_modern else 6
    assert gateway.wait_server("weather", "ready")["tools"] == count
    session = gateway.create()
    assert run(session, ADD) == "{'sum': 42}\n"
    assert run(session, "tools.key()") == "'set'\n"
    text = (
        "import asyncio\n"
        "async def all():\n"
        "    calls = [tools.add(a=i, b=1) for i in range(20)]\n"
        "    return sum(one['sum'] for one in await asyncio.gather(*calls))\n"
        "print(await all())"
    )
    assert run(session, text) == "210\n"


def test_its_key_stays_outside(serve: Any, server: FakeMcp) -> None:
    """It is in no argument, no variable, no log, no journal and no audit."""
    gateway = serve(
        {
            "url": f"{server.url}?key=${{URL_KEY}}",
            "headers": {"Authorization": "Bearer ${SECRET}"},
        },
        SECRET="s3cret",
        URL_KEY="hidd3n",
    )
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    assert run(session, "tools.key()") == "'set'\n"
    secrets = (b"s3cret", b"hidd3n")
    code = "import os; [one for one in os.environ.values() if '3' in one]"
    assert "s3cret" not in run(session, code)
    for pid in gateway.processes("weather"):
        for name in ("cmdline", "environ"):
            text = Path(f"/proc/{pid}/{name}").read_bytes()
            assert not any(one in text for one in secrets)
    with server.script("tools/call", lambda handler: handler.send(401)):
        said = error_of(session, ADD)
    assert f"the server weather ({server.origin}) wants a key or" in said

    def echo(handler: Handler) -> None:
        text = f"{handler.asked.headers['authorization']} {handler.path}"
        handler.error(403, -32000, text)

    with server.script("tools/call", echo):
        said = error_of(session, ADD)
    assert "the key in `headers` lacks a right: *** /mcp?***" in said
    gateway.terminate()
    for path in gateway.folder.rglob("*"):
        if path.is_file() and path != gateway.file:
            text = path.read_bytes()
            assert not any(one in text for one in secrets), path


def test_a_server_that_is_not_there_yet(serve: Any, server: FakeMcp) -> None:
    """The fault says why, and its tools come when it answers."""

    def refuse(handler: Handler) -> None:
        handler.error(401, -32000, "no \x1b[31mkey")

    with (
        server.script("initialize", refuse),
        server.script("server/discover", refuse),
    ):
        gateway = serve({"url": server.url})
        said = gateway.wait_server("weather", "failed", "(401)")["fault"]
    assert said.startswith(
        f"the server weather: {server.origin} wants a key or refuses it (401); "
        "`headers` must have the right Authorization: no key; it is started"
    )
    assert gateway.wait_server("weather", "ready")["tools"] >= 5
    assert run(gateway.create(), ADD) == "{'sum': 42}\n"


def test_a_variable_that_is_not_set(serve: Any, server: FakeMcp) -> None:
    def refuse(handler: Handler) -> None:
        handler.send(401)

    methods = ("initialize", "server/discover")
    server.scripts.update(dict.fromkeys(methods, refuse))
    key = {"Authorization": "Bearer ${NOT_SET_HERE}"}
    gateway = serve({"url": server.url, "headers": key})
    said = gateway.wait_server("weather", "failed", "(401)")["fault"]
    assert "; the variable NOT_SET_HERE of its entry is not set" in said


def test_the_end_of_a_call_is_said(serve: Any, server: FakeMcp) -> None:
    """The limit of a call ends it here and there."""
    gateway = serve(
        {"url": server.url}, "--set", "profile/python3/limits/tool_seconds=1"
    )
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    assert "no answer came in 1 s" in error_of(session, "tools.hang()")
    server.wait(lambda: server.left)
    if not server.is_modern:
        server.wait(lambda: "notifications/cancelled" in server.methods())
    assert run(session, ADD) == "{'sum': 42}\n"


@pytest.mark.parametrize("order", ["interrupt", "restart", "delete"])
def test_a_call_that_no_code_waits_for(
    serve: Any, server: FakeMcp, order: str
) -> None:
    """The server learns it, long before the limit of the call."""
    gateway = serve(
        {"url": server.url}, "--set", "profile/python3/limits/tool_seconds=9999"
    )
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    cell = start(session, "tools.hang()")
    server.wait(lambda: "tools/call" in server.methods())
    done = gateway.run("session", order, session.id)
    assert done.returncode == 0, (done.stdout, done.stderr)
    server.wait(lambda: server.left)
    if not server.is_modern:
        server.wait(lambda: "notifications/cancelled" in server.methods())
    cell.wait(DEADLINE)
    assert run(gateway.create(), ADD) == "{'sum': 42}\n"


def test_a_worker_that_is_killed(serve: Any, server: FakeMcp) -> None:
    """Its calls fail, and it reads its key anew."""
    gateway = serve({"url": server.url, "headers": {"Authorization": KEY}})
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    code = (
        "saved = None\ntry:\n    tools.hang()\n"
        "except ToolError as error:\n    saved = str(error)"
    )
    cell = start(session, code)
    server.wait(lambda: "tools/call" in server.methods())
    os.kill(gateway.processes("weather")[1], 9)
    assert cell.wait(DEADLINE) == 0
    assert "the server weather has ended; it is started again in 1 s" in run(
        session, "saved"
    )
    wait_for(
        lambda: "42" in error_of(session, f"print({ADD})"),
        "a worker that was started again",
    )
    assert run(session, "tools.key()") == "'set'\n"


def test_a_killed_gateway_leaves_no_worker(serve: Any, server: FakeMcp) -> None:
    gateway = serve({"url": server.url})
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    old = gateway.processes("weather")
    code = (
        "saved = None\ntry: tools.hang()\nexcept ToolError as e: saved = str(e)"
    )
    cell = start(session, code)
    server.wait(lambda: "tools/call" in server.methods())
    gateway.kill()
    server.wait(lambda: server.left)
    wait_for(lambda: not any(start_time(pid) for pid in old), "their end")
    cell.kill()
    cell.wait(DEADLINE)
    gateway.start()
    gateway.wait_server("weather", "ready")
    assert "the gateway was started again" in run(session, "saved")
    wait_for(
        lambda: "42" in error_of(session, f"print({ADD})"),
        "the next gateway's worker",
    )


def test_a_replay_asks_no_server(serve: Any, server: FakeMcp) -> None:
    gateway = serve({"url": server.url})
    gateway.wait_server("weather", "ready")
    session = gateway.create()
    assert run(session, f"print({ADD})") == "{'sum': 42}\n"
    asked = server.methods().count("tools/call")
    done = gateway.run("notebook", "replay", session.id)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert server.methods().count("tools/call") == asked == 1


def test_another_gateway_is_a_server(serve: Any) -> None:
    """hearth's own endpoint of MCP, with its own token."""
    other = Gateway()
    other.start()
    try:
        http = other.info()["http"]
        token = {"Authorization": f"Bearer {http['token']}"}
        gateway = serve({"url": f"{http['url']}mcp", "headers": token})
        assert gateway.wait_server("weather", "ready")["tools"] == 5
        session = gateway.create()
        said = run(session, "print(tools.execute(code='print(6 * 7)'))")
        assert "42" in said
    finally:
        other.end()


def test_over_tls_with_an_authority_of_ones_own(
    serve: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = Authority(tmp_path_factory.mktemp("authority"), "ours")
    pair = authority.issue("IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with FakeMcp("modern", context) as server:
        entry = {"url": server.url}
        gateway = serve(
            entry, "--set", f"fetch/ca_file={authority.certificate}"
        )
        gateway.wait_server("weather", "ready")
        assert run(gateway.create(), ADD) == "{'sum': 42}\n"
        other = serve(entry)
        said = other.wait_server("weather", "failed", "certificate")["fault"]
        assert "not trusted" in said
        assert "fetch/ca_file names the authorities" in said


def test_what_config_check_finds(folders: Gateway) -> None:
    servers = folders.folder / "mcp.json"
    url = "https://x.example/mcp"
    key = {"Authorization": "Bearer ${NOT_SET_HERE}"}
    file = folders.folder / "hearth.cfg"
    file.write_text(
        "profile\n    python3\n        tools\n"
        f"            servers = {servers}\n"
    )

    def check(entry: dict[str, Any], mode: int) -> tuple[int, str]:
        servers.write_text(json.dumps({"mcpServers": {"a": entry}}))
        servers.chmod(mode)
        done = folders.run("config", "check", "-f", str(file))
        return done.returncode, done.stdout + done.stderr

    status, said = check({"url": url, "headers": key}, 0o644)
    assert status == 0, said
    assert "server a: the variable NOT_SET_HERE is not set here" in said
    assert "there is no program" not in said
    status, said = check({"url": url, "headers": {"X-Key": "s3cret"}}, 0o644)
    assert status != 0
    assert "a: other users can read the file, and so the header X-Key" in said
    assert "s3cret" not in said
    assert check({"url": url, "headers": {"X-Key": "s3cret"}}, 0o600)[0] == 0
    status, said = check({"url": f"{url}?key=s3cret"}, 0o644)
    assert status != 0
    assert "and so the query of `url`; let the gateway's user own it" in said
    assert "s3cret" not in said
    status, said = check({"url": "${NOT_SET_HERE}/mcp"}, 0o600)
    assert status != 0
    assert "`url` names the variable NOT_SET_HERE, which is not set" in said
    status, said = check({"url": url, "type": "sse"}, 0o600)
    assert status != 0
    assert '`type` "sse" is a transport that MCP has given up' in said
