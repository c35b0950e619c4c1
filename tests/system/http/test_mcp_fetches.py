"""Files from outside by the tool `files` of the Model Context Protocol, with a
worker that does what the tests say."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Iterator

import pytest
from deadline import wait_for
from fetch_gateway import ALLOW, HOST, PLAIN, Fetching
from records import wait_record
from rpc import Json, Rpc, session_of, text_of
from web import Web

HASH = hashlib.sha256(PLAIN).hexdigest()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    made = Fetching()
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def hasty() -> Iterator[Fetching]:
    """A gateway whose calls are answered soon."""
    made = Fetching("--set", "mcp/block=0.1s")
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture
def session(rpc: Rpc) -> Iterator[str]:
    made = session_of(rpc.call("execute", code="1"))
    yield made
    rpc.call("session", action="end", session=made)


def fetch(rpc: Rpc, session: str, name: str, **arguments: Any) -> Json:
    return rpc.call(
        "files",
        session=session,
        action="fetch",
        url=f"{HOST}/{name}",
        **arguments,
    )


def test_a_file_arrives(rpc: Rpc, session: str) -> None:
    result = fetch(rpc, session, "plain.csv?k=v", path="d/", sha256=HASH)
    assert not result["isError"]
    assert text_of(result) == (
        f"d/plain.csv has {len(PLAIN)} bytes now, SHA-256 {HASH}"
    )
    read = rpc.call("files", session=session, action="read", path="d/plain.csv")
    assert text_of(read).encode() == PLAIN
    assert text_of(fetch(rpc, session, "cached")).endswith(" (cached)")
    assert text_of(fetch(rpc, session, "zipped")).endswith(", compressed: gzip")


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("refused", {}, "it is FetchRefused"),
        ("unreachable", {}, "it is FetchUnreachable"),
        ("dies", {}, "the fetch worker ended without an answer"),
        ("plain", {"path": "../x"}, "a path has no"),
        ("plain", {"sha256": "00"}, "64 hexadecimal digits"),
        ("", {}, "the URL has no name for the file"),
    ],
)
def test_a_refusal_is_a_result(
    rpc: Rpc, session: str, name: str, arguments: Any, text: str
) -> None:
    result = fetch(rpc, session, name, **arguments)
    assert result["isError"]
    assert text in text_of(result)


def test_arguments_that_are_missing(rpc: Rpc, session: str) -> None:
    result = rpc.call("files", session=session, action="fetch", path="x")
    assert result["isError"]
    assert text_of(result) == "url is missing"
    gone = session_of(rpc.call("execute", code="1"))
    rpc.call("session", action="end", session=gone)
    result = fetch(rpc, gone, "plain")
    assert result["isError"]
    assert gone in text_of(result)


def test_a_profile_without_hosts() -> None:
    gateway = Fetching("--set", f"{ALLOW}=")
    try:
        gateway.start()
        rpc = Rpc(Web.of(gateway))
        made = session_of(rpc.call("execute", code="1"))
        result = fetch(rpc, made, "plain")
        assert result["isError"]
        assert ALLOW in text_of(result)
    finally:
        gateway.end()


def test_files_alone_is_not_enough(web: Web, session: str) -> None:
    """As over REST."""
    made = web.ask(
        "POST", "/hearth/tokens", {"name": "f", "scopes": ["files"]}
    ).json
    rpc = Rpc(web.with_token(made["token"]))
    params = {
        "name": "files",
        "arguments": {
            "session": session,
            "action": "fetch",
            "url": f"{HOST}/plain",
        },
    }
    answer = rpc.ask("tools/call", params)
    assert answer.status == 403
    assert "execute" in answer.headers["WWW-Authenticate"]


def test_the_tool_reaches_outside(rpc: Rpc) -> None:
    tools = {tool["name"]: tool for tool in rpc.result("tools/list")["tools"]}
    hints = {
        name: tool["annotations"]["openWorldHint"]
        for name, tool in tools.items()
    }
    assert [name for name, hint in hints.items() if hint] == ["files"]


def test_a_slow_fetch_is_answered(hasty: Fetching) -> None:
    """The answer has its bytes; the same call goes on with it."""
    rpc = Rpc(Web.of(hasty))
    session = session_of(rpc.call("execute", code="1"))

    def until_it_says(text: str) -> None:
        wait_for(
            lambda: text in text_of(fetch(rpc, session, "slow-mcp?k=v")), text
        )

    until_it_says(
        "RUNNING: slow-mcp is running, 5 of 10 bytes have come. The fetch "
        "goes on; the same call again waits for it."
    )
    for _ in range(12):  # more than may wait
        assert not fetch(rpc, session, "slow-mcp?k=v")["isError"]
    assert hasty.order("began") == ["slow-mcp"]
    hasty.let("slow-mcp")
    until_it_says(f"slow-mcp has {len(PLAIN)} bytes now, SHA-256 {HASH}")


def test_progress(gateway: Fetching, rpc: Rpc, web: Web, session: str) -> None:
    """A client that wants it hears how far the file has come."""
    params = {
        "name": "files",
        "arguments": {
            "session": session,
            "action": "fetch",
            "url": f"{HOST}/slow-progress",
        },
    }
    connection = web.connect()
    connection.request(
        "POST",
        "/mcp",
        json.dumps(rpc.body("tools/call", params, {"progressToken": "p"})),
        {
            **rpc.headers("tools/call", params),
            "Content-Type": "application/json",
        },
    )
    with connection.getresponse() as response:
        lines = (
            json.loads(line[len(b"data: ") :])
            for line in response
            if line.startswith(b"data: ")
        )
        assert next(lines)["params"] == {
            "progressToken": "p",
            "progress": 5.0,
            "total": 10.0,
            "message": "receiving",
        }
        gateway.let("slow-progress")
        (*_, last) = lines
    connection.close()
    assert not last["result"]["isError"]


def test_who_has_asked_is_recorded(
    gateway: Fetching, web: Web, rpc: Rpc, session: str
) -> None:
    fetch(rpc, session, "plain-who")
    record = wait_record(gateway, event="file", what="fetch", path="plain-who")
    assert record["who"].startswith("token=")
