"""Programs beside a kernel, over REST and over its WebSocket."""

from __future__ import annotations

import base64
import contextlib
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE, wait_for
from web import Answer, Kernel, Web

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def path(kernel: Kernel, rest: str = "") -> str:
    return f"/hearth/sessions/{kernel.id}/processes{rest}"


def start(kernel: Kernel, *argv: str, wait: bool = True, **more: Any) -> Answer:
    query = f"?wait={min(DEADLINE, 300)}" if wait else ""
    return kernel.web.post(path(kernel, query), {"argv": list(argv), **more})


def ended(kernel: Kernel, number: int) -> Any:
    def look() -> Any:
        shown = kernel.web.get(path(kernel, f"/{number}")).json
        return shown if shown["state"] == "ended" else None

    return wait_for(look, "the end of the process")


def test_a_wait_that_is_too_long_is_refused(kernel: Kernel) -> None:
    for seconds, status in (("600", 201), ("601", 400), ("-1", 400)):
        asked = kernel.web.post(
            path(kernel, f"?wait={seconds}"), {"argv": ["true"]}
        )
        assert asked.status == status, seconds


def test_starts_and_waits(kernel: Kernel) -> None:
    answer = start(
        kernel, "sh", "-c", "echo $A; pwd; echo no >&2; exit 4",
        env={"A": "b"}, cwd="/tmp",
    )  # fmt: skip

    assert answer.status == 201, answer
    reported = answer.json
    assert reported["stdout"] == "b\n/tmp\n"
    assert reported["stderr"] == "no\n"
    assert reported["process"]["exit_code"] == 4
    assert reported["process"]["sentence"] == "it exited with 4"
    assert (reported["from"], reported["next"]) == (0, 10)


def test_bytes_that_are_no_text(kernel: Kernel) -> None:
    asked = {"argv": ["printf", "\\377\\000x"]}
    text = kernel.web.post(path(kernel, "?wait=60"), asked).json
    raw = kernel.web.post(path(kernel, "?wait=60&encoding=base64"), asked).json

    assert text["stdout"] == "\ufffd\x00x"
    assert base64.b64decode(raw["stdout"]) == b"\xff\0x"


