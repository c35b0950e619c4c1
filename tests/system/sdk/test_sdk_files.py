"""Files of a session and its notebook, by the client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hearth
import pytest
from harness import Gateway


def test_files_go_in_and_out(sync_session: hearth.Session) -> None:
    files = sync_session.files
    assert files.list() == []
    data = bytes(range(256))
    files.write("data/raw/a b+c.bin", data)
    assert sync_session.run(
        "open('data/raw/a b+c.bin', 'rb').read() == bytes(range(256))"
    ).ok
    assert files.read("data/raw/a b+c.bin") == data
    sync_session.run("open('out.txt', 'w').write('h\u00e9llo')").check()
    assert files.read_text("/out.txt") == "h\u00e9llo"
    assert [(f.name, f.is_folder, f.size) for f in files.list()] == [
        ("data", True, None),
        ("out.txt", False, 6),
    ]
    (entry,) = files.list("data/raw")
    assert (entry.path, entry.size) == ("data/raw/a b+c.bin", 256)
    assert entry.modified is not None
    files.rename("out.txt", "data/new.txt")
    assert not files.exists("out.txt")
    assert files.info("data/new.txt").size == 6
    files.write("data/new.txt", "")
    assert files.read("data/new.txt") == b""


def test_a_big_file_is_written_in_pieces(
    sync_session: hearth.Session,
) -> None:
    data = bytes(range(251)) * 40_000  # 10 MB, no multiple of a piece
    sync_session.files.write("big", data)
    assert sync_session.files.read("big") == data


def test_files_are_removed(sync_session: hearth.Session) -> None:
    files = sync_session.files
    files.make_folder("a/b")
    files.make_folder("a/b")
    files.write("a/b/x", "1")
    with pytest.raises(hearth.FileExists, match="empty"):
        files.remove("a")
    files.remove("a", recursive=True)
    assert files.list() == []


def test_what_is_refused(sync_session: hearth.Session) -> None:
    files = sync_session.files
    with pytest.raises(hearth.FileNotFound):
        files.read("nothing")
    with pytest.raises(hearth.FileNotFound):
        files.remove("nothing")
    sync_session.run("import os; os.symlink('/etc/passwd', 'link')").check()
    with pytest.raises(hearth.PathRefused, match="link"):
        files.read("link")
    for path in ("../x", "a/../../x", ".."):
        with pytest.raises(hearth.PathRefused, match=r"has `\.\.`"):
            files.read(path)
    with pytest.raises(hearth.PathRefused):
        files.rename("a", "../b")
    files.write("a", "1")
    files.write("b", "2")
    with pytest.raises(hearth.FileExists):
        files.rename("a", "b")
    unknown = hearth.connect().attach(sync_session.id)
    unknown.files._root = "workspaces/00000000-0000-4000-8000-000000000000"
    unknown.id = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(hearth.SessionUnknown):
        unknown.files.read("a")


def test_files_and_the_notebook_outlive_the_session(user: Gateway) -> None:
    with hearth.connect() as gateway:
        session = gateway.session()
        session.run("6 * 7", key="a")
        session.files.write("kept", "yes")
        session.end()
        assert session.files.read("kept") == b"yes"
        (cell,) = session.notebook()["cells"]
        assert cell["source"] == "6 * 7"
        assert cell["outputs"][0]["data"]["text/plain"] == "42"


def test_awaited(user: Gateway, tmp_path: Path) -> None:
    async def work() -> None:
        async with hearth.aio.session() as session:
            names = [f"f{number}" for number in range(5)]
            await asyncio.gather(
                *[session.files.write(name, name) for name in names]
            )
            assert [f.name for f in await session.files.list()] == names

    asyncio.run(work())
