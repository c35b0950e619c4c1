"""The command line, as scripts and people use it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from jupyterpath import write_kernelspec
from processes import children, members


def begin(gateway: Gateway, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [HEARTH, *arguments],
        env=gateway.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


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


def test_exec(session: Session) -> None:
    done = session.exec("print('hello')\n6 * 7")

    assert done.returncode == 0
    assert done.stdout == "hello\n42\n"
    assert done.stderr == ""
    assert session.exec("x = 6").returncode == 0
    assert session.exec("x").stdout == "6\n"


def test_exec_of_a_file_and_of_stdin(
    gateway: Gateway, session: Session
) -> None:
    script = gateway.folder / "script.py"
    script.write_text("print('from a file')")
    done = gateway.run("exec", session.id, str(script))
    assert (done.returncode, done.stdout) == (0, "from a file\n")
    done = gateway.run("exec", session.id, "-", stdin="print('from stdin')")
    assert (done.returncode, done.stdout) == (0, "from stdin\n")
    done = gateway.run("exec", session.id, stdin="print('too')")
    assert (done.returncode, done.stdout) == (0, "too\n")


def test_exec_streams_apart(session: Session) -> None:
    done = session.exec("import sys\nprint('o')\nprint('e', file=sys.stderr)")

    assert done.stdout == "o\n"
    assert done.stderr == "e\n"


def test_exec_shows_output_as_it_comes(
    gateway: Gateway, session: Session
) -> None:
    running = begin(
        gateway,
        "exec",
        session.id,
        "-c",
        "import os, time\nprint('first')\n"
        "while not os.path.exists('go'): time.sleep(0.01)",
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "first\n"
    (session.workspace / "go").touch()
    assert running.wait(DEADLINE) == 0


def test_exec_error(session: Session) -> None:
    done = session.exec("1/0")

    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout == ""
    assert "\x1b" not in done.stderr


def test_exec_gone(gateway: Gateway, session: Session) -> None:
    session.delete()
    session.wait_state("gone")
    done = session.exec("1")
    assert done.returncode == 3
    assert "deleted" in done.stderr
    unknown = gateway.run("exec", "no-such-session", "-c", "1")
    assert unknown.returncode == 3
    assert "no-such-session" in unknown.stderr


def test_exec_gone_by_itself(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "1s")
    session.wait_state("gone")
    done = session.exec("1")
    assert done.returncode == 3
    assert "idle" in done.stderr
    assert "variables" in done.stderr


def test_exec_timeout(session: Session) -> None:
    session.exec("kept = 1")
    done = session.exec("while True: pass", "--timeout", "1")

    assert done.returncode == 124
    assert "preserved" in done.stderr
    assert session.exec("kept").stdout == "1\n"


def test_exec_kernel_dies(gateway: Gateway) -> None:
    session = gateway.create()
    done = session.exec("import os; os._exit(9)")

    assert done.returncode in (1, 3)
    assert "9" in done.stderr


def test_exec_json(session: Session) -> None:
    done = session.exec("print('a')\n1 + 1", "--json")
    document = json.loads(done.stdout)

    assert document["status"] == "ok"
    assert document["session"] == session.id
    assert [o["output_type"] for o in document["outputs"]] == [
        "stream",
        "execute_result",
    ]
    failed = json.loads(session.exec("1/0", "--json").stdout)
    assert failed["status"] == "error"
    assert failed["ename"] == "ZeroDivisionError"
    assert failed["traceback"]


def test_exec_shows_numbers_of_any_size(
    gateway: Gateway, session: Session
) -> None:
    code = (
        "from IPython.display import display\n"
        "many = {'whole': 10**30, 'more': 10**400, 'text': 'a\\0b'}\n"
        "display({'application/json': many, 'text/plain': 'many'}, raw=True)"
    )
    assert "many" in session.exec(code).stdout
    document = json.loads(session.exec(code, "--json").stdout)
    wanted = {"whole": 1e30, "more": str(10**400), "text": "a\0b"}
    assert document["outputs"][0]["data"]["application/json"] == wanted
    exported = session.notebook()["cells"][-1]["outputs"][0]["data"]
    assert exported["application/json"] == wanted


def test_exec_output_dir(gateway: Gateway, session: Session) -> None:
    folder = gateway.folder / "plots"
    done = session.exec(
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "--output-dir",
        str(folder),
    )

    assert done.returncode == 0
    assert (folder / "1.png").read_bytes().startswith(b"\x89PNG")
    session.exec("plt.plot([2, 1]);", "--output-dir", str(folder))
    assert (folder / "2.png").exists()


def test_exec_in_a_terminal(gateway: Gateway, session: Session) -> None:
    """Colours, and the answer to a question."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(
            HEARTH,
            [HEARTH, "exec", session.id, "-c", "print(input('who? '))\n1/0"],
            {**gateway.env, "TERM": "xterm"},
        )
    seen = b""
    answered = False
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if b"who? " in seen and not answered:
            answered = True
            os.write(master, b"Grace\n")
    os.close(master)
    _, status = os.waitpid(pid, 0)
    assert b"Grace\r\nGrace" in seen.replace(b"\r\r", b"\r"), seen
    assert b"\x1b[" in seen
    assert os.waitstatus_to_exitcode(status) == 1


