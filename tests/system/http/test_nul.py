"""A NUL in what code writes cuts nothing off, at any door."""

from __future__ import annotations

import re
from typing import Iterator

import pytest
from door import Door, of_type
from rpc import Rpc, session_of, text_of
from test_tools import ADD, path_of
from test_tools_socket import ask
from web import Kernel, Message, Socket, Web
from web import text_of as text_in

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


# ---- texts of clients ----

ERRORS = [
    "a\0b",
    "\0",
    "é\0 \U0001f600\0",
    "",
    "\t\n",
    "\ud800",
    "a\udfff\0",
]
CALL = """from hearth import tools, ToolError
try: tools.add(1, 2)
except ToolError as error: print(ascii(str(error)))"""


def shown(text: str) -> str:
    """A failure of `add` as code sees it: nothing of it is cut off."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", text.replace("\0", "\u2400"))
    return ascii(f"add: {text}") + "\n"


def fails_over_rest(web: Web, kernel: Kernel, ws: Socket, text: str) -> str:
    tools = path_of(kernel.id)
    msg_id = ws.execute(CALL)
    (call,) = web.get(f"{tools}/calls?wait=30").json["calls"]
    done = web.post(f"{tools}/calls/{call['call']}", {"error": text})
    assert done.status == 200, done
    return text_in(ws.finish(msg_id))


def test_the_failure_of_a_host_tool(web: Web, kernel: Kernel) -> None:
    done = web.ask("PUT", path_of(kernel.id), {"tools": [ADD]})
    assert done.status == 200, done
    with kernel.socket() as ws:
        for text in ERRORS:
            assert fails_over_rest(web, kernel, ws, text) == shown(text)


def test_the_name_of_a_provider(web: Web, kernel: Kernel) -> None:
    """It is refused, and no other name is taken in its place."""
    for name in ("a\0b", "\0", "a\ud800"):
        asked: Message = {"provider": name, "tools": [ADD]}
        done = web.ask("PUT", path_of(kernel.id), asked)
        assert done.status == 400, done
        assert "provider" in done.json["message"]
        with kernel.socket() as ws:
            reply = ask(ws, "tools_register", asked)
            assert reply["status"] == "error", reply
    assert web.get(path_of(kernel.id)).json["tools"] == []
