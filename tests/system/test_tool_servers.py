"""MCP servers that the configuration names: every session of the profile has
their tools, from its first cell."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from processes import children, start_time
from tool_gateway import IMPORT, SERVERS, ToolGateway, error_of, run

PROGRAM = Path(__file__).with_name("mcp_tool_server.py")


def entry(kind: str, **env: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": [str(PROGRAM), kind],
        "env": env,
    }


@pytest.fixture(scope="module")
def good() -> Iterator[ToolGateway]:
    """One with a server that several tests use."""
    gateway = ToolGateway({"good": entry("good")})
    gateway.start()
    yield gateway
    gateway.end()


def works(session: Session) -> bool:
    code = "try: print(tools.add(a=2, b=40))\nexcept ToolError: print('no')"
    return run(session, code) == "{'sum': 42}\n"


def test_from_the_first_cell(good: ToolGateway) -> None:
    assert good.wait_server("good", "ready")["tools"] == 8
    for _ in range(3):  # of the pool, and made when asked for
        session = good.create()
        assert run(session, "tools.add(a=2, b=40)") == "{'sum': 42}\n"
        assert "city is not known" in error_of(
            session, "tools.refuse(a=1, b=1)"
        )


def test_a_call_is_no_output(good: ToolGateway) -> None:
    """Gets an answer even after too much output."""
    good.wait_server("good", "ready")
    session = good.create("--limit", "cell_output=1M")
    assert run(session, "tools.key(a='x' * (2 << 20), b=1)") == "'not set'\n"
    session.exec(
        IMPORT + "try:\n"
        "    while True: print('x' * 999)\n"
        "except KeyboardInterrupt:\n"
        "    try: tools.add(a=2, b=40)\n"
        "    except ToolError as error: found = f'{error.reason} {error}'\n"
    )
    assert run(session, "print(found)") == (
        "limit add: the cell gave more output than is permitted and is "
        "interrupted: it can call nothing any more\n"
    )


def test_refused_calls_have_an_end(good: ToolGateway) -> None:
    """Each is a message of its cell, though it is no output."""
    good.wait_server("good", "ready")
    session = good.create(
        *("--limit", "cell_messages=100", "--limit", "tool_calls=1")
    )
    code = (
        IMPORT + "while True:\n"
        "    try: tools.add(a=2, b=40)\n"
        "    except ToolError: pass\n"
    )
    done = good.run("exec", "--json", session.id, "-c", code)
    reply = json.loads(done.stdout)
    assert reply["ename"] == "OutputLimitExceeded"
    assert "101 messages" in reply["evalue"]
    assert run(session, "tools.add(a=2, b=40)['sum']") == "42\n"


def test_a_session_that_was_there_before(serve: Any) -> None:
    gateway = serve(good=entry("good"))
    session = gateway.create()
    wait_for(
        lambda: "add" in run(session, "print(sorted(tools))"),
        "tools of a server that has just started",
    )
    assert works(session)


def test_keys_stay_outside(serve: Any) -> None:
    """A server has the variables that its entry names, and no session."""
    gateway = serve(
        variables={"SECRET": "s3cret", "THE_KEY": "another"},
        keyed=entry("good", THE_KEY="${SECRET}"),
    )
    gateway.wait_server("keyed", "ready")
    session = gateway.create()
    assert run(session, "tools.key(a=1, b=1)") == "'set'\n"
    code = "import os; {'SECRET', 'THE_KEY'} & set(os.environ)"
    assert run(session, code) == "set()\n"
    server = next(iter(children(gateway.bridge("keyed"))))
    environment = Path(f"/proc/{server}/environ").read_bytes().split(b"\0")
    assert b"THE_KEY=s3cret" in environment
    assert not any(one.startswith(b"SECRET=") for one in environment)


def test_what_the_profile_permits(serve: Any) -> None:
    gateway = serve(
        "--set", "profile/python3/tools/allow=add, text", good=entry("good")
    )
    assert gateway.wait_server("good", "ready")["tools"] == 2
    session = gateway.create()
    assert run(session, "sorted(tools)") == "['add', 'text']\n"
    one = gateway.create("--tools", "text")
    assert "may not call it" in error_of(one, "tools['add'](a=1, b=1)")


def test_a_server_that_ends_is_started_again(good: ToolGateway) -> None:
    good.wait_server("good", "ready")
    session, other = good.create(), good.create()
    said = error_of(session, "tools.die(a=1, b=1)")
    assert "has ended; it is started again in 1 s" in said
    wait_for(lambda: works(other), "a server that was started again")
    assert works(session)


def test_its_process_is_started_again(good: ToolGateway) -> None:
    good.wait_server("good", "ready")
    session = good.create()
    cell = hanging(session)
    os.kill(good.bridge("good"), signal.SIGKILL)
    assert "its process has ended; it is started again" in saved(session)
    cell.wait(DEADLINE)
    wait_for(lambda: works(session), "a process that was started again")


def metrics(gateway: Gateway) -> dict[str, float]:
    """Return the metrics of its tool server, by the names of the samples."""
    http = gateway.info()["http"]
    request = urllib.request.Request(
        f"{http['url']}metrics",
        headers={"Authorization": f"token {http['token']}"},
    )
    with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
        text = answer.read().decode()
    found = re.findall(
        r'^hearth_tool_server_(\w+){profile="python3",server="good"} (\d+)$',
        text,
        re.MULTILINE,
    )
    return {name: float(value) for name, value in found}


def test_its_calls_and_starts_are_counted(serve: Any) -> None:
    gateway = serve(good=entry("good"))
    gateway.wait_server("good", "ready")
    session = gateway.create()
    for _ in range(3):
        assert works(session)
    assert metrics(gateway) == {
        "ready": 1,
        "tools": 8,
        "starts_total": 1,
        "calls_total": 3,
        "refused_total": 0,
    }

    def is_refused() -> bool:
        """One call meets the end of the process, the next one its absence."""
        os.kill(gateway.bridge("good"), signal.SIGKILL)
        return not works(session) and not works(session)

    wait_for(is_refused, "a call that is refused")
    server = gateway.servers()["good"]
    assert server["refused"] >= 1
    assert metrics(gateway)["refused_total"] == server["refused"]
    wait_for(lambda: works(session), "a process that was started again")
    gateway.wait_server("good", "ready")
    after = metrics(gateway)
    assert after["starts_total"] >= 2
    assert after["calls_total"] >= 4
    assert after["ready"] == 1


def hanging(session: Session) -> subprocess.Popen[bytes]:
    """A cell whose call is not answered; its error is kept in `saved`."""
    code = (
        "saved = None\ntry:\n    tools.hang(a=1, b=1)\n"
        "except ToolError as error:\n    saved = str(error)"
    )
    cell = subprocess.Popen(
        [HEARTH, "exec", session.id, "-c", IMPORT + code],
        env=session.gateway.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    session.wait_journaled(["tool_call"])
    return cell


def saved(session: Session) -> str:
    """The error of that cell, once it has ended."""
    return run(session, "print(saved)")


def test_a_call_that_hangs_holds_up_no_other(good: ToolGateway) -> None:
    good.wait_server("good", "ready")
    session, other = good.create(), good.create()
    cell = hanging(session)
    assert works(other)
    done = good.run("session", "interrupt", session.id)
    assert "variables preserved" in done.stdout
    cell.wait(DEADLINE)
    assert works(session)


def test_a_server_that_asks_and_is_cancelled(serve: Any) -> None:
    limit = "profile/python3/limits/tool_seconds=1"
    gateway = serve("--set", limit, asks=entry("asks"))
    gateway.wait_server("asks", "ready")
    session = gateway.create()

    def heard(count: int) -> list[dict[str, Any]]:
        """The server's first messages; [] also if it is slow to say so."""
        code = "try: print(tools.heard(a=1, b=1))\nexcept ToolError: print([])"
        found: list[dict[str, Any]] = json.loads(run(session, code))
        return found if len(found) >= count else []

    assert wait_for(lambda: heard(3), "what the server heard") == [
        {
            "jsonrpc": "2.0",
            "method": "initialize",
            "id": 1,
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hearth", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "id": "p", "result": {}},
        {
            "jsonrpc": "2.0",
            "id": 7,
            "error": {
                "code": -32601,
                "message": "the client has no such method",
            },
        },
    ]
    hanging(session).wait(DEADLINE)
    last = wait_for(lambda: heard(4), "the call's cancellation")[3]
    assert last["method"] == "notifications/cancelled"
    assert last["params"]["reason"] == "its time is over"
    assert last["params"]["requestId"] > 3


def test_servers_that_are_of_no_use(serve: Any) -> None:
    """Each says why, and the others serve."""
    gateway = serve(
        good=entry("good"),
        garbage=entry("garbage"),
        many=entry("many"),
        endless=entry("endless"),
        absent={"command": "/nonexistent/server"},
        mute=entry("mute"),
        refusing=entry("refusing"),
    )
    gateway.wait_server("good", "ready")
    refusing = gateway.wait_server("refusing", "failed")["fault"]
    assert "the server refusing: no ?[31mlicence; it is started" in refusing
    many = gateway.wait_server("many", "failed")["fault"]
    assert "has 10000 tools, 256 are permitted" in many
    endless = gateway.wait_server("endless", "failed")["fault"]
    assert "lists tools without end" in endless
    absent = gateway.wait_server("absent", "failed")["fault"]
    assert "No such file or directory" in absent
    session = gateway.create()
    assert works(session)


@pytest.fixture(scope="module")
def unread() -> Iterator[Session]:
    """A session whose server gives answers that cannot be read."""
    gateway = ToolGateway({"odd": entry("unread")})
    try:
        gateway.start()
        gateway.wait_server("odd", "ready")
        yield gateway.create()
    finally:
        gateway.end()


UNREAD = {
    "half": "half of a surrogate pair at byte 51",
    "nan": "a value is expected at byte 75",
    "latin": "no UTF-8 at byte 45",
    "deep": "nested too deeply at byte",
    "digits": "an integer of too many digits at byte",
    "cut": "unfinished string at byte",
}


@pytest.mark.parametrize("tool", UNREAD)
def test_an_answer_that_cannot_be_read(unread: Session, tool: str) -> None:
    """It ends its call at once, which names the server and says why."""
    said = error_of(unread, f"tools.{tool}(a=1, b=1)")
    assert said.startswith(
        f"failed {tool}: the server odd sends an answer that cannot be read: "
        f"{UNREAD[tool]}"
    )
    assert works(unread)


def test_lines_that_are_no_answers(unread: Session) -> None:
    """They end no call: a server may print what is meant for people."""
    assert run(unread, "tools.logs(a=2, b=40)") == "{'sum': 42}\n"


def test_tools_that_cannot_be_read(serve: Any) -> None:
    gateway = serve(odd=entry("unlisted"))
    fault = gateway.wait_server("odd", "failed")["fault"]
    assert fault.startswith(
        "the server odd sends an answer that cannot be read: half of a "
        "surrogate pair at byte 51; it is started again"
    )


def test_a_killed_gateway_leaves_no_server(serve: Any) -> None:
    gateway = serve(good=entry("good"), mute=entry("mute"))
    gateway.wait_server("good", "ready")
    session = gateway.create()
    old = [gateway.bridge(name) for name in ("good", "mute")]
    old += [server for pid in old for server in children(pid)]
    assert len(old) == 4
    cell = hanging(session)
    gateway.kill()
    wait_for(
        lambda: not any(start_time(pid) for pid in old),
        "the end of the servers and of their processes",
    )
    cell.kill()
    cell.wait(DEADLINE)
    gateway.start()
    gateway.wait_server("good", "ready")
    assert "the gateway was started again" in saved(session)
    wait_for(lambda: works(session), "the next gateway's server")


def test_a_server_that_is_not_named_any_more(serve: Any) -> None:
    gateway = serve(good=entry("good"))
    gateway.wait_server("good", "ready")
    session = gateway.create()
    assert works(session)
    gateway.terminate()
    gateway.file.write_text('{"mcpServers": {}}')
    gateway.start()
    said = error_of(session, "tools.add(a=1, b=1)")
    assert "does not name its server any more" in said


def test_its_name_is_its_own(good: ToolGateway) -> None:
    good.wait_server("good", "ready")
    session = good.create()
    done = good.run(
        *("tools", "attach", "--no-start", "--name", "hearth.cfg/good"),
        *(session.id, "--", sys.executable, str(PROGRAM), "good"),
    )
    assert done.returncode == 1
    assert "are servers of the gateway's own" in done.stderr
    assert works(session)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "mcp.json:1: "),
        ("[]", '"mcpServers": {NAME: {"command"'),
        ('{"mcpServers": {"a b": {}}}', "a server's name is 1 to 64 letters"),
        ('{"mcpServers": {"a": 1}}', "a: an object is wanted"),
        ('{"mcpServers": {"a": {}}}', "a: `command` must name a program"),
        (
            '{"mcpServers": {"a": {"url": "http://x/mcp"}}}',
            "a: `url` is http, by which others can read its keys",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "args": [1]}}}',
            "a: `args` must be an array of texts",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "env": {"A=": "1"}}}}',
            "a: `env` must have texts, and names without =",
        ),
        (
            json.dumps(
                {"mcpServers": {f"s{i}": {"command": "x"} for i in range(9)}}
            ),
            "more than 8 servers",
        ),
    ],
)
def test_files_that_are_wrong(folders: Gateway, text: str, said: str) -> None:
    file = folders.folder / "mcp.json"
    file.write_text(text)
    refused = folders.refused("--set", f"{SERVERS}={file}")
    assert said in refused
    assert f"{SERVERS}: {file}" in refused


def test_what_config_check_finds(folders: Gateway) -> None:
    servers = folders.folder / "mcp.json"
    entries = {
        "absent": {"command": "no-such-server"},
        "keyed": {"command": sys.executable, "env": {"A": "${NOT_SET_HERE}"}},
    }
    servers.write_text(json.dumps({"mcpServers": entries}))
    file = folders.folder / "hearth.cfg"
    file.write_text(
        "profile\n    python3\n        tools\n"
        f"            servers = {servers}\n"
    )
    done = folders.run("config", "check", "-f", str(file))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "server absent: there is no program no-such-server" in said
    assert "server keyed: the variable NOT_SET_HERE is not set here" in said
