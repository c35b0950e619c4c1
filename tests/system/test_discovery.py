"""jupyter/discovery: Jupyter's own programs find a gateway and its sessions."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any, Iterator

import pexpect
import pytest
from client import Client
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from jupyter_client.connect import find_connection_file
from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir
from jupyterpath import write_kernelspec
from processes import kill

ON = ("--set", "jupyter/discovery=yes")
THEIRS = {
    "kernel-7c1b.json": '{"key": "theirs"}',
    "kernel-empty.json": "",
    "jpserver-1.json": '{"pid": 1, "token": "theirs"}',
    "notes.json": "{}",
}


@pytest.fixture
def found(folders: Gateway, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which programs of the gateway's user look."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", folders.env["HOME"])
    return Path(jupyter_runtime_dir())


@pytest.fixture
def gateway(folders: Gateway, found: Path) -> Iterator[Gateway]:
    """A gateway with discovery that is not started yet."""
    kept = folders.options
    folders.options = [*kept, *ON]
    yield folders
    folders.options = kept


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def server_file(gateway: Gateway) -> str:
    return f"jpserver-{gateway.pid}.json"


def kernel_file(session: Session) -> str:
    return f"kernel-{session.id}.json"


def read(path: Path) -> dict[str, Any]:
    about = path.lstat()
    assert stat.S_ISREG(about.st_mode)
    assert stat.S_IMODE(about.st_mode) == 0o600
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def value(name: str, code: str) -> str:
    """Return the answer to a program that finds the kernel by that name."""
    client = Client(find_connection_file(name))
    try:
        turn = client.wait_ready().run(code)
        assert turn.status == "ok", turn.content
        return str(turn.result)
    finally:
        client.close()


def test_nothing_is_written_by_default(folders: Gateway, found: Path) -> None:
    folders.start()
    folders.create()
    assert not found.exists()
    assert not (folders.state / "discovery.folder").exists()


def test_programs_find_the_gateway_and_its_sessions(
    gateway: Gateway, found: Path
) -> None:
    gateway.start()
    session = gateway.create()
    session.exec("x = 41")
    http = gateway.info()["http"]

    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert names(found) == {server_file(gateway), kernel_file(session)}
    about = read(found / server_file(gateway))
    assert about.pop("hearth_gateway")
    assert about == {
        "base_url": "/",
        "hostname": "127.0.0.1",
        "password": False,
        "pid": gateway.pid,
        "port": int(http["url"].rstrip("/").rsplit(":", 1)[1]),
        "root_dir": str(gateway.state),
        "secure": False,
        "sock": "",
        "token": http["token"],
        "url": http["url"],
        "version": gateway.info()["version"],
    }
    kernel = read(found / kernel_file(session))
    assert kernel.pop("hearth_gateway")
    assert kernel == json.loads(Path(session.connection_file).read_text())
    assert value(session.id, "1 + 1") == "2"
    assert value(kernel_file(session), "x + 1") == "42"


def test_a_console_finds_a_session(gateway: Gateway, found: Path) -> None:
    gateway.start()
    session = gateway.create()
    session.exec("x = 41")
    console = pexpect.spawn(
        str(Path(sys.executable).parent / "jupyter-console"),
        ["--existing", session.id, "--simple-prompt"],
        env={**os.environ, **gateway.env, "IPYTHONDIR": str(found / "i")},
        encoding="utf-8",
        timeout=DEADLINE,
    )
    try:
        console.expect(r"In \[\d+\]")
        console.send("x + 1\r")
        console.expect(r"Out\[\d+\].*42")
    finally:
        console.close(force=True)
    assert session.show()["state"] == "idle"


def test_files_go_with_what_they_show(gateway: Gateway, found: Path) -> None:
    found.mkdir(parents=True, mode=0o700)
    for name, text in THEIRS.items():
        (found / name).write_text(text)
    gateway.start()
    one, other = gateway.create(), gateway.create("--transport", "tcp")
    mine = {kernel_file(one), kernel_file(other), server_file(gateway)}
    assert names(found) == mine | THEIRS.keys()
    assert value(other.id, "1 + 1") == "2"
    assert gateway.run("session", "restart", one.id).returncode == 0
    assert value(one.id, "1 + 1") == "2"
    one.delete()
    wait_for(
        lambda: names(found) == mine - {kernel_file(one)} | THEIRS.keys(),
        "one file less",
    )
    gateway.terminate()
    for name, text in THEIRS.items():
        assert (found / name).read_text() == text
    assert names(found) == THEIRS.keys()
    assert not (gateway.state / "discovery.folder").exists()


def test_a_session_in_the_pool_is_not_found(
    gateway: Gateway, found: Path
) -> None:
    gateway.start()
    wait_for(
        lambda: gateway.info()["profiles"][0]["pool"]["ready"],
        "a session that waits",
    )
    assert names(found) == {server_file(gateway)}
    session = gateway.create()
    assert names(found) == {server_file(gateway), kernel_file(session)}


def test_the_next_gateway_takes_the_files_over(
    gateway: Gateway, found: Path
) -> None:
    gateway.start()
    kept = gateway.create()
    kept.exec("x = 41")
    gateway.terminate()
    assert names(found) == set()
    gateway.start()
    assert names(found) == {server_file(gateway), kernel_file(kept)}
    assert value(kept.id, "x + 1") == "42"


def test_what_a_killed_gateway_has_left_is_swept(
    gateway: Gateway, found: Path
) -> None:
    gateway.start()
    kept, lost = gateway.create(), gateway.create()
    kept.exec("x = 41")
    (found / "kernel-7c1b.json").write_text(THEIRS["kernel-7c1b.json"])
    before = server_file(gateway)
    process = lost.show()["pid"]
    gateway.kill()
    kill(process)
    assert {before, kernel_file(kept), kernel_file(lost)} < names(found)

    gateway.start()
    wait_for(
        lambda: (
            names(found)
            == {server_file(gateway), kernel_file(kept), "kernel-7c1b.json"}
        ),
        "the files of what lives",
    )
    assert read(found / server_file(gateway))["pid"] == gateway.pid
    assert value(kept.id, "x + 1") == "42"


@pytest.mark.parametrize("setting", ["discovery=no", "runtime_dir={}/other"])
def test_they_are_swept_with_other_settings_too(
    gateway: Gateway, found: Path, setting: str
) -> None:
    gateway.start()
    gateway.create()
    gateway.kill()
    assert len(names(found)) == 2
    gateway.start("--set", "jupyter/" + setting.format(gateway.folder))
    assert names(found) == set()
    other = gateway.folder / "other"
    assert not other.exists() or len(names(other)) == 2


@pytest.mark.parametrize("place", ["runtime", "elsewhere"])
def test_a_kernel_of_jupyters_own_is_there_once(
    gateway: Gateway, found: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It has its program's connection file, wherever that is."""
    gateway.start()
    write_kernelspec(gateway.folder / "jupyter")
    for name, text in gateway.env.items():
        if name != "PATH":
            monkeypatch.setenv(name, text)
    monkeypatch.setenv("JUPYTER_PATH", str(gateway.folder / "jupyter"))
    folder = found if place == "runtime" else gateway.folder
    theirs = folder / "kernel-of-theirs.json"
    manager = KernelManager(kernel_name="hearth", connection_file=str(theirs))
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=DEADLINE)
        (model,) = gateway.sessions()
        gateway.note_namespace(model["pid"])
        name = theirs.name if folder == found else f"kernel-{model['id']}.json"
        assert names(found) == {server_file(gateway), name}
        assert value(name, "1 + 1") == "2"
        assert "hearth_gateway" not in theirs.read_text()
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    wait_for(lambda: names(found) == {server_file(gateway)}, "one file")


