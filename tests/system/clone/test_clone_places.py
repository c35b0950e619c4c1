"""Where a copy comes from: lists, redirects and what knows a server."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Iterator

import pytest
from authority import Authority
from cloning import Folder
from git_server import GitServer, Repository, git, redirect
from lfs_server import LfsServer

SERVICE = "/info/refs?service=git-upload-pack"


@pytest.fixture(scope="module")
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"a": "one"})
    return repository


@pytest.mark.parametrize(
    ("url", "ename", "why"),
    [
        ("ftp://127.0.0.1/a", "Invalid", "begin with https:// or http://"),
        ("ext::sh -c true", "Invalid", "begin with https:// or http://"),
        ("-u x", "Invalid", "begin with https:// or http://"),
        ("https://a:secret@x/r", "Invalid", "has a user or a password"),
        ("https://x/r?secret", "Invalid", "has a query"),
        ("https://other.example/r", "Refused", "not permitted here"),
        ("http://169.254.169.254/r", "Refused", "not permitted here"),
    ],
)
def test_a_url_is_judged_before_git_runs(
    folder: Folder, url: str, ename: str, why: str
) -> None:
    folder.hook = "from hearth_downloads.clone import program\n"
    folder.hook += "del program.run"
    fault = folder.refuse(url)
    assert fault.ename == f"Fetch{ename}"
    assert why in fault.text
    assert "secret" not in fault.text


@pytest.mark.parametrize(
    ("target", "ename", "why"),
    [
        ("http://other.example/r?secret", "Refused", "redirects to other.exa"),
        ("http://169.254.169.254/r", "Refused", "redirects to 169.254.169"),
        ("http://[::1]/r", "Refused", "redirects to [::1]:80"),
        ("https://a:secret@x/r", "Refused", "redirects to x, which is not"),
        ("ftp://other.example/r", "Unreachable", "redirects to where no"),
        ("file:///etc/passwd", "Unreachable", "redirects to where no"),
        ("/r.git" + SERVICE, "Unreachable", "redirects too often"),
        ("/elsewhere?secret", "Unreachable", ""),
    ],
)
def test_a_redirect_is_judged(
    folder: Folder, server: GitServer, target: str, ename: str, why: str
) -> None:
    server.scripts["/r.git/info/refs"] = redirect(target)
    fault = folder.refuse(server.url("/r.git"))
    assert fault.ename == f"Fetch{ename}"
    assert why in fault.text
    assert "secret" not in fault.text


def test_follows_a_redirect_to_a_listed_place(
    folder: Folder, server: GitServer, made: Repository, tmp_path: Path
) -> None:
    with GitServer(tmp_path) as other:
        moved = f"{made.url}{SERVICE}"
        other.scripts["/moved.git/info/refs"] = redirect(moved)
        url = other.url("/moved.git")
        both = [server.place, other.place]
        got = folder.clone(url, allow=both)
        assert got.commit == made.find("main")
        assert url in got.text(".git/config")
        asked = len(server.asked)
        fault = folder.refuse(url, got.commit, allow=[other.place])
        assert f"redirects to {server.place}" in fault.text
        assert len(server.asked) == asked


def test_only_the_first_request_may_be_led_elsewhere(
    folder: Folder, server: GitServer, tmp_path: Path
) -> None:
    made = server.make()
    made.commit({"a": "one"})
    path = f"/{made.path.name}/git-upload-pack"
    with GitServer(tmp_path) as other:
        server.scripts[path] = redirect(other.url(path))
        allow = [server.place, other.place]
        fault = folder.refuse(made.url, allow=allow)
        assert fault.ename == "FetchUnreachable"
        assert other.asked == []


def test_a_name_leads_to_no_address_of_this_machine(
    folder: Folder, server: GitServer
) -> None:
    port = server.place.partition(":")[2]
    folder.hook = (
        "import socket\nreal = socket.getaddrinfo\n"
        "socket.getaddrinfo = lambda h, *a, **k: real(b'127.0.0.1', *a, **k)"
    )
    asked = len(server.asked)
    fault = folder.refuse(
        f"http://git.example:{port}/r1.git", allow=[f"*:{port}"]
    )
    assert fault.ename == "FetchRefused"
    assert "its address 127.0.0.1 is one of this machine" in fault.text
    assert len(server.asked) == asked


def test_a_server_that_is_not_there(folder: Folder) -> None:
    fault = folder.refuse("http://127.0.0.1:1/r", allow=["127.0.0.1:1"])
    assert fault.ename == "FetchUnreachable"
    assert fault.text == "127.0.0.1:1 cannot be reached: Connection refused"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "ours")


@pytest.fixture(scope="module")
def secured(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority
) -> Iterator[GitServer]:
    pair = authority.issue("IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with GitServer(tmp_path_factory.mktemp("secured"), context) as made:
        made.make("a.git").commit({"a": "one"})
        yield made


@pytest.fixture
def trusting(
    folder: Folder, secured: GitServer, place: Path, authority: Authority
) -> Folder:
    """Make a folder whose profile trusts the authority."""
    path = place / "authority.pem"
    path.write_bytes(authority.certificate.read_bytes())
    path.chmod(0o400 if folder.kind == "root" else 0o644)
    folder.settings["ca_file"] = str(path)
    folder.settings["allow"] = [secured.place]
    return folder


def test_copies_with_https(trusting: Folder, secured: GitServer) -> None:
    assert trusting.clone(secured.url("/a.git")).text("a") == "one"
    assert trusting.clone(secured.url("/a.git"), depth=1).text("a") == "one"


def serve_lfs(secured: GitServer, name: str) -> tuple[Repository, LfsServer]:
    lfs = LfsServer(secured)
    made = secured.make(name)
    rule = "*.bin filter=lfs -text\n"
    made.commit({".gitattributes": rule, "a.bin": lfs.put(b"one")})
    lfs.serve(made)
    return made, lfs


def test_contents_of_lfs_come_with_https(
    trusting: Folder, secured: GitServer
) -> None:
    made, lfs = serve_lfs(secured, "lfs.git")
    lfs.header = {"Authorization": "Basic eA=="}
    assert trusting.clone(made.url, lfs=True).text("a.bin") == "one"
    assert lfs.heads[0]["authorization"] == "Basic eA=="


@pytest.mark.parametrize("step", ["href", "redirect"])
def test_contents_of_lfs_do_not_go_on_without(
    trusting: Folder, secured: GitServer, server: GitServer, step: str
) -> None:
    made, lfs = serve_lfs(secured, f"{step}.git")
    LfsServer(server).put(b"one")
    (path,) = (f"/objects/{oid}" for oid in lfs.objects)
    if step == "href":

        def change(answer: Any) -> Any:
            action = answer["objects"][0]["actions"]["download"]
            action["href"] = server.url(path)
            return answer

        lfs.change = change
    else:
        secured.scripts[path] = redirect(server.url(path))
    asked = len(server.asked)
    allow = [secured.place, server.place]
    fault = trusting.refuse(made.url, allow=allow, lfs=True)
    assert fault.ename == "FetchRefused"
    assert server.place in fault.text
    assert len(server.asked) == asked


def test_submodules_do_not_go_on_without(
    trusting: Folder, secured: GitServer, server: GitServer, made: Repository
) -> None:
    outer = secured.make("outer.git")
    modules = f'[submodule "x"]\n\tpath = x\n\turl = {made.url}\n'
    link = ("160000", made.find("main"))
    outer.commit({".gitmodules": modules, "x": link})
    asked = len(server.asked)
    allow = [secured.place, server.place]
    fault = trusting.refuse(outer.url, allow=allow, submodules=True)
    assert fault.ename == "FetchRefused"
    assert "the submodule x: " in fault.text
    assert "what began with https does not go on without" in fault.text
    assert len(server.asked) == asked
    inner = git(secured.path / "a.git", "rev-parse", "main")
    outer.commit(
        {
            ".gitmodules": modules.replace(made.url, "../a.git"),
            "x": ("160000", inner),
        }
    )
    got = trusting.clone(outer.url, submodules=True)
    assert got.text("x/a") == "one"


def test_a_server_that_no_authority_knows(
    trusting: Folder, secured: GitServer
) -> None:
    asked = len(secured.asked)
    fault = trusting.refuse(secured.url("/a.git"), ca_file="")
    assert fault.ename == "FetchUnreachable"
    assert "has a certificate that is not trusted here" in fault.text
    assert "fetch/ca_file names the authorities" in fault.text
    assert len(secured.asked) == asked


def test_a_certificate_of_another_name(
    trusting: Folder, authority: Authority, tmp_path: Path
) -> None:
    pair = authority.issue("DNS:other.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    with GitServer(tmp_path, context) as server:
        fault = trusting.refuse(server.url("/a.git"), allow=[server.place])
        assert fault.ename == "FetchUnreachable"
        assert "has a certificate that is not trusted here" in fault.text
        assert server.asked == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_of_authorities_that_is_none(
    trusting: Folder, secured: GitServer, place: Path, content: Any
) -> None:
    path = place / "other.pem"
    if content:
        path.write_text(content)
    fault = trusting.refuse(secured.url("/a.git"), ca_file=str(path))
    assert fault.ename == "FetchFailed"
    assert "has no certificates that can be read" in fault.text


def test_https_does_not_go_on_without(
    trusting: Folder, secured: GitServer, server: GitServer, made: Repository
) -> None:
    secured.scripts["/d.git/info/refs"] = redirect(f"{made.url}{SERVICE}")
    asked = len(server.asked)
    fault = trusting.refuse(
        secured.url("/d.git"), allow=[secured.place, server.place]
    )
    assert fault.ename == "FetchRefused"
    assert f"redirects to http://{server.place}" in fault.text
    assert "does not go on without" in fault.text
    assert len(server.asked) == asked
