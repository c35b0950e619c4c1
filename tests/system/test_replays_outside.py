"""A replay brings the packages, files and repositories that the recording has,
or says which cannot be had."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
from deadline import DEADLINE, wait_for
from fake_files import Asked
from git_server import Repository
from harness import HEARTH, Gateway, Session
from outside import (
    NEW,
    OLD,
    WHOLE,
    Outside,
    WholeRepository,
    add,
    bring,
    digest,
    git,
    make_repository,
    own,
    repositories,
    run,
)


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


@contextlib.contextmanager
def replayed(gateway: Gateway, what: str) -> Iterator[Session]:
    """The session of a replay that has got all, and did the same."""
    report = replay(gateway, what, "--keep")
    assert report["missing"] == []
    assert {one["verdict"] for one in report["cells"]} == {"same"}
    [model] = [
        one for one in gateway.sessions() if one["id"] == report["session"]
    ]
    kept = Session(gateway, model)
    yield kept
    kept.delete()


def export(outside: Outside, session: Session) -> str:
    """Return the path of its notebook."""
    path = str(outside.folder / f"{session.id}.ipynb")
    session.gateway.run("notebook", "export", session.id, "-o", path)
    return path


# ---- packages ----


def with_package(gateway: Gateway, asks: str, name: str) -> Session:
    """A session to which a cell, or a client, has added it."""
    session = gateway.create()
    if asks == "cell":
        run(session, f"%pip install {name}")
    else:
        add(session, name)
    return session


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_a_newer_version_is_not_taken(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    name = f"fresh-{asks}"
    wheel = outside.index.add(name, "1.0")
    session = with_package(gateway, asks, name)
    module = name.replace("-", "_")
    assert run(session, f"import {module}; print({module}.VERSION)") == "1.0\n"
    assert own(session)["packages"] == [
        {"name": name, "version": "1.0", "sha256": wheel.sha256}
    ]
    outside.index.add(name, "2.0")
    report = replay(gateway, session.id)
    assert report["missing"] == []
    exported = export(outside, session)
    assert replay(gateway, exported)["missing"] == []
    session.delete()


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_another_wheel_of_that_version_is_named(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    name = f"swapped-{asks}"
    old = outside.index.add(name, "1.0")
    session = with_package(gateway, asks, name)
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


def test_a_caught_error_is_named(outside: Outside, gateway: Gateway) -> None:
    outside.files.put("/caught.csv", OLD)
    url = outside.files.url("/caught.csv")
    session = gateway.create()
    run(
        session,
        f"""try:
    get_ipython().run_line_magic("fetch", "{url} caught.csv")
except Exception:
    pass
