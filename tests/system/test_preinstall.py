"""Packages that all sessions of a profile have (packages/preinstall): made when
the gateway starts, kept, replaced, refused, and removed when nothing uses
them."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

import pytest
from deadline import wait_for
from fake_index import FakeIndex
from harness import HEARTH, Gateway, Session
from packages_gateway import open_place
from processes import children
from records import records

FRESH = """
profile
    fresh
        fresh = yes
        preload = humane
        packages
            index = {url}
            preinstall = humane
"""
PREINSTALLED = {
    "humane": "4.1",
    "later": "1.0",
    "timely": "1.5",
    "tooled": "1.0",
}
RESTART = {"restart": True}
OTHER = """
profile
    other
        preload = ""
"""


@pytest.fixture(scope="module")
def index() -> Iterator[FakeIndex]:
    with FakeIndex() as made:
        made.add("timely", "1.5")
        made.add("humane", "4.0", requires=["timely>=1"])
        made.add("humane", "4.1", requires=["timely>=1"])
        made.add("humane", "5.0", age_days=1)
        made.add("barred", "1.0")
        made.add("later", "1.0")
        made.add_program("tooled")
        made.add("hostile", "1.0", {"hostile.pth": "import os\n"})
        yield made


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as made:
        yield made


def write(gateway: Gateway, index: FakeIndex, *names: str) -> None:
    """Write the configuration anew, with these packages."""
    folder = gateway.folder / "h/.config/hearth"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hearth.cfg").unlink(missing_ok=True)
    if os.geteuid() != 0:
        gateway.share_user()
    listed = f"preinstall = {', '.join(names)}" if names else ""
    gateway.configure(
        "profile\n    python3\n        packages\n"
        f"            index = {index.url}\n"
        "            deny = barred\n"
        f"            {listed}\n"
    )


@contextmanager
def gateway_of(
    place: Path, index: FakeIndex, *names: str, **settings: Any
) -> Iterator[Gateway]:
    made = Gateway("--set", f"packages/dir={place / 'packages'}", **settings)
    write(made, index, *names)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def gateway(index: FakeIndex) -> Iterator[Gateway]:
    preload = "profile/python3/preload=humane, nowhere"
    names = ("humane>=4, <5", "tooled", "later")
    with open_place() as made, gateway_of(made, index, *names) as running:
        running.options += ["--set", preload]
        running.configure(FRESH.format(url=index.url))
        running.start()
        yield running


@pytest.fixture
def session(gateway: Gateway) -> Iterator[Session]:
    made = gateway.create()
    yield made
    made.delete()


def printed(session: Session, code: str) -> str:
    done = session.exec(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def has(session: Session, module: str) -> bool:
    code = f"import importlib.util as u; print(bool(u.find_spec('{module}')))"
    return printed(session, code) == "True"


def environments(place: Path) -> list[Path]:
    """Return the folders that were made and not removed."""
    return sorted((place / "packages/profiles").glob("*/*"))


def refused(gateway: Gateway, *options: str) -> str:
    """Return why no session is created."""
    done = gateway.run("session", "create", "--no-start", *options)
    assert done.returncode == 1, (done.stdout, done.stderr)
    return done.stderr


def fault(gateway: Gateway) -> Optional[str]:
    found: Optional[str] = gateway.info()["profiles"][0].get("fault")
    return found


def state(gateway: Gateway) -> str:
    found: str = gateway.info()["profiles"][0]["state"]
    return found


@contextmanager
def stopped(place: Path) -> Iterator[None]:
    """Let no worker go on: as another one that writes."""
    work = place / "packages/work"
    work.mkdir(parents=True, exist_ok=True)
    for folder in (work.parent, work):
        folder.chmod(0o711 if folder == work.parent else 0o700)
    with (work / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def begin(gateway: Gateway, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [HEARTH, *arguments],
        env=gateway.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ask(gateway: Gateway, *options: str) -> subprocess.Popen[str]:
    return begin(gateway, "session", "create", "--no-start", *options)


@contextmanager
def arriving(gateway: Gateway, what: str) -> Iterator[None]:
    """Leave when the gateway has got a request to create or restart."""
    wanted = {"event": "order", "request": f"session_{what}_request"}
    before = len(records(gateway, **wanted))
    yield
    wait_for(lambda: len(records(gateway, **wanted)) > before, "the request")


def restart(gateway: Gateway, session: Session) -> subprocess.Popen[str]:
    with arriving(gateway, "restart"):
        return begin(gateway, "session", "restart", session.id)


# ---- in a session ----


def test_every_session_has_them(session: Session) -> None:
    code = "import humane, timely; print(humane.VERSION, timely.VERSION)"
    assert printed(session, code) == "4.1 1.5"
    assert printed(session, "!tooled; python -m tooled; echo $?").endswith("0")
    done = session.gateway.run("run", session.id, "--", "tooled")
    assert done.stdout == "tooled runs\n", done


def test_the_recording_lists_them(
    gateway: Gateway, session: Session, index: FakeIndex
) -> None:
    listed = session.notebook()["metadata"]["hearth"]["preinstalled"]
    assert {one["name"]: one["version"] for one in listed} == PREINSTALLED
    hashes = {one.sha256 for all_ in index.releases.values() for one in all_}
    assert {one["sha256"] for one in listed} <= hashes


def test_only_what_preload_names_is_warm(session: Session) -> None:
    code = "import sys; print(*(n in sys.modules for n in ('humane', 'later')))"
    assert printed(session, code) == "True False"


def test_they_are_read_only(session: Session) -> None:
    code = (
        "import errno, os, humane\n"
        "for call in (os.unlink, os.rmdir, lambda p: open(p, 'a')):\n"
        "    try:\n        call(humane.__file__)\n"
        "    except OSError as error:\n"
        "        print(errno.errorcode[error.errno], end=' ')\n"
    )
    codes = printed(session, code).split()
    assert len(codes) == 3
    assert set(codes) <= {"EROFS", "EACCES", "ENOTDIR"}


def test_they_are_the_profiles(session: Session) -> None:
    assert re.search(r"humane +4\.1", printed(session, "%pip list"))
    gateway = session.gateway
    done = gateway.run("packages", "add", session.id, "humane")
    assert done.stdout == "humane 4.1 is there already (profile)\n", done
    for name in ("humane==4.0", "humane>=5"):
        done = gateway.run("packages", "add", session.id, name)
        assert done.returncode == 1, done
        assert "humane" in done.stderr
    gateway.run("packages", "remove", session.id, "humane")
    assert has(session, "humane")


def test_a_fresh_kernel_has_them(gateway: Gateway) -> None:
    session = gateway.create("--profile", "fresh")
    code = "import sys; print('humane' in sys.modules)"
    assert printed(session, code) == "True"
    assert has(session, "timely")
    session.delete()


def test_doctor_says_that_they_are_there(gateway: Gateway) -> None:
    line = r"ok +preinstall python3 +sessions have humane"
    wait_for(lambda: re.search(line, gateway.run("doctor").stdout), "its word")


@pytest.mark.warm
def test_the_zygote_imports_nothing_else(place: Path, index: FakeIndex) -> None:
    """pandas looks for this module, and the zygote is in no sandbox."""
    marker = place / "imported"
    code = f"try:\n    open({str(marker)!r}, 'w')\nexcept OSError:\n    pass\n"
    index.add("bottleneck", "1.4.2", {"bottleneck.py": code})
    with gateway_of(place, index, "bottleneck", warm=True) as gateway:
        place.chmod(0o777)
        gateway.start()
        session = gateway.create()
        assert printed(session, "import sys; print('pandas' in sys.modules)")
        assert has(session, "bottleneck")
        assert not marker.exists()
        session.delete()


# ---- what is refused ----


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("barred", "barred is not permitted here: profile/python3/packages"),
        ("humane>=5", "7 days"),
        ("hostile", "hostile.pth"),
        ("missing-one", "missing-one"),
    ],
)
def test_a_refusal_is_told(
    place: Path, index: FakeIndex, name: str, sentence: str
) -> None:
    with gateway_of(place, index, name) as gateway:
        gateway.configure(OTHER)
        gateway.start()
        wait_for(lambda: state(gateway) == "failed", "the refusal")
        done = gateway.run("doctor")
        for text in (
            refused(gateway),
            fault(gateway) or "",
            gateway.log.read_text(),
            done.stdout,
        ):
            assert "packages/preinstall: " in text
            assert sentence in text
        assert done.returncode == 5
        # Of the section a reload applies `preinstall` alone.
        assert "then `hearth gateway restart`" in " ".join(done.stdout.split())
        gateway.create("--profile", "other").delete()
        before = index.count()
        write(gateway, index, "humane")
        gateway.run("gateway", "reload")
        session = gateway.create()
        assert has(session, "humane")
        assert index.count() > before
        session.delete()


def test_a_restart_leaves_the_kernel_if_none_can_start(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        session = gateway.create()
        session.exec("x = 41")
        write(gateway, index, "barred")
        gateway.run("gateway", "reload")
        wait_for(lambda: state(gateway) == "failed", "the refusal")
        done = gateway.run("session", "restart", session.id)
        assert done.returncode == 1, done
        assert "barred is not permitted here" in done.stderr
        assert printed(session, "print(x)") == "41"
        write(gateway, index, "humane")
        gateway.run("gateway", "reload")
        assert gateway.run("session", "restart", session.id).returncode == 0
        assert printed(session, "print('x' in vars())") == "False"
        session.delete()


def test_a_package_that_is_there_twice_is_not_loaded(
    place: Path, index: FakeIndex
) -> None:
    with gateway_of(place, index, "humane") as gateway:
        gateway.start()
        gateway.create().delete()
        write(gateway, index, "humane==4.0", "Humane==4.1")
        done = gateway.run("gateway", "reload")
        assert done.returncode != 0, done
        assert '"Humane==4.1" names a package' in done.stderr
        session = gateway.create()
        assert has(session, "humane")
        session.delete()


def test_no_index_is_an_error(place: Path, index: FakeIndex) -> None:
    with gateway_of(place, index) as gateway:
        text = gateway.refused(
            "--set", "profile/python3/packages/index=",
            "--set", "profile/python3/packages/preinstall=humane",
        )  # fmt: skip
        assert "set profile/python3/packages/index" in text


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
            write(gateway, index, "tooled")
            gateway.run("gateway", "reload")
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
                write(gateway, index, "tooled")
                gateway.run("gateway", "reload")
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
        write(gateway, index, "tooled")
        done = gateway.run("gateway", "reload")
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
        write(gateway, index, "later")
        gateway.run("gateway", "reload")
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
        write(gateway, index, "humane<4.1", "tooled")
        gateway.run("gateway", "reload")
        said = "preinstalled then: humane 4.1; now: humane 4.0"
        done = gateway.run("notebook", "replay", str(notebook))
        assert done.returncode == 0, done.stderr
        assert said in done.stdout.splitlines()
        told = gateway.json("notebook", "replay", "--json", str(notebook))
        assert told["preinstalled"] == said
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
        write(gateway, index)
        gateway.run("gateway", "reload")
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


# ---- with other users of zygotes ----

UNIT_USER = 64995
USER = 64994


def kinds() -> list[str]:
    return ["own", "service", "user"] if os.geteuid() == 0 else ["user"]


@pytest.mark.parametrize("kind", kinds())
def test_with_other_users(place: Path, index: FakeIndex, kind: str) -> None:
    """Sessions that cannot read what the gateway alone can."""
    is_other = kind == "user" and os.geteuid() == 0
    with gateway_of(
        place, index, "humane", user=USER if is_other else None
    ) as gateway:
        gateway.folder.chmod(0o711)
        place.chmod(0o777)
        settings = {"own": "zygote_user=own", "service": "cgroups=none"}
        if kind in settings:
            gateway.options += ["--set", f"gateway/{settings[kind]}"]
        if kind == "service":
            gateway.be_service(UNIT_USER)
        gateway.start()
        session = gateway.create()
        assert has(session, "humane")
        code = "import humane; print(open(humane.__file__).read())"
        assert "VERSION" in printed(session, code)
        write(gateway, index, "tooled")
        gateway.run("gateway", "reload")
        other = gateway.create()
        assert has(other, "tooled")
        assert len(environments(place)) == 2
        session.delete()
        wait_for(lambda: len(environments(place)) == 1, "what is used alone")
        other.delete()
