"""Packages that all sessions of a profile have (packages/preinstall): made when
the gateway starts, kept, replaced, and removed when nothing uses them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Optional
from urllib.parse import urlsplit

from deadline import wait_for
from fake_index import FakeIndex
from harness import Gateway, Session
from packages_gateway import printed
from preinstalling import (  # noqa: F401
    OTHER,
    arriving,
    ask,
    environments,
    gateway_of,
    has,
    index_of_all,
    place_of_one,
    refused,
    reload_with,
    restart,
    state,
    stopped,
    write,
)
from processes import children

RESTART = {"restart": True}


# ---- while they are made ----


def test_others_do_not_wait(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.options += ["--set", "gateway/starts_max=1"]
        gateway.options += ["--set", "sessions/sessions_max=3"]
        gateway.configure(OTHER)
        with stopped(place):
            gateway.start()
            assert state(gateway) == "warming"
            waiting = [ask(gateway) for _ in range(3)]
            gateway.create("--profile", "other").delete()
            assert all(one.poll() is None for one in waiting)
        for one in waiting:
            out, err = one.communicate(timeout=120)
            assert one.returncode == 0, err
            session = Session(
                gateway, gateway.json("session", "show", "--json", out.strip())
            )
            assert has(session, "humane")
            session.delete()


def test_wrong_wishes_do_not_wait(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index, "humane") as gateway, stopped(place):
        gateway.start()
        assert state(gateway) == "warming"
        assert "deny" in refused(gateway, "--packages", "deny=*")
        assert "memory" in refused(gateway, "--limit", "memory=1000G")
        assert state(gateway) == "warming"


def worker_of(gateway: Gateway) -> Optional[int]:
    for pid in children(gateway.pid):
        try:
            text = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"packages.worker" in text:
            return pid
    return None


def kill_worker(gateway: Gateway, waiting: subprocess.Popen[str]) -> None:
    """Kill the one that makes the packages, for which a command waits."""
    os.kill(wait_for(lambda: worker_of(gateway), "a worker"), signal.SIGKILL)
    _, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 1
    assert "packages worker" in err


@contextmanager
def posted(
    gateway: Gateway, path: str, what: str
) -> Iterator[http.client.HTTPConnection]:
    """Leave when the gateway has got a request of HTTP."""
    info = gateway.info()["http"]
    url = urlsplit(info["url"])
    connection = http.client.HTTPConnection(url.netloc)
    headers = {"Authorization": f"token {info['token']}"}
    with arriving(gateway, what):
        connection.request("POST", f"{url.path}api/{path}", headers=headers)
    yield connection
    connection.close()


def test_a_restart_waits_while_the_kernel_goes_on(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        client = session.client()
        client.run("x = 41")
        with stopped(place):
            reload_with(gateway, index, "tooled")
            assert state(gateway) == "warming"
            waiting = restart(gateway, session)
            # Jupyter's request has an answer at once.
            refusal = client.ask("control", "shutdown_request", RESTART)
            assert refusal.content["ename"] == "SessionNotStarted"
            assert "are being made" in refusal.content["evalue"]
            assert client.value("x") == 41
            assert waiting.poll() is None
            kill_worker(gateway, waiting)
            assert client.value("x") == 41
            wait_for(lambda: state(gateway) == "warming", "another try")
            waiting = restart(gateway, session)
        assert waiting.wait(timeout=120) == 0
        assert has(session, "tooled")
        assert client.value("'x' in vars()") is False
        reply = client.ask("control", "shutdown_request", RESTART)
        assert reply.content == {"status": "ok", **RESTART}
        client.close()
        session.delete()


def test_a_restart_by_http_waits(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        session.exec("x = 41")
        path = f"kernels/{session.id}/restart"
        with ExitStack() as stack:
            with stopped(place):
                reload_with(gateway, index, "tooled")
                with posted(gateway, path, "restart"):
                    pass  # it goes, and so does its request
                gone = "session_restart_request dropped: its client has gone"
                wait_for(lambda: gone in gateway.log.read_text(), "its end")
                assert printed(session, "print(x)") == "41"
                connection = stack.enter_context(
                    posted(gateway, path, "restart")
                )
            answer = connection.getresponse()
            assert (answer.status, json.load(answer)["id"]) == (200, session.id)
        assert has(session, "tooled")
        session.delete()


def test_what_no_client_waits_for_is_dropped(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        # No probe of the connection finds its end.
        gateway.options += ["--set", "http/peer_timeout=1h"]
        with stopped(place):
            gateway.start()
            with arriving(gateway, "create"):
                waiting = ask(gateway)
            waiting.kill()
            waiting.communicate()
            with posted(gateway, "kernels", "create"):
                pass
            gone = "session_create_request dropped: its client has gone"
            wait_for(
                lambda: gateway.log.read_text().count(gone) == 2,
                "the end of both",
            )
        session = gateway.create()
        assert [one["id"] for one in gateway.sessions()] == [session.id]
        session.delete()


def test_a_session_of_before_knows_that_it_cannot_restart(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        gateway.kill()
        write(gateway, index, "tooled")
        with stopped(place):
            gateway.start()
            assert state(gateway) == "warming"
            with session.client() as client:
                refusal = client.ask("control", "shutdown_request", RESTART)
            assert refusal.content["ename"] == "SessionNotStarted"
        session.delete()


def test_a_killed_worker_is_started_again(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        with stopped(place):
            gateway.start()
            with arriving(gateway, "create"):
                waiting = ask(gateway)
            kill_worker(gateway, waiting)
        wait_for(lambda: state(gateway) == "ready", "another try")
        session = gateway.create()
        assert has(session, "humane")
        session.delete()


def test_a_killed_gateway_leaves_no_half(place: Path, index: FakeIndex) -> None:
    index.add("slow", "1.0", silent=True)
    with gateway_of(place, index, "humane", "slow") as gateway:
        before = index.count("/files/slow")
        gateway.start()
        wait_for(lambda: index.count("/files/slow") > before, "the download")
        # The half: the index goes on with nothing, so it stays until the kill.
        stage = place / "packages/work/uv/stage"
        assert list(stage.iterdir())
        gateway.kill()
        assert not environments(place)
        write(gateway, index, "humane", "tooled")
        gateway.start()
        session = gateway.create()
        assert has(session, "humane")
        assert has(session, "tooled")
        assert not stage.exists()
        wait_for(lambda: len(environments(place)) == 1, "what is used alone")
        session.delete()


# ---- what is kept, and for how long ----


def test_an_unchanged_start_needs_no_index(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        gateway.kill()
        index.status = 500
        before = index.count()
        try:
            gateway.start()
            other = gateway.create()
            assert has(other, "humane")
            assert has(session, "humane")
        finally:
            index.status = 200
        assert index.count() == before
        assert len(environments(place)) == 1
        other.delete()
        session.delete()


def test_a_reload_changes_them(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        old = gateway.create()
        assert has(old, "humane")
        done = reload_with(gateway, index, "tooled")
        assert "profile/python3/packages/preinstall" in done.stdout
        new = gateway.create()
        assert has(new, "tooled")
        assert not has(new, "humane")
        # The session that runs keeps its own, also over another gateway.
        assert len(environments(place)) == 2
        gateway.kill()
        gateway.start()
        gateway.create().delete()
        wait_for(lambda: state(gateway) == "ready", "the zygote")
        assert printed(old, "import timely; print(timely.VERSION)") == "1.5"
        assert len(environments(place)) == 2
        old.delete()
        wait_for(lambda: len(environments(place)) == 1, "what is used alone")
        assert printed(new, "import tooled; tooled.main()") == "tooled runs"
        # A restart gives it the profile's of today.
        reload_with(gateway, index, "later")
        gateway.run("session", "restart", new.id)
        assert has(new, "later")
        assert not has(new, "tooled")
        wait_for(lambda: len(environments(place)) == 1, "what is used alone")
        new.delete()


def test_a_replay_says_that_others_are_there(
    place: Path, index: FakeIndex, tmp_path: Path
) -> None:
    with gateway_of(place, index, "humane<5", "tooled") as gateway:
        gateway.start()
        session = gateway.create()
        assert printed(session, "print(1)") == "1"
        notebook = tmp_path / "then.ipynb"
        notebook.write_text(json.dumps(session.notebook()))
        session.delete()
        same = gateway.run("notebook", "replay", str(notebook))
        assert (same.returncode, "then:" in same.stdout) == (0, False)
        reload_with(gateway, index, "humane<4.1", "tooled")
        said = "preinstalled then: humane 4.1; now: humane 4.0"
        done = gateway.run("notebook", "replay", str(notebook))
        assert done.returncode == 0, done.stderr
        assert said in done.stdout.splitlines()
        replayed = gateway.json("notebook", "replay", "--json", str(notebook))
        assert replayed["preinstalled"] == said
        revived = gateway.run("session", "revive", session.id)
        assert said in revived.stdout.splitlines(), revived.stderr
        # Its recording has now what it has by now.
        listed = session.notebook()["metadata"]["hearth"]["preinstalled"]
        assert {"4.0"} == {
            one["version"] for one in listed if one["name"] == "humane"
        }
        session.delete()


def test_none_any_more(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        gateway.create().delete()
        assert len(environments(place)) == 1
        reload_with(gateway, index)
        session = gateway.create()
        assert not has(session, "humane")
        wait_for(lambda: not environments(place), "what is used alone")
        session.delete()


def test_removed_folders_are_made_again(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index) as gateway:
        gateway.start()
        session = gateway.create()
        shutil.rmtree(place / "packages/work")
        done = gateway.run("packages", "add", session.id, "humane")
        assert done.returncode == 0, done
        shutil.rmtree(place / "packages/sessions")
        done = gateway.run("packages", "add", session.id, "tooled")
        assert done.returncode == 1, done
        assert f"hearth session restart {session.id}" in done.stderr
        gateway.run("session", "restart", session.id)
        done = gateway.run("packages", "add", session.id, "tooled")
        assert done.returncode == 0, done
        assert has(session, "tooled")
        session.delete()
