"""A server that cannot be reached: the mirror answers, and says of when."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Iterator

import pytest
from cloning import Cloned, Folder
from depth import deep, spread
from git_server import GitServer, Repository, redirect, say

THEN = 1700000000
NOTE = (
    "the server cannot be reached; this is the mirror's state of "
    "2023-11-14 22:13 UTC"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    """One of each test, which may end it."""
    with GitServer(tmp_path) as made:
        yield made


@pytest.fixture
def made(server: GitServer) -> Repository:
    repository = server.make()
    first = repository.commit({"a": "one"}, branch="old/x")
    repository.git("tag", "t", first)
    repository.git("tag", "-a", "-m", "a message", "noted", first)
    repository.commit({"a": "two"}, parent=first)
    return repository


def leave(folder: Folder, server: GitServer) -> None:
    """End the server; it was asked at a known time."""
    for path in (folder.work / "mirrors").glob("*/asked"):
        about = json.loads(path.read_text())
        path.write_text(json.dumps({**about, "at": THEN}))
    server.__exit__()


def essence(got: Cloned) -> tuple[object, ...]:
    return got.commit, got.branch, got.tree


REFS = [
    ("", 0),
    ("main", 0),
    ("old/x", 0),
    ("t", 0),
    ("noted", 0),
    ("", 1),
    ("old/x", 1),
    ("noted", 1),
]


@pytest.mark.parametrize(("ref", "depth"), spread(REFS))
def test_a_ref_comes_from_the_mirror(
    folder: Folder, server: GitServer, made: Repository, ref: str, depth: int
) -> None:
    before = folder.clone(made.url, ref, depth=depth)
    assert before.note == ""
    leave(folder, server)
    for _ in range(2):
        got = folder.clone(made.url, ref, depth=depth)
        assert essence(got) == essence(before)
        assert (got.note, got.cached) == (NOTE, True)


def test_any_ref_of_a_whole_mirror_comes(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    """Whatever was asked for when it was made."""
    folder.clone(made.url, "t")
    asked = [folder.clone(made.url, ref) for ref, depth in REFS if not depth]
    leave(folder, server)
    refs = [ref for ref, depth in REFS if not depth]
    got = [folder.clone(made.url, ref) for ref in refs]
    assert list(map(essence, got)) == list(map(essence, asked))


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)])
def test_a_head_that_is_no_branch_comes(
    folder: Folder, server: GitServer, options: tuple[str, ...]
) -> None:
    made = server.make("", *options)
    commit = made.commit({"a": "one"})
    (made.path / "HEAD").write_text(f"{commit}\n")
    folder.clone(made.url)
    leave(folder, server)
    got = folder.clone(made.url)
    assert (got.commit, got.branch, got.note) == (commit, "", NOTE)


def test_a_mirror_of_a_commit_has_the_branches(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    folder.clone(made.url, made.find("t"))
    leave(folder, server)
    got = folder.clone(made.url)
    assert (got.commit, got.note) == (made.find("main"), NOTE)
    got = folder.clone(made.url, made.find("t"))
    assert (got.commit, got.note) == (made.find("t"), "")


def test_a_tag_with_a_depth_is_the_newer(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    """Not a branch of that name, which an earlier job had."""
    made.commit({"a": "old"}, branch="x")
    folder.clone(made.url, "x", depth=1)
    made.git("tag", "x", "main")
    made.git("branch", "-D", "x")
    before = folder.clone(made.url, "x", depth=1)
    leave(folder, server)
    got = folder.clone(made.url, "x", depth=1)
    assert (got.commit, got.branch) == (before.commit, "")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/r.git", deep("http://no-such-name.invalid/r.git")],
)
def test_a_mirror_of_another_server_is_none(
    folder: Folder, made: Repository, url: str
) -> None:
    folder.settings["allow"] += ["127.0.0.1:1", "no-such-name.invalid:80"]
    folder.clone(made.url)
    assert "cannot be reached" in folder.refuse(url).text


def test_a_name_without_an_address_is_away(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    port = server.place.rpartition(":")[2]
    folder.settings["allow"] = [f"git.invalid:{port}"]
    folder.settings["private"] = ["127.0.0.0/8"]
    url = made.url.replace("127.0.0.1", "git.invalid")
    folder.hook = (
        "import socket\n"
        "from hearth_downloads.fetch import places\n"
        "places.Places.permits_address = lambda *_: True\n"
        "real = socket.getaddrinfo\n"
        "socket.getaddrinfo = lambda name, *rest, **more: real(\n"
        "    b'127.0.0.1', *rest, **more)"
    )
    before = folder.clone(url)
    folder.hook = (
        "import socket\n"
        "def find(*_, **__):\n"
        "    raise socket.gaierror(socket.EAI_NONAME, 'no such name')\n"
        "socket.getaddrinfo = find"
    )
    got = folder.clone(url)
    assert essence(got) == essence(before)
    assert re.fullmatch(".* mirror's state of 20.* UTC", got.note)


def test_a_connection_that_takes_too_long_is_away(
    folder: Folder, made: Repository
) -> None:
    before = folder.clone(made.url)
    folder.hook = (
        "import socket\n"
        "real = socket.socket.connect\n"
        "def connect(self, name):\n"
        "    if self.family == socket.AF_INET:\n"
        "        raise socket.timeout\n"
        "    return real(self, name)\n"
        "socket.socket.connect = connect"
    )
    got = folder.clone(made.url)
    assert essence(got) == essence(before)
    assert "cannot be reached" in got.note


@pytest.mark.parametrize("status", spread([401, 403, 404, 500, 502]))
def test_a_server_that_refuses_is_not_away(
    folder: Folder, server: GitServer, made: Repository, status: int
) -> None:
    folder.clone(made.url)
    where = f"/{made.path.name}/info/refs"
    server.scripts[where] = say(b"no", status=status)
    for ref in ("", "main", "t"):
        assert folder.refuse(made.url, ref).ename == "FetchUnreachable"
    del server.scripts[where]
    assert folder.clone(made.url).note == ""


def test_a_redirect_to_where_nothing_is_is_not_away(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    folder.settings["allow"].append("127.0.0.1:1")
    folder.clone(made.url)
    where = f"/{made.path.name}/info/refs"
    server.scripts[where] = redirect("http://127.0.0.1:1/r.git/info/refs")
    assert folder.refuse(made.url).ename == "FetchUnreachable"


def test_a_server_that_hangs_up_is_not_away(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    folder.clone(made.url)
    server.scripts[f"/{made.path.name}/info/refs"] = lambda handler: (
        handler.connection.shutdown(socket.SHUT_RDWR)
    )
    assert folder.refuse(made.url).ename == "FetchUnreachable"
    leave(folder, server)  # the mirror is still there
    assert folder.clone(made.url).note == NOTE


def test_what_the_mirror_has_not_fails(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    other = server.make()
    other.commit({"b": "other"})
    folder.clone(made.url)
    made.git("branch", "new", "main")
    folder.clone(made.url, "main", depth=1)
    leave(folder, server)
    for url, ref, depth in (
        (other.url, "", 0),
        (made.url, "new", 0),
        (made.url, "0" * 40, 0),
        (made.url, "old/x", 1),
        (made.url, "", 1),
    ):
        fault = folder.refuse(url, ref, depth=depth)
        assert fault.ename == "FetchUnreachable"
        assert f"{server.place} cannot be reached" in fault.text
    assert folder.clone(made.url).note == NOTE  # and is still there


def test_a_spoilt_mirror_answers_nothing(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    folder.clone(made.url)
    leave(folder, server)
    (pack,) = (folder.work / "mirrors").glob("*/objects/pack/*.pack")
    pack.chmod(0o600)
    pack.write_bytes(pack.read_bytes()[:-40])
    assert "cannot be reached" in folder.refuse(made.url).text


@pytest.mark.parametrize(
    "content",
    ["", "{}", "7", '{"at":-1,"digits":40,"head":"main","branch":""}',
     '{"at":1,"digits":40,"head":"../x","branch":""}'],
)  # fmt: skip
def test_a_mirror_that_was_asked_never_answers_nothing(
    folder: Folder, server: GitServer, made: Repository, content: str
) -> None:
    folder.clone(made.url)
    (path,) = (folder.work / "mirrors").glob("*/asked")
    path.write_text(content)
    server.__exit__()
    assert "cannot be reached" in folder.refuse(made.url).text


def test_a_long_name_of_a_branch_comes(
    folder: Folder, server: GitServer
) -> None:
    """JSON has several bytes for each of its letters."""
    name = "/".join(["\u4e00" * 80] * 6)
    made = server.make()
    made.commit({"a": "one"}, branch=name)
    (made.path / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    before = folder.clone(made.url)
    assert before.note == ""
    leave(folder, server)
    got = folder.clone(made.url)
    assert essence(got) == essence(before)
    assert got.note == NOTE


def test_the_rules_hold(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    folder.clone(made.url)
    leave(folder, server)
    for lists in ({"allow": ["*"]}, {"deny": folder.settings["allow"]}):
        fault = folder.refuse(made.url, **lists)
        assert "not permitted here" in fault.text
    # Other lists have another mirror.
    fault = folder.refuse(made.url, private=["10.0.0.0/8"])
    assert "cannot be reached" in fault.text
    fault = folder.refuse(made.url, max_files=5)
    assert "fetch/max_files" in fault.text
    fault = folder.refuse(made.url, max_bytes=100, cache_bytes=1 << 20)
    assert "fetch/max_bytes" in fault.text
    assert folder.clone(made.url).note == NOTE


def test_a_program_that_lies_is_not_believed(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    """The proxy alone knows that a server is away."""
    folder.clone(made.url)
    made.commit({"a": "three"})
    folder.hook = (
        "from hearth_downloads.clone import program\n"
        "def ask(self):\n"
        "    raise program.Stop('ask', 'Could not resolve host')\n"
        "program._Copy._ask = ask"
    )
    assert folder.refuse(made.url).ename == "FetchUnreachable"


def test_a_failed_update_leaves_the_state_of_before(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    """The time that is said is right of it."""
    before = folder.clone(made.url)
    made.commit({"x" * 300: "no name of a file"})  # that comes, and is refused
    assert folder.refuse(made.url).ename == "FetchRefused"
    leave(folder, server)
    got = folder.clone(made.url)
    assert (got.commit, got.note) == (before.commit, NOTE)
