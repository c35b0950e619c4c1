"""Commands and terminals at E2B's door, by hand-made messages."""

from __future__ import annotations

import array
import fcntl
import json
import struct
import termios
from collections.abc import Iterator
from typing import Any, Optional

import pytest
from deadline import wait_for
from door import (
    STREAM,
    Box,
    Door,
    Json,
    command,
    encoded,
    frame,
    of,
    of_type,
    output,
)
from harness import Gateway, started
from rpc import Rpc
from web import Kernel, Web

WAITS = "read x; echo got $x; echo err >&2"


@pytest.fixture(scope="module")
def door(web: Web) -> Door:
    return Door(web)


@pytest.fixture(scope="module")
def box(door: Door) -> Iterator[Box]:
    made = door.create(timeout=3600, envVars={"OF_ALL": "1", "BOTH": "all"})
    yield made
    made.kill()


@pytest.fixture
def hasty() -> Iterator[Gateway]:
    """It forgets a session at once when that has ended."""
    with started(Gateway("--set", "sessions/gone_keep=0s")) as running:
        yield running


class Live:
    """A stream whose messages are read as they come."""

    def __init__(
        self,
        box: Box,
        procedure: str,
        message: Json,
        headers: Optional[dict[str, str]] = None,
    ) -> None:
        self.connection = box.door.web.connect()
        sent = {**box.headers, "Content-Type": STREAM, **(headers or {})}
        path = f"{box.door.web.base}e2b/process.Process/{procedure}"
        self.connection.request("POST", path, frame(message), sent)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        self.pid: int = of(self.next())["start"]["pid"]

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self.connection.close()

    def next(self) -> Json:
        """The next one that does not only keep the stream alive."""
        while True:
            _, size = struct.unpack(">BI", self.answer.read(5))
            message: Json = json.loads(self.answer.read(size))
            if "keepalive" not in message.get("event", {}):
                return message

    def rest(self) -> list[Json]:
        """The events that are left, of a stream that ends well."""
        events = []
        while (message := self.next()) != {}:
            events.append(of(message))
        return events


def meant(pid: int, **more: Any) -> Json:
    return {"process": {"pid": pid}, **more}


def send(box: Box, pid: int, data: bytes, kind: str = "stdin") -> None:
    asked = meant(pid, input={kind: encoded(data)})
    answer = box.call("SendInput", asked)
    assert (answer.status, answer.json) == (200, {}), answer


def listed(box: Box) -> list[int]:
    answer = box.call("List", {})
    assert answer.status == 200, answer
    return [process["pid"] for process in answer.json["processes"]]


def refused(box: Box, code: str, *asked: Any, status: int, **more: Any) -> str:
    answer = box.call(*asked, **more)
    assert (answer.status, answer.json["code"]) == (status, code), answer
    sentence: str = answer.json["message"]
    return sentence


def unread(live: Live) -> int:
    """Bytes that have come and were not read."""
    answer = array.array("i", [0])
    fcntl.ioctl(live.connection.sock, termios.FIONREAD, answer)
    return answer[0]


def wait_stuck(live: Live) -> None:
    """Until no more comes, because the client does not read."""
    seen: list[int] = []

    def look() -> bool:
        seen.append(unread(live))
        return len(seen) > 10 and seen[-10] == seen[-1] > 0

    wait_for(look, "a stream that is full")


# ---- commands ----


def test_a_command(box: Box) -> None:
    code = "echo out; echo err >&2; echo $OF_ALL $BOTH $ONE; pwd; exit 3"
    start, *data, end = box.command(code, envs={"BOTH": "one", "ONE": "1"})
    assert start["start"]["pid"] > 1
    assert output(data) == b"out\n1 one 1\n/workspace\n"
    assert output(data, "stderr") == b"err\n"
    assert end["end"] == {
        "exitCode": 3,
        "exited": True,
        "status": "exit status 3",
        "error": "exit status 3",
    }
    end = box.command("true")[-1]["end"]
    assert end == {"exitCode": 0, "exited": True, "status": "exit status 0"}
    end = box.command("kill -KILL $$")[-1]["end"]
    assert (end["exitCode"], end["exited"]) == (-1, False)
    assert end["error"] == end["status"] == "signal: killed"
    # Without input there is an end of it.
    assert output(box.command("cat; echo end")) == b"end\n"


@pytest.mark.parametrize(
    ("cwd", "there"),
    [
        ("/home/user", "/workspace"),
        ("~/of a command", "/workspace/of a command"),
        ("of a command", "/workspace/of a command"),
        ("/workspace/of a command", "/workspace/of a command"),
        ("/usr", "/usr"),
    ],
)
def test_folders_of_commands(box: Box, cwd: str, there: str) -> None:
    box.command("mkdir -p 'of a command'")
    assert output(box.command("pwd", cwd=cwd)).decode() == f"{there}\n"


