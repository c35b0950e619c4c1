"""jupyverse: its server starts the kernelspec as a process, interrupts it by
SIGINT whatever the kernelspec says, and restarts it as a new process."""

from __future__ import annotations

import socket
import subprocess
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from jupyterpath import with_kernelspec
from program import CLIENTS, Watched
from web import Kernel, Socket, Web, of_type, text_of


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def jupyverse(
    gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    base = tmp_path_factory.mktemp("jupyverse")
    port = free_port()
    log = (base / "log").open("wb")
    process = subprocess.Popen(
        [
            CLIENTS / "jupyverse",
            *("--port", str(port)),
            *("--timeout", str(DEADLINE)),
            *("--stop-timeout", str(DEADLINE)),
            *("--disable", "lab"),  # needs a front end, which is not asked for
        ],
        cwd=base,
        env={
            **gateway.env,
            **with_kernelspec(gateway, base / "jupyter"),
            "HOME": str(base),
        },
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    web = Web(gateway, f"http://127.0.0.1:{port}/", None, is_ours=False)

    def answers() -> bool:
        assert process.poll() is None, (base / "log").read_text()
        try:
            return web.get("/api/kernelspecs").status == 200
        except OSError:
            return False

    try:
        wait_for(answers, "jupyverse")
        yield web
    finally:
        process.terminate()
        process.wait(DEADLINE)
        log.close()


@pytest.fixture
def started(jupyverse: Web) -> Iterator[Kernel]:
    """A notebook's kernel, started as JupyterLab does."""
    answer = jupyverse.post(
        "/api/sessions",
        {
            "kernel": {"name": "hearth"},
            "name": "a.ipynb",
            "path": "a.ipynb",
            "type": "notebook",
        },
    )
    assert answer.status in (200, 201), answer
    made = Kernel(jupyverse, answer.json["kernel"]["id"])
    yield made
    made.close()


def opened(kernel: Kernel) -> Socket:
    ws = kernel.socket(query={"session_id": "of-this-test"})
    ws.session = "of-this-test"
    return ws.ready()


def test_lists_the_kernelspec(jupyverse: Web) -> None:
    found = jupyverse.get("/api/kernelspecs").json
    assert "hearth" in found["kernelspecs"]


def test_cells(started: Kernel) -> None:
    with opened(started) as ws:
        assert text_of(ws.run("x = 41\nprint('one')")) == "one\n"
        assert ws.value("x + 1") == "42"
        (error,) = of_type(ws.run("1 / 0"), "error")
        assert error["content"]["ename"] == "ZeroDivisionError"
        assert ws.value("x") == "41"
        (shown,) = of_type(
            ws.run("from IPython.display import HTML\nHTML('<b>bold</b>')"),
            "execute_result",
        )
        assert shown["content"]["data"]["text/html"] == "<b>bold</b>"


def test_interrupt(started: Kernel) -> None:
    with opened(started) as ws:
        ws.run("x = 41")
        running = ws.execute("print('on', flush=True)\nwhile True: pass")
        ws.until(lambda m: m["header"]["msg_type"] == "stream")
        answer = started.web.post(f"/api/kernels/{started.id}/interrupt")
        assert answer.status == 200
        (error,) = of_type(ws.finish(running), "error")
        assert error["content"]["ename"] == "KeyboardInterrupt"
        assert ws.value("x") == "41"


def test_restart_is_fresh(started: Kernel, gateway: Gateway) -> None:
    with opened(started) as ws:
        assert ws.value("(x := 41)") == "41"
    first = Watched(gateway)
    answer = started.web.post(f"/api/kernels/{started.id}/restart")
    assert answer.status == 200
    with opened(started) as ws:
        (error,) = of_type(ws.run("x"), "error")
        assert error["content"]["ename"] == "NameError"
        assert ws.value("1 + 1") == "2"
    first.expect_gone()


def test_nothing_is_left(started: Kernel, gateway: Gateway) -> None:
    with opened(started) as ws:
        assert ws.value("1 + 1") == "2"
    session = Watched(gateway)
    started.close()
    session.expect_gone()
    listed = started.web.get("/api/kernels").json
    assert started.id not in [kernel["id"] for kernel in listed]
