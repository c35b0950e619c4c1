"""Keys of requests over REST: a key belongs to the token that it came with,
also after a restart of the gateway."""

from __future__ import annotations

from typing import Any

import pytest
from deadline import wait_for
from keys import guessed, two_tokens
from web import Answer, Kernel, Socket, Web

COUNT = "runs = globals().get('runs', 0) + 1; runs"


@pytest.fixture
def tokens(web: Web) -> list[str]:
    return two_tokens(web.gateway)


def execute(web: Web, kernel: str, place: str, code: str = COUNT) -> Answer:
    path = f"/api/kernels/{kernel}/execute"
    if place == "body":
        return web.post(path, {"code": code, "key": "turn 1"})
    return web.post(path, {"code": code}, headers={"Idempotency-Key": "turn 1"})


def value_of(web: Web, begun: Answer) -> str:
    assert begun.status == 202, begun
    found: Any = wait_for(
        lambda: (
            (answer := web.get(begun.headers["Location"])).status == 200
            and answer
        ),
        "the result",
    )
    assert found.json["status"] == "ok", found
    return str(found.json["outputs"])


@pytest.mark.parametrize("place", ["header", "body"])
def test_code_of_two_tokens_is_not_the_same(
    kernel: Kernel, tokens: list[str], place: str
) -> None:
    own = kernel.web
    one, other = (own.with_token(token) for token in tokens)
    for web, value in ((one, 1), (other, 2), (own, 3), (one, 1), (other, 2)):
        shown = value_of(web, execute(web, kernel.id, place))
        assert f"'{value}'" in shown or f'"{value}"' in shown, (value, shown)
    # Other code is a conflict of this token alone.
    assert execute(other, kernel.id, place, "1").status == 409


def test_a_request_is_not_guessed_from_its_key(kernel: Kernel) -> None:
    begun = execute(kernel.web, kernel.id, "body")
    value_of(kernel.web, begun)
    path = f"/api/kernels/{kernel.id}/requests/{guessed(kernel.id, 'turn 1')}"
    assert kernel.web.get(path).status == 404


def test_a_restart_keeps_whose_key_it_is(
    kernel: Kernel, tokens: list[str]
) -> None:
    own = kernel.web
    first = execute(own.with_token(tokens[0]), kernel.id, "body")
    second = execute(own, kernel.id, "body")
    assert value_of(own, first) != value_of(own, second)
    own.gateway.kill()
    own.gateway.start()
    own.renew()
    one, other = (own.with_token(token) for token in tokens)
    for web, begun in ((one, first), (own, second)):
        again = execute(web, kernel.id, "body")
        assert again.headers["Location"] == begun.headers["Location"]
    third = execute(other, kernel.id, "body").headers["Location"]
    assert third not in (first.headers["Location"], second.headers["Location"])


def test_programs_of_two_tokens_are_not_the_same(
    kernel: Kernel, tokens: list[str]
) -> None:
    one, other = (kernel.web.with_token(token) for token in tokens)
    path = f"/hearth/sessions/{kernel.id}/processes"
    body = {"argv": ["true"], "key": "k"}
    numbers = []
    for web in (one, other, one, other):
        begun = web.post(path, body)
        assert begun.status == 201, begun
        assert begun.json["key"] != "k"
        numbers.append(begun.json["process"])
    assert numbers[:2] == numbers[2:]
    assert numbers[0] != numbers[1]
    assert one.post(path, {"argv": ["false"], "key": "k"}).status == 400


def test_a_key_over_a_websocket_is_its_tokens(
    kernel: Kernel, tokens: list[str]
) -> None:
    one, other = (kernel.web.with_token(token) for token in tokens)
    body = {"argv": ["true"], "key": "k"}

    def start(web: Web) -> Any:
        with Socket(web, kernel.id) as socket:
            socket.send("process_start_request", body, channel="control")
            return socket.until(
                lambda m: m["header"]["msg_type"] == "process_start_reply"
            )[-1]["content"]["process"]["process"]

    first = start(one)
    assert start(one) == first
    assert start(other) != first
    # It is the same key over REST.
    path = f"/hearth/sessions/{kernel.id}/processes"
    assert one.post(path, body).json["process"] == first
