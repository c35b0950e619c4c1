"""The tool `files` of the Model Context Protocol: a session's files go in and
out, and what is refused."""

from __future__ import annotations

from typing import Any, Iterator

import pytest
from rpc import Rpc, images_of, session_of, text_of
from web import Web

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def rpc(web: Web) -> Rpc:
    return Rpc(web)


@pytest.fixture(scope="module")
def session(web: Web) -> Iterator[str]:
    rpc = Rpc(web)
    made = session_of(rpc.call("execute", code="kept = 41"))
    yield made
    rpc.call("session", action="end", session=made)


def test_files_go_in_and_out(rpc: Rpc, session: str) -> None:
    def files(action: str, **arguments: Any) -> str:
        result = rpc.call("files", session=session, action=action, **arguments)
        assert not result["isError"], result
        return text_of(result)

    files("write", path="data/a.txt", content="one\nzwölf\n")
    assert files("read", path="data/a.txt") == "one\nzwölf\n"
    assert "data/a.txt\t11\t" in files("list", path="data")
    run = rpc.call(
        "execute", code="print(open('data/a.txt').read())", session=session
    )
    assert "zwölf" in text_of(run)
    part = files("read", path="data/a.txt", limit=7)
    assert part.startswith("one\nzw\n…")
    assert "offset 6" in part
    assert files("read", path="data/a.txt", offset=6).startswith("ölf")
    files("write", path="b", content="AAH/", encoding="base64")
    assert files("read", path="b", encoding="base64") == "AAH/"
    files("delete", path="data/a.txt")
    assert "a.txt" not in files("list", path="data")


def test_an_image_is_an_image(rpc: Rpc, session: str) -> None:
    code = (
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1]); plt.savefig('p.png'); plt.close()"
    )
    rpc.call("execute", code=code, session=session)
    result = rpc.call("files", session=session, action="read", path="p.png")
    assert result["content"][0]["type"] == "image"
    assert images_of(result)[0].startswith(PNG)


def test_an_empty_file_is_no_image(rpc: Rpc, session: str) -> None:
    """Models refuse an image without a byte."""
    rpc.call("execute", code="open('e.png', 'x').close()", session=session)
    result = rpc.call("files", session=session, action="read", path="e.png")
    assert (images_of(result), text_of(result)) == ([], "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"action": "read"}, "path is missing"),
        ({"action": "read", "path": "none"}, "none"),
        ({"action": "read", "path": "../../etc/passwd"}, ".."),
        ({"action": "write", "path": "x"}, "content is missing"),
        ({"action": "delete", "path": "none"}, "none"),
        (
            {"action": "format"},
            "action must be list, read, write, delete, fetch or clone",
        ),
        ({"action": "read", "path": "x", "offset": -1}, "offset must be"),
        ({"action": "read", "path": "x", "limit": 0}, "limit must be 1 or"),
        (
            {
                "action": "write",
                "path": "x",
                "content": "?",
                "encoding": "base64",
            },
            "not base64",
        ),
    ],
)
def test_files_that_are_refused(
    rpc: Rpc, session: str, arguments: Any, text: str
) -> None:
    result = rpc.call("files", session=session, **arguments)
    assert result["isError"]
    assert text in text_of(result)


def test_the_ends_of_a_file(rpc: Rpc, session: str) -> None:
    """A file without a byte is a text, and what lies after the end is no file
    of other bytes."""
    code = "open('none', 'w').close(); open('six', 'w').write('hello\\n')"
    assert not rpc.call("execute", code=code, session=session)["isError"]
    read: dict[str, Any] = {"session": session, "action": "read"}
    empty = rpc.call("files", path="none", **read)
    assert (empty["isError"], text_of(empty)) == (False, "")
    for offset in (6, 100):
        beyond = rpc.call("files", path="six", offset=offset, **read)
        assert beyond["isError"]
        assert text_of(beyond) == (
            f"offset {offset} is not below the size: six has 6 bytes"
        )


def test_a_path_as_code_knows_it(rpc: Rpc, session: str) -> None:
    """/workspace is the current folder of the code."""

    def files(action: str, path: str, **more: Any) -> Any:
        return rpc.call(
            "files", session=session, action=action, path=path, **more
        )

    written = files("write", "/workspace/w/a.txt", content="1")
    assert text_of(written) == "w/a.txt has 1 bytes now"
    assert text_of(files("read", "/workspace/w/a.txt")) == "1"
    assert "w/" in text_of(files("list", "/workspace"))
    assert "w/a.txt" in text_of(files("list", "/workspace/w/"))
    for path in ("/workspaces/a", "/etc/passwd", "/workspace/../etc/passwd"):
        assert files("read", path)["isError"]
    full = files("delete", "w")
    assert full["isError"]
    assert "delete these first" in text_of(full)
