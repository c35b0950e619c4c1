"""A replay and a revival bring the packages, files and repositories that the
recording has, or say which cannot be had. All servers are the tests' own."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
from deadline import DEADLINE
from fake_files import Asked, FakeFiles
from fake_index import FakeIndex
from git_server import GitServer, Repository
from harness import HEARTH, Gateway, Session
from recordings import revive

OLD, NEW = b"a,b\n1,2\n", b"a,b\n3,4\n"


class Outside:
    """The servers, and a gateway that may ask them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = FakeIndex()
        self.files = FakeFiles()
        (folder / "git").mkdir()
        self.repositories = GitServer(folder / "git")
        self.gateway = self.make_gateway()

    def make_gateway(self, *options: str) -> Gateway:
        place = self.repositories.url("").split("/")[2]
        return Gateway(
            "--set", f"profile/python3/packages/index={self.index.url}",
            "--set", f"packages/dir={self.folder / 'packages'}",
            "--set", f"fetch/dir={self.folder / 'fetched'}",
            "--set",
            f"profile/python3/fetch/allow={self.files.place}, {place}",
            "--set", "profile/python3/fetch/private=127.0.0.0/8",
            *options,
        )  # fmt: skip

    def forget(self) -> None:
        """Remove what the gateway keeps of files and repositories."""
        work = self.folder / "fetched" / "work"
        for path in list(work.iterdir()) if work.exists() else []:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def end(self) -> None:
        self.gateway.end()
        self.index.close()
        self.files.__exit__()
        self.repositories.__exit__()


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    folder = Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    folder.chmod(0o711)
    made = Outside(folder)
    try:
        made.gateway.start()
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)


@pytest.fixture
def gateway(outside: Outside) -> Gateway:
    return outside.gateway


def replay(
    gateway: Gateway, what: str, *options: str, status: int = 0
) -> dict[str, Any]:
    done = gateway.run("notebook", "replay", "--json", *options, what)
    assert done.returncode == status, (done.stdout, done.stderr)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def run(session: Session, code: str) -> str:
    done = session.exec(code)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def add(session: Session, *names: str) -> None:
    session.gateway.json("packages", "add", "--json", session.id, *names)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def own(session: Session) -> dict[str, Any]:
    metadata: dict[str, Any] = session.notebook()["metadata"]["hearth"]
    return metadata


def make_repository(outside: Outside, name: str) -> tuple[Repository, str]:
    made = outside.repositories.make(name)
    return made, made.commit({"about": "old\n"})


