"""An index that lies: nothing of what it sends reaches a session."""

from __future__ import annotations

import hashlib
import http.server
import os
import re
import socket
import stat
import threading
from pathlib import Path
from typing import Any, Iterator

import pytest
from depth import spread
from fake_index import FakeIndex, Member, add_empty_files
from hearth_downloads.core.faults import Refused
from hearth_downloads.packages.report import encode
from worker import Folder, refuse, refuse_by_rule, size


class Witness:
    """A server of this machine that nothing may reach."""

    def __init__(self) -> None:
        self.accepted = 0
        witness = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self) -> None:
                witness.accepted += 1
                super().setup()

            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Write nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def witness() -> Iterator[Witness]:
    made = Witness()
    yield made
    made.close()


def test_refuses_a_file_with_another_hash(
    folder: Folder, index: FakeIndex
) -> None:
    lie = index.add("a", "1", wrong_hash=True)
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert refusal.text == (
        "the file of a==1 is not the one that was to come: its hash differs: "
        f"it was to be {lie.sha256}, and is "
        f"{hashlib.sha256(lie.content).hexdigest()}"
    )


def test_refuses_a_file_that_has_changed(
    folder: Folder, index: FakeIndex
) -> None:
    honest = index.add("a", "1")
    folder.do("add", "a")
    evil = index.add("a", "1", files={"a.py": "evil"})
    index.releases["a"] = [honest]
    honest.content = evil.content
    # What is in the cache was checked; another folder has no cache.
    other = Folder(folder.path.parent / "other", folder.kind)
    other.settings["index"] = index.url
    assert "its hash differs" in refuse(other, "a").text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("x.pth", "x.pth, by which Python would run code"),
        ("sitecustomize.py", "would run at its start"),
        ("usercustomize/__init__.py", "would run at its start"),
        ("json/__init__.py", "a module json"),
        ("pytest.py", "a module pytest"),
        ("hearth_kernel/x.py", "a module hearth_kernel"),
        ("a-1.data/purelib/x.pth", "by which Python would run code"),
    ],
)
def test_refuses_what_runs_or_replaces(
    folder: Folder, index: FakeIndex, path: str, why: str
) -> None:
    index.add("a", "1", files={"a.py": "", path: "import os"})
    refuse_by_rule(folder, why)


def test_refuses_to_hide_a_module_of_a_shared_namespace(
    folder: Folder, index: FakeIndex
) -> None:
    """A program that a cell starts would have the session's first."""
    pytest.importorskip("mpl_toolkits.mplot3d")
    index.add("a", "1", files={"mpl_toolkits/mplot3d/__init__.py": "evil"})
    refuse_by_rule(folder, "a module mpl_toolkits.mplot3d, and the profile")
    index.add("b", "1", files={"mpl_toolkits/mine/__init__.py": ""})
    folder.do("add", "b")
    assert folder.current() == ["b-1.dist-info", "mpl_toolkits"]


@pytest.mark.parametrize(
    "name",
    spread(
        [
            "../../evil.py",
            "/workspace/evil.py",
            "a/../../../evil.py",
            "a-1.data/scripts/../../../../evil.py",
            "a-1.data/data/../../../evil.py",
        ]
    ),
)
def test_a_member_outside_is_left_out(
    folder: Folder, index: FakeIndex, name: str
) -> None:
    """uv does it; for one that does not see test_package_walls.py."""
    index.add("a", "1", members=[Member(name, b"evil")])
    folder.do("add", "a")
    assert folder.current() == ["a-1.dist-info", "a.py"]
    assert list(folder.path.parent.rglob("evil*")) == []
    assert not Path("/evil.py").exists()


