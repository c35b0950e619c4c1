"""Files and repositories from outside by the tool `files` of the Model Context
Protocol, with a worker that does what the tests say."""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Iterator

import pytest
from deadline import wait_for
from fetch_gateway import (
    ALLOW,
    AWAY,
    COMMIT,
    HOST,
    PLAIN,
    README,
    REPOSITORY,
    Fetching,
)
from keys import two_tokens
from records import wait_record
from rpc import Json, Rpc, session_of, streamed, text_of
from web import Web

HASH = hashlib.sha256(PLAIN).hexdigest()
HOLDS = (
    f"{1 + len(REPOSITORY)} files and folders, "
    f"{len(README) + sum(len(c) for kind, _, c in REPOSITORY if kind != b'l')} "
    "bytes"
)


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


def clone(rpc: Rpc, session: str, name: str, **arguments: Any) -> Json:
    return rpc.call(
        "files",
        session=session,
        action="clone",
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


@pytest.mark.parametrize(
    ("name", "more", "path", "branch"),
    [
        ("tool.git", {}, "tool", "main"),
        ("tool-at.git", {"path": "src/", "ref": "v1"}, "src/tool-at", "v1"),
    ],
)
def test_a_repository_is_described(
    gateway: Fetching,
    rpc: Rpc,
    session: str,
    name: str,
    more: Json,
    path: str,
    branch: str,
) -> None:
    result = clone(rpc, session, f"group/{name}?k=v", **more)
    assert not result["isError"], text_of(result)
    assert text_of(result) == (
        f"{path} has commit {COMMIT} now, branch {branch}: {HOLDS}"
    )
    job = gateway.wait_note("began", name)["job"]
    assert (job["order"], job["depth"]) == ("clone", 0)
    assert job["ref"] == more.get("ref", "")


def test_a_repository_arrives(rpc: Rpc, session: str) -> None:
    assert not clone(rpc, session, "tool")["isError"]
    read = rpc.call(
        "files", session=session, action="read", path="tool/src/run"
    )
    assert not read["isError"], text_of(read)
    assert text_of(read).startswith("#!/bin/sh")


@pytest.mark.parametrize("depth", [0, 3])
def test_history_is_cut(
    gateway: Fetching, rpc: Rpc, session: str, depth: int
) -> None:
    name = f"deep-{depth}"
    result = clone(rpc, session, name, depth=depth)
    assert not result["isError"], text_of(result)
    assert gateway.wait_note("began", name)["job"]["depth"] == depth


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cached", f"branch main: {HOLDS} (cached)"),
        ("detached", f"on no branch: {HOLDS}"),
        ("away", f"branch main: {HOLDS} (cached). Note: {AWAY}"),
        (
            "lacks-3-2",
            "3 files are Git LFS pointers: lfs = true brings their contents. "
            "2 submodules are empty folders",
        ),
    ],
)
def test_what_a_model_must_know_of_a_repository(
    rpc: Rpc, session: str, name: str, text: str
) -> None:
    result = clone(rpc, session, name)
    assert not result["isError"]
    assert text_of(result).endswith(text)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("refused", {}, "it is FetchRefused"),
        ("unreachable", {}, "it is FetchUnreachable"),
        ("dies", {}, "the clone worker ended without an answer"),
        ("nofile", {}, "the clone worker answered without"),
        ("size", {}, "the clone worker gave a file of"),
        ("hash", {}, "commit"),
        ("tool", {"path": "../x"}, "a path has no"),
        ("tool", {"ref": "a b"}, "ref must be the name of a branch"),
        ("tool", {"sha256": HASH}, "sha256 is for a file"),
        ("tool", {"depth": -1}, "depth must be 0 or more"),
        ("tool", {"submodules": True}, "fetch/submodules = yes"),
    ],
)
def test_a_refused_clone_is_a_result(
    rpc: Rpc, session: str, name: str, arguments: Any, text: str
) -> None:
    result = clone(rpc, session, name, **arguments)
    assert result["isError"]
    assert text in text_of(result)


