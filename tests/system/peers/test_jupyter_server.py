"""jupyter_server as a client: its kernels are hearth's (GatewayClient), and
nbclient and papermill reach a kernel by its GatewayKernelClient."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import nbclient
import nbformat
import papermill
import pytest
from conftest import TOKEN
from deadline import DEADLINE, wait_for
from jupyter_core.utils import ensure_event_loop
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.gateway.managers import (
    GatewayKernelManager,
    GatewayMappingKernelManager,
)
from kernelgateway import KernelGateway
from web import Kernel, Socket, Web, of_type, text_of

SERVER_TOKEN = "of-the-server-in-between"


def folders(base: Path) -> dict[str, str]:
    """Jupyter's programs write nowhere else."""
    return {
        "HOME": str(base),
        "JUPYTER_RUNTIME_DIR": str(base / "runtime"),
        "JUPYTER_DATA_DIR": str(base / "data"),
        "JUPYTER_CONFIG_DIR": str(base / "config"),
        "IPYTHONDIR": str(base / "ipython"),
    }


@pytest.fixture(scope="module")
def between(
    kernel_gateway: KernelGateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    """A Jupyter Server whose --gateway-url is hearth's."""
    base = tmp_path_factory.mktemp("server")
    log = (base / "log").open("wb")
    process = subprocess.Popen(
        [
            str(Path(sys.executable).parent / "jupyter-server"),
            f"--gateway-url={kernel_gateway.address}",
            "--no-browser",
            "--allow-root",
            "--ServerApp.port=18600",
            "--ServerApp.jpserver_extensions={}",
            f"--IdentityProvider.token={SERVER_TOKEN}",
            f"--ServerApp.root_dir={base}",
        ],
        env={
            "PATH": os.environ["PATH"],
            "JUPYTER_GATEWAY_AUTH_TOKEN": TOKEN,
            "JUPYTER_PREFER_ENV_PATH": "0",
            **folders(base),
        },
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )

    def answers() -> Web | None:
        """It prints its address before it listens there."""
        assert process.poll() is None, (base / "log").read_text()
        for path in (base / "runtime").glob("jpserver-*.json"):
            try:
                url = str(json.loads(path.read_text())["url"])
                web = Web(kernel_gateway, url, SERVER_TOKEN, is_ours=False)
                return web if web.get("/api").status == 200 else None
            except (ValueError, OSError):
                pass
        return None

    try:
        yield wait_for(answers, "the server in between")
    finally:
        process.terminate()
        process.wait(DEADLINE)
        log.close()


@pytest.fixture
def relayed(between: Web) -> Iterator[Kernel]:
    made = Kernel(between, between.create(name="python3"))  # A-GW3
    yield made
    made.close()


def test_specs_and_logo(between: Web) -> None:  # A-GW2
    found = between.get("/api/kernelspecs").json
    assert found["default"] in found["kernelspecs"]
    (logo,) = found["kernelspecs"]["python3"]["resources"].values()
    picture = between.get(logo)
    assert picture.status == 200
    assert b"<svg" in picture.body
    one = between.get("/api/kernelspecs/python3")
    assert one.json["name"] == "python3"
    assert between.get("/api/kernelspecs/nonsense").status == 404


def test_executes_through_the_server(relayed: Kernel) -> None:  # A-GW6
    with relayed.socket(query={"session_id": "a"}) as ws:
        ws.ready()
        messages = ws.run("print('through'); 6 * 7")
        assert text_of(messages) == "through\n"
        result = of_type(messages, "execute_result")[0]
        assert result["content"]["data"]["text/plain"] == "42"


def test_buffers_through_the_server(relayed: Kernel) -> None:  # A-U18, A-U19
    """It passes binary frames on as text that is not UTF-8."""
    with relayed.socket(query={"session_id": "b"}) as ws:
        ws.ready()
        ws.run(
            "from comm import get_comm_manager\n"
            "def opened(comm, message):\n"
            "    @comm.on_msg\n"
            "    def got(m): print(bytes(m['buffers'][0]).hex())\n"
            "get_comm_manager().register_target('t', opened)"
        )
        ws.finish(
            ws.send(
                "comm_open", {"comm_id": "c", "target_name": "t", "data": {}}
            ),
            has_reply=False,
        )
        sent = ws.send(
            "comm_msg",
            {"comm_id": "c", "data": {}},
            buffers=(b"\xff\xfe\x00\x80",),
        )
        assert text_of(ws.finish(sent, has_reply=False)) == "fffe0080\n"
        # What goes out has its buffers left out, and the socket stays.
        ws.run(
            "from comm import create_comm\n"
            "create_comm(target_name='x', buffers=[b'\\xff' * 9]);"
        )
        assert ws.value("1 + 1") == "2"


def test_listed_restarted_interrupted(relayed: Kernel, between: Web) -> None:
    assert relayed.id in [k["id"] for k in between.get("/api/kernels").json]
    with relayed.socket(query={"session_id": "c"}) as ws:
        ws.ready()
        ws.value("(x := 1)")
        running = ws.execute("print('on', flush=True)\nwhile True: pass")
        ws.until(lambda m: m["header"]["msg_type"] == "stream")
        answer = between.post(f"/api/kernels/{relayed.id}/interrupt")
        assert answer.status == 204
        (error,) = of_type(ws.finish(running), "error")
        assert error["content"]["ename"] == "KeyboardInterrupt"
    answer = between.post(f"/api/kernels/{relayed.id}/restart")
    assert answer.status == 200
    with relayed.socket(query={"session_id": "d"}) as ws:
        ws.ready()
        assert ws.value("'x' in dir()") == "False"


def test_kernel_that_went_is_noticed(  # A-GW4
    relayed: Kernel, between: Web, web: Web
) -> None:
    web.delete(relayed.id)
    wait_for(
        lambda: (
            relayed.id
            not in [k["id"] for k in between.get("/api/kernels").json]
        ),
        "the server's list without it",
    )


def test_socket_comes_back_after_a_lost_one(  # A-U20, A-U21
    relayed: Kernel,
) -> None:
    """Output without a connected client is not lost."""
    first = relayed.socket(query={"session_id": "e"})
    first.ready()
    running = first.execute(
        "import os, time\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "print('late')"
    )
    first.until(lambda m: m["header"]["msg_type"] == "execute_input")
    first.drop()
    gateway = relayed.web.gateway
    shown = gateway.json("session", "show", "--json", relayed.id)
    with relayed.socket(query={"session_id": "e"}) as again:
        (Path(shown["workspace"]) / "go").touch()
        found = again.until(
            lambda m: (
                m["header"]["msg_type"] == "stream"
                and m["parent_header"].get("msg_id") == running
            )
        )
        assert found[-1]["content"]["text"] == "late\n"


# --- Without a server: the managers themselves ---


@pytest.fixture
def gateway_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GatewayClient]:
    for name, value in folders(tmp_path).items():
        monkeypatch.setenv(name, value)
    GatewayClient.clear_instance()
    yield GatewayClient.instance()
    GatewayClient.clear_instance()