@pytest.mark.parametrize(
    ("member", "becomes"),
    spread(
        [
            (Member.link("evil", "/etc/passwd"), "evil"),
            (Member("evil.py", b"#!/bin/sh\n", 0o106755), "evil.py"),
            (Member("a-1.data/scripts/evil", b"", 0o106755), "bin/evil"),
            (Member("evil.py", b"", 0o010644), "evil.py"),
            (Member("evil.py", b"", 0o020644), "evil.py"),
            (Member.link("evil.py", "/"), "evil.py"),
            (Member("evil.py\0.txt", b""), "evil.py"),
            (Member("e\\..\\vil.py", b""), "e\\..\\vil.py"),
        ]
    ),
    ids=repr,
)
def test_a_special_member_is_a_plain_file(
    folder: Folder, index: FakeIndex, member: Member, becomes: str
) -> None:
    """uv makes one; for one that does not see test_package_walls.py."""
    index.add("a", "1", members=[member])
    folder.do("add", "a")
    current = folder.session() / "current"
    assert folder.current() == sorted(
        ["a-1.dist-info", "a.py", becomes.partition("/")[0]]
    )
    about = (current / becomes).lstat()
    assert stat.S_ISREG(about.st_mode)
    assert about.st_mode & 0o7022 == 0


@pytest.mark.parametrize(
    ("member", "why"),
    spread(
        [
            (Member("a/e\u0301.py"), "differ only by case or form: a/"),
            (Member("e\x1b[31mvil.py"), "unacceptable filename"),
            (Member("e\nvil.py"), "unacceptable filename"),
            (
                Member(
                    "a-1.dist-info/entry_points.txt",
                    b"[console_scripts]\n../../../evil = a:b\n",
                ),
                "must resolve to a file within the scripts directory",
            ),
        ]
    ),
    ids=repr,
)
def test_refuses_a_member(
    folder: Folder, index: FakeIndex, member: Member, why: str
) -> None:
    index.add("a", "1", {"a/\u00e9.py": ""}, members=[member])
    refuse_by_rule(folder, why)
    assert list(folder.path.parent.rglob("*evil*")) == []


def test_a_refusal_does_not_spoil_the_cache(
    folder: Folder, index: FakeIndex
) -> None:
    """A package that was refused is taken out again, with what it brought."""
    index.add("a", "1", files={"a.pth": ""}, requires=["b"])
    index.add("b", "1")
    refuse(folder, "a")
    folder.do("add", "b")
    assert folder.read("b.py") == "VERSION = '1'\n"
    refuse(folder, "a")


@pytest.mark.parametrize(
    ("name", "version", "why"),
    [
        ("b" * 129, "1", "the package b{40}… has a name of 129 letters"),
        ("b", f"1+{'x' * 127}", "the package b has a version of 129 letters"),
    ],
    ids=["name", "version"],
)
def test_refuses_a_word_that_the_gateway_does_not_take(
    folder: Folder, index: FakeIndex, name: str, version: str, why: str
) -> None:
    index.add("a", "1", requires=[name])
    index.add(name, version)
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert re.search(f"{why}, and the most is 128", refusal.text)
    assert index.downloads() == 0
    index.releases["a"].clear()
    index.add("a", "1", requires=["c" * 128])
    index.add("c" * 128, f"1+{'x' * 80}")
    assert len(folder.do("add", "a")["packages"]) == 2


@pytest.mark.parametrize(
    ("member", "word"),
    [
        ("name", "x" * 129),
        ("name", "x/y"),
        ("name", ""),
        ("name", "x."),
        ("version", "1" * 129),
        ("version", "1 2"),
        ("from", "1~1"),
        ("to", "\u0661"),
    ],
)
def test_encodes_nothing_that_the_gateway_does_not_take(
    member: str, word: str
) -> None:
    entry = {"name": "a", "version": "1", "requested": True}
    assert encode({"packages": [entry]})
    with pytest.raises(Refused, match="the gateway does not take"):
        encode({"packages": [{**entry, member: word}]})


def test_encodes_no_more_than_a_datagram() -> None:
    entry = {"name": "a" * 128, "version": "1" * 128, "requested": True}
    hashed = {**entry, "sha256": "0" * 64}
    named = [{"name": "a", "version": "1", "modules": ["b"]}]
    # A long list leaves out the hashes and the modules.
    short = encode({"packages": [hashed] * 100, "added": named})
    assert b"sha256" in short
    assert b"modules" in short
    long = encode({"packages": [hashed] * 190, "added": named})
    assert b"sha256" not in long
    assert b"modules" not in long
    with pytest.raises(Refused, match="the most is 65536"):
        encode({"packages": [entry] * 250, "added": named})


