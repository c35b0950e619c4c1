"""The command line, as scripts and people use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from deadline import DEADLINE
from harness import HEARTH, Gateway, Session
from processes import children


def test_create(gateway: Gateway) -> None:
    model = gateway.json("session", "create", "--json", "--name", "mine")

    assert model["name"] == "mine"
    assert model["profile"] == "python3"
    assert model["expires_at"]
    file = Path(model["connection_file"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["signature_scheme"] == "hmac-sha256"
    assert Path(model["workspace"]).is_dir()
    plain = gateway.run("session", "create")
    assert plain.returncode == 0
    made = plain.stdout.strip()
    assert len(made) == 36
    for session in (model["id"], made):
        assert gateway.run("session", "delete", session).returncode == 0


def test_a_name_is_one_line(gateway: Gateway) -> None:
    refused = gateway.run("session", "create", "--name", "a\nb")
    assert refused.returncode == 1
    assert "no control characters" in refused.stderr


def test_list_and_show(gateway: Gateway, session: Session) -> None:
    listed = gateway.sessions()
    assert session.id in [model["id"] for model in listed]
    table = gateway.run("session", "list")
    assert table.returncode == 0
    assert session.id in table.stdout
    shown = session.show()
    assert shown["id"] == session.id
    assert shown["state"] == "idle"
    assert session.workspace == Path(shown["workspace"])
    text = gateway.run("session", "show", session.id)
    assert session.connection_file in text.stdout
    (kernel,) = children(shown["pid"])
    user = Path(f"/proc/{kernel}").stat().st_uid
    assert shown["host_uid"] == user
    assert re.search(rf"^host_uid +{user}$", text.stdout, re.M)
    # The beginning of an id is enough.
    again = gateway.json("session", "show", "--json", session.id[:13])
    assert again["id"] == session.id


def test_own_workspace(gateway: Gateway) -> None:
    folder = gateway.folder / "w"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "data.csv").write_text("a,b\n1,2\n")
    session = gateway.create("--workspace", str(folder))
    done = session.exec("open('data.csv').read()")
    assert done.stdout == "'a,b\\n1,2\\n'\n"
    assert session.exec("open('out', 'w').write('x')").returncode == 0
    assert (folder / "out").read_text() == "x"
    session.delete()


def test_interrupt(gateway: Gateway, session: Session) -> None:
    idle = gateway.json("session", "interrupt", "--json", session.id)
    assert idle == {"outcome": "idle", "variables": "preserved"}
    with session.client() as client:
        msg_id, begun = client.begin_long()
        done = gateway.json("session", "interrupt", "--json", session.id)
        assert done == {"outcome": "interrupted", "variables": "preserved"}
        assert client.finish(msg_id, begun=begun).status == "error"


def test_keepalive(gateway: Gateway, session: Session) -> None:
    before = session.show()["expires_at"]
    done = gateway.run("session", "keepalive", session.id)
    assert done.returncode == 0
    assert session.show()["expires_at"] > before


def test_delete(gateway: Gateway) -> None:
    session = gateway.create()
    assert gateway.run("session", "delete", session.id).returncode == 0
    session.wait_state("gone")
    assert session.id not in [m["id"] for m in gateway.sessions()]
    gone = [m for m in gateway.sessions("--all") if m["id"] == session.id]
    assert gone[0]["reason"] == "deleted"
    assert gateway.run("session", "delete", session.id).returncode == 3


def test_notebook_export(gateway: Gateway, session: Session) -> None:
    import nbformat

    session.exec("print('kept')\n1 + 1")
    session.exec("1/0")
    file = gateway.folder / "run.ipynb"
    done = gateway.run("notebook", "export", "-o", str(file), session.id)
    assert done.returncode == 0, done.stderr
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    sources = [cell.source for cell in notebook.cells]
    assert "print('kept')\n1 + 1" in sources
    text = gateway.run("notebook", "export", "--format", "md", session.id)
    assert "kept" in text.stdout


def test_gateway_info(gateway: Gateway) -> None:
    info = gateway.info()
    assert info["pid"] == gateway.pid
    assert info["profiles"][0]["name"] == "python3"
    assert gateway.run("gateway", "info").returncode == 0


def test_help_and_version(gateway: Gateway) -> None:
    for flag in ("--help", "help"):
        done = gateway.run(flag)
        assert done.returncode == 0
        assert "session create" in done.stdout
    assert gateway.run("--version").stdout.startswith("hearth ")


def test_help_says_what_each_option_does(gateway: Gateway) -> None:
    text = gateway.run("kernelgateway", "--help").stdout
    rows = re.findall(r"^  --(\w+)(.*)$", text, re.M)
    assert len(rows) > 20
    for name, description in rows:
        assert re.match(r" +[A-Za-z]+.* [a-zA-Z*.]+", description), name
    create = gateway.run("session", "create", "--help").stdout
    assert "[default: 20m]" in create


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (
            ("exec",),
            "ID is missing\nusage: hearth exec [OPTION]... ID [FILE|-]",
        ),
        (
            ("session", "show"),
            "ID is missing\nusage: hearth session show [OPTION]... ID",
        ),
        (("kernel",), "-f FILE is missing"),
        (
            ("run", "x", "ls"),
            "unexpected 'ls'; PROGRAM begins after --\n"
            "usage: hearth run [OPTION]... ID -- PROGRAM...",
        ),
        (
            ("run", "x"),
            "the program is missing: hearth run ID -- PROGRAM\n"
            "usage: hearth run [OPTION]... ID -- PROGRAM...",
        ),
        (
            ("lab", "x", "y"),
            "unexpected 'y'; JUPYTER_OPTION begins after --\n"
            "usage: hearth lab [OPTION]... [ID] [-- JUPYTER_OPTION...]",
        ),
        (
            ("ps", "x", "y"),
            "unexpected 'y'\nusage: hearth ps [OPTION]... ID",
        ),
    ],
)
def test_a_missing_argument_is_named(
    gateway: Gateway, arguments: tuple[str, ...], missing: str
) -> None:
    assert f"hearth: {missing}\n" in gateway.run(*arguments).stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nothing",),
        ("session",),
        ("session", "show"),
        ("session", "create", "--no-such-flag"),
        ("session", "create", "--idle-timeout", "soon"),
        ("session", "create", "--restart", "maybe"),
        ("session", "create", "--workspace", "/no/such/folder"),
        ("exec",),
        ("kernel",),
        ("kernel", "-f", "/no/such/file"),
        ("serve", "extra"),
    ],
)
def test_wrong_usage(gateway: Gateway, arguments: tuple[str, ...]) -> None:
    done = gateway.run(*arguments)

    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stderr or done.stdout


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        (("exex", "ID"), "'exec'"),
        (("sesion", "list"), "'session'"),
        (("session", "lst"), "'session list'"),
        (("session", "list", "--jsn"), "'--json'"),
        (("session", "create", "--idle-timout=5m"), "'--idle-timeout'"),
    ],
)
def test_a_similar_name_is_suggested(
    gateway: Gateway, mistyped: tuple[str, ...], meant: str
) -> None:
    done = gateway.run(*mistyped)

    assert done.returncode == 2
    assert f"; did you mean {meant}?\n" in done.stderr, done.stderr
    nothing = gateway.run("session", "list", "--probe-namespace", "-j")
    assert "did you mean" not in nothing.stderr


def test_a_workspace_never_holds_the_gateways_files(gateway: Gateway) -> None:
    session = gateway.create()
    inside = str(gateway.state / "sessions" / session.id)
    for folder in (str(gateway.folder), str(gateway.runtime), inside, "/"):
        done = gateway.run("session", "create", "--workspace", folder)
        assert done.returncode == 1, (folder, done.stdout)
        assert "the gateway keeps its own files in" in done.stderr
    beside = gateway.folder / "state and more"
    beside.mkdir(mode=0o777)
    assert gateway.create("--workspace", str(beside)).exec("1").stdout == "1\n"


def test_an_unwritable_workspace_is_reported(gateway: Gateway) -> None:
    if os.geteuid() != 0:
        pytest.skip("sessions of an ordinary user work as that user there")
    folder = gateway.folder / "closed"
    folder.mkdir()
    folder.chmod(0o755)
    done = gateway.run("session", "create", "--workspace", str(folder))
    assert "has the rights of others: the mode is 755" in done.stderr
    folder.chmod(0o777)
    done = gateway.run("session", "create", "--workspace", str(folder))
    assert (done.returncode, done.stderr) == (0, "")


def test_unknown_profile(gateway: Gateway) -> None:
    done = gateway.run("session", "create", "--profile", "cobol")

    assert done.returncode == 1
    assert "cobol" in done.stderr


def test_no_start(alone: Gateway) -> None:
    for arguments in (
        ("session", "create", "--no-start"),
        ("exec", "--no-start", "abc", "-c", "1"),
        ("session", "list"),
        ("gateway", "info"),
    ):
        done = alone.run(*arguments)
        assert done.returncode == 4, (arguments, done.stderr)
        assert "gateway" in done.stderr


def test_autostart(alone: Gateway) -> None:
    alone.be_cold()
    made = alone.run("session", "create", "--json")
    assert made.returncode == 0, made.stderr
    model: dict[str, Any] = json.loads(made.stdout)
    alone.note_namespace(model["pid"])
    done = alone.run("exec", model["id"], "-c", "'by itself'")
    assert done.stdout == "'by itself'\n"
    info = json.loads(alone.run("gateway", "info", "--json").stdout)
    # It has no parent here: the terminal that it was started from can close.
    stat = Path(f"/proc/{info['pid']}/stat").read_text()
    assert int(stat.rpartition(")")[2].split()[3]) != os.getsid(0)


def test_autostart_by_many_at_once(alone: Gateway) -> None:
    alone.be_cold()
    started = [
        subprocess.Popen(
            [HEARTH, "session", "create", "--json"],
            env=alone.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in started:
        out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, err
        alone.note_namespace(json.loads(out)["pid"])
    assert len(alone.sessions()) == 4
