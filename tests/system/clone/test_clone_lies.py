"""Servers that lie, are silent or never end, and repositories that attack."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from cloning import Folder
from depth import spread
from git_server import GitServer, Repository, say

REFS = "application/x-git-upload-pack-advertisement"
PACK = "application/x-git-upload-pack-result"
NOISE = random.Random(7).randbytes(5000)
LIMIT = "more than profile/python3/fetch/max_bytes permits (1.0 MiB)"


def line(content: bytes) -> bytes:
    return b"%04x%s" % (len(content) + 4, content)


def flood(piece: bytes, kind: str) -> Any:
    """Return a script that sends a piece for ever."""

    def script(handler: Any) -> None:
        handler.body()
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        handler.wfile.write(line(b"# service=git-upload-pack\n") + b"0000")
        while True:
            handler.wfile.write(piece)

    return script


def wait(server: GitServer, *begin: bytes) -> Any:
    """Return a script that sends something and then nothing."""

    def script(handler: Any) -> None:
        handler.body()
        for piece in begin:
            handler.wfile.write(piece)
        handler.wfile.flush()
        server.ended.wait()

    return script


@pytest.fixture
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"a": "one"})
    return repository


@pytest.mark.parametrize(
    ("content", "kind", "status", "why"),
    [
        (b"<html>\n<p>\n</html>", "text/html", 200, "has no git repository"),
        (b"", "text/plain", 200, "an empty repository, or none"),
        (b"0000", REFS, 200, "has no git repository that can be read"),
        (NOISE, REFS, 200, "sent no repository that git can read"),
        (b"no", "text/plain", 404, "has no git repository that can be read"),
        (b"no", "text/plain", 401, "wants a user and a password, which"),
        (b"no", "text/plain", 503, "failed: The requested URL returned"),
    ],
)
def test_what_is_no_repository(
    folder: Folder,
    server: GitServer,
    content: bytes,
    kind: str,
    status: int,
    why: str,
) -> None:
    server.scripts["/lie.git/info/refs"] = say(content, kind, status)
    fault = folder.refuse(server.url("/lie.git"))
    assert fault.ename in ("FetchUnreachable", "FetchRefused")
    assert why in fault.text
    assert folder.names("mirrors") == []


@pytest.mark.parametrize(
    "content",
    [
        b"<html>",
        b"",
        line(b"packfile\n") + line(b"\1PACK" + bytes(100)) + b"0000",
        line(b"packfile\n") + line(b"\1" + NOISE) + b"0000",
        line(b"packfile\n") + line(b"\3\x1b[31mfatal: File too \n\r x"),
        line(b"packfile\n") + line(b"\7"),
        b"fffe" + bytes(100),
    ],
)
def test_what_is_no_pack(
    folder: Folder, server: GitServer, content: bytes
) -> None:
    made = server.make()
    commit = made.commit({"a": "one"})
    path = f"/{made.path.name}/git-upload-pack"
    server.scripts[path] = say(content, PACK)
    fault = folder.refuse(made.url, commit)
    assert fault.ename == "FetchUnreachable"
    assert folder.names("mirrors") == []
    del server.scripts[path]
    assert folder.clone(made.url, commit).text("a") == "one"


def test_a_pack_that_has_another_content(
    folder: Folder, made: Repository
) -> None:
    """The server's disk, or the server itself, has changed an object."""
    made.commit({"a": os.urandom(4000)})
    made.git("repack", "-adq")
    (pack,) = made.path.glob("objects/pack/*.pack")
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(content)
    fault = folder.refuse(made.url)
    assert fault.ename in ("FetchUnreachable", "FetchRefused")
    assert folder.names("mirrors") == []


def test_the_old_protocol_is_not_taken(
    folder: Folder, server: GitServer, made: Repository, tmp_path: Path
) -> None:
    """Its objects are not checked, and it can name other servers."""
    made.git("update-server-info")
    for path in made.path.rglob("*"):
        if path.is_file():
            name = path.relative_to(made.path).as_posix()
            place = f"/old.git/{name}"
            server.scripts[place] = say(path.read_bytes(), "text/plain")
    fault = folder.refuse(server.url("/old.git"))
    assert "speaks git's old protocol alone" in fault.text
    assert folder.names("mirrors") == []
    fault = folder.refuse(server.url("/old.git"), depth=1)
    assert "speaks git's old protocol alone" in fault.text