def test_refuses_names_that_clash(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", files={"a/x.py": "", "a/X.py": ""})
    assert "differ only by case" in refuse(folder, "a").text


def test_refuses_many_files(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", files={f"a/{n}.py": "" for n in range(300)})
    refusal = refuse(folder, "a", max_files=200)
    assert refusal.ename == "PackagesRefused"
    assert "more than 200 files" in refusal.text


@pytest.mark.deep
def test_refuses_a_million_files(folder: Folder, index: FakeIndex) -> None:
    """By the limit that there is without another; uv is ended before."""
    lie = index.add("a", "1")
    lie.content = add_empty_files(lie.content, "a", 1_000_000)
    lie.sha256 = hashlib.sha256(lie.content).hexdigest()
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert "more than 100000 files" in refusal.text
    cache = folder.path / "work" / "uv" / "cache"
    assert list(cache.glob("archive*/*")) == []


def test_refuses_many_bytes(folder: Folder, index: FakeIndex) -> None:
    """A small file that unpacks to a large one."""
    index.add("a", "1", files={"a.py": bytes(5 << 20)})
    refusal = refuse(folder, "a", max_bytes=1 << 20)
    assert refusal.ename == "PackagesRefused"
    assert f"more than {1 << 20} bytes" in refusal.text


def test_leaves_nothing_of_a_bomb(folder: Folder, index: FakeIndex) -> None:
    """Unpacked it is more than a session's and uv's own files may be."""
    piece = bytes(60 << 20)
    index.add("a", "1", files={f"a/{n}": piece for n in range(3)})
    refusal = refuse(folder, "a", max_bytes=1 << 20)
    assert f"more than {1 << 20} bytes" in refusal.text
    assert size(folder.path / "work") < 50 << 20


@pytest.mark.parametrize(
    "target",
    spread(
        [
            "169.254.169.254:80",
            "127.0.0.1:{port}",
            "localhost:{port}",
            "[::1]:{port}",
            "127.1:{port}",
            "10.0.0.1:80",
            "other.example:80",
        ]
    ),
)
@pytest.mark.parametrize("what", ["page", "file", "link"])
def test_a_redirect_leads_nowhere(
    folder: Folder,
    index: FakeIndex,
    witness: Witness,
    target: str,
    what: str,
) -> None:
    target = target.format(port=witness.port)
    url = f"http://{target}/latest/meta-data/"
    release = index.add("a", "1")
    if what == "page":
        index.redirect = url
    elif what == "file":
        release.redirect = url
    else:
        release.url = url + release.filename
    refusal = refuse(folder, "a")
    assert witness.accepted == 0
    assert refusal.ename == "PackagesRefused"
    # uv writes an address in its one form.
    seen = target.replace("127.1:", "127.0.0.1:")
    assert f"the index led to {seen}," in refusal.text
    assert f"127.0.0.1:{index.port} (the index), files.example" in refusal.text
    assert "profile/python3/packages/hosts" in refusal.text


@pytest.mark.parametrize(
    "target",
    spread(
        [
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "ftp://127.0.0.1/a",
            "data:text/html,a",
        ]
    ),
)
@pytest.mark.parametrize("what", ["page", "file"])
def test_a_redirect_to_another_scheme_leads_nowhere(
    folder: Folder, index: FakeIndex, target: str, what: str
) -> None:
    release = index.add("a", "1")
    if what == "page":
        index.redirect = target
    else:
        release.redirect = target
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesUnreachable"
    assert refusal.text.startswith("the index does not answer: ")
    assert "302 Found 'Location' value" in refusal.text


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("page", "the index's page of a is neither JSON nor HTML, but "),
        ("file", "a package's file is refused: "),
    ],
)
def test_a_redirect_to_itself_ends(
    folder: Folder, index: FakeIndex, what: str, why: str
) -> None:
    release = index.add("a", "1")
    path = "/simple/a/" if what == "page" else f"/files/{release.filename}"
    url = f"http://127.0.0.1:{index.port}{path}"
    if what == "page":
        index.redirect = url
    else:
        release.redirect = url
    assert refuse(folder, "a").text.startswith(why)
    assert 10 < index.requests.count(path) < 50