def test_input(box: Box) -> None:
    with Live(box, "Start", command("cat; echo end", stdin=True)) as live:
        send(box, live.pid, b"one\n")
        assert output([of(live.next())]) == b"one\n"
        asked: list[Json] = [
            {"start": meant(live.pid)},
            {"data": {"input": {"stdin": encoded(b"two ")}}},
            {"keepalive": {}},
            {"data": {"input": {"stdin": encoded(b"three\n")}}},
        ]
        assert box.stream("StreamInput", *asked) == [{}, {}]
        assert box.call("CloseStdin", meant(live.pid)).json == {}
        *data, end = live.rest()
        assert output(data) == b"two three\nend\n"
        assert end["end"]["exitCode"] == 0


def test_input_that_waits_for_the_program(box: Box) -> None:
    """More than the session holds for it."""
    code = "cat | wc -c"
    with Live(box, "Start", command(code, stdin=True)) as live:
        send(box, live.pid, bytes(1_000_000))
        assert box.call("CloseStdin", meant(live.pid)).status == 200
        assert output(live.rest()) == b"1000000\n"


def test_input_that_is_not_read(box: Box) -> None:
    with Live(box, "Start", command("sleep 600", stdin=True)) as live:
        asked = meant(live.pid, input={"stdin": encoded(bytes(1_000_000))})
        limit = {"Connect-Timeout-Ms": "1500"}
        sentence = refused(
            box,
            "resource_exhausted",
            "SendInput",
            asked,
            status=429,
            headers=limit,
        )
        assert "bytes of input wait" in sentence
        box.call("SendSignal", meant(live.pid, signal="SIGNAL_SIGKILL"))
        assert live.rest()[-1]["end"]["status"] == "signal: killed"


def test_a_client_that_goes_away(box: Box) -> None:
    """The command goes on, and the next client gets all that it has said."""
    with Live(box, "Start", command(f"echo a; {WAITS}", stdin=True)) as live:
        assert output([of(live.next())]) == b"a\n"
        pid = live.pid
    assert pid in listed(box)
    first, second = (Live(box, "Connect", meant(pid)) for _ in range(2))
    with first, second:
        send(box, pid, b"it\n")
        for again in (first, second):
            assert again.pid == pid
            *data, end = again.rest()
            assert output(data) == b"a\ngot it\n"
            assert output(data, "stderr") == b"err\n"
            assert end["end"]["exitCode"] == 0
    assert pid not in listed(box)
    # And when it has ended.
    start, *data, end = map(of, box.stream("Connect", meant(pid))[:-1])
    assert start["start"]["pid"] == pid
    assert output(data) == b"a\ngot it\n"
    assert end["end"]["exitCode"] == 0


def test_signals_and_lists(box: Box) -> None:
    text = "sleep 600"
    with Live(box, "Start", command(text)) as live:
        (process,) = [
            process
            for process in box.call("List", {}).json["processes"]
            if process["pid"] == live.pid
        ]
        assert process["config"] == {
            "cmd": "/bin/bash",
            "args": ["-l", "-c", text],
            "cwd": "/workspace",
        }
        signal = box.call("SendSignal", meant(live.pid, signal=15))
        assert signal.status == 200, signal
        (end,) = live.rest()
        assert end["end"]["status"] == "signal: terminated"
    for procedure, more in (
        ("SendSignal", {"signal": "SIGNAL_SIGKILL"}),
        ("SendInput", {"input": {"stdin": ""}}),
        ("CloseStdin", {}),
        ("Update", {"pty": {"size": {"rows": 2, "cols": 2}}}),
    ):
        asked = meant(live.pid, **more)
        sentence = refused(box, "not_found", procedure, asked, status=404)
        assert f"no process {live.pid} that runs" in sentence


def test_the_time_of_a_command(box: Box) -> None:
    box.command("true")  # its kernel is ready
    limit = {"Connect-Timeout-Ms": "200"}
    events = box.stream("Start", command("sleep 600"), headers=limit)
    assert events[-1]["error"]["code"] == "deadline_exceeded"
    assert "time limit of 0.2 s" in events[-1]["error"]["message"]


def test_a_kernel_that_dies(door: Door) -> None:
    """Commands end with it, and the next one waits for its replacement."""
    box = door.create()
    with Live(box, "Start", command("sleep 600")) as live:
        (error,) = of_type(box.run("import os; os._exit(1)"), "error")
        assert error["name"] == "KernelDied"
        assert live.next()["error"]["code"] == "unavailable"
    assert output(box.command("echo again")) == b"again\n"
    with Live(box, "Start", command("sleep 600")) as live:
        box.kill()
        assert live.next()["error"]["code"] == "unavailable"
    answer = box.call("List", {})
    assert (answer.status, answer.json["code"]) == (502, "unavailable")
    (gone,) = box.stream("Start", command("true"))
    assert "was not found" in gone["error"]["message"]


