"""What Jupyter's programs expect of a kernel that they start by its kernelspec:
arguments, the notebook's folder, variables."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

import nbformat
import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from jupyterpath import write_kernelspec
from processes import members

OPEN = 0o777  # sessions of a gateway that is root have users of their own


@pytest.fixture(scope="module")
def generous() -> Iterator[Gateway]:
    """Its profile gives notebooks' folders."""
    gateway = Gateway()
    configuration = gateway.folder / "generous.cfg"
    configuration.write_text(
        "sessions\n    allow_env = WANTED\n"
        "profile\n    python3\n        notebook_folder = yes\n"
    )
    gateway.env["HEARTH_CONFIG"] = str(configuration)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.end()


class Starter:
    """Starts kernels as jupyter_client does."""

    def __init__(
        self,
        gateway: Gateway,
        monkeypatch: pytest.MonkeyPatch,
        folder: Path,
        *words: str,
    ) -> None:
        write_kernelspec(folder / "jupyter", "python3", words)
        for name, value in gateway.env.items():
            if name != "PATH":
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        self.gateway = gateway
        self.said = folder / "said"
        self.place = folder / "place"
        self.place.mkdir()
        self.place.chmod(OPEN)
        for above in (folder, *folder.parents[:2]):
            above.chmod(0o755)

    @contextlib.contextmanager
    def kernel(
        self, cwd: Optional[Path] = None, **options: Any
    ) -> Iterator[Any]:
        from jupyter_client.manager import KernelManager

        manager = KernelManager(kernel_name="python3")
        with self.said.open("ab") as said:
            manager.start_kernel(
                cwd=str(cwd or self.place), stderr=said, **options
            )
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=DEADLINE)
            for model in self.gateway.sessions():
                self.gateway.note_namespace(model["pid"])
            yield client
        finally:
            client.stop_channels()
            manager.shutdown_kernel()

    def value(self, client: Any, code: str) -> str:
        said: list[str] = []
        reply = client.execute_interactive(
            f"print({code})",
            timeout=DEADLINE,
            output_hook=lambda message: said.append(
                message["content"].get("text", "")
            ),
        )
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(said).strip()


def test_arguments_for_ipykernel(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starter = Starter(gateway, monkeypatch, tmp_path)
    words = [
        "--HistoryManager.hist_file=:memory:",
        "--Kernel.stop_on_error_timeout=1",
        "--profile-dir",
        "/tmp/profile",
        "-q",
        "r.py",
    ]
    with starter.kernel(extra_arguments=words) as client:
        assert starter.value(client, "6 * 7") == "42"
    said = starter.said.read_text()
    (line,) = [each for each in said.splitlines() if "ignored" in each]
    assert line.endswith(" ".join(words))


def test_own_options_are_looked_at(gateway: Gateway) -> None:
    done = gateway.run("kernel", "-f", "/nowhere.json")
    assert done.returncode == 2
    assert "/nowhere.json" in done.stderr
    done = gateway.run("kernel", "--Any.trait=1")
    assert done.returncode == 2
    assert "-f" in done.stderr
    # Elsewhere a word too much is an error.
    done = gateway.run("session", "list", "--Any.trait=1")
    assert done.returncode == 2
    assert "ignored" not in done.stderr


def test_what_is_refused_leaves_nothing(
    gateway: Gateway, tmp_path: Path
) -> None:
    """A client may take its file back before the gateway reads it."""

    def folders() -> set[Path]:
        both = (gateway.runtime, gateway.state)
        found = {path for top in both for path in top.glob("sessions/*")}
        return {path for path in found if path.name != "next"}

    file = tmp_path / "connection.json"
    file.write_text('{"transport": "udp"}')
    before = folders()
    done = gateway.run("kernel", "-f", str(file))
    assert done.returncode == 1
    assert "transport" in done.stderr
    assert folders() == before


def test_nbclient_under_the_usual_name(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from nbclient import NotebookClient

    Starter(gateway, monkeypatch, tmp_path)
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("6 * 7")],
        metadata={"kernelspec": {"name": "python3", "display_name": "P"}},
    )
    NotebookClient(book, timeout=int(DEADLINE)).execute()
    assert book.cells[0].outputs[0]["data"]["text/plain"] == "42"