@pytest.mark.parametrize("step", ["info/refs", "git-upload-pack"])
@pytest.mark.parametrize(
    "begin", [(), (b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n0",)]
)
def test_a_silent_server_ends_the_job(
    folder: Folder, server: GitServer, step: str, begin: tuple[bytes, ...]
) -> None:
    made = server.make()
    commit = made.commit({"a": "one"})
    path = f"/{made.path.name}/{step}"
    server.scripts[path] = wait(server, *begin)
    fault = folder.refuse(made.url, commit, silence=1)
    assert fault.ename == "FetchUnreachable"
    assert (
        f"{server.place} has stopped answering" in fault.text
        or f"{made.url} sent nothing for 1 seconds" in fault.text
    )


def test_silence_is_no_end(folder: Folder, server: GitServer) -> None:
    """The proxy ends the answer before git does: it looks like a whole one,
    of a repository that has nothing."""
    made = server.make()
    commit = made.commit({"a": "one"})
    begin = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\n\r\n0"
    server.scripts[f"/{made.path.name}/info/refs"] = wait(server, begin)
    folder.hook = (
        "from hearth_downloads.clone import git\n"
        "write = git.write_config\n"
        "git.write_config = lambda *given: write(*given).replace(\n"
        "    'lowSpeedTime = 1', 'lowSpeedTime = 600')"
    )
    fault = folder.refuse(made.url, commit, silence=1)
    assert fault.ename == "FetchUnreachable", fault.text
    assert f"{server.place} has stopped answering" in fault.text


@pytest.mark.parametrize(
    ("step", "kind", "piece"),
    [
        ("info/refs", REFS, line(b"0" * 40 + b" refs/heads/" + b"x" * 1000)),
        ("git-upload-pack", PACK, line(b"\2" + b"x" * 60_000)),
        ("git-upload-pack", PACK, line(b"\2\r\n" * 20_000)),
    ],
)
def test_a_server_that_never_ends(
    folder: Folder, server: GitServer, step: str, kind: str, piece: bytes
) -> None:
    made = server.make()
    commit = made.commit({"a": "one"})
    path = f"/{made.path.name}/{step}"
    server.scripts[path] = flood(piece, kind)
    fault = folder.refuse(made.url, commit, max_bytes=1 << 20)
    assert fault.ename in ("FetchRefused", "FetchUnreachable")
    assert folder.names("mirrors") == []


@pytest.mark.parametrize(
    "files",
    [
        {"big": random.Random(7).randbytes(3 << 20)},  # in the pack
        {"big": bytes(3 << 20)},  # when it is written
        {str(n): bytes(400_000) for n in range(3)},  # all together
    ],
)
def test_a_repository_that_is_too_large(
    folder: Folder, server: GitServer, files: dict[Any, Any]
) -> None:
    made = server.make()
    made.commit(files)
    fault = folder.refuse(made.url, max_bytes=1 << 20)
    assert fault.ename == "FetchRefused"
    assert LIMIT in fault.text


def test_a_file_that_is_too_large_for_git(
    folder: Folder, server: GitServer
) -> None:
    """The system ends git at its largest file; that has no time to say so."""
    made = server.make()
    made.commit({"a": bytes(65 << 20)})
    fault = folder.refuse(made.url, max_bytes=64 << 20)
    assert fault.ename == "FetchRefused"
    assert "max_bytes permits (64.0 MiB)" in fault.text


def test_too_many_files(folder: Folder, server: GitServer) -> None:
    made = server.make()
    made.commit({f"d/{n}": "" for n in range(20)})
    folder.hook = "from hearth_downloads.clone import tree as t\n"
    whole = folder.clone(made.url).files
    folder.hook += f"t.ENTRIES_MAX = {whole - 1}"
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert f"more than {whole - 1} files, folders and links" in fault.text


def test_more_files_than_the_profile_permits(
    folder: Folder, server: GitServer
) -> None:
    made = server.make()
    made.commit({f"d/{n}": "" for n in range(20)})
    whole = folder.clone(made.url).files
    assert folder.clone(made.url, max_files=whole).files == whole
    fault = folder.refuse(made.url, max_files=whole - 1)
    assert fault.ename == "FetchRefused"
    assert f"more than {whole - 1} files, folders and links" in fault.text
    assert "/fetch/max_files permits" in fault.text
    own = {"max_files": str(whole - 1)}
    fault = folder.refuse(made.url, max_files=whole - 1, own_texts=own)
    assert "which this session's own fetch/max_files permits" in fault.text


def test_too_deep_folders(folder: Folder, server: GitServer) -> None:
    made = server.make()
    made.commit({"d/" * 99 + "a": ""})
    assert len(folder.clone(made.url).work) == 100
    made.commit({"d/" * 100 + "a": ""})
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "too deep" in fault.text or "100 folders" in fault.text


def test_many_refs(folder: Folder, made: Repository) -> None:
    commit = made.find("main")
    text = "".join(f"create refs/tags/{n} {commit}\n" for n in range(2000))
    made.git("update-ref", "--stdin", given=text.encode())
    got = folder.clone(made.url)
    assert got.text(".git/packed-refs").count("refs/tags/") == 2000
    folder.hook = "from hearth_downloads.clone import refs as r\n"
    folder.hook += "r.REFS_BYTES_MAX = 50_000"
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "branches and tags, which is the most" in fault.text


@pytest.mark.parametrize(
    "name",
    spread(
        [
            ".git/config",
            "sub/.git/config",
            ".GIT/config",
            ".g\u200cit/config",
            "git~1/config",
            ".git. /config",
            ".git\\config",
            ".git",
            "..",
            "sub/../../a",
            ".",
        ]
    ),
)
def test_names_that_git_takes_for_its_own(
    folder: Folder, server: GitServer, name: str
) -> None:
    made = server.make()
    made.commit({name: "[core]\n\tfsmonitor = touch /tmp/x", "ok": ""})
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "has an object that git refuses" in fault.text


@pytest.mark.parametrize("name", [".\uff47it", "\uff0egit", "a/.\uff27IT/x"])
def test_names_that_only_some_systems_take_for_gits(
    folder: Folder, server: GitServer, name: str
) -> None:
    """git itself lets them pass."""
    made = server.make()
    made.commit({name: "[core]\n\tfsmonitor = touch /tmp/x", "ok": ""})
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert ", which git takes for its own" in fault.text


def test_what_a_repository_says_runs_nothing(
    folder: Folder, server: GitServer
) -> None:
    """Filters, hooks, submodules and configuration are only files."""
    made = server.make()
    run = "touch /workspace/tree/ran"
    made.commit(
        {
            ".gitattributes": "* filter=evil diff=evil merge=evil ident\n",
            ".gitconfig": f'[filter "evil"]\n\tsmudge = {run}\n',
            ".gitmodules": (
                f'[submodule "a"]\n\tpath = a\n\turl = ext::sh -c "{run}"\n'
                '[submodule "b"]\n\tpath = b\n\turl = file:///etc\n'
                f"\tupdate = checkout\n"
            ),
            "hooks/post-checkout": ("100755", f"#!/bin/sh\n{run}\n"),
            "a": ("160000", "1" * 40),
            "b": ("160000", "2" * 40),
            "c": "content $Id$",
        }
    )
    (made.path / "hooks").mkdir(exist_ok=True)
    (made.path / "hooks" / "post-checkout").write_text("#!/bin/sh\nfalse\n")
    got = folder.clone(made.url)
    assert got.submodules == 2
    assert b"ran" not in got.tree
    assert got.text("c").startswith("content $Id: ")
    assert {name for name in got.tree if name.startswith((b"a/", b"b/"))} == (
        set()
    )
    assert not any(b".git/hooks" in name for name in got.tree)


def test_old_faults_are_no_reason(folder: Folder, server: GitServer) -> None:
    """Programs of long ago wrote modes and dates in other ways."""
    made = server.make()
    inner = made.tree([("100644", made.blob("one"), b"a")])
    tree = made.tree([("040000", inner, b"sub")])
    text = (
        f"tree {tree}\nauthor A <a@x> 1700000000 +051800\n"
        "committer A <a@x> 1700000000 +051800\n\nmessage\n"
    )
    words = ("hash-object", "-w", "-t", "commit", "--literally", "--stdin")
    commit = made.git(*words, given=text.encode())
    made.git("update-ref", "refs/heads/main", commit)
    assert folder.clone(made.url).text("sub/a") == "one"


def test_a_faulty_object_is_refused(folder: Folder, server: GitServer) -> None:
    made = server.make()
    blob = made.blob("one")
    made.commit({"a": "one"})
    raw = b"100644 a\0" + bytes.fromhex(blob)
    words = ("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
    tree = made.git(*words, given=raw + raw)
    commit = made.git("commit-tree", tree, "-m", "twice")
    made.git("update-ref", "refs/heads/main", commit)
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchRefused"
    assert "duplicateEntries" in fault.text


def test_git_is_looked_for(folder: Folder, made: Repository) -> None:
    folder.hook = "from hearth_downloads.clone import git as g\n"
    folder.hook += "g.FOLDERS = ('/nowhere',)"
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchFailed"
    assert "there is no git in /nowhere: install it" in fault.text