@pytest.mark.parametrize("path", ["/etc/passwd", "/workspace/stage"])
def test_a_link_to_a_file_of_the_sandbox_is_no_wheel(
    folder: Folder, index: FakeIndex, path: str
) -> None:
    """For one of the host see test_package_walls.py."""
    index.add("a", "1", url=f"file://{path}")
    assert "a" in refuse(folder, "a").text
    assert index.downloads() == 0


def test_a_tunnel_leads_nowhere(
    folder: Folder, index: FakeIndex, witness: Witness
) -> None:
    release = index.add("a", "1")
    release.url = f"https://127.0.0.1:{witness.port}/{release.filename}"
    refusal = refuse(folder, "a")
    assert witness.accepted == 0
    assert "the index led to" in refusal.text


def test_a_permitted_host_does_not_lead_here(
    folder: Folder, index: FakeIndex
) -> None:
    """A name of this machine among the hosts, as a name can be made to be."""
    release = index.add("a", "1")
    release.url = f"http://localhost/{release.filename}"
    refusal = refuse(folder, "a", hosts=["localhost"])
    assert refusal.ename == "PackagesRefused"
    assert "one of this machine" in refusal.text


def test_a_dependency_is_no_url(
    folder: Folder, index: FakeIndex, witness: Witness
) -> None:
    for number, url in enumerate(
        (
            f"http://127.0.0.1:{witness.port}/b-1-py3-none-any.whl",
            "file:///etc/passwd",
            "git+https://github.com/a/b",
        )
    ):
        index.add(f"a{number}", "1", requires=[f"b @ {url}"])
        assert refuse(folder, f"a{number}").ename == "PackagesConflict"
    assert witness.accepted == 0


def test_ends_an_answer_without_end(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", endless=True)
    refusal = refuse(folder, "a", max_bytes=20 << 20)
    assert refusal.ename == "PackagesRefused"
    assert f"more than {20 << 20} bytes" in refusal.text


def test_ends_an_answer_that_does_not_come(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", silent=True)
    refusal = refuse(folder, "a", silence=1)
    assert refusal.ename == "PackagesUnreachable"
    assert f"127.0.0.1:{index.port} has stopped answering" in refusal.text


def test_ends_a_job_that_takes_too_long(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", silent=True)
    refusal = refuse(folder, "a", seconds=2)
    assert refusal.ename == "PackagesFailed"
    assert "it took more than 2 seconds" in refusal.text


@pytest.mark.parametrize("status", [500, 403, 401])
def test_says_that_the_index_does_not_serve(
    folder: Folder, index: FakeIndex, status: int
) -> None:
    index.status = status
    refusal = refuse(folder, "a")
    assert refusal.ename == "PackagesUnreachable"
    assert str(status) in refusal.text


def test_says_that_the_index_is_away(folder: Folder) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refusal = refuse(folder, "a", index=f"http://127.0.0.1:{port}/simple")
    assert refusal.ename == "PackagesUnreachable"
    assert "Connection refused" in refusal.text


def test_an_index_cannot_colour_the_answer(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["\x1b[31mred\x1b[0m\x07 ; bad"])
    refuse(folder, "a")


def test_the_cache_is_bounded(folder: Folder, index: FakeIndex) -> None:
    """The cache has four times the limit of a session; sessions keep theirs."""
    for number in range(6):
        index.add(
            f"a{number}", "1", files={f"a{number}.bin": os.urandom(1 << 20)}
        )
    most = 0
    for number in range(6):
        token = f"{number:032}"
        folder.do("add", f"a{number}", token=token, max_bytes=1100 << 10)
        most = max(most, size(folder.path / "work"))
    assert 4 << 20 < most < 7 << 20
    assert size(folder.path / "work") < 4 << 20
    for number in range(6):
        current = folder.session(f"{number:032}") / "current"
        assert (current / f"a{number}.bin").stat().st_size == 1 << 20