def test_a_path_that_is_taken(
    gateway: Fetching, rpc: Rpc, session: str
) -> None:
    """It is refused before anything is downloaded."""
    fetch(rpc, session, "plain", path="here/x")
    before = gateway.order("began")
    result = fetch(rpc, session, "plain", path="here")
    assert result["isError"]
    assert "here is a folder" in text_of(result)
    result = clone(rpc, session, "plain", path="here")
    assert result["isError"]
    assert "here is a folder that is not empty" in text_of(result)
    assert gateway.order("began") == before


def test_a_key(gateway: Fetching, rpc: Rpc, session: str) -> None:
    """Does the same call under the same key once."""

    def clone_as(key: Any, **arguments: Any) -> Json:
        return rpc.call(
            "files",
            {"hearth/key": key},
            session=session,
            action="clone",
            url=f"{HOST}/keyed",
            **arguments,
        )

    first = clone_as("k")
    assert not first["isError"], text_of(first)
    assert clone_as("k") == first
    assert gateway.order("began").count("keyed") == 1
    other = clone_as("k", path="x")
    assert other["isError"]
    assert "under this key before" in text_of(other)
    assert "is not empty" in text_of(clone_as("l"))
    for key in ("", "k" * 256, 7):
        result = clone_as(key)
        assert result["isError"]
        assert "hearth/key must be a text of 1 to 255" in text_of(result)


@pytest.mark.parametrize("action", ["fetch", "clone"])
def test_a_key_of_two_tokens(
    gateway: Fetching, rpc: Rpc, session: str, action: str
) -> None:
    """The other token's call is another one: it has not been done."""
    one, other = (
        Rpc(rpc.web.with_token(token))
        for token in two_tokens(gateway, "files,execute")
    )
    name = f"two-{action}"

    def ask(rpc: Rpc) -> Json:
        return rpc.call(
            "files",
            {"hearth/key": "k"},
            session=session,
            action=action,
            url=f"{HOST}/{name}",
        )

    first = ask(one)
    assert not first["isError"], text_of(first)
    assert ask(one) == first
    assert gateway.order("began").count(name) == 1
    again = ask(other)
    if action == "clone":
        assert "is not empty" in text_of(again)
    else:
        assert not again["isError"], text_of(again)
        assert gateway.order("began").count(name) == 2
    assert ask(one) == first


@pytest.mark.parametrize("lfs", [False, True])
def test_contents_of_lfs_are_asked_for(
    gateway: Fetching, rpc: Rpc, session: str, lfs: bool
) -> None:
    name = f"lacks-{int(lfs)}-0"
    result = clone(rpc, session, name, lfs=lfs)
    assert gateway.wait_note("began", name)["job"]["lfs"] is lfs
    assert ("and stays" in text_of(result)) is lfs


@pytest.mark.parametrize(
    "more", [{"ref": "main"}, {"depth": 1}, {"lfs": True}, {"submodules": True}]
)
def test_a_file_has_no_history(rpc: Rpc, session: str, more: Any) -> None:
    """A model that asks for it means a repository."""
    result = fetch(rpc, session, "plain", **more)
    assert result["isError"]
    assert "its action is clone" in text_of(result)


@pytest.mark.parametrize("action", ["fetch", "clone"])
def test_arguments_that_are_missing(
    rpc: Rpc, session: str, action: str
) -> None:
    result = rpc.call("files", session=session, action=action, path="x")
    assert result["isError"]
    assert text_of(result) == "url is missing"
    gone = session_of(rpc.call("execute", code="1"))
    rpc.call("session", action="end", session=gone)
    result = rpc.call("files", session=gone, action=action, url=f"{HOST}/plain")
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


