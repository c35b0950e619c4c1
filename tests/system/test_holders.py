"""A session that belongs to a process ends with it, however that ends, and a
kernel that is started in its place has none of its variables."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import nbformat
import pytest
from client import Client
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway
from jupyterpath import write_kernelspec
from processes import members


@pytest.fixture(scope="module")
def shared() -> Iterator[Gateway]:
    gateway = Gateway()
    try:
        yield gateway.start()
    finally:
        gateway.end()


@pytest.fixture
def own() -> Iterator[Gateway]:
    """Ended by its test."""
    gateway = Gateway()
    try:
        yield gateway.start()
    finally:
        gateway.end()


class Kernels:
    """Kernels as jupyter_client starts them by the kernelspec."""

    def __init__(
        self, gateway: Gateway, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_kernelspec(folder / "jupyter")
        for name, value in gateway.env.items():
            if name != "PATH":
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "jr"))
        self.gateway = gateway

    @contextlib.contextmanager
    def start(self) -> Iterator[tuple[Any, Any]]:
        from jupyter_client.manager import KernelManager

        manager = KernelManager(kernel_name="hearth")
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=DEADLINE)
            self.note()
            yield manager, client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    def note(self) -> str:
        """Note the session's namespace; return its id."""
        model = self.gateway.sessions()[-1]
        assert self.gateway.note_namespace(model["pid"])
        return str(model["id"])