def test_folder_is_not_given_unasked(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starter = Starter(gateway, monkeypatch, tmp_path)
    (starter.place / "data.csv").write_text("a\n1\n")
    with starter.kernel() as client:
        assert starter.value(client, "__import__('os').listdir()") == "[]"
    said = starter.said.read_text()
    assert f"does not see {starter.place}" in said
    assert "profile/python3/notebook_folder" in said


def test_named_folder(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starter = Starter(gateway, monkeypatch, tmp_path, "--workspace", ".")
    (starter.place / "data.csv").write_text("a\n1\n")
    with starter.kernel() as client:
        assert starter.value(client, "open('data.csv').read()") == "a\n1"
    assert "does not see" not in starter.said.read_text()


def test_folder_and_variables(
    generous: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starter = Starter(generous, monkeypatch, tmp_path)
    (starter.place / "data.csv").write_text("a\n1\n")
    env = {
        **os.environ,
        "KERNEL_USERNAME": "ada",
        "WANTED": "yes",
        "UNWANTED": "no",
        "KERNEL_bad": "no",
    }
    with starter.kernel(env=env) as client:
        assert starter.value(client, "open('data.csv').read()") == "a\n1"
        starter.value(client, "open('made', 'w').write('x')")
        environ = "__import__('os').environ.get"
        assert starter.value(client, f"{environ}('KERNEL_USERNAME')") == "ada"
        assert starter.value(client, f"{environ}('WANTED')") == "yes"
        assert starter.value(client, f"{environ}('UNWANTED')") == "None"
        assert starter.value(client, f"{environ}('KERNEL_bad')") == "None"
    assert (starter.place / "made").read_text() == "x"
    assert "does not see" not in starter.said.read_text()


@pytest.mark.parametrize("which", ["home", "above", "state"])
def test_folders_that_are_never_given(
    generous: Gateway,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    which: str,
) -> None:
    starter = Starter(generous, monkeypatch, tmp_path)
    folders = {
        "home": Path(generous.env["HOME"]),
        "above": generous.folder,
        "state": generous.state,
    }
    with starter.kernel(cwd=folders[which]) as client:
        assert starter.value(client, "__import__('os').listdir()") == "[]"
    assert f"does not see {folders[which]}" in starter.said.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="sessions have the user's id")
def test_folder_of_another_user(
    generous: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    starter = Starter(generous, monkeypatch, tmp_path)
    starter.place.chmod(0o755)
    (starter.place / "data.csv").write_text("a\n1\n")
    with starter.kernel() as client:
        assert starter.value(client, "open('data.csv').read()") == "a\n1"
    assert "has the rights of others" in starter.said.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="sessions have the user's id")
def test_folder_that_the_kernel_cannot_enter(
    generous: Gateway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It starts all the same, and says what it does not see."""
    starter = Starter(generous, monkeypatch, tmp_path)
    starter.place.chmod(0o700)
    with starter.kernel() as client:
        assert starter.value(client, "__import__('os').listdir()") == "[]"
    said = starter.said.read_text()
    assert "the session's user cannot enter it" in said
    assert f"does not see {starter.place}" in said


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
    from jupyter_client.manager import KernelManager

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
        wait_for(lambda: not members(ended), "the kernel's end")
    wait_for(
        lambda: model["id"] not in [m["id"] for m in jupyter.sessions()],
        "the end of the session",
    )


def test_kernel_ends_with_its_parent(jupyter: Gateway, tmp_path: Path) -> None:
    """A notebook server that is killed leaves no kernel."""
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\n"
            "from jupyter_client.manager import KernelManager\n"
            "m = KernelManager(kernel_name='hearth')\n"
            "m.start_kernel()\n"
            "c = m.blocking_client(); c.start_channels()\n"
            f"c.wait_for_ready(timeout={DEADLINE})\n"
            "print('ready', flush=True)\n"
            "time.sleep(600)\n",
        ],
        # Its connection file stays.
        env={**os.environ, "TMPDIR": str(tmp_path)},
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
    from jupyter_client.manager import KernelManager

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