def test_a_stream_that_is_not_read(box: Box) -> None:
    """Its command waits, and nothing else does."""
    with Live(box, "Start", command("yes")) as live:
        assert output(box.command("echo here")) == b"here\n"
        asked = meant(live.pid, signal="SIGNAL_SIGKILL")
        assert box.call("SendSignal", asked).status == 200
        wait_for(lambda: live.pid not in listed(box), "its end")
        assert live.rest()[-1]["end"]["status"] == "signal: killed"


def test_a_terminal(box: Box) -> None:
    size = {"rows": 24, "cols": 80}
    asked = {
        "process": {
            "cmd": "/bin/bash",
            "args": ["-i", "-l"],
            "envs": {"PS1": "> ", "TERM": "vt100"},
        },
        "pty": {"size": size},
    }
    with Live(box, "Start", asked) as live:
        larger = {"size": {"rows": 30, "cols": 100}}
        assert box.call("Update", meant(live.pid, pty=larger)).json == {}
        send(box, live.pid, b"stty size; echo $TERM; exit 5\n", "pty")
        *data, end = live.rest()
        said = output(data, "pty")
        assert b"30 100\r\nvt100\r\n" in said
        assert output(data) == b""
        assert end["end"]["exitCode"] == 5
    with Live(box, "Start", command("sleep 600")) as live:
        sentence = refused(
            box,
            "invalid_argument",
            "Update",
            meant(live.pid, pty=larger),
            status=400,
        )
        assert "only a process with a terminal" in sentence
        box.call("SendSignal", meant(live.pid, signal=9))


def test_who_may(door: Door, box: Box, web: Web, gateway: Gateway) -> None:
    made = gateway.json("token", "create", "--json", "--scope", "observe", "t")
    key = {"X-Access-Token": made["token"]}
    assert box.call("List", {}, key).status == 200
    for procedure in ("SendInput", "CloseStdin", "SendSignal", "Update"):
        refused(
            box,
            "permission_denied",
            procedure,
            meant(1),
            status=403,
            headers=key,
        )
    for procedure in ("Start", "Connect", "StreamInput"):
        answer = door.ask(
            "POST",
            f"/process.Process/{procedure}",
            None,
            {**box.headers, **key, "Content-Type": STREAM},
            frame(command("true")),
        )
        assert answer.status == 403, answer
        assert answer.json["code"] == "permission_denied"
    wrong = {"X-Access-Token": "wrong"}
    refused(box, "unauthenticated", "List", {}, status=401, headers=wrong)
    gateway.run("token", "revoke", made["id"])


# ---- requests that are wrong ----


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0",
        b"\0\0\0\0",
        b"\0\0\0\0\0",
        b"\0\0\0\0\x02[]",
        b"\0\0\0\0\x02{x",
        b"\0\0\0\0\x04\xff\xfe\0\0",
        b"\0\0\0\0\x09{}",
        b"\0\xff\xff\xff\xff{}",
        b"\0\x80\0\0\0" + frame(command("true")),
        frame(command("true"), 1),
        frame(command("true"), 2),
        frame(command("true"), 0x80),
        frame(command("true")) * 2,
        frame(command("true")) + b"\0",
        frame({}),
        frame({"process": []}),
        frame({"process": {"cmd": ["/bin/bash"]}}),
        frame({"process": {"cmd": "/bin/bash", "args": {"0": "-c"}}}),
        frame({"process": {"cmd": "/bin/\0bash"}}),
        frame({"process": {"cmd": "/no/such/program"}}),
        frame(command("true", cwd="/no/such/folder")),
        frame(command("true", cwd="a\0b")),
        frame(command("true", cwd="x" * 5000)),
        frame(command("true", envs={"A": 1})),
        frame(command("true", envs={"A=B": "1"})),
        frame(command("true", envs={"": "1"})),
        frame(command("true", envs={"A": "x" * 200_000})),
        frame(command("true " + "x" * 200_000)),
        frame({"process": {"cmd": "/bin/true", "args": ["x"] * 5000}}),
        frame({**command("true"), "tag": "t"}),
        frame({**command("true"), "pty": {"size": {"rows": -1, "cols": 1}}}),
        frame({**command("true"), "pty": {"size": {"rows": 1, "cols": 1e9}}}),
        b"\0\0\0\xc3\x50" + b"[" * 50_000,
    ],
)
def test_beginnings_that_are_wrong(box: Box, raw: bytes) -> None:
    (last,) = box.stream("Start", raw=raw)
    assert last["error"]["code"] == "invalid_argument"
    assert last["error"]["message"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        frame({}),
        frame({"start": {}}),
        frame({"start": {"process": {"pid": "1"}}}),
        frame({"data": {"input": {"stdin": "YQ=="}}}),
        frame({"start": meant(1)}) + frame({"data": {"input": {"stdin": "?"}}}),
        frame({"start": meant(1)}) + b"\0\0\0\0\x09{}",
    ],
)
def test_streams_of_input_that_are_wrong(box: Box, raw: bytes) -> None:
    (last,) = box.stream("StreamInput", raw=raw)
    assert last["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("procedure", "asked"),
    [
        ("SendInput", {}),
        ("SendInput", {"process": 7}),
        ("SendInput", meant(2**63 - 1)),
        ("SendInput", meant(0, input={"stdin": ""})),
        ("SendInput", meant(-1, input={"stdin": ""})),
        ("SendInput", meant(1, input={"stdin": 7})),
        ("SendInput", meant(1, input={"stdin": "YQ"})),
        ("SendInput", meant(1, input={"else": ""})),
        ("SendInput", {"process": {"tag": "t"}, "input": {"stdin": ""}}),
        ("SendSignal", meant(1)),
        ("SendSignal", meant(1, signal="SIGNAL_UNSPECIFIED")),
        ("SendSignal", meant(1, signal=0)),
        ("SendSignal", meant(1, signal=19)),
        ("Update", meant(1)),
        ("Update", meant(1, pty={"size": {"rows": "1", "cols": 1}})),
        ("CloseStdin", meant(0)),
    ],
)
def test_orders_that_are_wrong(box: Box, procedure: str, asked: Json) -> None:
    refused(box, "invalid_argument", procedure, asked, status=400)