def test_a_gateway_without_http_shows_its_sessions_alone(
    gateway: Gateway, found: Path
) -> None:
    gateway.start("--set", "http/enabled=no")
    session = gateway.create()
    assert names(found) == {kernel_file(session)}


def test_an_open_gateway_has_no_token(gateway: Gateway, found: Path) -> None:
    gateway.start("--set", "http/auth=none")
    assert read(found / server_file(gateway))["token"] == ""


def test_the_setting_names_the_folder(gateway: Gateway, found: Path) -> None:
    folder = gateway.folder / "elsewhere"
    gateway.start("--set", f"jupyter/runtime_dir={folder}")
    session = gateway.create()
    assert names(folder) == {server_file(gateway), kernel_file(session)}
    assert not found.exists()


def test_a_folder_of_everybody_is_refused(
    gateway: Gateway, found: Path
) -> None:
    found.mkdir(parents=True)
    found.chmod(0o777)
    said = gateway.refused()
    assert "jupyter/runtime_dir" in said
    assert f"chmod 700 {found}" in said
    (gateway.folder / "on.cfg").write_text("jupyter\n    discovery = yes\n")
    config = ("doctor", "--json", "-f", str(gateway.folder / "on.cfg"))
    checks = json.loads(gateway.run(*config).stdout)["checks"]
    (check,) = [one for one in checks if one["name"] == "discovery"]
    assert check["state"] == "missing"
    assert f"chmod 700 {found}" in check["found"]
    found.chmod(0o700)
    gateway.start()
    assert names(found) == {server_file(gateway)}


def test_a_folder_that_goes_is_no_sessions_end(
    gateway: Gateway, found: Path
) -> None:
    gateway.start()
    for path in found.iterdir():
        path.unlink()
    found.rmdir()
    session = gateway.create()
    assert session.exec("1 + 1").stdout == "2\n"
    wait_for(
        lambda: "Jupyter's programs do not find it" in gateway.log.read_text(),
        "a line in the log",
    )


def test_no_workspace_has_the_files(gateway: Gateway, found: Path) -> None:
    gateway.start()
    for folder in (found, found.parent):
        done = gateway.run("session", "create", "--workspace", str(folder))
        assert done.returncode == 1
        assert f"the gateway keeps its own files in {found}" in done.stderr
