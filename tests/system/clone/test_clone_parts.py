"""Parts that read what git has left: refs, index, names, and the tree file."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
from cloning import read_tree
from downloading import LONG, PACKAGE
from git_server import git
from hearth_downloads.clone import tree as module
from hearth_downloads.clone.dotgit import parse_head
from hearth_downloads.clone.index import rewrite_index
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.names import is_git_name
from hearth_downloads.clone.ref import is_ref_name, show_branch
from hearth_downloads.clone.refs import parse_refs, parse_shallow
from hearth_downloads.clone.tree import TreeFile
from hearth_downloads.clone.walk import Walk
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.gateway import Gateway

ONE = "1" * 40
TOP = "refs/remotes/origin/"


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[TreeFile]:
    link, gateway = socket.socketpair()
    file = os.open(tmp_path / "tree", os.O_RDWR | os.O_CREAT)
    with link, gateway:
        yield TreeFile(Job(max_bytes=1 << 20), Gateway(link), file)
    os.close(file)


def read(tree: TreeFile) -> dict[bytes, Any]:
    size = tree.end()
    assert os.fstat(tree.file).st_size == size
    os.lseek(tree.file, 0, os.SEEK_SET)
    with open(tree.file, "rb", closefd=False) as file:
        return read_tree(file)


def walk(tree: TreeFile, path: Path) -> Walk:
    made = Walk(tree)
    folder = os.open(path, os.O_RDONLY)
    try:
        made.add(folder)
    finally:
        os.close(folder)
    return made


@pytest.mark.parametrize("size", [0, 1, 64 << 10, (64 << 10) + 1, 700_000])
def test_writes_a_file(tree: TreeFile, tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "a").write_bytes(content)
    walk(tree, tmp_path / "top")
    assert (tree.bytes, tree.entries) == (size, 1)
    assert read(tree)[b"a"].content == content


def test_bits_of_a_mode_do_not_pass(tree: TreeFile, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "d").mkdir(parents=True)
    for name, mode in (
        ("a", 0o6755),
        ("b", 0o666),
        ("c", 0o011),
        ("d", 0o3777),
    ):
        if name != "d":
            (top / name).write_text(name)
        (top / name).chmod(mode | 0o400)
    walk(tree, top)
    kinds = {name: one.kind for name, one in read(tree).items()}
    assert kinds == {b"a": "x", b"b": "f", b"c": "f", b"d": "d"}


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "two", ".git"])
def test_refuses_what_is_no_file(
    tree: TreeFile, tmp_path: Path, kind: str
) -> None:
    top = tmp_path / "top"
    top.mkdir()
    if kind == "fifo":
        os.mkfifo(top / "x")
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(top / "x"))
    elif kind == "device":
        if os.geteuid() != 0:
            pytest.skip("only root makes devices")
        os.mknod(top / "x", 0o20666, os.makedev(1, 3))
    elif kind == "two":
        (top / "x").touch()
        os.link(top / "x", tmp_path / "y")
    else:
        (top / kind).touch()
    with pytest.raises((Failed, Refused)):
        walk(tree, top)


def test_bounds_all_of_it(
    tree: TreeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.add_content(b"a", bytes(1 << 20))
    with pytest.raises(Refused, match="max_bytes"):
        tree.add_content(b"b", b"x")
    for path in (b"x" * 4096, b"d/" * 100 + b"x"):
        with pytest.raises(Refused, match="4095 bytes or 100 folders"):
            tree.add_folder(path)
    for target in (b"", b"x" * 4096):
        with pytest.raises(Refused, match="4095 are the most"):
            tree.add_link(b"l", target)
    monkeypatch.setattr(module, "ENTRIES_MAX", tree.entries + 1)
    tree.add_folder(b"d/" * 99 + b"x")
    with pytest.raises(Refused, match="files, folders and links"):
        tree.add_folder(b"e")


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git.",
            ".git ",
            ".git. .",
        ),
        *(".git::$INDEX_ALLOCATION", ".git:x", "a\\.git", ".git\\config"),
        *(
            ".g\u200cit",
            "\ufeff.git",
            ".git\u206a",
            "\uff0egit",
        ),
    ],
)
def test_knows_gits_own_names(name: str) -> None:
    assert is_git_name(name.encode())


@pytest.mark.parametrize(
    "name",
    [
        b"git",
        b".gitignore",
        b".gitmodules",
        b".git2",
        b"a.git",
        b"git~2",
        b"\xff",
    ],
)
def test_knows_other_names(name: bytes) -> None:
    assert not is_git_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "@", ".", "-x", "/a", "a/", "a//b", "a/.b", ".a", "a.", "a.lock"),
        *(
            "a.lock/b",
            "a..b",
            "a@{b",
            "a b",
            "a\tb",
            "a\nb",
            "a\x7f",
            "a~",
            "a^",
        ),
        *("a:b", "a?", "a*", "a[", "a\\b"),
    ],
)
def test_refuses_a_name_of_a_ref(name: str) -> None:
    assert not is_ref_name(name)


def test_takes_a_name_of_a_ref() -> None:
    for name in ("a", "a/b", "ä", "a@b", "a-", "a.b", 'a"b', "@a", "\udcff"):
        assert is_ref_name(name), name
    assert [show_branch(n) for n in ("a/b", "ä", "x" * 201)] == ["a/b", "", ""]


def test_reads_refs() -> None:
    text = f"# header\n{ONE} {TOP}b\n{ONE} refs/tags/a\n^{ONE}\n"
    refs = parse_refs(text.encode(), 40).with_branch("b", ONE)
    assert (
        refs.write()
        == (
            "# pack-refs with: peeled fully-peeled sorted \n"
            f"{ONE} refs/heads/b\n{ONE} {TOP}b\n{ONE} refs/tags/a\n^{ONE}\n"
        ).encode()
    )
    assert parse_refs(b"", 40).values == {}


@pytest.mark.parametrize(
    "line",
    [
        "x",
        f"{ONE}",
        f"{ONE} ",
        f"{ONE} refs/heads/main",
        f"{ONE} HEAD",
        f"{ONE} {TOP}../x",
        f"{ONE} {TOP}",
        f"{ONE} {TOP}a b",
        f"{ONE} {TOP}a\r",
        f"{ONE} {TOP}" + "x" * 2000,
        f"{ONE}1 {TOP}x",
        f"{'1' * 64} {TOP}x",
        f"{'g' * 40} {TOP}x",
        f"^{ONE}",
    ],
)
def test_refuses_refs(line: str) -> None:
    with pytest.raises(Failed, match="refs that git has left"):
        parse_refs(line.encode(), 40)


def test_reads_where_a_history_ends() -> None:
    assert parse_shallow(None, 40) == parse_shallow(b"", 40) == b""
    assert parse_shallow(f"{ONE}\n".encode(), 40) == f"{ONE}\n".encode()
    for text in (b"x", b"1" * 41, b"1" * 64, b"\xff" * 40):
        with pytest.raises(Failed):
            parse_shallow(text, 40)


@pytest.mark.parametrize(
    "change",
    [
        {"commit": "../x"},
        {"commit": ONE + "1"},
        {"commit": "A" * 40},
        {"commit": 1},
        {"branch": "../../x"},
        {"branch": "x\n[core]"},
        {"branch": None},
        {"head": "../../hooks/x"},
        {"head": 7},
    ],
)
def test_refuses_a_report(change: dict[str, Any]) -> None:
    good = {"commit": ONE, "branch": "main", "head": ""}
    assert parse_head(good).branch == "main"
    with pytest.raises(Failed):
        parse_head({**good, **change})


def entry(name: bytes, mode: int = 0o100644, flags: int = -1) -> bytes:
    flags = min(len(name), 0xFFF) if flags < 0 else flags
    made = bytes(range(24)) + struct.pack(">I", mode) + b"\7" * 12
    made += bytes.fromhex(ONE) + struct.pack(">H", flags) + name
    return made + bytes(8 - len(made) % 8)


def index(*entries: bytes, version: int = 2, rest: bytes = b"") -> bytes:
    head = b"DIRC" + struct.pack(">II", version, len(entries))
    content = head + b"".join(entries) + rest
    return content + hashlib.sha1(content).digest()


def test_rewrites_an_index(tmp_path: Path) -> None:
    """Without facts of files, flags and extensions; git can read it."""
    long = b"d/" + b"x" * 250
    given = index(
        entry(b"a"),
        entry(long, 0o100755),
        entry(b"l", 0o120000),
        entry(b"m", 0o160000),
        rest=b"FSMN" + struct.pack(">I", 4) + b"evil",
    )
    made, submodules = rewrite_index(given, 40, {})
    assert submodules == {b"m": ONE}
    assert b"FSMN" not in made
    assert b"\7" not in made
    git(tmp_path, "init", "-q")
    (tmp_path / ".git" / "index").write_bytes(made)
    assert git(tmp_path, "ls-files", "-s").splitlines() == [
        f"100644 {ONE} 0\ta",
        f"100755 {ONE} 0\t{long.decode()}",
        f"120000 {ONE} 0\tl",
        f"160000 {ONE} 0\tm",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"DIRC",
        index(version=4),
        index(version=3),
        b"TREE" + index()[4:],
        index(entry(b"a"))[:40],
        b"DIRC" + struct.pack(">II", 2, 2) + entry(b"a"),
        index(entry(b"a", 0o100666)),
        index(entry(b"a", 0o40000)),
        index(entry(b"a", 0o104755)),
        index(entry(b"a", flags=0x1001)),  # a conflict
        index(entry(b"a", flags=0x8001)),  # assumed to be unchanged
        index(entry(b"a", flags=0x4001)),
        index(entry(b"b"), entry(b"a")),
        index(entry(b"a"), entry(b"a")),
        index(entry(b"")),
        index(entry(b"/a")),
        index(entry(b"a//b")),
        index(entry(b"a/../b")),
        index(entry(b"./a")),
        index(entry(b"x" * 5000)),
    ],
)
def test_refuses_an_index(content: bytes) -> None:
    with pytest.raises(Failed, match="the index that git has left"):
        rewrite_index(content, 40, {})


@pytest.mark.parametrize("name", [b".git/config", b"a/.GIT/config"])
def test_refuses_a_name_of_gits_in_an_index(name: bytes) -> None:
    with pytest.raises(Refused, match="which git takes for its own"):
        rewrite_index(index(entry(name)), 40, {})


def test_bounds_an_index() -> None:
    many = b"DIRC" + struct.pack(">II", 2, 500_001)
    with pytest.raises(Refused, match="more than 500000 files"):
        rewrite_index(many, 40, {})


@pytest.mark.parametrize("module", ["clone.copy", "fetch.transfer"])
def test_a_job_begins_without_what_it_may_not_need(module: str) -> None:
    """A repository, and a file of the cache, need no client of HTTP: it would
    take a sixth of the time of a short job."""
    code = (
        f"import sys; sys.path.insert(0, {PACKAGE!r})\n"
        f"import hearth_downloads.{module}\n"
        "print({'http.client', 'email'} & set(sys.modules))"
    )
    words = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG)
    assert (done.stdout, done.stderr) == ("set()\n", "")