def test_processes_of_others(door: Door, box: Box) -> None:
    """A number counts in its own sandbox alone; 1 is no command there."""
    other = door.create()
    with Live(other, "Start", command("sleep 600")) as live:
        free = next(n for n in range(live.pid, 10**6) if n not in listed(box))
        for pid in (1, free):
            asked = meant(pid, signal="SIGNAL_SIGKILL")
            refused(box, "not_found", "SendSignal", asked, status=404)
        (last,) = box.stream("Connect", meant(10**6))
        assert last["error"]["code"] == "not_found"
        assert listed(other) == [live.pid]
    other.kill()


def test_types_and_headers(door: Door, box: Box) -> None:
    path = "/process.Process/Start"
    for kind in ("application/json", "application/proto", "text/plain", ""):
        sent = {**box.headers, "Content-Type": kind}
        answer = door.ask("POST", path, None, sent, frame(command("true")))
        assert answer.status == 415, answer
        assert answer.json["code"] == "invalid_argument"
    sent = {"Content-Type": STREAM}
    refused(box, "invalid_argument", "List", {}, status=415, headers=sent)
    for time in ("x", "-1", "1" * 11):
        limit = {"Connect-Timeout-Ms": time}
        (last,) = box.stream("Start", command("true"), headers=limit)
        assert last["error"]["code"] == "invalid_argument"
        refused(box, "invalid_argument", "List", {}, status=400, headers=limit)
    answer = box.ask("POST", "/process.Process/None", {})
    assert (answer.status, answer.json["code"]) == (404, "not_found")
    beside = door.web.with_token(door.key).ask("GET", "/e2bx")
    assert beside.status == 404
    assert "code" not in beside.json


# ---- streams that are not read ----


def test_a_session_comes_back_beside_a_stream_of_before(hasty: Gateway) -> None:
    web = Web.of(hasty)
    box = Door(web).create(timeout=3600)
    with Live(box, "Start", command("yes")) as live:
        wait_stuck(live)
        hasty.run("session", "delete", box.id)
        wait_for(lambda: not hasty.sessions("--all"), "no session")
        rpc = Rpc(web)
        again = rpc.call("session", action="restart", session=box.id)
        assert not again["isError"], again
        code: Json = {"command": "echo hi", "seconds": 60}
        done = rpc.call("session", action="run", session=box.id, **code)
        assert done["content"][-1]["text"].endswith("\nhi\n"), done


def test_a_socket_does_not_end_a_stream(web: Web, door: Door) -> None:
    """Its session_id is a name among WebSockets only."""
    box = door.create()
    kernel = Kernel(web, box.id)
    with Live(box, "Start", command(WAITS, stdin=True)) as live:
        for number in range(1, 100):
            query = {"session_id": f"process.{number}"}
            kernel.socket(query=query).ready().close()
        send(box, live.pid, b"in\n")
        events = live.rest()
        assert output(events) == b"got in\n"
        assert events[-1]["end"]["exitCode"] == 0
    kernel.close()