print("done")""",
    )
    outside.files.put("/caught.csv", NEW)
    assert replay(gateway, session.id)["missing"] == []
    outside.forget()
    report = replay(gateway, session.id, status=1)
    [missing] = report["missing"]
    assert missing["cell"] == 1
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
    exported = export(outside, session)
    assert "token" not in Path(exported).read_text()
    [missing] = replay(gateway, exported, status=1)["missing"]
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
    bring(session, asks, made.url, "src", *depth)
    run(session, "print(open('src/about').read(), end='')")
    assert own(session)["repositories"][0]["size"] > 0
    assert repositories(session) == [
        {
            "path": "src",
            "url": made.url,
            "commit": old,
            "branch": "main",
            **({"depth": 1} if depth else {}),
        }
    ]
    new = made.commit({"about": "new\n"})
    assert new != old
    with replayed(gateway, session.id) as kept:
        tree = kept.workspace / "src"
        for name in ("HEAD", "main", "origin/main"):
            assert git(tree, "rev-parse", name) == old
        assert git(tree, "status", "--porcelain") == ""
    session.delete()


@pytest.mark.parametrize("asks", ["cell", "client"])
def test_contents_and_submodules_come_again(
    outside: Outside, gateway: Gateway, asks: str
) -> None:
    """They are those of the recorded commit, from the servers once more."""
    whole = WholeRepository(outside, f"whole-{asks}")
    session = gateway.create()
    bring(session, asks, whole.made.url, "src", *WHOLE)
    run(session, "print(open('src/net.bin').read())")
    listed = repositories(session)
    assert listed == [
        {
            "path": "src",
            "url": whole.made.url,
            "commit": whole.old,
            "branch": "main",
            "lfs": True,
            "submodules": True,
        }
    ]
    exported = export(outside, session)
    whole.move_on()
    for what in (session.id, exported):
        outside.forget()
        with replayed(gateway, what) as kept:
            whole.check_old(kept.workspace / "src")
            assert repositories(kept) == listed
    session.delete()


def test_a_content_that_is_gone_is_named(
    outside: Outside, gateway: Gateway
) -> None:
    whole = WholeRepository(outside, "contentless")
    session = gateway.create()
    bring(session, "client", whole.made.url, "src", *WHOLE)
    whole.lfs.objects.clear()
    assert replay(gateway, session.id)["missing"] == []
    outside.forget()
    [missing] = replay(gateway, session.id, status=1)["missing"]
    assert missing["what"] == whole.made.url
    assert "Object does not exist" in missing["why"]
    session.delete()


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


def test_a_note_that_is_too_long_for_its_request(
    outside: Outside, gateway: Gateway
) -> None:
    long = {"order": "fetch", "url": "u" * (1 << 20)}
    call = {"name": "hearth:fetch", "arguments": long}
    path = write_notebook(outside, {"cell_type": "markdown"}, call=call)
    [missing] = replay(gateway, path, status=1)["missing"]
    assert missing["why"].startswith("url must be a text of 1 to 2000 bytes")


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
    assert "at most 128 levels are permitted" in missing["why"]


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


@contextlib.contextmanager
def at_its_first_fetch(
    outside: Outside, gateway: Gateway, *words: str
) -> Iterator[subprocess.Popen[str]]:
    """Run the command until it waits for the first of two files, neither of
    which comes. Nothing has asked for the second one at the end."""
    asked = [threading.Event(), threading.Event()]

    def wait(client: socket.socket, request: Asked) -> None:
        asked[int(request.path[-1])].set()
        outside.files.ended.wait()

    outside.forget()
    for number in range(2):
        outside.files.scripts[f"/slow{number}"] = wait
    running = subprocess.Popen(
        [HEARTH, *words],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert asked[0].wait(DEADLINE)
        yield running
        assert not asked[1].is_set()
    finally:
        running.kill()
        running.communicate()
        for number in range(2):
            outside.files.scripts.pop(f"/slow{number}")


def with_two_files(outside: Outside, gateway: Gateway) -> Session:
    session = gateway.create()
    for number in range(2):
        outside.files.put(f"/slow{number}", OLD)
        url = outside.files.url(f"/slow{number}")
        gateway.json("fetch", "--json", session.id, url)
    run(session, "print(1)")
    return session


def downloads(gateway: Gateway, session: str) -> list[Any]:
    """The fetches of a session that are not done."""
    fetches: list[Any] = gateway.json("fetch", "--list", "--json", session)
    return fetches


def words_for(command: str, session: Session) -> list[str]:
    if command != "revival":
        kept = ["--keep"] if command == "kept replay" else []
        return ["notebook", "replay", *kept, session.id]
    for number in range(2):
        (session.workspace / f"slow{number}").unlink()
    session.delete()
    return ["session", "revive", session.id]


def ids(gateway: Gateway) -> set[str]:
    return {one["id"] for one in gateway.sessions()}


@contextlib.contextmanager
def bringing(
    outside: Outside, gateway: Gateway, command: str
) -> Iterator[tuple[subprocess.Popen[str], set[str]]]:
    """Run the command until it waits for a file; also yield the sessions that
    there were before. None is left at the end."""
    session = with_two_files(outside, gateway)
    words = words_for(command, session)
    before = ids(gateway)
    with at_its_first_fetch(outside, gateway, *words) as running:
        yield running, before
    for one in ids(gateway):
        gateway.run("session", "delete", one)


@pytest.mark.parametrize("command", ["replay", "kept replay", "revival"])
def test_an_interrupt_ends_what_is_brought(
    outside: Outside, gateway: Gateway, command: str
) -> None:
    """The download ends as well as the wait for it."""
    with bringing(outside, gateway, command) as (running, before):
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=DEADLINE)
        assert "interrupted" in errors
        assert running.returncode == 1
        left = ids(gateway)
        for one in left:
            assert downloads(gateway, one) == []
        assert len(left - before) == (0 if command == "replay" else 1)


@pytest.mark.parametrize("command", ["replay", "revival"])
def test_one_interrupt_is_enough_while_the_gateway_is_stopped(
    outside: Outside, gateway: Gateway, command: str
) -> None:
    """The replay's session is deleted when the gateway goes on."""
    with bringing(outside, gateway, command) as (running, before):
        os.kill(gateway.pid, signal.SIGSTOP)
        try:
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=DEADLINE)
        finally:
            os.kill(gateway.pid, signal.SIGCONT)
        assert errors.startswith(
            "hearth: interrupted; the gateway gets 10 s to end what it was "
            "asked for\nhearth: interrupted\n"
        )
        assert running.returncode == (1 if command == "replay" else 4)
        if command == "replay":
            wait_for(
                lambda: before == ids(gateway),
                "the end of the replay's session",
            )


@pytest.mark.parametrize("way", ["terminate", "kill"])
def test_a_replay_ends_with_its_gateway(outside: Outside, way: str) -> None:
    gateway = outside.make_gateway()
    try:
        gateway.start()
        session = with_two_files(outside, gateway)
        words = ("notebook", "replay", session.id)
        with at_its_first_fetch(outside, gateway, *words) as running:
            getattr(gateway, way)()
            _, errors = running.communicate(timeout=DEADLINE)
        assert running.returncode == 4
        assert errors == (
            "hearth: the gateway stops before it is there; ask the next one "
            "again\n"
            if way == "terminate"
            else "hearth: the gateway ended before it answered\n"
        )
    finally:
        gateway.end()


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