# ---- packages ----


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_a_newer_version_is_not_taken(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    name = f"fresh-{asks}"
    wheel = outside.index.add(name, "1.0")
    session = gateway.create()
    if asks == "cell":
        run(session, f"%pip install {name}")
    else:
        add(session, name)
    module = name.replace("-", "_")
    assert run(session, f"import {module}; print({module}.VERSION)") == "1.0\n"
    assert own(session)["packages"] == [
        {"name": name, "version": "1.0", "sha256": wheel.sha256}
    ]
    outside.index.add(name, "2.0")
    report = replay(gateway, session.id)
    assert report["missing"] == []
    exported = outside.folder / f"{name}.ipynb"
    gateway.run("notebook", "export", session.id, "-o", str(exported))
    assert replay(gateway, str(exported))["missing"] == []
    session.delete()


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_another_wheel_of_that_version_is_named(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    name = f"swapped-{asks}"
    old = outside.index.add(name, "1.0")
    session = gateway.create()
    if asks == "cell":
        run(session, f"%pip install {name}")
    else:
        add(session, name)
    outside.index.releases.pop(name)
    new = outside.index.add(name, "1.0", {f"{name}.py": "VERSION = 'x'\n"})
    [missing] = replay(gateway, session.id, status=1)["missing"]
    for text in (f"{name} 1.0", old.sha256, new.sha256):
        assert text in missing["why"]
    session.delete()


def test_a_version_that_is_gone_is_named(
    outside: Outside, gateway: Gateway
) -> None:
    outside.index.add("taken-back", "1.0")
    session = gateway.create()
    add(session, "taken-back")
    run(session, "print(1)")
    outside.index.releases.pop("taken-back")
    outside.index.add("taken-back", "2.0")
    [missing] = replay(gateway, session.id, status=1)["missing"]
    assert missing["what"] == "taken-back"
    assert "taken-back==1.0" in missing["why"]
    done = gateway.run("notebook", "replay", session.id)
    assert done.returncode == 1
    assert "cannot be had again: taken-back: " in done.stdout
    assert "1 missing from outside" in done.stdout
    session.delete()


# ---- files ----


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_a_file_that_has_changed_is_named(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    path = f"/{asks}.csv"
    outside.files.put(path, OLD)
    url = outside.files.url(path)
    session = gateway.create()
    if asks == "cell":
        run(session, f"%fetch {url} data/a.csv")
    else:
        gateway.json("fetch", "--json", session.id, url, "--into", "data/a.csv")
    assert run(session, "print(open('data/a.csv').read(), end='')") == (
        OLD.decode()
    )
    assert own(session)["files"] == [
        {
            "path": "data/a.csv",
            "url": url,
            "sha256": digest(OLD),
            "size": len(OLD),
        }
    ]
    outside.files.put(path, NEW)
    # The gateway has the old one still.
    assert replay(gateway, session.id)["missing"] == []
    outside.forget()
    [missing] = replay(gateway, session.id, status=1)["missing"]
    assert digest(OLD) in missing["why"]
    assert digest(NEW) in missing["why"]
    session.delete()


def test_a_query_is_in_the_session_and_not_in_the_notebook(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/q", OLD)
    url = outside.files.url("/q?token=secret")
    session = gateway.create()
    gateway.json("fetch", "--json", session.id, url, "--into", "q.csv")
    run(session, "print(open('q.csv').read())")
    assert replay(gateway, session.id)["missing"] == []
    exported = outside.folder / "q.ipynb"
    gateway.run("notebook", "export", session.id, "-o", str(exported))
    assert "token" not in exported.read_text()
    [missing] = replay(gateway, str(exported), status=1)["missing"]
    assert missing["what"] == url.partition("?")[0]
    assert "a notebook does not show" in missing["why"]
    session.delete()


# ---- repositories ----


@pytest.mark.parametrize("depth", [(), ("--depth", "1")])
@pytest.mark.parametrize("asks", ["cell", "client"])
def test_a_branch_that_has_moved_on_is_at_its_commit(
    outside: Outside, gateway: Gateway, asks: str, depth: tuple[str, ...]
) -> None:
    made, old = make_repository(outside, f"{asks}{len(depth)}.git")
    session = gateway.create()
    if asks == "cell":
        run(session, f"%clone {made.url} src {' '.join(depth)}")
    else:
        gateway.json(
            "clone", "--json", session.id, made.url, "--into", "src", *depth
        )
    run(session, "print(open('src/about').read(), end='')")
    assert own(session)["repositories"] == [
        {
            "path": "src",
            "url": made.url,
            "commit": old,
            "branch": "main",
            "size": own(session)["repositories"][0]["size"],
        }
    ]
    new = made.commit({"about": "new\n"})
    assert new != old
    report = replay(gateway, session.id, "--keep")
    assert report["missing"] == []
    [kept] = [
        one for one in gateway.sessions() if one["id"] == report["session"]
    ]
    tree = Path(kept["workspace"]) / "src"
    for name in ("HEAD", "main", "origin/main"):
        assert git(tree, "rev-parse", name) == old
    assert git(tree, "status", "--porcelain") == ""
    gateway.run("session", "delete", report["session"])
    session.delete()


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_a_commit_that_is_gone_is_named(
    outside: Outside, gateway: Gateway
) -> None:
    made, old = make_repository(outside, "gone.git")
    session = gateway.create()
    gateway.json("clone", "--json", session.id, made.url)
    shutil.rmtree(made.path)
    made = Repository(made.path, made.url)
    made.commit({"about": "another\n"})
    outside.forget()
    [missing] = replay(gateway, session.id, status=1)["missing"]
    assert missing["what"] == made.url
    assert old in missing["why"]
    session.delete()


# ---- notebooks that hearth has not written, and users without patience ----


@pytest.mark.parametrize("arguments", [None, [1], "x"])
def test_a_note_without_arguments_is_named(
    outside: Outside, gateway: Gateway, arguments: object
) -> None:
    call = {"name": "hearth:fetch", "arguments": arguments}
    path = write_notebook(outside, {"cell_type": "markdown"}, call=call)
    [missing] = replay(gateway, path, status=1)["missing"]
    assert "its note has no arguments" in missing["why"]


def test_a_note_that_no_request_has_room_for(
    outside: Outside, gateway: Gateway
) -> None:
    call = {"name": "hearth:fetch", "arguments": {"url": "u" * (1 << 20)}}
    path = write_notebook(outside, {"cell_type": "markdown"}, call=call)
    [missing] = replay(gateway, path, status=1)["missing"]
    assert missing["why"] == ("its note has more than 1 MiB, which is the most")


@pytest.mark.parametrize("member", ["arguments", "result"])
def test_a_note_deeper_than_a_request_may_be(
    outside: Outside, gateway: Gateway, member: str
) -> None:
    deep: list[Any] = []
    for _ in range(128):
        deep = [deep]
    call: dict[str, Any] = {"name": "hearth:fetch", "arguments": {}}
    call[member] = {"url": "u", "x": deep}
    path = write_notebook(outside, {"cell_type": "markdown"}, call=call)
    [missing] = replay(gateway, path, status=1)["missing"]
    assert missing["why"].startswith("its note cannot be sent: ")


@pytest.mark.parametrize("place", ["arguments", "result", "offer"])
def test_a_recorded_answer_cannot_stand_for_a_file(
    outside: Outside, gateway: Gateway, place: str
) -> None:
    """Text of the recording that is more than one value is left out."""
    url = "http://forbidden.example/forged.csv"
    call = {
        "name": "hearth:fetch",
        "arguments": json.dumps({"order": "fetch", "url": url, "path": "x"}),
        "result": json.dumps({"status": "ok", "path": "x", "size": 5}),
    }
    answer = (
        f'{{"name":"hearth:fetch","arguments":{call["arguments"]},'
        f'"result":{call["result"]},"there":true}}'
    )
    tools = []
    if place == "offer":
        tools = [f'{{}}],"answers":[{answer}],"rest":[{{}}']
    else:
        call[place] += ',"there":true'
    path = write_notebook(
        outside,
        {"cell_type": "code", "outputs": [], "execution_count": 1},
        tools,
        source=f"%fetch {url} x",
        tools=[call],
    )
    [missing] = replay(gateway, path, status=1)["missing"]
    assert "forbidden.example is not permitted" in missing["why"]


def write_notebook(
    outside: Outside,
    cell: dict[str, Any],
    offered: Optional[list[str]] = None,
    source: str = "",
    **hearth: Any,
) -> str:
    """Write one of a single cell, as another program would; return where."""
    whole = {**cell, "id": "one", "source": source}
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"hearth": {"tools": offered or []}},
        "cells": [{**whole, "metadata": {"hearth": hearth}}],
    }
    path = outside.folder / "another.ipynb"
    path.write_text(json.dumps(document))
    return str(path)


def test_an_interrupt_ends_what_is_brought(
    outside: Outside, gateway: Gateway
) -> None:
    session = gateway.create()
    asked = [threading.Event(), threading.Event()]
    urls = [outside.files.url(f"/slow{number}") for number in range(2)]
    for number, url in enumerate(urls):
        outside.files.put(f"/slow{number}", OLD)
        gateway.json("fetch", "--json", session.id, url)
    outside.forget()

    def wait(client: socket.socket, request: Asked) -> None:
        asked[int(request.path[-1])].set()
        outside.files.ended.wait()

    for number in range(2):
        outside.files.scripts[f"/slow{number}"] = wait
    replaying = subprocess.Popen(
        [HEARTH, "notebook", "replay", session.id],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert asked[0].wait(DEADLINE)
        replaying.send_signal(signal.SIGINT)
        _, errors = replaying.communicate(timeout=DEADLINE)
    finally:
        replaying.kill()
    assert "interrupted" in errors
    assert replaying.returncode == 1
    assert not asked[1].is_set()
    # The session of the replay is gone.
    assert [one["id"] for one in gateway.sessions()] == [session.id]
    session.delete()


def test_a_bisection_names_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    call = {"name": "hearth:fetch", "arguments": {"order": "fetch", "url": "u"}}
    path = write_notebook(outside, {"cell_type": "markdown"}, call=call)
    options = ("notebook", "bisect", "--expr", "True", path)
    done = gateway.run(*options)
    assert "cannot be had again: u: the URL must begin" in done.stdout
    done = gateway.run(*options, "--json")
    [missing] = json.loads(done.stdout)["missing"]
    assert missing["what"] == "u"


# ---- policy ----


def test_what_is_refused_by_now_is_named(outside: Outside) -> None:
    outside.index.add("forbidden", "1.0")
    outside.files.put("/forbidden.csv", OLD)
    gateway = outside.make_gateway()
    try:
        gateway.start()
        session = gateway.create()
        add(session, "forbidden")
        gateway.json(
            "fetch", "--json", session.id, outside.files.url("/forbidden.csv")
        )
        run(session, "print(1)")
        gateway.terminate()
        gateway.options += [
            "--set", "profile/python3/packages/deny=forbidden",
            "--set", f"profile/python3/fetch/deny={outside.files.place}",
        ]  # fmt: skip
        gateway.start()
        package, file = replay(gateway, session.id, status=1)["missing"]
        assert "packages/deny" in package["why"]
        assert "fetch/deny" in file["why"]
    finally:
        gateway.end()


def test_a_profile_without_host_tools(outside: Outside) -> None:
    outside.index.add("toolless", "1.0")
    gateway = outside.make_gateway("--set", "profile/python3/tools/enabled=no")
    try:
        gateway.start()
        session = gateway.create()
        run(session, "%pip install toolless")
        outside.index.add("toolless", "2.0")
        assert replay(gateway, session.id)["missing"] == []
    finally:
        gateway.end()


# ---- revivals ----


def test_a_revival_brings_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    outside.index.add("revivable", "1.0")
    outside.files.put("/revived.csv", OLD)
    made, old = make_repository(outside, "revived.git")
    session = gateway.create()
    add(session, "revivable")
    gateway.json(
        "fetch", "--json", session.id, outside.files.url("/revived.csv")
    )
    gateway.json("clone", "--json", session.id, made.url)
    run(session, "import revivable; x = open('revived.csv').read()")
    (session.workspace / "revived.csv").unlink()
    shutil.rmtree(session.workspace / "revived")
    made.commit({"about": "new\n"})
    outside.files.put("/revived.csv", NEW)
    outside.index.add("revivable", "2.0")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "revived.csv").read_bytes() == OLD
    assert git(session.workspace / "revived", "rev-parse", "HEAD") == old
    # What is there is left as it is.
    (session.workspace / "revived.csv").write_bytes(b"mine")
    session.delete()
    assert revive(gateway, session)["missing"] == []
    assert (session.workspace / "revived.csv").read_bytes() == b"mine"
    session.delete()


def test_a_revival_brings_what_came_last_to_a_path(
    outside: Outside, gateway: Gateway
) -> None:
    session = gateway.create()
    for name, content in (("first", OLD), ("second", NEW)):
        outside.files.put(f"/{name}", content)
        url = outside.files.url(f"/{name}")
        gateway.json("fetch", "--json", session.id, url, "--into", "same.csv")
    run(session, "print(open('same.csv').read())")
    (session.workspace / "same.csv").unlink()
    session.delete()
    report = revive(gateway, session)
    assert (report["same"], report["missing"]) == (1, [])
    assert (session.workspace / "same.csv").read_bytes() == NEW
    session.delete()


def test_a_revival_goes_on_and_names_what_is_missing(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/lost.csv", OLD)
    session = gateway.create()
    gateway.json("fetch", "--json", session.id, outside.files.url("/lost.csv"))
    run(session, "x = 1")
    (session.workspace / "lost.csv").unlink()
    outside.files.put("/lost.csv", NEW)
    outside.forget()
    session.delete()
    done = gateway.run("session", "revive", "--json", session.id)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    [missing] = report["missing"]
    assert digest(NEW) in missing["why"]
    assert "missing from outside: " in report["sentence"]
    assert run(session, "print(x)") == "1\n"
    session.delete()


def test_a_long_reason_is_shortened_in_the_report(
    outside: Outside, gateway: Gateway
) -> None:
    outside.files.put("/worded.csv", OLD)
    session = gateway.create()
    run(
        session,
        f"""%fetch {outside.files.url("/worded.csv")}
import os
class FetchError(Exception):
    pass
if os.path.exists("again"):
    raise FetchError("a" + 40_000 * "\\u00fc")""",
    )
    run(session, "open('again', 'w').close()")
    session.delete()
    report = revive(gateway, session)
    assert report["is_complete"]
    [missing] = report["missing"]
    assert missing["why"] == "a" + 199 * "\u00fc"
    [different] = report["cells"]
    assert different["why"].endswith("\u00fc")
    assert missing["why"] in report["sentence"]
    session.delete()


def test_cells_of_a_revival_keep_what_is_there(
    outside: Outside, gateway: Gateway
) -> None:
    """The servers have other things by now, and the gateway keeps nothing."""
    outside.files.put("/celled.csv", OLD)
    url = outside.files.url("/celled.csv")
    made, old = make_repository(outside, "celled.git")
    outside.index.add("celled", "1.0")
    outside.index.add("brief", "1.0")
    session = gateway.create()
    run(session, f"%fetch {url}\nx = open('celled.csv').read()")
    run(session, f"%clone {made.url}\ny = open('celled/about').read()")
    run(session, "%pip install celled\nimport celled")
    run(session, "%pip install brief")
    run(session, "%pip uninstall -y brief")
    made.commit({"about": "new\n"})
    outside.files.put("/celled.csv", NEW)
    outside.forget()
    session.delete()
    report = revive(gateway, session)
    assert (report["same"], report["missing"]) == (5, [])
    assert run(session, "print(x == open('celled.csv').read(), y)") == (
        "True old\n\n"
    )
    assert git(session.workspace / "celled", "rev-parse", "HEAD") == old
    # Without it the cell says why.
    (session.workspace / "celled.csv").write_bytes(NEW)
    session.delete()
    report = revive(gateway, session)
    [missing] = report["missing"]
    assert missing["cell"] == report["cells"][0]["number"]
    assert digest(OLD) in missing["why"]
    session.delete()
