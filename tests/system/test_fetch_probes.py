"""A path that is taken, or a full workspace, is refused before anything is
downloaded: no worker starts, and no server is asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from fake_files import FakeFiles
from fetch_gateway import ALLOW, HOST, Fetching
from git_server import GitServer
from harness import HEARTH, Gateway, Session, started
from records import records, wait_record

TAKEN = (
    # command, path, the error's name, what its sentence has
    ("fetch", "folder", "IsFolder", "end it with a slash (folder/)"),
    ("fetch", "file/x", "FileNotFound", "file is not a folder, or has a file"),
    ("fetch", "link/x", "FileNotFound", "link is not a folder, or has a file"),
    ("clone", "file", "FileExists", "file is there already: choose another"),
    ("clone", "link", "FileExists", "link is there already: choose another"),
    ("clone", "folder", "FolderNotEmpty", "folder is a folder that is not em"),
    ("clone", "file/x", "FileNotFound", "file is not a folder, or has a file"),
    ("clone", "link/x", "PathRefused", "a symbolic link is in the way"),
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    with started(Fetching()) as made:
        yield made


def fill(session: Session) -> None:
    top = session.workspace
    (top / "file").write_text("mine")
    (top / "folder").mkdir()
    (top / "folder" / "x").write_text("mine")
    (top / "link").symlink_to("folder")


def is_unchanged(session: Session) -> bool:
    top = session.workspace
    return (
        sorted(os.listdir(top)) == ["file", "folder", "link"]
        and os.listdir(top / "folder") == ["x"]
        and (top / "file").read_text() == "mine"
    )


def refusals(gateway: Fetching, session: Session) -> list[tuple[str, ...]]:
    """Return who was refused what, when all of TAKEN are in the audit log."""

    def look() -> Any:
        found = records(gateway, event="fetch", session=session.id)
        return found if len(found) == len(TAKEN) else None

    return [
        (
            one["who"].partition("=")[0],
            {"file": "fetch", "repository": "clone"}[one["kind"]],
            one["path"],
            one["ename"],
            one["outcome"],
        )
        for one in wait_for(look, "a record of each refusal")
    ]


def test_no_worker_starts(gateway: Fetching, session: Session) -> None:
    fill(session)
    before = gateway.order("began")
    for command, path, _, text in TAKEN:
        done = gateway.run(command, session.id, f"{HOST}/plain", "-o", path)
        assert (done.returncode, done.stdout) == (1, ""), path
        assert text in done.stderr
    assert gateway.order("began") == before
    assert is_unchanged(session)
    assert refusals(gateway, session) == [
        ("uid", command, path, ename, "failed")
        for command, path, ename, _ in TAKEN
    ]
    assert gateway.json("fetch", "--list", "--json", session.id) == []


def test_code_is_refused_alike(gateway: Fetching, session: Session) -> None:
    fill(session)
    before = gateway.order("began")
    for command, path, _, text in TAKEN:
        done = session.exec(f"%{command} {HOST}/plain {path}\nprint('next')")
        assert (done.returncode, done.stdout) == (1, ""), path
        assert text in done.stderr
    assert gateway.order("began") == before
    assert is_unchanged(session)
    assert refusals(gateway, session) == [
        ("kernel", command, path, ename, "failed")
        for command, path, ename, _ in TAKEN
    ]


@pytest.mark.parametrize("command", ["fetch", "clone"])
def test_there_is_no_room(gateway: Fetching, command: str) -> None:
    session = gateway.create("--limit", "workspace_files=3")
    before = gateway.order("began")
    done = gateway.run(command, session.id, f"{HOST}/plain", "-o", "a/b/c/d")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the workspace holds 0 files" in done.stderr
    assert gateway.order("began") == before
    assert os.listdir(session.workspace) == []
    record = wait_record(gateway, event="fetch", session=session.id)
    assert record["ename"] == "WorkspaceFull"
    session.delete()


@pytest.mark.parametrize(
    ("command", "made", "ename"),
    [
        ("fetch", "slow-folder", "IsFolder"),
        ("clone", "slow-tree", "FolderNotEmpty"),
    ],
)
def test_the_session_takes_the_path_meanwhile(
    gateway: Fetching, session: Session, command: str, made: str, ename: str
) -> None:
    client = subprocess.Popen(
        [HEARTH, command, session.id, f"{HOST}/{made}"],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    gateway.wait_note("waits", made)
    path = session.workspace / made
    path.mkdir()
    (path / "x").touch()
    gateway.let(made)
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (1, "")
    assert made in err
    assert os.listdir(path) == ["x"]
    record = wait_record(gateway, event="fetch", session=session.id)
    assert record["ename"] == ename


def test_no_server_is_asked(tmp_path: Path) -> None:
    gateway = Gateway()
    with FakeFiles() as server, GitServer(tmp_path) as repositories:
        server.put("/table.csv", b"a,b\n")
        model = repositories.make("model.git")
        model.commit({"net.py": "x = 1\n"})
        gateway.options += [
            "--set",
            f"{ALLOW}={server.place}, {repositories.place}",
            "--set",
            f"fetch/dir={gateway.folder / 'f'}",
        ]
        gateway.folder.chmod(0o711)
        try:
            gateway.start()
            session = gateway.create()
            fill(session)
            urls = {"fetch": server.url("/table.csv"), "clone": model.url}
            for command, path, _, text in TAKEN:
                done = gateway.run(
                    command, session.id, urls[command], "-o", path
                )
                assert (done.returncode, done.stdout) == (1, "")
                assert text in done.stderr
            assert server.accepted == 0
            assert repositories.asked == []
            for command, url in urls.items():
                done = gateway.run(command, session.id, url)
                assert (done.returncode, done.stderr) == (0, "")
            assert server.count("/table.csv") == 1
            assert repositories.asked != []
        finally:
            gateway.end()