def test_exec_interrupted(gateway: Gateway, session: Session) -> None:
    running = begin(
        gateway,
        "exec",
        session.id,
        "-c",
        "kept = 2\nprint('go')\nimport time; time.sleep(600)",
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "go\n"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=DEADLINE)
    assert running.returncode in (1, 130)
    assert session.exec("kept").stdout == "2\n"


def test_interrupt(gateway: Gateway, session: Session) -> None:
    idle = gateway.json("session", "interrupt", "--json", session.id)
    assert idle == {"outcome": "idle", "variables": "preserved"}
    with session.client() as client:
        msg_id, begun = client.begin_long()
        done = gateway.json("session", "interrupt", "--json", session.id)
        assert done == {"outcome": "interrupted", "variables": "preserved"}
        assert client.finish(msg_id, begun=begun).status == "error"


def test_interrupt_kill(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import signal, time\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "print('go')\n"
            "while True: time.sleep(1)"
        )
        begun = client.stream_until(msg_id, "go")
        done = gateway.json("session", "interrupt", "-k", "--json", session.id)
        assert done == {"outcome": "killed", "variables": "lost"}
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


def test_unknown_profile(gateway: Gateway) -> None:
    done = gateway.run("session", "create", "--profile", "cobol")

    assert done.returncode == 1
    assert "cobol" in done.stderr


@pytest.fixture
def alone() -> Iterator[Gateway]:
    """Folders without a gateway; one that was started there is ended."""
    folders = Gateway()
    try:
        yield folders
    finally:
        folders.run("gateway", "stop", "--end-sessions")
        wait_for(
            lambda: not (folders.runtime / "management.sock").exists(),
            "the end of the gateway",
        )
        wait_for(lambda: not folders.left_over(), "nothing left over")
        folders.sweep()


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
    made = alone.run("session", "create", "--json")
    assert made.returncode == 0, made.stderr
    model: dict[str, Any] = json.loads(made.stdout)
    alone.note_namespace(model["pid"])
    done = alone.run("exec", model["id"], "-c", "'by itself'")
    assert done.stdout == "'by itself'\n"
    info = json.loads(alone.run("gateway", "info", "--json").stdout)
    # It is nobody's child: the terminal that it was started from can go.
    stat = Path(f"/proc/{info['pid']}/stat").read_text()
    assert int(stat.rpartition(")")[2].split()[3]) != os.getsid(0)


def test_autostart_by_many_at_once(alone: Gateway) -> None:
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


# --- hearth kernel ----------------------------------------------------------


@pytest.fixture
def jupyter(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    """Jupyter's own programs find the kernelspec, and the gateway."""
    folder = gateway.folder / "jupyter"
    if not folder.exists():
        write_kernelspec(folder)
    for name, value in gateway.env.items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(gateway.folder / "jr"))
    return gateway


def test_kernel_manager(jupyter: Gateway) -> None:
    from jupyter_client import KernelManager

    manager = KernelManager(kernel_name="hearth")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=DEADLINE)
        model = jupyter.sessions()[-1]
        namespace = jupyter.note_namespace(model["pid"])
        assert namespace
        assert client.execute_interactive("x = 5", timeout=DEADLINE)
        msg_id = client.execute("print('go')\nimport time; time.sleep(600)")
        while True:
            message = client.get_iopub_msg(timeout=DEADLINE)
            if message["msg_type"] == "stream":
                break
        manager.interrupt_kernel()
        while True:
            reply = client.get_shell_msg(timeout=DEADLINE)
            if reply["parent_header"]["msg_id"] == msg_id:
                break
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=DEADLINE)
        reply = client.execute_interactive("x", timeout=DEADLINE)
        assert reply["content"]["ename"] == "NameError"
        second = jupyter.note_namespace(jupyter.sessions()[-1]["pid"])
        assert second
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    for ended in (namespace, second):
        wait_for(lambda ended=ended: not members(ended), "the kernel's end")
    wait_for(
        lambda: model["id"] not in [m["id"] for m in jupyter.sessions()],
        "the end of the session",
    )


def test_kernel_ends_with_its_parent(jupyter: Gateway) -> None:
    """A notebook server that is killed leaves no kernel behind."""
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from jupyter_client import KernelManager\n"
            "m = KernelManager(kernel_name='hearth')\n"
            "m.start_kernel()\n"
            "c = m.blocking_client(); c.start_channels()\n"
            f"c.wait_for_ready(timeout={DEADLINE})\n"
            "print('ready', flush=True)\n"
            "time.sleep(600)\n",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "ready\n"
    model = jupyter.sessions()[-1]
    namespace = jupyter.note_namespace(model["pid"])
    assert namespace
    starter.kill()
    starter.wait()
    wait_for(lambda: not members(namespace), "the kernel's end")


def test_kernel_killed_hard(jupyter: Gateway) -> None:
    from jupyter_client import KernelManager

    manager = KernelManager(kernel_name="hearth")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=DEADLINE)
    namespace = jupyter.note_namespace(jupyter.sessions()[-1]["pid"])
    assert namespace
    client.execute("import os; os._exit(1)")
    wait_for(lambda: not manager.is_alive(), "the manager notices")
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    wait_for(lambda: not members(namespace), "the kernel's end")