def test_more_than_an_answer_has(kernel: Kernel) -> None:
    answer = start(kernel, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")

    assert len(answer.json["stdout"]) == 1 << 20
    assert answer.json["stdout_left_out"] == 3_000_000 - (1 << 20)


def test_waits_no_longer_than_was_asked(kernel: Kernel) -> None:
    answer = kernel.web.post(
        path(kernel, "?wait=0.2"), {"argv": ["sh", "-c", "echo a; sleep 600"]}
    )

    assert answer.status == 201
    assert answer.json["process"]["state"] == "running"
    number = answer.json["process"]["process"]
    assert kernel.web.ask("DELETE", path(kernel, f"/{number}")).status == 204
    assert ended(kernel, number)["cause"] == "request"


def test_is_listed_followed_written_to_and_ended(kernel: Kernel) -> None:
    started = start(kernel, "cat", wait=False, input=True)
    number = started.json["process"]
    one = path(kernel, f"/{number}")

    assert started.status == 201
    assert [p["process"] for p in kernel.web.get(path(kernel)).json] == [number]
    said = kernel.web.post(one + "/input", {"text": "héllo\n"})
    assert said.status == 204, said
    raw = kernel.web.post(
        one + "/input", raw=b"\xff\n",
        headers={"Content-Type": "application/octet-stream"},
    )  # fmt: skip
    assert raw.status == 204
    found = b""
    while not found.endswith(b"\xff\n"):
        part = kernel.web.get(
            one + f"/output?from={len(found)}&wait=60&encoding=base64"
        ).json
        assert part["from"] == len(found)
        found += base64.b64decode(part["stdout"])
    assert found == "héllo\n".encode() + b"\xff\n"
    assert kernel.web.post(one + "/input", {"end": True}).status == 204
    assert ended(kernel, number)["exit_code"] == 0
    again = kernel.web.get(one + "/output").json
    assert again["stdout"] == "héllo\n\ufffd\n"
    late = kernel.web.post(one + "/input", {"text": "x"})
    assert (late.status, late.json["ename"]) == (409, "ProcessEnded")


def test_input_comes_once_under_its_key(kernel: Kernel) -> None:
    started = start(kernel, "cat", wait=False, input="a", end=False).json
    one = path(kernel, f"/{started['process']}")
    for _ in range(2):
        said = kernel.web.post(one + "/input", {"text": "b", "key": "k"})
        assert said.status == 204, said
    other = kernel.web.post(one + "/input", {"text": "c", "key": "k"})
    assert other.status == 400
    assert "Something else was written before" in other.json["message"]
    wrong = kernel.web.post(one + "/input", {"text": "c", "key": ""})
    assert wrong.status == 400
    assert kernel.web.post(one + "/input", {"end": True}).status == 204
    ended(kernel, started["process"])
    shown = kernel.web.get(one + "/output").json
    assert shown["stdout"] == "ab"
    name = f"process:{started['process']}"
    lines = kernel.web.get(f"/hearth/sessions/{kernel.id}/outputs/{name}")
    assert lines.body.decode() == f"{name} lines 1 to 1 of 1\nab"


def bytes_read(pid: int) -> int:
    """Return what the process has read of files and pipes so far."""
    try:
        text = Path(f"/proc/{pid}/io").read_text()
    except OSError as error:
        pytest.skip(f"what a process reads is not counted here: {error}")
    return int(dict(line.split(": ") for line in text.splitlines())["rchar"])


def test_a_view_reads_nothing_of_the_cells_between(kernel: Kernel) -> None:
    """Else each one would stop the answers to all other clients."""
    gateway = kernel.web.gateway
    number = start(
        kernel, "sh", "-c", "echo a; read x; echo b", wait=False, input=True
    ).json["process"]
    view = f"/hearth/sessions/{kernel.id}/outputs/process:{number}"
    wait_for(lambda: kernel.web.get(view).status == 200, "its first output")
    code = "for _ in range(80): print('x' * 99_999)"
    done = gateway.run("exec", kernel.id, "-", stdin=code)
    assert len(done.stdout) == 8_000_000
    said = kernel.web.post(path(kernel, f"/{number}/input"), {"text": "\n"})
    assert said.status == 204, said
    ended(kernel, number)
    shown = f"process:{number} lines 1 to 2 of 2\na\nb"
    # The first one brings the index up to date.
    assert kernel.web.get(view).body.decode() == shown
    before = bytes_read(gateway.pid)
    assert kernel.web.get(view).body.decode() == shown
    assert bytes_read(gateway.pid) - before < 1_000_000


def test_a_number_without_output_is_answered_with_those_that_have_some(
    kernel: Kernel,
) -> None:
    newest = start(kernel, "true").json["process"]["process"]
    assert newest >= 1
    there = (
        "the only one is process:1"
        if newest == 1
        else f"the first is process:1, the last process:{newest}"
    )
    for number in (newest + 1, 0):
        missing = kernel.web.get(
            f"/hearth/sessions/{kernel.id}/outputs/process:{number}"
        )
        assert missing.status == 404
        assert missing.json["message"] == (
            f"the session has no process {number}, or its output is no longer "
            f"kept; {there}"
        )


def test_input_that_nothing_reads_is_refused(kernel: Kernel) -> None:
    """The keeper would drop it in silence."""
    number = start(kernel, "sleep", "600", wait=False).json["process"]
    one = path(kernel, f"/{number}")
    refused = kernel.web.post(one + "/input", {"text": "x"})
    assert refused.status == 400
    assert "takes no input" in refused.json["message"]
    assert kernel.web.get(one).json["input_over"] is True
    assert kernel.web.ask("DELETE", one).status == 204


def test_input_that_a_program_has_closed_is_refused(kernel: Kernel) -> None:
    """Its keeper notices it before the output that came after it."""
    number = start(
        kernel, "sh", "-c", "exec <&-; echo closed; exec sleep 600",
        wait=False, input=True,
    ).json["process"]  # fmt: skip
    one = path(kernel, f"/{number}")
    assert kernel.web.get(one + "/output?wait=60").json["stdout"] == "closed\n"
    refused = kernel.web.post(one + "/input", {"text": "x"})
    assert refused.status == 400, refused
    assert "it has closed its input" in refused.json["message"]
    assert kernel.web.post(one + "/input", {"end": True}).status == 204
    assert kernel.web.ask("DELETE", one).status == 204


def test_signals(kernel: Kernel) -> None:
    number = start(kernel, "sleep", "600", wait=False).json["process"]
    one = path(kernel, f"/{number}")

    for wrong in (0, 99, "NOPE", (1 << 32) + 9):
        said = kernel.web.post(one + "/signal", {"signal": wrong})
        assert said.status == 400, wrong
    assert kernel.web.post(one + "/signal", {"signal": "USR1"}).status == 204
    assert ended(kernel, number)["signal"] == 10
    late = kernel.web.post(one + "/signal", {"signal": "USR1"})
    assert late.status == 409


def test_terminals_have_a_size(kernel: Kernel) -> None:
    answer = start(
        kernel, "sh", "-c", "stty size; echo $TERM; test -t 0 && echo yes",
        terminal={"rows": 11, "columns": 33},
    )  # fmt: skip

    assert answer.json["stdout"] == "11 33\r\nxterm-256color\r\nyes\r\n"
    plain = start(kernel, "sleep", "600", wait=False).json["process"]
    one = path(kernel, f"/{plain}")
    sized = kernel.web.post(one + "/resize", {"rows": 2, "columns": 3})
    assert sized.status == 400


@pytest.mark.parametrize(
    "body",
    [
        {}, {"argv": []}, {"argv": "ls"}, {"argv": [3]}, {"argv": [""]},
        {"argv": ["a\0b"]}, {"argv": ["x" * 100_000]},
        {"argv": ["ls"], "env": {"A": 3}}, {"argv": ["ls"], "cwd": ""},
        {"argv": ["ls"], "timeout": -1}, {"argv": ["ls"], "terminal": "yes"},
        {"argv": ["no-such-program"]}, {"argv": ["ls"], "cwd": "nowhere"},
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(kernel: Kernel, body: Any) -> None:
    answer = kernel.web.post(path(kernel), body)

    assert answer.status == 400, answer
    assert len(answer.json["message"]) > 10


def test_what_is_not_there(kernel: Kernel, web: Web) -> None:
    for number in ("1", "0", "x", "-1", "99999999999999999999"):
        answer = web.get(path(kernel, f"/{number}"))
        assert answer.status == 404, number
    assert web.get(f"/hearth/sessions/{UNKNOWN}/processes").status == 404


def test_no_more_than_some_follow(kernel: Kernel) -> None:
    """The last one is refused, and is not left without a word."""
    number = start(kernel, "sleep", "600", wait=False).json["process"]
    with contextlib.ExitStack() as stack:
        statuses = []
        for _ in range(9):
            socket = stack.enter_context(kernel.socket())
            socket.send(
                "process_attach_request",
                {"process": number},
                channel="control",
            )
            reply = socket.until(
                lambda m: m["header"]["msg_type"] == "process_attach_reply"
            )[-1]["content"]
            statuses.append(reply.get("ename", reply["status"]))

    assert statuses == ["ok"] * 8 + ["ProcessBusy"]


def test_over_its_websocket(kernel: Kernel) -> None:
    """Binary output, beside a cell that computes."""
    with kernel.socket() as socket:
        busy = socket.execute("while True: pass")
        asked = socket.send(
            "process_start_request",
            {"argv": ["printf", "\\377"], "follow": True},
            channel="control",
        )
        messages = socket.until(
            lambda m: m["header"]["msg_type"] == "process_ended"
        )
        own = [m for m in messages if m["parent_header"].get("msg_id") == asked]

        assert [m["header"]["msg_type"] for m in own] == [
            "process_start_reply", "process_output", "process_ended",
        ]  # fmt: skip
        assert own[2]["content"]["exit_code"] == 0
        kernel.web.post(f"/api/kernels/{kernel.id}/interrupt")
        socket.finish(busy)