@pytest.fixture
def kernels(
    shared: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kernels:
    return Kernels(shared, tmp_path, monkeypatch)


def run(client: Any, code: str) -> dict[str, Any]:
    reply = client.execute_interactive(
        code, timeout=DEADLINE, output_hook=lambda _: None
    )
    return dict(reply["content"])


def await_kernel(client: Any) -> list[dict[str, Any]]:
    """Wait for a fresh kernel, as wait_for_ready does. Return what came on
    iopub meanwhile, which wait_for_ready drops."""
    came = []

    def is_there() -> bool:
        msg_id = client.kernel_info()
        with contextlib.suppress(queue.Empty):
            while True:
                message = client.get_iopub_msg(timeout=1)
                came.append(message)
                if (
                    message["parent_header"].get("msg_id") == msg_id
                    and message["content"].get("execution_state") == "idle"
                ):
                    return True
        return False

    wait_for(is_there, "a fresh kernel")
    return came


def printed(came: list[dict[str, Any]], sent: list[str]) -> str:
    """Return what those requests have printed."""
    return "".join(
        message["content"]["text"]
        for message in came
        if message["msg_type"] == "stream"
        and message["parent_header"]["msg_id"] in sent
    )


def kill(manager: Any) -> None:
    """Kill the process, and leave it to its manager to reap it."""
    pid = manager.provisioner.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def describe(gateway: Gateway, session: str) -> dict[str, Any]:
    shown = gateway.run("session", "show", session, "--json")
    model: dict[str, Any] = json.loads(shown.stdout)
    return model


def test_restarts_are_fresh(kernels: Kernels) -> None:
    """Also of what was sent when the old kernel's process had ended already,
    and the new one was not there yet."""
    rounds = itertools.product((1, 2), (False, True), (False, True))
    with kernels.start() as (manager, client):
        for number, (_, is_killed, sends_later) in enumerate(rounds):
            assert run(client, f"x = {number}")["status"] == "ok"
            sent = []
            if is_killed:
                kill(manager)
                sent.append(client.execute(f"print('old', x == {number})"))
            manager.restart_kernel(now=True)
            if sends_later:
                sent.append(client.execute(f"print('old', x == {number})"))
            came = await_kernel(client)
            content = run(client, "x")
            assert content["status"] == "error"
            assert content["ename"] == "NameError"
            assert not printed(came, sent)
            kernels.note()
        assert manager.is_alive()
        assert len(kernels.gateway.sessions()) == 1


def test_a_killed_process_ends_its_session(kernels: Kernels) -> None:
    with kernels.start() as (manager, _):
        session = kernels.note()
        namespace = kernels.gateway.note_namespace(
            kernels.gateway.sessions()[-1]["pid"]
        )
        assert namespace
        pid = manager.provisioner.pid
        kill(manager)
        wait_for(lambda: not members(namespace), "the kernel's end")
        wait_for(lambda: not kernels.gateway.sessions(), "the session's end")
        shown = describe(kernels.gateway, session)
        assert shown["reason"] == "deleted"
        assert shown["detail"] == f"its process, pid {pid}, has ended"


def test_shutdown_of_many_at_once(kernels: Kernels) -> None:
    """As MultiKernelManager.shutdown_all(now=True) does it."""
    with kernels.start() as (first, _), kernels.start() as (second, _):
        assert len(kernels.gateway.sessions()) == 2
        for manager in (first, second):
            kill(manager)
    wait_for(lambda: not kernels.gateway.sessions(), "the sessions' ends")


def test_a_file_that_is_used_again(shared: Gateway, tmp_path: Path) -> None:
    """The older session ends first, though its process lives."""
    from jupyter_client.connect import write_connection_file

    file = tmp_path / "kernel.json"
    write_connection_file(str(file))
    with kernel_process(shared, file) as older:
        first = await_session(shared, lambda model: True)
        with Client(str(file)) as client:
            client.wait_ready()
            assert client.run("x = 1").status == "ok"
        with kernel_process(shared, file):
            await_session(shared, lambda model: model["id"] != first["id"])
            assert older.wait(DEADLINE) == 0
            with Client(str(file)) as client:
                client.wait_ready()
                assert client.run("x").reply["content"]["ename"] == "NameError"
    shown = describe(shared, first["id"])
    assert shown["detail"] == (
        "a new kernel was started with its connection file"
    )
    wait_for(lambda: not shared.sessions(), "the session's end")


def test_the_next_gateway_looks_too(own: Gateway, tmp_path: Path) -> None:
    """The process is killed while there is no gateway."""
    from jupyter_client.connect import write_connection_file

    file = tmp_path / "kernel.json"
    write_connection_file(str(file))
    with kernel_process(own, file) as process:
        model = await_session(own, lambda model: True)
        process.send_signal(signal.SIGSTOP)  # it would start a gateway
        own.kill()
    own.start()
    wait_for(lambda: not own.sessions(), "the session's end")
    detail = describe(own, model["id"])["detail"]
    assert detail == f"its process, pid {process.pid}, has ended"


def test_the_next_gateway_keeps_it(own: Gateway, tmp_path: Path) -> None:
    """The process lives, and is watched again."""
    from jupyter_client.connect import write_connection_file

    file = tmp_path / "kernel.json"
    write_connection_file(str(file))
    with kernel_process(own, file) as process:
        await_session(own, lambda model: True)
        process.send_signal(signal.SIGSTOP)
        own.kill()
        own.start()
        process.send_signal(signal.SIGCONT)
        with Client(str(file)) as client:
            client.wait_ready()
            assert client.value("6 * 7") == 42
    wait_for(lambda: not own.sessions(), "the session's end")


def test_a_killed_replay_leaves_no_session(
    shared: Gateway, tmp_path: Path
) -> None:
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import time; time.sleep(600)")]
    )
    path = tmp_path / "long.ipynb"
    nbformat.write(book, path)
    replay = subprocess.Popen(
        [HEARTH, "notebook", "replay", str(path)],
        env=shared.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await_session(shared, lambda model: model["state"] == "busy")
    finally:
        replay.kill()
        replay.wait(DEADLINE)
    wait_for(lambda: not shared.sessions(), "the session's end")


def test_a_signal_interrupts(kernels: Kernels) -> None:
    """SIGINT to the process, as clients send it that know no messages for
    it."""
    with kernels.start() as (manager, client):
        assert run(client, "x = 1")["status"] == "ok"
        msg_id = client.execute("print('go')\nimport time; time.sleep(600)")
        while True:
            message = client.get_iopub_msg(timeout=DEADLINE)
            if message["msg_type"] == "stream":
                break
        os.kill(manager.provisioner.pid, signal.SIGINT)
        while True:
            reply = client.get_shell_msg(timeout=DEADLINE)
            if reply["parent_header"]["msg_id"] == msg_id:
                break
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert run(client, "assert x == 1")["status"] == "ok"


def kernel_gateway(*settings: str) -> Gateway:
    """Kernel Gateway's command line, as programs start it as a child."""
    gateway = Gateway(warm=True)  # this command has no --set
    file = gateway.folder / "hearth.cfg"
    file.write_text(
        "".join(f"{line}\n" for line in settings)
        + 'profile\n    python3\n        preload = ""\n'
    )
    gateway.command = (HEARTH, "kernelgateway")
    gateway.env["HEARTH_CONFIG"] = str(file)
    return gateway


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_kernels_end_with_a_kernel_gateway(end: str) -> None:
    gateway = kernel_gateway()
    try:
        gateway.start()
        namespace = gateway.create().namespace()
        getattr(gateway, end)()
        wait_for(lambda: not members(namespace), "the kernel's end")
    finally:
        gateway.end()


def test_the_configuration_may_keep_them() -> None:
    gateway = kernel_gateway(
        "gateway", "    stop_sessions = keep", "    orphan_timeout = 1h"
    )
    try:
        gateway.start()
        session = gateway.create()
        with session.client() as client:
            assert client.run("x = 1").status == "ok"
        gateway.terminate()
        gateway.start()
        with session.client() as client:
            assert client.value("x") == 1
    finally:
        gateway.end()


@contextlib.contextmanager
def kernel_process(
    gateway: Gateway, file: Path
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [HEARTH, "kernel", "-f", str(file)],
        env=gateway.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(DEADLINE)


def await_session(
    gateway: Gateway, fits: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Wait for a session that is ready, and note its namespace."""

    def look() -> Optional[dict[str, Any]]:
        for model in gateway.sessions():
            if model["state"] in ("idle", "busy") and fits(model):
                return model
        return None

    model = wait_for(look, "a session")
    assert gateway.note_namespace(model["pid"])
    return model
