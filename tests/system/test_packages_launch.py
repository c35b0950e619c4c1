"""A session of a profile with an index of packages: the folder that it alone
can find, from its start to its end."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

import pytest
from client import Client
from deadline import wait_for
from harness import Gateway, Session
from manager import Manager

INDEX = "profile/python3/packages/index=http://127.0.0.1:9/simple/"
PLACE = "/packages"
UNIT_USER = 64995
USER = 64994


def begin(
    *settings: str, unit: bool = False, user: Optional[int] = None
) -> Gateway:
    """A gateway with a folder of packages below its own."""
    gateway = Gateway(user=user)
    gateway.folder.chmod(0o711)
    words = [f"packages/dir={gateway.folder / 'p'}", *settings]
    for word in words:
        gateway.options += ["--set", word]
    if unit:
        gateway.be_service(UNIT_USER)
    return gateway


def kinds() -> list[str]:
    if os.geteuid() != 0:
        return ["user"]
    return ["root", "own", "service", "user"]


@pytest.fixture(scope="module", params=kinds())
def kind(request: pytest.FixtureRequest) -> str:
    """As root, with zygotes that have a user of their own, and as the service;
    or as an ordinary user."""
    return str(request.param)


@contextmanager
def gateway_of(kind: str) -> Iterator[Gateway]:
    settings = {
        "own": ["gateway/zygote_user=own"],
        "service": ["gateway/cgroups=none"],
    }.get(kind, [])
    running = begin(
        INDEX,
        "profile/python3/pool/min=1",
        *settings,
        unit=kind == "service",
        user=USER if kind == "user" and os.geteuid() == 0 else None,
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


@pytest.fixture(scope="module")
def gateway(kind: str) -> Iterator[Gateway]:
    with gateway_of(kind) as running:
        yield running


@pytest.fixture
def mortal(kind: str) -> Iterator[Gateway]:
    """Start a gateway for a test that ends it."""
    with gateway_of(kind) as running:
        yield running


def folder(gateway: Gateway) -> Path:
    return gateway.folder / "p"


def variable(client: Client) -> Optional[str]:
    found: list[Optional[str]] = client.value(
        "[__import__('os').environ.get('HEARTH_PACKAGES')]"
    )
    return found[0]


def token(session: Session) -> str:
    """Return the name of the session's folder; its kernel has it, and the
    gateway keeps it."""
    with session.client() as client:
        text = variable(client)
    assert text is not None
    start, place, name, end = text.split("/")
    assert (start, f"/{place}", end) == ("", PLACE, "current")
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")
    kept = json.loads(
        (session.gateway.state / "sessions" / session.id / "session.json")
        .read_text()
    )  # fmt: skip
    assert kept["packages"] == name
    return name


ATTEMPT = """
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return f"errno {error.errno}"
import os
"""


def attempt(client: Client, expression: str) -> Any:
    """Return the result of a call in the session, or its error number."""
    assert client.run(ATTEMPT).status == "ok"
    return client.value(f"attempt({expression})")


def put(gateway: Gateway, name: str) -> None:
    """Put a generation there, as the worker does."""
    owner = (folder(gateway) / "sessions").stat()
    generation = folder(gateway) / "sessions" / name / "1"
    generation.mkdir(parents=True)
    (generation / "found.py").write_text("WORD = 'found'\n")
    (generation.parent / "current").symlink_to("1")
    for path in (generation.parent, generation):
        path.chmod(0o755)
        os.chown(path, owner.st_uid, owner.st_gid)


def test_modes(gateway: Gateway) -> None:
    top = folder(gateway)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (top, top / "work", top / "sessions")
    }
    assert modes == {"p": 0o711, "work": 0o700, "sessions": 0o311}
    # The worker's own. Its sandbox could not reach what another user has.
    owners = [(top / name).stat().st_uid for name in ("work", "sessions")]
    assert owners[0] == owners[1]


def test_each_session_has_a_folder_that_it_alone_finds(
    gateway: Gateway,
) -> None:
    # The second is not out of the pool.
    one = gateway.create()
    other = gateway.create("--limit", "memory=1G")
    names = [token(session) for session in (one, other)]
    assert len(set(names)) == 2
    for name in names:
        put(gateway, name)
    with one.client() as client:
        there = f"'{PLACE}/{names[0]}/current/found.py'"
        assert attempt(client, f"lambda: open({there}).read()") == (
            "WORD = 'found'\n"
        )
        # It is not listed, nor written.
        refused = f"errno {errno.EACCES}"
        assert attempt(client, f"os.listdir, '{PLACE}'") == refused
        readonly = {refused, f"errno {errno.EROFS}"}
        for what in (
            f"os.mkdir, '{PLACE}/x'",
            f"os.chmod, '{PLACE}', 0o755",
            f"os.mkdir, '{PLACE}/{names[0]}/x'",
            f"open, '{PLACE}/{names[0]}/x', 'w'",
            f"os.rename, '{PLACE}/{names[0]}', '{PLACE}/x'",
            f"os.unlink, '{PLACE}/{names[0]}/current'",
        ):
            found = attempt(client, what)
            assert found in readonly | {f"errno {errno.EPERM}"}, what
        assert attempt(client, "os.listdir, '/packages/..'") != refused
        # The walls of this test: with another mode all are found.
        sessions = folder(gateway) / "sessions"
        sessions.chmod(0o755)
        try:
            found = set(attempt(client, f"os.listdir, '{PLACE}'"))
        finally:
            sessions.chmod(0o311)
        assert set(names) <= found == set(os.listdir(sessions))
        assert attempt(client, f"os.listdir, '{PLACE}'") == refused


def test_a_folder_that_comes_later_is_seen(gateway: Gateway) -> None:
    session = gateway.create()
    name = token(session)
    with session.client() as client:
        code = f"os.listdir, '{PLACE}/{name}/current'"
        assert attempt(client, code) == f"errno {errno.ENOENT}"
        put(gateway, name)
        assert attempt(client, code) == ["found.py"]


def test_it_is_kept_over_restarts_and_revivals(mortal: Gateway) -> None:
    session = mortal.create()
    name = token(session)
    assert mortal.run("session", "restart", session.id).returncode == 0
    assert token(session) == name
    mortal.terminate()
    mortal.start()
    assert token(session) == name
    # Of a kernel of the next gateway, too.
    assert mortal.run("session", "restart", session.id).returncode == 0
    assert token(session) == name
    mortal.kill()
    mortal.start()
    session.delete()
    session.wait_state("gone")
    assert mortal.run("session", "revive", session.id).returncode == 0
    assert token(session) == name


def test_nothing_is_left(mortal: Gateway) -> None:
    sessions = [mortal.create() for _ in range(2)]
    gone, alive = (token(session) for session in sessions)
    for name in (gone, alive):
        put(mortal, name)
    sessions[0].delete()
    sessions[0].wait_state("gone")
    # It can be revived as long as there is its recording.
    assert (folder(mortal) / "sessions" / gone).exists()
    mortal.terminate()
    mortal.start("--set", "sessions/gone_keep=0")

    def prune() -> bool:
        return sessions[0].id in mortal.run("prune").stdout

    wait_for(prune, "a recording that is removed")
    left = [path.name for path in (folder(mortal) / "sessions").iterdir()]
    assert left == [alive]
    wait_for(
        lambda: not (folder(mortal) / "discarded").exists(),
        "packages that are removed",
    )


def ask_for(gateway: Gateway, environment: dict[str, str]) -> dict[str, Any]:
    """The answer to a client that wishes for a session with these variables."""
    with Manager(gateway) as manager:
        return manager.ask("session_create", {"environment": environment})


def test_a_client_cannot_choose_it(gateway: Gateway) -> None:
    wish = {"HEARTH_PACKAGES": "/workspace"}
    refused = ask_for(gateway, wish)
    assert refused["status"] == "error"
    assert "environment must have texts" in refused["evalue"]
    assert ask_for(gateway, {"KERNEL_PACKAGES": "x"})["status"] == "ok"
    for setting in ("sessions/allow_env", "sessions/inherit_env"):
        said = gateway.refused("--set", f"{setting}=HEARTH_PACKAGES")
        assert "HEARTH_..." in said


def test_a_workspace_is_not_in_it(gateway: Gateway) -> None:
    for path in (folder(gateway), folder(gateway) / "sessions"):
        refused = gateway.run("session", "create", "--workspace", str(path))
        assert refused.returncode != 0
        assert "keeps its own files" in refused.stderr


def test_without_an_index_there_is_nothing() -> None:
    gateway = begin()
    try:
        gateway.start()
        session = gateway.create()
        with session.client() as client:
            assert variable(client) is None
            assert attempt(client, f"os.stat, '{PLACE}'") == (
                f"errno {errno.ENOENT}"
            )
        assert not folder(gateway).exists()
    finally:
        gateway.end()


def test_refuses_what_overlaps() -> None:
    gateway = begin(INDEX, "profile/python3/mount=/usr:/packages/x")
    try:
        said = gateway.refused()
        assert 'profile/python3/mount = "/usr:/packages/x"' in said
        assert "profile/python3/packages/index" in said
    finally:
        gateway.sweep()


def test_refuses_a_folder_of_others() -> None:
    gateway = begin(INDEX)
    try:
        folder(gateway).mkdir()
        folder(gateway).chmod(0o777)
        said = gateway.refused()
        assert f"packages/dir: other users can write to {folder(gateway)}" in (
            said
        )
    finally:
        gateway.sweep()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives sessions users")
def test_refuses_root_a_range_without_a_user_for_uv(tmp_path: Path) -> None:
    gateway = begin(INDEX, "gateway/uid_count=2")
    config = tmp_path / "hearth.cfg"
    config.write_text(
        "gateway\n    uid_count = 2\n"
        "profile\n    python3\n        packages\n"
        "            index = http://127.0.0.1:9/simple/\n"
    )
    sentence = (
        "gateway/uid_count = 2: root would run downloads as a session's user, "
        "because profile/python3/packages/index is set; set 3 or more, or "
        "leave packages/index empty"
    )
    try:
        assert sentence in gateway.refused()
        assert not folder(gateway).exists()
        done = gateway.run("doctor", "--json", "--config", str(config))
        (row,) = (
            check
            for check in json.loads(done.stdout)["checks"]
            if check["name"] == "configuration"
        )
        assert row["state"] == "missing"
        assert row["found"].endswith(f"hearth.cfg:2: {sentence}")
    finally:
        gateway.sweep()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives zygotes a user")
def test_refuses_a_folder_that_zygotes_cannot_reach() -> None:
    gateway = begin(INDEX, "gateway/zygote_user=own")
    try:
        gateway.folder.chmod(0o700)
        said = gateway.refused()
        assert f"cannot enter {gateway.folder}; run `chmod o+x" in said
        gateway.folder.chmod(0o711)
    finally:
        gateway.sweep()


def test_doctor_looks_for_uv_and_at_the_folder(tmp_path: Path) -> None:
    gateway = begin()
    uv = tmp_path / "uv"
    config = tmp_path / "hearth.cfg"
    top = folder(gateway)
    advisories = tmp_path / "osv.zip"
    advisories.touch()

    def row(*more: str) -> dict[str, str]:
        named = more or [f"advisories = {advisories}"]
        config.write_text(
            f"packages\n    dir = {top}\n    uv = {uv}\n"
            "profile\n    python3\n        packages\n"
            "            index = http://127.0.0.1:9/simple/\n"
            + "".join(f"            {line}\n" for line in named)
        )
        done = gateway.run("doctor", "--json", "--config", str(config))
        found: list[dict[str, str]] = [
            check
            for check in json.loads(done.stdout)["checks"]
            if check["name"].startswith("packages")
        ]
        (only,) = found
        assert only["name"] == "packages python3"
        return only

    try:
        assert row()["state"] == "warning"
        assert f"{uv} is not a program" in row()["found"]
        assert "packages/uv" in row()["advice"]
        uv.write_text("")
        uv.chmod(0o755)
        assert row()["state"] == "ok"
        assert row()["found"].endswith(f"/simple/, in {top}")
        assert str(uv) in row()["found"]
        loose = row("pth = yes", "shadow = yes")
        assert loose["state"] == "ok"
        assert loose["found"].endswith(
            "; malicious versions are not known; they may have code for the "
            "start; they may hide modules of the profile's"
        )
        advisories.unlink()
        assert row()["state"] == "warning"
        assert f"{advisories} is not a file" in row()["found"]
        assert "packages/advisories" in row()["advice"]
        advisories.touch()
        assert not top.exists()
        top.mkdir()
        top.chmod(0o777)
        assert row()["state"] == "missing"
        assert "other users can write" in row()["found"]
        assert "packages/dir" in row()["advice"]
    finally:
        gateway.sweep()
