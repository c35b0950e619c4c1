"""Submodules: what comes, what git says of it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from cloning import Folder
from depth import spread
from git_server import GitServer, Repository, git, say
from lfs_server import LfsServer

RULE = "*.bin filter=lfs diff=lfs merge=lfs -text\n"


def link(made: Repository, ref: str = "main") -> tuple[str, str]:
    return ("160000", made.find(ref))


def describe(**urls: str) -> str:
    """Return a .gitmodules of these paths with their URLs."""
    return "".join(
        f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'
        for path, url in urls.items()
    )


@pytest.fixture
def inner(server: GitServer) -> Repository:
    made = server.make()
    made.commit({"b": "one"})
    made.commit({"b": "two", "run": ("100755", "#!/bin/sh\n")})
    return made


def outer(server: GitServer, modules: str, **files: Any) -> Repository:
    made = server.make()
    content = {"a": "top", ".gitmodules": modules, **files}
    made.commit(content)
    return made


def around(server: GitServer, inner: Repository, more: str = "") -> Repository:
    """Return a repository with that submodule, and more in .gitmodules."""
    return outer(server, describe(sub=inner.url) + more, sub=link(inner))


def with_content(
    server: GitServer, lfs: LfsServer, content: bytes
) -> Repository:
    """Return a repository with a pointer to that content."""
    made = server.make()
    made.commit({".gitattributes": RULE, "x.bin": lfs.put(content)})
    lfs.serve(made)
    return made


def look(path: Path) -> str:
    """Return what git says of the submodules, which are unchanged."""
    assert git(path, "status", "--porcelain") == ""
    git(path, "fsck", "--strict")
    return git(path, "submodule", "status", "--recursive")


def test_submodules_come(
    any_folder: Folder, server: GitServer, inner: Repository, place: Path
) -> None:
    made = outer(server, describe(sub=inner.url), sub=link(inner, "main~1"))
    got = any_folder.clone(made.url, submodules=True)
    assert (got.submodules, got.cached) == (0, False)
    assert got.text("sub/b") == "one"
    path = got.unpack(place / "look")
    assert look(path).startswith(f"{inner.find('main~1')} sub (")
    sub = path / "sub"
    assert git(sub, "config", "remote.origin.url") == inner.url
    git(sub, "fetch", "-q")
    git(sub, "switch", "-q", "main")
    assert (sub / "b").read_text() == "two"
    assert git(path, "status", "--porcelain") == "M sub"
    git(path, "-c", "protocol.allow=never", "submodule", "update", "-q")
    assert git(path, "status", "--porcelain") == ""
    again = any_folder.clone(made.url, submodules=True)
    assert (again.tree, again.cached) == (got.tree, True)


def test_without_it_folders_stay_empty(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    made = around(server, inner)
    got = folder.clone(made.url)
    assert got.submodules == 1
    assert b"sub/b" not in got.tree
    assert "submodule" not in got.text(".git/config")


@pytest.mark.parametrize("depth", [0, 1])
def test_submodules_have_submodules(
    folder: Folder,
    server: GitServer,
    inner: Repository,
    place: Path,
    depth: int,
) -> None:
    middle = outer(
        server, describe(deep=f"../{inner.path.name}"), deep=link(inner)
    )
    made = outer(
        server,
        describe(one=f"../{middle.path.name}", two=f"./../{inner.path.name}/"),
        one=link(middle),
        two=link(inner),
        none=("160000", "1" * 40),  # .gitmodules does not have it
    )
    got = folder.clone(made.url, submodules=True, depth=depth)
    assert got.submodules == 1
    assert got.text("one/deep/b") == got.text("two/b") == "two"
    assert got.work[b"one/deep/run"].kind == "x"
    path = got.unpack(place / "look")
    lines = [line.split()[:2] for line in look_some(path).splitlines()]
    assert lines == [
        [middle.find("main"), "one"],
        [inner.find("main"), "two"],
    ]
    count = git(path / "two", "rev-list", "--count", "HEAD")
    assert count == ("1" if depth else "2")


def look_some(path: Path) -> str:
    assert git(path, "status", "--porcelain") == ""
    return git(path, "submodule", "status", "one", "two")


def test_contents_of_lfs_come_in_submodules(
    folder: Folder, server: GitServer, place: Path
) -> None:
    lfs = LfsServer(server)
    inner = with_content(server, lfs, b"content")
    made = around(server, inner)
    assert folder.clone(made.url, submodules=True).lfs == 1
    got = folder.clone(made.url, submodules=True, lfs=True)
    assert (got.text("sub/x.bin"), got.lfs) == ("content", 0)
    look(got.unpack(place / "look"))


def test_contents_of_all_submodules_have_one_limit(
    folder: Folder, server: GitServer
) -> None:
    """The second one is judged before its content comes."""
    lfs = LfsServer(server)
    urls = {}
    links = {}
    for name in ("one", "two"):
        made = with_content(server, lfs, os.urandom(600 * 1024))
        urls[name], links[name] = made.url, link(made)
    made = outer(server, describe(**urls), **links)
    fault = folder.refuse(
        made.url, submodules=True, lfs=True, max_bytes=1 << 20
    )
    assert fault.ename == "FetchRefused"
    assert len(lfs.heads) == 1


def test_rests_of_blocks_count_for_nothing(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    """Many small files of a submodule take no room from the next one."""
    lfs = LfsServer(server)
    many = server.make()
    many.commit({f"f{n}": "1234" for n in range(500)})
    small = with_content(server, lfs, b"small")
    urls = {"a": many.url, "b": small.url}
    made = outer(server, describe(**urls), a=link(many), b=link(small))
    got = folder.clone(made.url, submodules=True, lfs=True, max_bytes=1 << 20)
    assert got.text("b/x.bin") == "small"


def test_sections_without_a_place(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    """git takes them for no submodules either."""
    more = '[submodule "p"]\n\turl = u\n[submodule "q"]\n\turl = u\n'
    more += "[submodule]\n\tpath = x\n\turl = u\n"
    made = around(server, inner, more)
    assert folder.clone(made.url, submodules=True).text("sub/b") == "two"


def test_a_repository_may_be_its_own_submodule(
    folder: Folder, server: GitServer
) -> None:
    made = server.make()
    commit = made.commit({"a": "one"})
    modules = describe(sub=made.url, twin=made.url)
    made.commit(
        {
            ".gitmodules": modules,
            "sub": ("160000", commit),
            "twin": ("160000", commit),
        }
    )
    got = folder.clone(made.url, submodules=True)
    assert got.text("sub/a") == got.text("twin/a") == "one"


@pytest.mark.parametrize(
    ("url", "ename", "why"),
    spread(
        [
            (
                "https://other.example/x",
                "Refused",
                "other.example is not permitt",
            ),
            (
                "http://169.254.169.254/x",
                "Refused",
                "169.254.169.254 is not perm",
            ),
            ("http://127.0.0.1:1/x", "Refused", "127.0.0.1:1 is not permitted"),
            (
                "ssh://git@x.example/x",
                "Invalid",
                "it has to begin with https://",
            ),
            ("git@x.example:a/b", "Invalid", "it has to begin with https://"),
            ("file:///etc", "Invalid", "it has to begin with https://"),
            ("/etc", "Invalid", "it has to begin with https://"),
            ("ext::sh -c true", "Invalid", "it has to begin with https://"),
            ("https://a:secret@x/r", "Invalid", "has a user or a password"),
            ("https://x/r?secret", "Invalid", "has a query"),
            ("../../../other.example/x", "Invalid", "leads above 127.0.0.1"),
            ("../none.git", "Unreachable", "has no git repository"),
        ]
    ),
)
def test_a_url_is_judged_as_a_clones(
    folder: Folder,
    server: GitServer,
    inner: Repository,
    url: str,
    ename: str,
    why: str,
) -> None:
    made = outer(server, describe(sub=url), sub=link(inner))
    fault = folder.refuse(made.url, submodules=True)
    assert fault.ename == f"Fetch{ename}"
    assert fault.text.startswith("the submodule sub: ")
    assert why in fault.text
    assert "secret" not in fault.text
    assert folder.clone(made.url).submodules == 1


def test_a_commit_that_is_not_there(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    made = outer(server, describe(sub=inner.url), sub=("160000", "1" * 40))
    fault = folder.refuse(made.url, submodules=True)
    assert "the submodule sub: " in fault.text
    assert f"has no commit '{'1' * 40}'" in fault.text


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ('[submodule "../x"]\n\tpath = sub\n\turl = u\n', ""),
        ('[submodule "a/../../x"]\n\tpath = sub\n\turl = u\n', ""),
        ('[submodule "a\\\\..\\\\x"]\n\tpath = sub\n\turl = u\n', ""),
        ('[submodule "x"]\n\tpath = sub\n\turl = -u./x\n', ""),
        ('[submodule "x"]\n\tpath = sub\n\tupdate = !touch x\n', ""),
        ("[submodule", ""),
        ('[submodule "\x1b[31m"]\n\tpath = sub\n', "which a submodule cannot"),
        (f'[submodule "{"x" * 201}"]\n\tpath = sub\n', "which a submodule c"),
        ('[submodule "x"]\n\tpath = sub\n\tpath = a\n', "the path of 'x' twi"),
        (
            '[submodule "x"]\n\tpath = sub\n[submodule "y"]\n\tpath = sub\n',
            "the path of 'y' twice",
        ),
        ('[submodule "x"]\n\tpath = sub\n', "it has to begin with https://"),
    ],
)
def test_a_hostile_gitmodules(
    folder: Folder,
    server: GitServer,
    inner: Repository,
    modules: str,
    why: str,
) -> None:
    made = outer(server, modules, sub=link(inner))
    fault = folder.refuse(made.url, submodules=True)
    assert why in fault.text


@pytest.mark.parametrize("name", ["../x", "a/../../x", "..\\x"])
def test_names_are_judged_without_git(
    folder: Folder, server: GitServer, inner: Repository, name: str
) -> None:
    """As git itself does, when the objects come."""
    made = around(server, inner)
    text = f"submodule.{name}.path\\nsub\\0".replace("\\x", "\\\\x")
    folder.hook = (
        "from hearth_downloads.clone import program\n"
        "def leave(self):\n"
        "    with open('modules', 'w') as file:\n"
        f"        file.write({text!r}.encode().decode('unicode_escape'))\n"
        "program._Copy._list_modules = leave"
    )
    fault = folder.refuse(made.url, submodules=True)
    assert "which a submodule cannot have" in fault.text


def test_a_gitmodules_that_is_a_link(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    made = server.make()
    made.commit({".gitmodules": ("120000", "/etc/passwd"), "sub": link(inner)})
    assert folder.refuse(made.url, submodules=True).ename == "FetchRefused"


def test_nothing_of_a_gitmodules_is_passed_on(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    more = "\tupdate = merge\n\tbranch = x\n\tignore = all\n"
    more += "[core]\n\tfsmonitor = touch x\n[include]\n\tpath = /etc/passwd\n"
    made = around(server, inner, more)
    config = folder.clone(made.url, submodules=True).text(".git/config")
    for word in ("update =", "fsmonitor", "include", "ignore", "branch = x"):
        assert word not in config
    assert (
        f'[submodule "sub"]\n\tactive = true\n\turl = "{inner.url}"' in config
    )


def chain(server: GitServer, length: int) -> Repository:
    """Return a repository with as many submodules, each in the one before."""
    made = server.make()
    made.commit({"a": "one"})
    for _ in range(length):
        made = outer(server, describe(s=made.url), s=link(made))
    return made


def test_how_deep_and_how_many(folder: Folder, server: GitServer) -> None:
    got = folder.clone(chain(server, 4).url, submodules=True)
    assert got.text("s/s/s/s/a") == "one"
    fault = folder.refuse(chain(server, 5).url, submodules=True)
    assert "or some more than 4 deep" in fault.text
    assert fault.ename == "FetchRefused"
    inner = server.make()
    inner.commit({"a": "one"})
    urls = {f"s{n}": inner.url for n in range(3)}
    made = outer(server, describe(**urls), **dict.fromkeys(urls, link(inner)))
    folder.hook = "from hearth_downloads.clone import copy\n"
    folder.hook += "copy.MODULES_MAX = 2"
    fault = folder.refuse(made.url, submodules=True)
    assert "more than 2 submodules" in fault.text
    folder.hook = folder.hook.replace("2", "3")
    assert folder.clone(made.url, submodules=True).submodules == 0


@pytest.mark.parametrize("depth", [0, 1])
def test_a_repository_at_two_places_comes_once(
    any_folder: Folder, server: GitServer, place: Path, depth: int
) -> None:
    big = server.make()
    big.commit({"big": os.urandom(100_000)})
    urls = {f"s{n}": big.url for n in range(3)}
    made = outer(server, describe(**urls), **dict.fromkeys(urls, link(big)))
    before = server.sent
    commit = made.find("main")
    got = any_folder.clone(made.url, commit, submodules=True, depth=depth)
    assert server.sent - before < 150_000
    assert len({got.work[f"s{n}/big".encode()].content for n in range(3)}) == 1
    look(got.unpack(place / "look"))
    server.scripts[f"/{big.path.name}/info/refs"] = say(b"", status=503)
    again = any_folder.clone(made.url, commit, submodules=True, depth=depth)
    assert again.cached
    assert again.work == got.work


def test_all_have_one_limit(folder: Folder, server: GitServer) -> None:
    """Each may have what others have left: the disk is bounded meanwhile."""
    big = server.make()
    big.commit({"big": os.urandom(2 << 20)})
    urls = {f"s{n}": big.url for n in range(3)}
    made = outer(server, describe(**urls), **dict.fromkeys(urls, link(big)))
    folder.hook = "from hearth_downloads.clone import space\n"
    folder.hook += "space.SPARE_BYTES = 1 << 20"
    fault = folder.refuse(made.url, submodules=True, max_bytes=10 << 20)
    assert fault.ename == "FetchRefused"
    assert fault.text.startswith("the submodule s2: the repository with its ")
    assert "max_bytes permits (10.0 MiB)" in fault.text
    folder.hook = "from hearth_downloads.clone import part\n"
    folder.hook += "part.Measure.add = lambda *_: None"
    fault = folder.refuse(made.url, submodules=True, max_bytes=10 << 20)
    assert fault.text.startswith("the repository with its history has more")
    folder.hook = ""
    got = folder.clone(made.url, submodules=True, max_bytes=16 << 20)
    assert got.work[b"s2/big"].content == got.work[b"s0/big"].content


def test_all_have_one_limit_of_entries(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    made = around(server, inner)
    whole = folder.clone(made.url, submodules=True).files
    folder.hook = "from hearth_downloads.clone import tree as t\n"
    folder.hook += f"t.ENTRIES_MAX = {whole - 1}"
    fault = folder.refuse(made.url, submodules=True)
    assert f"more than {whole - 1} files, folders and links" in fault.text


def test_what_came_is_kept_when_another_fails(
    folder: Folder, server: GitServer, inner: Repository
) -> None:
    bad = outer(
        server,
        describe(good=inner.url, none="../none.git"),
        good=link(inner),
        none=link(inner),
    )
    folder.refuse(bad.url, submodules=True)
    asked = len(server.asked)
    assert folder.clone(inner.url, inner.find("main")).cached
    assert len(server.asked) == asked
    assert len(folder.names("mirrors")) == 2
