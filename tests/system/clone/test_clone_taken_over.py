"""A git that was taken over: what it leaves leads the worker nowhere.

The function that runs git in the sandbox does an honest copy here, and then
what code of a server could do there that has taken git over.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from cloning import Folder
from depth import spread
from git_server import GitServer, Repository, git

KEPT = {
    *("HEAD", "config", "index", "packed-refs", "objects", "objects/info"),
    *("objects/pack", "refs", "refs/heads", "refs/tags", "refs/remotes"),
    *("refs/remotes/origin", "refs/remotes/origin/HEAD"),
}


def take_over(folder: Folder, script: str, given: str = "") -> None:
    """Let the script run after an honest copy; it begins in /workspace."""
    body = textwrap.indent(textwrap.dedent(script), "    ")
    folder.hook = f"""
import json, os, shutil, socket, stat, subprocess, sys, time
from hearth_downloads.clone import program

def write(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(content)

def run(order):
    os.chdir("/workspace")
    done = program._Copy(order).run()
    report = {{"ok": done}}
    pack = "mirror/objects/pack/"
    packs = sorted(os.listdir(pack))
{body}
    if report:
        write("report", json.dumps(report).encode())
    os._exit(0)

program.run = run
"""


@pytest.fixture(scope="module")
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"a": "one", "sub/b": "two"})
    return repository


def names(got: object) -> set[str]:
    tree = got.tree  # type: ignore[attr-defined]
    inside = {os.fsdecode(n[5:]) for n in tree if n.startswith(b".git/")}
    return {n for n in inside if not n.startswith("objects/pack/")}


PLANTED = [
    "write('mirror/hooks/post-checkout', b'x'); write('mirror/x', b'')",
    "write('mirror/config', b'[core]\\n\\tfsmonitor = touch /tmp/x\\n')",
    "write('mirror/config.worktree', b'[core]\\n\\tpager = x\\n')",
    "write('mirror/info/attributes', b'* filter=x\\n')",
    "write('mirror/info/grafts', b'x'); write('mirror/commondir', b'/')",
    "write('mirror/objects/info/alternates', b'/etc\\n')",
    "write('mirror/objects/00/' + '0' * 38, b'x')",
    "write('mirror/refs/heads/x', b'0' * 40)",
    "write('mirror/modules/a/config', b'x')",
    "write('mirror/HEAD', b'ref: ../../etc')",
    "write(pack + 'pack-' + '0' * 40 + '.promisor', b'')",
    "write(pack + 'pack-' + '0' * 40 + '.pack', b'PACK')",
    "write(pack + 'pack-' + '1' * 40 + '.idx', b'')",
    "os.symlink('/etc/passwd', pack + 'pack-' + '2' * 40 + '.pack')",
    "os.mkfifo(pack + 'pack-' + '3' * 40 + '.pack')",
    "os.mkdir(pack + 'pack-' + '3' * 40 + '.idx')",
    "os.mkfifo('mirror/shallow')",
    "os.chmod('tree/sub', 0); os.chmod('tree', 0); os.chmod('.', 0o700)",
    "os.chmod('mirror/objects', 0); os.chmod('mirror', 0)",
]


@pytest.mark.parametrize(
    "script",
    [
        "",
        "\n".join(PLANTED),
        "os.symlink('/etc/passwd', 'mirror/shallow')",
    ],
)
def test_only_what_a_plain_repository_has_is_passed_on(
    folder: Folder, made: Repository, place: Path, script: str
) -> None:
    take_over(folder, script)
    got = folder.clone(made.url)
    assert names(got) == KEPT
    assert "fsmonitor" not in got.text(".git/config")
    assert set(got.work) == {b"a", b"sub", b"sub/b"}
    (mirror,) = (folder.work / "mirrors").iterdir()
    assert sorted(os.listdir(mirror)) == ["objects", "packed-refs"]
    assert len(list(mirror.glob("objects/pack/*"))) == 2
    path = got.unpack(place / "look")
    assert git(path, "status", "--porcelain") == ""
    folder.hook = ""
    assert folder.clone(made.url, got.commit).cached


def test_bits_of_a_mode_do_not_pass(folder: Folder, made: Repository) -> None:
    """The sandbox permits none that is more than a right."""
    take_over(
        folder,
        """
        for name, mode in (("tree/a", 0o6755), ("tree/sub", 0o6777)):
            try:
                os.chmod(name, mode)
                os._exit(1)
            except PermissionError:
                os.chmod(name, mode & 0o777)
        """,
    )
    got = folder.clone(made.url)
    assert {n: one.kind for n, one in got.work.items()} == {
        b"a": "x",
        b"sub": "d",
        b"sub/b": "f",
    }


@pytest.mark.parametrize(
    "script",
    spread(
        [
            "os.mkfifo('tree/x')",
            "s = socket.socket(socket.AF_UNIX); s.bind('tree/x')",
            "os.link('tree/a', 'tree/x')",
            "os.link(pack + packs[0], 'tree/x')",
            "os.rename('tree', 'x'); os.symlink('/etc', 'tree')",
            "os.rename('tree', 'x'); os.symlink('{victim}', 'tree')",
            "os.rename('tree', 'x')",
            "os.rename('mirror', 'x'); os.symlink('x', 'mirror')",
            "os.rename(pack, 'x'); os.symlink('/workspace/x', pack[:-1])",
            "[os.unlink(pack + one) for one in packs]",
            "os.unlink('mirror/packed-refs')",
            "os.rename('mirror/packed-refs', 'x'); "
            "os.symlink('../x', 'mirror/packed-refs')",
            "write('mirror/packed-refs', b'0' * 40 + b' refs/heads/main\\n')",
            "os.rename('index', 'x'); os.symlink('x', 'index')",
            "write('index', b'DIRC' + bytes(100))",
            "report = None",
            "report = None; write('report', b'[' * 9999)",
            "report = None; os.mkfifo('report')",
            "report = None; os.symlink('/etc/passwd', 'report')",
            "report = {{}}",
            "report = {{'fault': {{'kind': [], 'said': 7}}}}",
            "done['commit'] = '0' * 40",
            "done['branch'] = 'other'",
            "done['head'] = '../../../hooks/x'",
            "os._exit(0)",
        ]
    ),
)
def test_what_git_does_not_leave_is_refused(
    folder: Folder, made: Repository, script: str
) -> None:
    victim = folder.path / "victim"
    victim.mkdir(mode=0o777)
    (victim / "kept").write_text("x")
    before = (victim / "kept").stat()
    take_over(folder, script.format(victim=victim))
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchFailed"
    assert (victim / "kept").stat() == before
    assert os.listdir(victim) == ["kept"]
    assert folder.names("mirrors") == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("write('tree/.git/config', b'x')", "git takes for its own"),
        ("write('tree/.git', b'gitdir: x')", "git takes for its own"),
        ("write('tree/sub/.GIT/config', b'x')", "git takes for its own"),
        ("write('tree/.g\\u200cit', b'x')", "git takes for its own"),
        ("write('tree/GIT~1', b'x')", "git takes for its own"),
        ("write('tree/.git .', b'x')", "git takes for its own"),
        ("write('tree/x\\\\.git', b'x')", "git takes for its own"),
        ("write('tree/\\uff0egit', b'x')", "git takes for its own"),
        ("os.truncate('tree/a', 2 << 20)", "max_bytes permits (1.0 MiB)"),
        ("write('x', bytes(20 << 20))", "max_bytes permits (1.0 MiB)"),
        ("write('x', bytes(20 << 20)); time.sleep(99)", "max_bytes permits"),
        ("os.makedirs('tree/' + 'd/' * 120)", "folders, which is the most"),
        ("os.symlink('x' * 4095, 'tree/l')", ""),
    ],
)
def test_what_no_repository_has_is_refused(
    folder: Folder, made: Repository, script: str, why: str
) -> None:
    take_over(folder, script)
    if not why:
        assert folder.clone(made.url).tree[b"l"].kind == "l"
        return
    fault = folder.refuse(made.url, max_bytes=1 << 20)
    assert fault.ename == "FetchRefused"
    assert why in fault.text


def test_it_makes_no_device_and_reaches_no_host(
    folder: Folder, made: Repository, server: GitServer
) -> None:
    host, port = server.place.split(":")
    take_over(
        folder,
        f"""
        said = b""
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            try:
                os.mknod("tree/x", kind | 0o666, os.makedev(1, 3))
                said += b"made"
            except OSError:
                said += b"!"
        for place in (("{host}", {port}), ("8.8.8.8", 53)):
            try:
                socket.create_connection(place, 1)
                said += b"out"
            except OSError:
                said += b"!"
        for line in ("CONNECT 169.254.169.254:80", "GET http://x.example/",
                     "POST http://x.example/"):
            client = socket.create_connection(("127.0.0.1", 3128))
            client.sendall(line.encode() + b" HTTP/1.1\\r\\n"
                           b"Content-Length: 0\\r\\n\\r\\n")
            said += client.recv(100)[9:12]
        seen = [one for one in ("/root", "/home", "/etc/shadow", "/work",
                "{folder.path}") if os.path.exists(one)]
        write("tree/said", said)
        write("tree/seen", " ".join(seen).encode())
        """,
    )
    got = folder.clone(made.url)
    assert got.text("said") == "!!!!403403403"
    assert got.text("seen") == ""


def test_it_changes_no_file_after_its_end(
    folder: Folder, made: Repository
) -> None:
    """A process of its own goes on writing, as long as it lives."""
    take_over(
        folder,
        """
        write("tree/x", bytes(1 << 20))
        if os.fork() == 0:
            os.setsid()
            with open("tree/x", "r+b", buffering=0) as file:
                while True:
                    file.seek(0)
                    file.write(os.urandom(4))
        """,
    )
    folder.hook += """
from hearth_downloads.clone import walk
real = walk.Walk.add
def add(self, folder, *rest):
    number = os.open("x", os.O_RDONLY, dir_fd=folder)
    first = os.pread(number, 4, 0)
    for _ in range(1000):
        assert os.pread(number, 4, 0) == first
    walk.Walk.add = real
    real(self, folder, *rest)
walk.Walk.add = add
"""
    assert len(folder.clone(made.url).tree[b"x"].content) == 1 << 20


def test_it_changes_no_other_mirror(
    folder: Folder, made: Repository, server: GitServer
) -> None:
    """All that it leaves is of its own URL."""
    other = server.make()
    commit = other.commit({"b": "good"})
    folder.clone(other.url)
    take_over(
        folder,
        """
        write("mirrors/x", b"")
        for one in packs:
            os.chmod(pack + one, 0o600)
            os.truncate(pack + one, 100)
        """,
    )
    folder.clone(made.url)
    folder.hook = ""
    got = folder.clone(other.url, commit)
    assert (got.text("b"), got.cached) == ("good", True)
    assert folder.clone(made.url).text("a") == "one"
