"""Keys of calls of the Model Context Protocol: a key belongs to the token that
it came with, also after a restart of the gateway."""

from __future__ import annotations

from typing import Iterator

import pytest
from harness import Gateway, started
from keys import guessed, two_tokens
from rpc import META, Json, Rpc, session_of, text_of
from web import Web

KEY = {"hearth/key": "turn 7"}
COUNT = "runs = globals().get('runs', 0) + 1; print(runs)"


DECLARED: Json = {
    f"{META}clientCapabilities": {"extensions": {f"{META}tasks": {}}}
}
ENDLESS = "import time\nwhile True: time.sleep(0.01)"


def rpc_of(gateway: Gateway, token: str) -> Rpc:
    return Rpc(Web.of(gateway).with_token(token))


@pytest.fixture(scope="module")
def tokens(gateway: Gateway) -> list[str]:
    return two_tokens(gateway)


@pytest.fixture
def quick() -> Iterator[Gateway]:
    """A gateway whose calls do not wait for long."""
    with started(Gateway("--set", "mcp/block=0.1s")) as gateway:
        yield gateway


@pytest.fixture
def session(gateway: Gateway) -> Iterator[str]:
    rpc = Rpc(Web.of(gateway))
    made = session_of(rpc.call("execute", code="made = True"))
    yield made
    Rpc(Web.of(gateway)).call("session", action="end", session=made)


def lines_of(result: Json) -> list[str]:
    """Return what the code wrote, without the line on how it ended."""
    assert not result["isError"], result
    return text_of(result).splitlines()[1:]


def test_code_of_two_tokens_is_not_the_same(
    gateway: Gateway, tokens: list[str], session: str
) -> None:
    one, other = (rpc_of(gateway, token) for token in tokens)
    own = Rpc(Web.of(gateway))
    for rpc, line in ((one, "1"), (other, "2"), (own, "3"), (one, "1")):
        result = rpc.call("execute", KEY, code=COUNT, session=session)
        assert lines_of(result) == [line]
    # Other code is another call of this token and refused to that one.
    result = other.call("execute", KEY, code="1", session=session)
    assert "Other code was sent before under this key" in text_of(result)


def test_each_token_gets_a_session_of_its_own(
    gateway: Gateway, tokens: list[str]
) -> None:
    one, other, again = (
        session_of(rpc_of(gateway, token).call("execute", KEY, code="1"))
        for token in (*tokens, tokens[0])
    )
    assert one == again
    assert one != other
    for made in (one, other):
        Rpc(Web.of(gateway)).call("session", action="end", session=made)


def test_commands_of_two_tokens_are_not_the_same(
    gateway: Gateway, tokens: list[str], session: str
) -> None:
    for token, output in ((0, "x"), (1, "xx"), (0, "x"), (1, "xx")):
        result = rpc_of(gateway, tokens[token]).call(
            "session",
            KEY,
            action="run",
            session=session,
            command="printf x >> runs; cat runs; echo",
        )
        assert lines_of(result) == [output]


def test_a_key_names_no_task_of_another_token(
    quick: Gateway,
) -> None:
    one, other = (rpc_of(quick, token) for token in two_tokens(quick))
    made = one.call("execute", {**KEY, **DECLARED}, code=ENDLESS)
    session = made["taskId"].partition(".")[0]
    queued = other.call(
        "execute", {**KEY, **DECLARED}, code=ENDLESS, session=session
    )
    assert queued["taskId"].partition(".")[0] == session
    assert queued["taskId"] != made["taskId"]
    task = {"taskId": f"{session}.{guessed(session, KEY['hearth/key'])}"}
    assert (
        other.ask("tasks/get", task, DECLARED).json["error"]["code"] == -32602
    )
    one.call("session", action="end", session=session)


def test_a_restart_keeps_whose_key_it_is(
    gateway: Gateway, tokens: list[str], session: str
) -> None:
    def run(rpc: Rpc) -> list[str]:
        return lines_of(rpc.call("execute", KEY, code=COUNT, session=session))

    assert run(rpc_of(gateway, tokens[0])) == ["1"]
    assert run(Rpc(Web.of(gateway))) == ["2"]
    before = Web.of(gateway).token
    gateway.kill()
    gateway.start()
    # The gateway's own token is another one, of the same owner.
    assert Web.of(gateway).token != before
    assert run(Rpc(Web.of(gateway))) == ["2"]
    assert run(rpc_of(gateway, tokens[1])) == ["3"]
    assert run(rpc_of(gateway, tokens[0])) == ["1"]
