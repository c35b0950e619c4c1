"""E2B's door: the life of sandboxes, and code that runs in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from deadline import wait_for
from door import Box, Door, of_type
from harness import Gateway, Session
from web import Web

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture(scope="module")
def door(web: Web) -> Door:
    return Door(web)


@pytest.fixture(scope="module")
def box(door: Door) -> Iterator[Box]:
    made = door.create(timeout=3600)
    yield made
    made.kill()


# ---- life ----


def test_life(door: Door) -> None:
    box = door.create(timeout=600, metadata={"who": "me"})
    assert box.access["templateID"] == "code-interpreter-v1"
    assert box.access["envdAccessToken"] == door.key
    assert box.access["trafficAccessToken"] == door.key
    here = f"/sandboxes/{box.id}"
    seen = door.ask("GET", here).json
    assert seen["state"] == "running"
    assert seen["metadata"] == {"who": "me"}
    assert seen["cpuCount"] >= 1
    assert seen["memoryMB"] == 2048
    assert ISO.fullmatch(seen["startedAt"])
    assert box.ask("GET", "/health").status == 204
    box.kill()
    assert "There is no sandbox" in door.fails(404, "DELETE", here)
    for method, path in (
        ("GET", here),
        ("POST", f"{here}/timeout"),
        ("POST", f"/v2{here}/connect"),
    ):
        door.fails(404, method, path, {"timeout": 5} if method != "GET" else "")
    gone = box.ask("GET", "/health")
    assert gone.status == 502
    assert "was not found" in gone.json["message"]
    assert box.ask("POST", "/execute", {"code": "1"}).status == 502


def test_timeouts(door: Door) -> None:
    box = door.create(timeout=600)
    here = f"/sandboxes/{box.id}"

    def end() -> str:
        answer: str = door.ask("GET", here).json["endAt"]
        return answer

    first = end()
    connect = {"timeout": 60}
    assert door.ask("POST", f"/v2{here}/connect", connect).status == 200
    assert end() == first  # a client that connects never shortens it
    later = door.ask("POST", f"{here}/connect", {"timeout": 6000})
    assert later.json == box.access
    assert end() > first
    assert door.ask("POST", f"{here}/timeout", {"timeout": 5}).status == 204
    assert end() < first
    assert door.ask("POST", f"{here}/timeout", {"timeout": 0}).status == 204
    wait_for(lambda: box.ask("GET", "/health").status == 502, "its end")
    session = door.web.with_token(door.key).get(f"/hearth/sessions/{box.id}")
    assert session.status == 410


def test_the_first_version(door: Door) -> None:
    made = door.ask("POST", "/sandboxes", {"templateID": "python3"})
    assert made.status == 201, made
    box = Box(door, made.json)
    assert box.access["templateID"] == "python3"
    assert box.value("6 * 7") == "42"
    box.kill()


def test_lists(door: Door) -> None:
    boxes = [
        door.create(metadata={"n": str(i), "of": "a & b=ü"}) for i in range(3)
    ]

    def listed(query: str) -> list[str]:
        answer = door.ask("GET", f"/v2/sandboxes?{query}")
        assert answer.status == 200, answer
        return [model["sandboxID"] for model in answer.json]

    ids = [box.id for box in boxes]
    # JavaScript's client encodes names and values once, Python's twice.
    once = f"of={quote('a & b=ü')}"
    for pairs in (once, f"of={quote(quote('a & b=ü'))}"):
        mine = f"metadata={quote(pairs)}"
        assert listed(mine) == ids
    assert listed(f"{mine}&order=desc") == ids[::-1]
    assert listed(f"metadata={quote(once + '&n=1')}") == [ids[1]]
    assert listed(f"metadata={quote('n=7')}") == []
    assert listed(f"metadata={quote('n')}") == []
    assert listed(f"{mine}&state=paused") == []
    assert listed(f"{mine}&state=running%2Cpaused") == ids
    assert listed(f"{mine}&template=python3") == []
    page = door.ask("GET", f"/v2/sandboxes?{mine}&limit=2")
    assert [model["sandboxID"] for model in page.json] == ids[:2]
    token = page.headers["x-next-token"]
    rest = door.ask("GET", f"/sandboxes?{mine}&limit=2&nextToken={token}")
    assert [model["sandboxID"] for model in rest.json] == ids[2:]
    assert "x-next-token" not in rest.headers
    for query in ("limit=0", "limit=x", "nextToken=x", "order=x"):
        door.fails(400, "GET", f"/v2/sandboxes?{query}")
    for box in boxes:
        box.kill()


def test_sandboxes_outlive_the_gateway() -> None:
    gateway = Gateway().start()
    try:
        web = Web.of(gateway)
        box = Door(web).create(metadata={"a": "b"}, envVars={"WHO": "me"})
        box.run("kept = 41")
        gateway.kill()
        gateway.start()
        web.renew()
        door = Door(web)
        seen = door.ask("GET", f"/sandboxes/{box.id}")
        assert seen.json["metadata"] == {"a": "b"}
        again = Box(door, {**box.access, "envdAccessToken": door.key})
        code = "import os; os.environ['WHO'] + str(kept)"
        assert again.value(code) == "me41"
    finally:
        gateway.end()


# ---- code ----


def test_what_code_shows(box: Box) -> None:
    lines = box.run(
        "import sys\nprint('a')\nprint('b', file=sys.stderr)\n'quoted'"
    )
    types = [line["type"] for line in lines]
    assert types[0] == "number_of_executions"
    assert types[-1] == "end_of_execution"
    assert len(of_type(lines, "number_of_executions")) == 1
    (out,) = of_type(lines, "stdout")
    (err,) = of_type(lines, "stderr")
    assert (out["text"], err["text"]) == ("a\n", "b\n")
    assert ISO.fullmatch(out["timestamp"])
    (result,) = of_type(lines, "result")
    assert result == {
        "type": "result",
        "text": "quoted",
        "extra": {},
        "is_main_result": True,
    }


def test_what_code_displays(box: Box) -> None:
    shown = {
        "text/plain": "t",
        "text/html": "<b>",
        "text/markdown": "*m*",
        "image/svg+xml": "<svg/>",
        "image/png": "cG5n",
        "image/jpeg": "anBn",
        "application/pdf": "cGRm",
        "text/latex": "$x$",
        "application/json": {"a": [1, None]},
        "application/javascript": "1",
        "e2b/data": {"a": [1]},
        "e2b/chart": {"type": "line"},
        "application/x-own": {"b": 2},
    }
    code = f"from IPython.display import display\ndisplay({shown!r}, raw=True)"
    (result,) = of_type(box.run(code), "result")
    assert result == {
        "type": "result",
        "text": "t",
        "html": "<b>",
        "markdown": "*m*",
        "svg": "<svg/>",
        "png": "cG5n",
        "jpeg": "anBn",
        "pdf": "cGRm",
        "latex": "$x$",
        "json": {"a": [1, None]},
        "javascript": "1",
        "data": {"a": [1]},
        "chart": {"type": "line"},
        "extra": {"application/x-own": {"b": 2}},
        "is_main_result": False,
    }


def test_errors(box: Box) -> None:
    before = int(box.run("1")[0]["execution_count"])
    lines = box.run("print('so far')\n1 / 0\nprint('never')")
    assert lines[0]["execution_count"] == before + 1
    (error,) = of_type(lines, "error")
    assert error["name"] == "ZeroDivisionError"
    assert error["value"] == "division by zero"
    assert "1 / 0" in re.sub(r"\x1b\[[\d;]*m", "", error["traceback"])
    assert [line["text"] for line in of_type(lines, "stdout")] == ["so far\n"]
    assert lines[-1]["type"] == "end_of_execution"
    (error,) = of_type(box.run("input()"), "error")
    assert error["name"] == "StdinNotImplementedError"
    assert "put the value into the code" in error["traceback"]


def test_a_kernel_that_dies(door: Door) -> None:
    box = door.create()
    box.run("lost = 1")
    lines = box.run("import os; os._exit(1)")
    (error,) = of_type(lines, "error")
    assert error["name"] == "KernelDied"
    assert lines[-1]["type"] == "end_of_execution"
    (error,) = of_type(box.run("lost"), "error")
    assert error["name"] == "NameError"
    box.kill()


def test_a_sandbox_that_ends_while_code_runs(door: Door) -> None:
    box = door.create()
    with Stream(box, "import time; time.sleep(600)") as stream:
        assert stream.line()["type"] == "number_of_executions"
        box.kill()
        lines = stream.rest()
    assert len(of_type(lines, "error")) == 1
    assert lines[-1]["type"] == "end_of_execution"


def test_variables(door: Door) -> None:
    box = door.create(envVars={"OF_ALL": "1", "BOTH": "of all"})
    code = "import os; [os.environ.get(n) for n in ('OF_ALL', 'BOTH', 'ONE')]"
    assert box.value(code) == "['1', 'of all', None]"
    one = {"ONE": 'ü "\\\n\U0001f600', "BOTH": "of one"}
    value = box.value(code, env_vars=one)
    assert value == repr(["1", "of one", one["ONE"]])
    assert box.value(code) == "['1', 'of all', None]"
    box.run("1 / 0", env_vars=one)
    assert box.value(code) == "['1', 'of all', None]"
    # They leave no trace in the numbers of cells, nor in the namespace.
    assert box.run("1", env_vars=one)[0]["execution_count"] == 6
    assert box.value("[n for n in dir() if n == 'name']") == "[]"
    box.kill()


def test_contexts(door: Door) -> None:
    box = door.create()
    (context,) = box.ask("GET", "/contexts").json
    assert context["id"] == "default"
    assert context["language"] == "python"
    assert box.value("import os; os.getcwd()") == context["cwd"]
    assert box.value("kept = 1; kept", context_id="default") == "1"
    assert box.value("kept", language="python") == "1"
    refused = box.ask("POST", "/contexts", {})
    assert refused.status == 501
    assert "one kernel" in refused.json["message"]
    assert box.ask("DELETE", "/contexts/default").status == 409
    assert box.ask("DELETE", "/contexts/x").status == 404
    assert box.ask("POST", "/contexts/x/restart").status == 404
    again = box.ask("POST", "/contexts/default/restart")
    assert again.json == context
    (error,) = of_type(box.run("kept"), "error")
    assert error["name"] == "NameError"
    box.kill()


class Stream:
    """The lines of code while it runs."""

    def __init__(self, box: Box, code: str) -> None:
        self.connection = box.door.web.connect()
        self.connection.request(
            "POST",
            f"{box.door.web.base}e2b/execute",
            json.dumps({"code": code}),
            {**box.headers, "Content-Type": "application/json"},
        )
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self.connection.close()

    def line(self) -> dict[str, Any]:
        """The next one that does not only keep the stream alive."""
        while True:
            line: dict[str, Any] = json.loads(self.answer.readline())
            if line["type"] != "keepalive":
                return line

    def rest(self) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.answer.read().splitlines()]
        return [line for line in lines if line["type"] != "keepalive"]


def test_lines_come_at_once(box: Box) -> None:
    code = "print('now', flush=True)\nimport time\ntime.sleep(600)"
    with Stream(box, code) as stream:
        assert stream.line()["type"] == "number_of_executions"
        assert stream.line()["text"] == "now\n"


def count_aborted(box: Box) -> int:
    """Count the cells of its session that were aborted while they waited."""
    web = box.door.web.with_token(box.door.key)
    folder = Path(web.get(f"/hearth/sessions/{box.id}").json["journal"])
    text = b"".join(path.read_bytes() for path in folder.glob("*.log"))
    return text.count(b'"status":"aborted"')


def test_a_client_that_leaves_interrupts_its_code(door: Door) -> None:
    """Its code alone: what waits goes on, and the variables stay."""
    box = door.create()
    code = "import time\nhere = 1\nprint(here)\ntime.sleep(600)"
    with Stream(box, code) as stream:
        assert stream.line()["type"] == "number_of_executions"
        # That comes before the kernel has begun, and so could the interrupt.
        assert stream.line()["type"] == "stdout"
    assert box.value("here") == "1"
    with Stream(box, "time.sleep(600)") as running:
        assert running.line()["type"] == "number_of_executions"
        with Stream(box, "here = 2"):
            pass
        # The gateway sees in any order that two connections have ended.
        wait_for(lambda: count_aborted(box) == 1, "an abort while it waits")
    assert box.value("here") == "1"
    box.kill()


def test_a_gateway_that_stops_interrupts_no_code() -> None:
    gateway = Gateway("--set", "gateway/drain_grace=0")
    try:
        box = Door(Web.of(gateway.start())).create(timeout=3600)
        session = Session(
            gateway, gateway.json("session", "show", "--json", box.id)
        )
        code = (
            "import os, time\n"
            "while not os.path.exists('go'): time.sleep(0.01)\n"
            "'through'"
        )
        with Stream(box, code) as stream:
            assert stream.line()["type"] == "number_of_executions"
            gateway.terminate()
        gateway.start()
        (Path(session.show()["workspace"]) / "go").touch()
        session.wait_state("idle")
        assert "through" in session.exec("Out[1]").stdout
    finally:
        gateway.end()


# ---- what hearth has not ----


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("POST", "pause"),
        ("POST", "fork"),
        ("POST", "snapshots"),
        ("GET", "metrics"),
        ("GET", "logs"),
        ("PUT", "network"),
    ],
)
def test_refusals(door: Door, box: Box, method: str, what: str) -> None:
    body: Any = None if method == "GET" else {}
    sentence = door.fails(501, method, f"/sandboxes/{box.id}/{what}", body)
    assert len(sentence.split()) > 5


def test_watching_is_refused(box: Box) -> None:
    """In the last message of the stream: its clients read messages alone."""
    path = "/filesystem.Filesystem/CreateWatcher"
    answer = box.ask("POST", path, {"path": "."})
    assert (answer.status, answer.json["code"]) == (501, "unimplemented")
    answer = box.door.web.ask(
        "POST",
        "/e2b/filesystem.Filesystem/WatchDir",
        None,
        {**box.headers, "Content-Type": "application/connect+json"},
        b"\0\0\0\0\2{}",
    )
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/connect+json"
    assert answer.body[0] == 2
    assert int.from_bytes(answer.body[1:5], "big") == len(answer.body) - 5
    error = json.loads(answer.body[5:])["error"]
    assert error["code"] == "unimplemented"
    assert "not watched" in error["message"]


@pytest.mark.parametrize(
    "wish",
    [
        {"autoPause": True},
        {"autoResume": {"enabled": True}},
        {"network": {"allowOut": ["1.1.1.1"]}},
        {"mcp": {"x": {}}},
        {"iam": {"x": 1}},
        {"volumeMounts": [{"name": "v", "path": "/v"}]},
    ],
)
def test_wishes_that_are_refused(door: Door, wish: dict[str, Any]) -> None:
    body = {"templateID": "base", **wish}
    (name,) = wish
    assert name in door.fails(400, "POST", "/v2/sandboxes", body)


def test_wishes_that_ask_for_nothing(door: Door) -> None:
    box = door.create(
        autoPause=False,
        autoResume={"enabled": False},
        network={},
        mcp=None,
        volumeMounts=[],
        allow_internet_access=True,
    )
    box.kill()
