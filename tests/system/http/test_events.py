"""What a session's journal holds, by cursor: each record once, in order."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from typing import Any, Iterator, Optional

import pytest
from web import Kernel, Web, of_type

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def path_of(kernel: Kernel, query: str = "") -> str:
    return f"/hearth/sessions/{kernel.id}/events{query}"


def records(web: Web, path: str) -> list[dict[str, Any]]:
    answer = web.get(path)
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.body.splitlines() if line]


class Stream:
    """An answer that goes on."""

    def __init__(
        self, web: Web, path: str, headers: Optional[dict[str, str]] = None
    ) -> None:
        self.connection = web.connect()
        sent = {"Authorization": f"token {web.token}", **(headers or {})}
        self.connection.request(
            "GET", web.base + path.lstrip("/"), headers=sent
        )
        self.response = self.connection.getresponse()
        assert self.response.status == 200

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def lines(self) -> Iterator[bytes]:
        while line := self.response.readline():
            if line.strip():
                yield line

    def until_stream(self, text: str) -> list[dict[str, Any]]:
        found = []
        for line in self.lines():
            found.append(json.loads(line))
            if found[-1]["content"].get("text") == text:
                return found
        raise AssertionError(f"ended without {text!r}: {found}")


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [record["seq"] for record in found]


def test_a_list(kernel: Kernel) -> None:
    kernel.socket().run("print('one')\n2")
    found = records(kernel.web, path_of(kernel))
    assert numbers(found) == list(range(1, len(found) + 1))
    request = next(r for r in found if r["kind"] == "request")
    own = [r for r in found if r["request"] == request["request"]]
    assert [r["msg_type"] for r in own] == [
        "execute_request",
        "execute_input",
        "stream",
        "execute_result",
        "execute_reply",
    ]
    assert own[2]["content"] == {"name": "stdout", "text": "one\n"}
    cursor = own[2]["seq"]
    rest = records(kernel.web, path_of(kernel, f"?since={cursor}"))
    assert rest == found[cursor:]
    last = numbers(found)[-1]
    assert records(kernel.web, path_of(kernel, f"?since={last}")) == []
    assert records(kernel.web, path_of(kernel, "?since=999999999")) == []


def test_pages_backwards(kernel: Kernel) -> None:
    kernel.socket().run("for n in range(40): print(n, flush=True)")
    whole = records(kernel.web, path_of(kernel))
    pages: list[dict[str, Any]] = []
    before = len(whole) + 1
    while before > 1:
        page = records(kernel.web, path_of(kernel, f"?before={before}&limit=7"))
        assert len(page) == min(7, before - 1)
        pages = page + pages
        before = page[0]["seq"]
    assert pages == whole
    assert records(kernel.web, path_of(kernel, "?before=3")) == whole[:2]
    assert records(kernel.web, path_of(kernel, "?before=1&limit=5")) == []
    found = records(kernel.web, path_of(kernel, "?since=3&before=6&limit=9"))
    assert numbers(found) == [4, 5]
    for wrong in ("?limit=3", "?before=3&follow=1", "?before=3&wait=1"):
        assert kernel.web.get(path_of(kernel, wrong)).status == 400, wrong


def test_a_follower_sees_all_once_until_the_end(kernel: Kernel) -> None:
    ws = kernel.socket()
    ws.run("print('before')")
    with Stream(kernel.web, path_of(kernel, "?follow=1")) as stream:
        found = stream.until_stream("before\n")
        for number in range(20):
            ws.run(f"print({number})")
            found += stream.until_stream(f"{number}\n")
        kernel.web.delete(kernel.id)
        found += [json.loads(line) for line in stream.lines()]
    assert numbers(found) == list(range(1, len(found) + 1))
    assert found[-1]["kind"] == "state"
    # What is gone can still be read.
    assert records(kernel.web, path_of(kernel)) == found
    again = kernel.web.get(path_of(kernel, "?follow=1&since=3"))
    assert len(again.body.splitlines()) == len(found) - 3


def test_an_event_source(kernel: Kernel) -> None:
    kernel.socket().run("print('said')")
    last = numbers(records(kernel.web, path_of(kernel)))[-1]
    sse = {"Accept": "text/event-stream", "Last-Event-ID": "1"}
    with Stream(kernel.web, path_of(kernel), sse) as stream:
        kind = stream.response.headers["Content-Type"]
        assert kind == "text/event-stream"
        seen, names = [], []
        for line in stream.lines():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                seen.append(int(value))
            elif name == "event":
                names.append(value)
            elif name == "data":
                assert json.loads(value)["seq"] == seen[-1]
                if seen[-1] == last:
                    break
    assert seen == list(range(2, last + 1))
    assert {"request", "event", "reply"} <= set(names)


def test_waiting_ends_with_the_first_news(kernel: Kernel) -> None:
    ws = kernel.socket()
    ws.run("1")
    last = numbers(records(kernel.web, path_of(kernel)))[-1]
    found: list[dict[str, Any]] = []
    waiting = path_of(kernel, f"?since={last}&wait=60")
    thread = threading.Thread(
        target=lambda: found.extend(records(kernel.web, waiting))
    )
    thread.start()
    ws.run("print('news')")
    thread.join(60)
    assert not thread.is_alive()
    assert found
    assert numbers(found)[0] == last + 1
    begun = time.monotonic()
    last = numbers(records(kernel.web, path_of(kernel)))[-1]
    assert records(kernel.web, path_of(kernel, f"?since={last}&wait=1")) == []
    assert time.monotonic() - begun >= 1


def test_one_record(kernel: Kernel) -> None:
    messages = kernel.socket().run(
        "from comm import create_comm\n"
        "create_comm(target_name='t', data={}, buffers=[b'\\xff\\x00', b''])\n"
        "from IPython.display import display\n"
        "display({'text/html': '<b>é</b>\\0', 'application/json': {'a': 1}},"
        " raw=True)"
    )
    assert of_type(messages, "comm_open")
    found = records(kernel.web, path_of(kernel))
    opened = next(r for r in found if r["msg_type"] == "comm_open")
    assert [base64.b64decode(b) for b in opened["buffers"]] == [b"\xff\0", b""]
    one = path_of(kernel, f"/{opened['seq']}")
    assert kernel.web.get(one).json == opened
    buffer = kernel.web.get(one + "?buffer=0")
    assert buffer.body == b"\xff\0"
    assert buffer.headers["Content-Type"] == "application/octet-stream"
    assert "sandbox" in buffer.headers["Content-Security-Policy"]
    assert kernel.web.get(one + "?buffer=2").status == 404
    shown = next(r for r in found if r["msg_type"] == "display_data")
    one = path_of(kernel, f"/{shown['seq']}")
    html = kernel.web.get(one + "?mime=text/html")
    assert html.body.decode() == "<b>é</b>\0"
    assert html.headers["Content-Type"].startswith("text/plain")
    assert kernel.web.get(one + "?mime=application/json").json == {"a": 1}
    assert kernel.web.get(one + "?mime=image/png").status == 404


def test_events_from_while_the_gateway_was_down(kernel: Kernel) -> None:
    """A viewer's request runs on; its end is read by cursor."""
    ws = kernel.socket()
    msg_id = ws.execute("import time; print(1); time.sleep(1); print(2)")
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    cursor = numbers(records(kernel.web, path_of(kernel)))[-1]
    kernel.web.gateway.kill()
    kernel.web.gateway.start()
    kernel.web.renew()
    found = []
    with Stream(
        kernel.web, path_of(kernel, f"?follow=1&since={cursor}")
    ) as stream:
        for line in stream.lines():
            found.append(json.loads(line))
            if found[-1]["kind"] == "reply":
                break
    assert numbers(found) == list(range(cursor + 1, found[-1]["seq"] + 1))
    assert found[-1]["content"]["status"] == "ok"
    text = "".join(
        r["content"]["text"] for r in found if r["msg_type"] == "stream"
    )
    assert text.split()[-1] == "2"
    own = [
        r
        for r in records(kernel.web, path_of(kernel))
        if r["request"] == found[-1]["request"]
    ]
    assert own[0]["header"]["msg_id"] == msg_id


