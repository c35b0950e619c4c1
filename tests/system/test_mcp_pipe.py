"""`hearth mcp`: the Model Context Protocol over standard input and output, and
a gateway that is killed in the middle of a call."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import threading
from typing import Any, ClassVar, Iterator, Optional

import pytest
import tomllib
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from pipe import META, Json, Pipe, session_of, text_of


@pytest.fixture
def pipe(gateway: Gateway) -> Iterator[Pipe]:
    made = Pipe(gateway)
    yield made
    made.close()


def end(pipe: Pipe, session: str) -> None:
    pipe.ask(
        "tools/call",
        {"name": "session", "arguments": {"action": "end", "session": session}},
    )


def test_both_eras(pipe: Pipe) -> None:
    found = pipe.ask("server/discover")["result"]
    assert "2026-07-28" in found["supportedVersions"]
    assert found["capabilities"]["resources"]["listChanged"] is True
    assert found["capabilities"]["tools"] == {"listChanged": False}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
    found = pipe.ask("initialize", asked, modern=False)["result"]
    assert found["protocolVersion"] == "2025-06-18"
    offered = found["capabilities"]
    assert offered["resources"] == {"subscribe": True, "listChanged": True}
    assert offered["tools"] == {"listChanged": False}
    pipe.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert pipe.ask("ping", modern=False)["result"] == {}
    assert len(pipe.ask("tools/list", modern=False)["result"]["tools"]) == 5


def test_the_last_line_needs_no_newline(gateway: Gateway) -> None:
    pipe = Pipe(gateway)
    assert pipe.process.stdin
    pipe.process.stdin.write(
        '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
        '{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    )
    pipe.process.stdin.close()
    assert sorted(pipe.read()["id"] for _ in range(2)) == [1, 2]
    assert pipe.process.wait(DEADLINE) == 0


def test_a_wrong_initialize_is_answered(pipe: Pipe) -> None:
    wrong: tuple[Any, ...] = (None, [], {}, {"protocolVersion": 7})
    for params in wrong:
        pipe.write(
            {
                "jsonrpc": "2.0",
                "id": "i",
                "method": "initialize",
                "params": params,
            }
        )
        answer = pipe.read()
        assert answer["id"] == "i"
        assert answer["error"]["code"] == -32602
        assert " must be " in answer["error"]["message"]
    assert pipe.ask("initialize", {"protocolVersion": "x"}, modern=False)[
        "result"
    ]


def test_the_list_of_resources_is_notified(pipe: Pipe) -> None:
    """Since 2026-07-28 a request opens the stream, also here."""
    wanted = {"resourcesListChanged": True, "toolsListChanged": True}
    listening = pipe.send("subscriptions/listen", {"notifications": wanted})
    taken = pipe.read()
    assert taken["method"] == "notifications/subscriptions/acknowledged"
    assert taken["params"]["notifications"] == {"resourcesListChanged": True}
    number = pipe.execute("1")
    changed = pipe.read()
    assert changed["method"] == "notifications/resources/list_changed"
    meta = changed["params"]["_meta"]
    assert meta[f"{META}subscriptionId"] == listening
    answer = pipe.read()
    while answer.get("id") != number:
        answer = pipe.read()
    cancelled = {"requestId": listening}
    pipe.write(
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": cancelled,
        }
    )
    session = session_of(answer)
    arguments = {"action": "end", "session": session}
    number = pipe.send(
        "tools/call", {"name": "session", "arguments": arguments}
    )
    while pipe.read().get("id") != number:
        pass


class Old(Pipe):
    """A client of a revision with `initialize`, which subscribes to a resource
    before it says that it is ready: so it hears when its stream is open."""

    def __init__(self, gateway: Gateway, uri: str, *words: str) -> None:
        super().__init__(gateway, *words)
        self.heard: list[Json] = []
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self.result("initialize", asked)
        assert self.result("resources/subscribe", {"uri": uri}) == {}
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert self.hear("updated") == [{"uri": uri}]

    def result(self, method: str, params: Optional[Json] = None) -> Json:
        number = self.send(method, params, modern=False)
        while (answer := self.read()).get("id") != number:
            self.heard.append(answer)
        found: Json = answer["result"]
        return found

    def hear(self, what: str) -> list[Json]:
        """Wait for a notification. Return the parameters of all until then."""
        heard = []
        while True:
            message = self.heard.pop(0) if self.heard else self.read()
            assert "id" not in message, message
            heard.append(message.get("params", {}))
            if message["method"] == f"notifications/resources/{what}":
                return heard


def notebook_of(session: Session) -> str:
    return f"hearth://sessions/{session.id}/notebook.ipynb"


def test_older_clients_subscribe(gateway: Gateway, session: Session) -> None:
    uri = notebook_of(session)
    old = Old(gateway, uri)
    # By another client, and by this one.
    session.exec("1")
    assert old.hear("updated") == [{"uri": uri}]
    given = {"code": "2", "session": session.id}
    old.result("tools/call", {"name": "execute", "arguments": given})
    assert old.hear("updated") == [{"uri": uri}]
    assert old.result("resources/unsubscribe", {"uri": uri}) == {}
    session.exec("3")
    other = gateway.create()
    assert {"uri": uri} not in old.hear("list_changed")
    other.delete()
    old.close()


def test_a_client_that_has_not_introduced_itself_hears_nothing(
    gateway: Gateway, pipe: Pipe
) -> None:
    session = gateway.create()
    uri = f"hearth://sessions/{session.id}"
    refused = pipe.ask("resources/subscribe", {"uri": uri}, modern=False)
    assert "initialize gives it" in refused["error"]["message"]
    session.exec("1")
    assert pipe.ask("ping", modern=False)["result"] == {}
    session.delete()


def test_subscriptions_outlive_a_gateway_that_is_killed() -> None:
    gateway = Gateway().start()
    try:
        session = gateway.create()
        uri = notebook_of(session)
        old = Old(gateway, uri)
        gateway.kill()
        gateway.start()
        # Something may have happened meanwhile.
        assert old.hear("updated") == [{"uri": uri}]
        session.exec("1")
        assert old.hear("updated") == [{"uri": uri}]
        old.close()
    finally:
        gateway.end()


def test_a_pipe_of_one_session_notifies_of_it(
    gateway: Gateway, session: Session
) -> None:
    uri = notebook_of(session)
    bound = Old(gateway, uri, "--session", session.id)
    session.exec("1")
    assert bound.hear("updated") == [{"uri": uri}]
    other = gateway.create()
    refused = bound.ask(
        "resources/subscribe", {"uri": notebook_of(other)}, modern=False
    )
    assert "no such resource" in refused["error"]["message"]
    other.delete()
    bound.close()


def test_an_invalid_message_is_answered(pipe: Pipe) -> None:
    assert pipe.process.stdin
    pipe.process.stdin.write("{\n")
    pipe.process.stdin.flush()
    answer = pipe.read()
    assert answer["error"]["code"] == -32700
    assert answer["id"] is None
    assert pipe.ask("server/discover")["result"]


def test_calls_do_not_wait_for_each_other(pipe: Pipe) -> None:
    pipe.execute("import os, time")
    session = session_of(pipe.read())
    slow = pipe.execute(
        "while not os.path.exists('go'): time.sleep(0.01)\n'slow'",
        session=session,
    )
    fast = pipe.send("server/discover")
    assert pipe.read()["id"] == fast
    written = {"action": "write", "path": "go", "content": "x"}
    go = pipe.send(
        "tools/call",
        {"name": "files", "arguments": {"session": session, **written}},
    )
    answers = {answer["id"]: answer for answer in (pipe.read(), pipe.read())}
    assert set(answers) == {slow, go}
    assert "slow" in text_of(answers[slow])
    end(pipe, session)


def test_a_cancelled_call_is_interrupted(pipe: Pipe) -> None:
    pipe.execute("kept = 1")
    session = session_of(pipe.read())
    number = pipe.execute(
        "import time\nwhile True: time.sleep(0.01)", session=session
    )

    def shown() -> str:
        return text_of(
            pipe.ask(
                "tools/call",
                {
                    "name": "session",
                    "arguments": {"action": "show", "session": session},
                },
            )
        )

    wait_for(lambda: "busy" in shown(), "a busy session")
    pipe.write(
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": number},
        }
    )
    wait_for(lambda: "idle" in shown(), "an idle session")
    pipe.execute("kept + 1", session=session)
    assert text_of(pipe.read()).splitlines()[1] == "2"
    end(pipe, session)


def test_a_pipe_of_one_session(gateway: Gateway, pipe: Pipe) -> None:
    pipe.execute("kept = 41")
    session = session_of(pipe.read())
    bound = Pipe(gateway, "--session", session)
    bound.execute("kept + 1")
    assert text_of(bound.read()).splitlines()[1] == "42"
    bound.close()
    end(pipe, session)


def test_without_a_gateway() -> None:
    gateway = Gateway()
    try:
        pipe = Pipe(gateway)
        # Nothing was asked: nothing is looked for.
        pipe.close()
    finally:
        gateway.sweep()


class Recorder(http.server.BaseHTTPRequestHandler):
    """A gateway that gives each client the session `abc`."""

    deleted: ClassVar[list[dict[str, str]]] = []

    def say(self, status: int, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "abc")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"protocolVersion": "2025-06-18"}
        self.say(200, {"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def do_DELETE(self) -> None:
        self.deleted.append({"path": self.path, **dict(self.headers)})
        self.say(200, {})

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_an_older_client_that_ends_is_forgotten() -> None:
    """A client without a session has nothing that could be forgotten."""
    Recorder.deleted.clear()
    gateway = Gateway()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        env = {"HEARTH_URL": f"http://127.0.0.1:{server.server_port}"}
        try:
            modern = Pipe(gateway, env=env)
            modern.ask("server/discover")
            modern.close()
            assert not Recorder.deleted
            old = Pipe(gateway, env=env)
            asked = {"protocolVersion": "2025-06-18", "capabilities": {}}
            old.ask("initialize", asked, modern=False)
            old.close()
        finally:
            server.shutdown()
            thread.join()
            gateway.sweep()
    (deleted,) = Recorder.deleted
    assert deleted["path"] == "/mcp"
    assert deleted["Mcp-Session-Id"] == "abc"
    assert deleted["MCP-Protocol-Version"] == "2025-06-18"


def started_by(agent: str, shown: str) -> list[str]:
    """Return the command that an agent reads in what is printed for it."""
    if agent == "claude":
        words = shlex.split(shown)
        assert words[:5] == ["claude", "mcp", "add", "hearth", "--"]
        return words[5:]
    if agent == "codex":
        servers = tomllib.loads(shown)["mcp_servers"]
    else:
        servers = json.loads(shown)[
            "servers" if agent == "vscode" else "mcpServers"
        ]
    assert list(servers) == ["hearth"]
    return [servers["hearth"]["command"], *servers["hearth"]["args"]]


@pytest.mark.parametrize("agent", ["claude", "codex", "cursor", "vscode"])
def test_tools_for_agents(gateway: Gateway, agent: str) -> None:
    shown = gateway.run("mcp", "config", agent).stdout
    assert started_by(agent, shown) == [os.path.realpath(HEARTH), "mcp"]
    assert gateway.run("mcp", "config", "nonsense").returncode == 2


def test_a_gateway_that_is_killed_in_the_middle() -> None:
    """The call is answered by the next gateway, and its code has run once."""
    call = {
        "name": "execute",
        "arguments": {
            "code": "import os, time\n"
            "open('runs', 'a').write('x')\n"
            "while not os.path.exists('go'): time.sleep(0.01)\n"
            "len(open('runs').read())"
        },
        "_meta": {"hearth/key": "a turn"},
    }
    gateway = Gateway().start()
    try:
        pipe = Pipe(gateway)
        number = pipe.send("tools/call", call)
        wait_for(
            lambda: [
                s
                for s in gateway.json("session", "list", "--json")
                if s["state"] == "busy"
            ],
            "a busy session",
        )
        (shown,) = gateway.json("session", "list", "--json")
        gateway.note_namespace(shown["pid"])
        gateway.kill()
        gateway.start()
        gateway.run("files", "put", shown["id"], "/dev/null", "go")
        answer = pipe.read()
        assert answer["id"] == number
        # A machine that is very slow answers RUNNING, or that it is not ready.
        while " ok " not in text_of(answer).split("\n", maxsplit=1)[0]:
            assert "STATE LOST" not in text_of(answer), answer
            answer = pipe.ask("tools/call", call)
        assert text_of(answer).splitlines()[-1] == "1"
        pipe.close()
    finally:
        gateway.end()


def test_a_command_under_a_gateway_that_is_killed() -> None:
    """The call is sent to the next gateway; the command has run once."""
    gateway = Gateway().start()
    try:
        pipe = Pipe(gateway)
        pipe.execute("1")
        session = session_of(pipe.read())
        gateway.note_namespace(
            gateway.json("session", "show", "--json", session)["pid"]
        )
        call = {
            "name": "session",
            "arguments": {
                "action": "run",
                "session": session,
                "command": "read line; echo $line >> runs\n"
                "until test -e go; do sleep 0.1; done; cat runs",
                "input": "once\n",
                "seconds": 300,
            },
            "_meta": {"hearth/key": "a turn"},
        }
        number = pipe.send("tools/call", call)
        wait_for(
            lambda: gateway.run("files", "get", session, "runs", "-").stdout,
            "a command that has begun",
        )
        gateway.kill()
        gateway.start()
        gateway.run("files", "put", session, "/dev/null", "go")
        answer = pipe.read()
        assert answer["id"] == number
        # A machine that is very slow answers that it is not ready.
        while "it exited with 0" not in text_of(answer):
            answer = pipe.ask("tools/call", call)
        assert text_of(answer).splitlines()[1:] == ["once"]
        pipe.close()
    finally:
        gateway.end()