def test_managers(
    gateway_client: GatewayClient, kernel_gateway: KernelGateway
) -> None:
    gateway_client.url = kernel_gateway.address
    gateway_client.auth_token = TOKEN

    async def run() -> None:
        manager = GatewayMappingKernelManager()
        kernel = await manager.start_kernel(kernel_name="python3")
        kernel_gateway.note_namespace(
            kernel_gateway.json("session", "show", "--json", kernel)["pid"]
        )
        model = await manager.kernel_model(kernel)
        assert model["execution_state"] in ("starting", "idle")  # A-U3
        assert kernel in [m["id"] for m in await manager.list_kernels()]
        await manager.interrupt_kernel(kernel)
        await manager.restart_kernel(kernel)
        await manager.shutdown_kernel(kernel)
        assert kernel not in [m["id"] for m in await manager.list_kernels()]

    asyncio.run(run())


def notebook(*cells: str) -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return made


@pytest.fixture
def loop() -> Iterator[None]:
    """The one that nbclient takes and, with its threads, keeps."""
    yield
    made = ensure_event_loop()
    made.run_until_complete(made.shutdown_default_executor())
    made.close()


@pytest.mark.usefixtures("loop")
def test_nbclient(  # A-GW7, A-NB1
    gateway_client: GatewayClient, open_gateway: KernelGateway
) -> None:
    gateway_client.url = open_gateway.address
    ran = notebook("x = 20", "print('out'); x + 1", "raise KeyError('no')")
    client = nbclient.NotebookClient(
        ran,
        timeout=DEADLINE,
        allow_errors=True,
        kernel_manager_class=GatewayKernelManager,
    )
    client.execute()
    first, second = ran.cells[1].outputs
    assert first.text == "out\n"
    assert second.data["text/plain"] == "21"
    assert ran.cells[2].outputs[0].ename == "KeyError"
    wait_for(lambda: not open_gateway.sessions(), "its kernel's end")


@pytest.mark.usefixtures("loop")
def test_papermill(
    gateway_client: GatewayClient, open_gateway: KernelGateway, tmp_path: Path
) -> None:
    gateway_client.url = open_gateway.address
    source = notebook("factor = 1", "print(factor * 6)")
    source.cells[0].metadata.tags = ["parameters"]
    source.metadata.kernelspec = {
        "name": "python3",
        "language": "python",
        "display_name": "Python 3",
    }
    nbformat.write(source, tmp_path / "in.ipynb")
    ran = papermill.execute_notebook(
        str(tmp_path / "in.ipynb"),
        str(tmp_path / "out.ipynb"),
        parameters={"factor": 7},
        kernel_name="python3",
        progress_bar=False,
        kernel_manager_class=GatewayKernelManager,
    )
    assert ran.cells[-1].outputs[0].text == "42\n"


def test_plain_socket_without_any_header(open_gateway: KernelGateway) -> None:
    """GatewayKernelClient sends no header of its own."""
    kernel = Kernel(Web.of(open_gateway), Web.of(open_gateway).create())
    with Socket(kernel.web, kernel.id) as ws:
        ws.ready()
        assert ws.value("1 + 1") == "2"
    kernel.close()
