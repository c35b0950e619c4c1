"""`hearth mcp`: cancellations, also with many calls under way and without a
gateway."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from typing import ClassVar, Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from pipe import Json, Pipe

UNDER_WAY = 64
WAITING = 1024
UNKNOWN = 9999
PATIENCE = 30  # seconds


def cancel(pipe: Pipe, number: int) -> None:
    pipe.write(
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": number},
        }
    )


class Slow(http.server.BaseHTTPRequestHandler):
    """A gateway that answers no request before it may."""

    asked: ClassVar[list[Json]] = []
    may_answer: ClassVar[threading.Event] = threading.Event()

    @classmethod
    def numbers(cls) -> list[int]:
        return [asked["id"] for asked in cls.asked if "id" in asked]

    @classmethod
    def cancelled(cls) -> list[int]:
        return [
            asked["params"]["requestId"]
            for asked in cls.asked
            if "id" not in asked
        ]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        body = b""
        if "id" in asked:
            self.may_answer.wait(DEADLINE)
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {}}
            body = json.dumps(answer).encode()
        try:
            self.send_response(200 if body else 202)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            pass  # the call was cancelled

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256


@pytest.fixture
def slow() -> Iterator[Pipe]:
    Slow.asked.clear()
    Slow.may_answer.clear()
    gateway = Gateway()
    with Server(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        pipe = Pipe(gateway, env={"HEARTH_URL": url})
        try:
            yield pipe
            pipe.close()
        finally:
            pipe.process.kill()
            Slow.may_answer.set()
            server.shutdown()
            thread.join()
            gateway.sweep()


def fill(pipe: Pipe, modern: bool) -> list[int]:
    """Send as many calls as the gateway gets at a time."""
    numbers = [pipe.send("ping", modern=modern) for _ in range(UNDER_WAY)]
    wait_for(lambda: len(Slow.numbers()) == UNDER_WAY, "all calls")
    return numbers


@pytest.mark.parametrize("modern", [True, False])
def test_a_cancellation_overtakes_calls_that_wait(
    slow: Pipe, modern: bool
) -> None:
    """The gateway hears of it. Since 2026-07-28 the call's connection is closed
    besides, so that another call can go."""
    first = fill(slow, modern)
    more = [slow.send("ping", modern=modern) for _ in range(3)]
    cancel(slow, first[5])
    wait_for(lambda: Slow.cancelled() == [first[5]], "a cancellation")
    answered = set(first) | set(more)
    if modern:
        wait_for(lambda: more[0] in Slow.numbers(), "the first that waits")
        answered.discard(first[5])
    # One that was not sent never is.
    cancel(slow, more[1])
    answered.discard(more[1])
    more.append(slow.send("ping", modern=modern))
    answered.add(more[-1])
    cancel(slow, UNKNOWN)
    wait_for(lambda: len(Slow.cancelled()) > 1, "all that was written")
    Slow.may_answer.set()
    assert {slow.read()["id"] for _ in answered} == answered
    assert set(Slow.numbers()) == answered | {first[5]}
    assert Slow.cancelled() == [first[5], UNKNOWN]


def test_a_cancellation_among_many_overtakes_calls_that_wait(
    slow: Pipe,
) -> None:
    """More cancellations than are sent at a time, with calls before them."""
    first = fill(slow, False)
    more = [slow.send("ping", modern=False) for _ in range(3)]
    many = [UNKNOWN + i for i in range(4 * UNDER_WAY)]
    for number in many:
        cancel(slow, number)
    cancel(slow, first[5])
    wait_for(lambda: first[5] in Slow.cancelled(), "the last cancellation")
    assert sorted(Slow.cancelled()) == [first[5], *many]
    Slow.may_answer.set()
    answered = {*first, *more}
    assert {slow.read()["id"] for _ in answered} == answered


def test_too_many_calls_are_refused(slow: Pipe) -> None:
    first = fill(slow, True)
    waiting = [slow.send("ping") for _ in range(WAITING)]
    refused = slow.ask("ping")
    assert "busy: 64 requests are under way" in refused["error"]["message"]
    Slow.may_answer.set()
    answered = {*first, *waiting}
    assert {slow.read()["id"] for _ in answered} == answered
    assert slow.ask("ping")["result"] == {}


@pytest.mark.deep  # the patience is 30 s
def test_calls_without_a_gateway_fail_together(alone: Gateway) -> None:
    """Not each after a patience of its own."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    pipe = Pipe(alone, env={"HEARTH_URL": f"http://127.0.0.1:{port}"})
    numbers = [pipe.send("ping") for _ in range(3)]
    first = pipe.read()
    start = time.monotonic()
    answers = [first, pipe.read(), pipe.read()]
    assert time.monotonic() - start < PATIENCE
    assert [answer["id"] for answer in answers] == numbers
    assert all("refused" in answer["error"]["message"] for answer in answers)
    pipe.close()


def test_no_gateway_is_started_for_a_cancellation(alone: Gateway) -> None:
    alone.be_cold()
    pipe = Pipe(alone, may_start=True)
    cancel(pipe, 7)
    pipe.close()
    assert not (alone.runtime / "http.json").exists()
