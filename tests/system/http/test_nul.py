"""A NUL in what code writes cuts nothing off, at any door."""

from __future__ import annotations

from typing import Iterator

import pytest
from door import Door, of_type
from rpc import Rpc, session_of, text_of
from web import Web

PRINT = r"print('a\0b')"
RAISE = r"raise ValueError('a\0b')"
TEXT = r"""
class Shown:
    def __repr__(self): return 'a\0b'
Shown()"""


@pytest.fixture(scope="module")
def session(web: Web) -> Iterator[str]:
    rpc = Rpc(web)
    made = session_of(rpc.call("execute", code="1"))
    yield str(web.gateway.json("session", "show", "--json", made)["id"])
    rpc.call("session", action="end", session=made)


def test_the_view_of_models(web: Web, session: str) -> None:
    """It has no control characters; a NUL is one."""
    rpc = Rpc(web)
    for code, last in (
        (PRINT, "ab"),
        (RAISE, "ValueError: ab"),
        (TEXT, "ab"),
    ):
        shown = text_of(rpc.call("execute", code=code, session=session))
        assert shown.splitlines()[-1] == last, shown
        done = web.gateway.run("exec", "--for-model", session, "-c", code)
        assert last in done.stdout.splitlines(), done


def test_structured_results(web: Web, session: str) -> None:
    rpc = Rpc(web, "/mcp/structured")

    def run(code: str) -> dict[str, object]:
        result = rpc.call("execute", code=code, session=session)
        found: dict[str, object] = result["structuredContent"]
        return found

    assert run(PRINT)["stdout"] == "ab\n"
    assert run(TEXT)["result"] == "ab"
    error = run(RAISE)["error"]
    assert isinstance(error, dict)
    assert error["value"] == "a\0b"
    assert error["traceback"].endswith("ValueError: ab")
    written = "import sys\n" + PRINT.replace(")", ", file=sys.stderr)")
    assert run(written)["stderr"] == "ab\n"


def test_commands_and_files(web: Web, session: str) -> None:
    """Their texts too, in both forms."""
    rpc = Rpc(web, "/mcp/structured")
    result = rpc.call(
        "session", action="run", session=session, command=r"printf 'a\0b\n'"
    )
    assert result["structuredContent"]["stdout"] == "ab\n"
    assert text_of(result).splitlines()[-1] == "ab"
    rpc.call("execute", code=r"open('f', 'w').write('a\0b')", session=session)
    result = rpc.call("files", action="read", session=session, path="f")
    assert result["structuredContent"]["text"] == text_of(result)


def test_the_command_line(web: Web, session: str) -> None:
    printed = web.gateway.json("exec", "--json", session, "-c", PRINT)
    assert printed["outputs"][0]["text"] == "a\0b\n"
    raised = web.gateway.json_of(1, "exec", "--json", session, "-c", RAISE)
    assert raised["evalue"] == "a\0b"


def test_e2b(web: Web) -> None:
    box = Door(web).create()
    try:
        (line,) = of_type(box.run(PRINT), "stdout")
        assert line["text"] == "a\0b\n"
        (line,) = of_type(box.run(TEXT), "result")
        assert line["text"] == "a\0b"
        (line,) = of_type(box.run(RAISE), "error")
        assert line["value"] == "a\0b"
        assert "a\0b" in line["traceback"]
    finally:
        box.kill()