@pytest.mark.parametrize("action", ["fetch", "clone"])
def test_files_alone_is_not_enough(web: Web, session: str, action: str) -> None:
    """As over REST."""
    made = web.ask(
        "POST", "/hearth/tokens", {"name": "f", "scopes": ["files"]}
    ).json
    rpc = Rpc(web.with_token(made["token"]))
    params = {
        "name": "files",
        "arguments": {
            "session": session,
            "action": action,
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
    assert hasty.order("began") == ["slow-mcp"]
    # A call that follows an answer fetches once more.
    fetch(rpc, session, "slow-mcp?k=v")
    wait_for(lambda: len(hasty.order("began")) == 2, "a second fetch")


WRITE = """end = time.time_ns() + 10**7  # the system's times are coarse
while os.stat("{0}").st_mtime_ns < end:
    open("{0}", "r+").write("other")"""
LONGER = "open('{0}', 'a').write('x'); os.utime('{0}', (0, 0))"


@pytest.mark.parametrize(
    ("bring", "how", "code"),
    [
        (fetch, "deleted", ""),
        (fetch, "moved", "os.rename('{0}', 'y')"),
        (fetch, "written", WRITE),
        (fetch, "longer", LONGER),
        (clone, "removed.git", "shutil.rmtree('{0}')"),
    ],
)  # fmt: skip
def test_what_is_not_there_any_more_is_brought_again(
    hasty: Fetching, bring: Callable[..., Json], how: str, code: str
) -> None:
    """It came after its call was answered, and no call has said that it did."""
    rpc = Rpc(Web.of(hasty))
    session = session_of(rpc.call("execute", code="import os, shutil, time"))
    name = f"slow-{how}"
    path = name.removesuffix(".git")
    seen = path if bring is fetch else f"{path}/README.md"
    expected = PLAIN if bring is fetch else README

    def read() -> str:
        result = rpc.call("files", session=session, action="read", path=seen)
        return text_of(result)

    assert "RUNNING" in text_of(bring(rpc, session, name))
    hasty.let(name)
    wait_for(
        lambda: not hasty.json("fetch", "--list", "--json", session),
        "the end of the download",
    )
    assert read().encode() == expected
    if code:
        result = rpc.call("execute", session=session, code=code.format(path))
    else:
        result = rpc.call("files", session=session, action="delete", path=path)
    assert not result["isError"], text_of(result)
    assert read().encode() != expected
    wait_for(
        lambda: "RUNNING" not in text_of(bring(rpc, session, name)), "a result"
    )
    assert read().encode() == expected
    assert hasty.order("began").count(name) == 2


def test_a_slow_clone_is_answered(hasty: Fetching) -> None:
    """A fetch of the same URL is another one."""
    rpc = Rpc(Web.of(hasty))
    session = session_of(rpc.call("execute", code="1"))

    def until_it_says(text: str) -> None:
        wait_for(
            lambda: text in text_of(clone(rpc, session, "slow-tool.git")), text
        )

    until_it_says(
        "RUNNING: slow-tool is running, 5 of 10 bytes have come. The clone "
        "goes on; the same call again waits for it. Its folder is there once "
        "it is whole."
    )
    wait_for(
        lambda: (
            "RUNNING: slow-tool.git is waiting, 0 bytes have come."
            in text_of(fetch(rpc, session, "slow-tool.git"))
        ),
        "the fetch beside it",
    )
    assert hasty.order("began").count("slow-tool.git") == 1
    hasty.let("slow-tool.git")

    def has_come() -> bool:
        result = rpc.call(
            "files",
            session=session,
            action="read",
            path="slow-tool/README.md",
        )
        return text_of(result).encode() == README

    wait_for(has_come, "the repository")
    # The model has not heard of it. After that it is another clone.
    result = clone(rpc, session, "slow-tool.git")
    assert not result["isError"]
    assert HOLDS in text_of(result)
    result = clone(rpc, session, "slow-tool.git")
    assert result["isError"]
    assert "slow-tool is a folder that is not empty" in text_of(result)


def test_progress(gateway: Fetching, rpc: Rpc, session: str) -> None:
    """A client that wants it hears how far the file has come."""
    params = {
        "name": "files",
        "arguments": {
            "session": session,
            "action": "fetch",
            "url": f"{HOST}/slow-progress",
        },
    }
    with streamed(rpc, params, {"progressToken": "p"}) as messages:
        assert next(messages)["params"] == {
            "progressToken": "p",
            "progress": 5.0,
            "total": 10.0,
            "message": "receiving",
        }
        gateway.let("slow-progress")
        (*_, last) = messages
    assert not last["result"]["isError"]


def test_who_has_asked_is_recorded(
    gateway: Fetching, web: Web, rpc: Rpc, session: str
) -> None:
    fetch(rpc, session, "plain-who")
    record = wait_record(gateway, event="file", what="fetch", path="plain-who")
    assert record["who"].startswith("token=")