@pytest.mark.parametrize(
    "query", ["?since=-1", "?since=x", "?wait=61", "?follow=2", "?since="]
)
def test_bad_questions(kernel: Kernel, query: str) -> None:
    answer = kernel.web.get(path_of(kernel, query))
    assert answer.status == 400
    assert "must be a number" in answer.json["message"]


def test_scopes_are_required(kernel: Kernel, web: Web) -> None:
    assert web.with_token(None).get(path_of(kernel)).status == 401
    assert web.get(f"/hearth/sessions/{UNKNOWN}/events").status == 404
    assert web.ask("HEAD", path_of(kernel)).body == b""


def test_a_follower_that_leaves_is_forgotten(kernel: Kernel) -> None:
    for _ in range(5):
        stream = Stream(kernel.web, path_of(kernel, "?follow=1"))
        stream.connection.close()
    assert kernel.socket().value("1+1") == "2"


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_client_that_leaves_while_waiting_costs_nothing(
    kernel: Kernel, web: Web
) -> None:
    """The end of a connection can be read all the time: who would be woken
    by it, and not read it, takes a processor for himself."""
    last = records(web, path_of(kernel))[-1]["seq"]
    for _ in range(3):
        connection = web.connect()
        connection.request(
            "GET",
            web.base + path_of(kernel, f"?since={last}&wait=60").lstrip("/"),
            headers={"Authorization": f"token {web.token}"},
        )
        assert connection.getresponse().status == 200
        connection.close()
    before = cpu_seconds(web.gateway.pid)
    time.sleep(2)
    assert cpu_seconds(web.gateway.pid) - before < 0.3
    assert web.get("/api/kernels").status == 200


def test_notes(kernel: Kernel) -> None:
    path = f"/hearth/sessions/{kernel.id}/notes"
    answer = kernel.web.post(path, {"text": "# Plan", "by": "me"})
    assert answer.status == 201
    assert answer.json["id"] == kernel.id
    found = records(kernel.web, path_of(kernel))
    assert any("# Plan" in json.dumps(r["content"]) for r in found)
    assert kernel.web.post(path, {}).status == 400
    assert kernel.web.post(path, {"text": 7}).status == 400
    for wrong in ({"text": "a", "by": {}}, {"text": "a", "by": "x" * 201}):
        answer = kernel.web.post(path, wrong)
        assert answer.status == 400
        assert "by" in answer.json["message"]
    unknown = f"/hearth/sessions/{UNKNOWN}/notes"
    assert kernel.web.post(unknown, {"text": "x"}).status == 404
