"""The gateway clients of agents, unmodified: smolagents, AutoGen, Datalayer's
kernel client."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any, Iterator

import pytest
import requests
import websocket
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from autogen_ext.code_executors.docker_jupyter import (
    DockerJupyterCodeExecutor,
)
from autogen_ext.code_executors.docker_jupyter._jupyter_server import (
    JupyterClient,
    JupyterConnectionInfo,
)
from conftest import TOKEN
from deadline import DEADLINE, wait_for
from jupyter_kernel_client import JupyterKernelClient
from kernelgateway import KernelGateway
from smolagents import FinalAnswerTool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import (
    RemotePythonExecutor,
    _create_kernel_http,
    _websocket_run_code_raise_errors,
)
from smolagents.utils import AgentError
from web import Kernel, Web

# --- smolagents ---


class SmolExecutor(RemotePythonExecutor):
    """DockerExecutor without Docker: its calls, in its order, nothing else."""

    def __init__(self, address: str) -> None:
        super().__init__([], AgentLogger(level=LogLevel.OFF))
        ready = requests.get(
            f"{address}/api/kernelspecs?token={TOKEN}", timeout=DEADLINE
        )
        assert ready.status_code == 200  # A-SM2
        self.kernel_id = _create_kernel_http(  # A-SM3
            f"{address}/api/kernels?token={TOKEN}", self.logger
        )
        ws = address.replace("http", "ws", 1)
        self.url = f"{ws}/api/kernels/{self.kernel_id}/channels?token={TOKEN}"

    def run_code_raise_errors(self, code: str) -> Any:
        from contextlib import closing

        with closing(
            websocket.create_connection(self.url, timeout=DEADLINE)
        ) as ws:
            return _websocket_run_code_raise_errors(code, ws, self.logger)


@pytest.fixture
def smol(web: Web, kernel_gateway: KernelGateway) -> Iterator[SmolExecutor]:
    executor = SmolExecutor(kernel_gateway.address)
    kernel = Kernel(web, executor.kernel_id)
    kernel_gateway.note_namespace(
        kernel_gateway.json("session", "show", "--json", kernel.id)["pid"]
    )
    yield executor
    kernel.close()


def test_smolagents_keeps_variables_between_sockets(  # A-SM4, A-SM5
    smol: SmolExecutor,
) -> None:
    smol.run_code_raise_errors("x = 41")
    found = smol.run_code_raise_errors("print('seen'); x + 1")
    assert (found.output, found.logs) == ("42", "seen\n")
    assert not found.is_final_answer


def test_smolagents_gets_every_turn_of_many(smol: SmolExecutor) -> None:
    """A-U22: what is sent right after the handshake loses nothing."""
    for i in range(30):
        found = smol.run_code_raise_errors(f"print({i}); {i} * 2")
        assert (found.logs, found.output) == (f"{i}\n", str(2 * i))


def test_smolagents_sends_variables_and_tools(smol: SmolExecutor) -> None:
    smol.send_variables({"table": [1, 2, {"a": "ü"}]})
    assert smol.run_code_raise_errors("table[2]['a']").output == "'ü'"


def test_smolagents_final_answer_comes_whole(  # A-SM6
    smol: SmolExecutor,
) -> None:
    smol.send_tools({"final_answer": FinalAnswerTool()})
    found = smol("final_answer({'answer': 'é' * 200_000, 'n': [1, 2.5, None]})")
    assert found.is_final_answer
    assert found.output == {"answer": "é" * 200_000, "n": [1, 2.5, None]}


def test_smolagents_gets_the_traceback(smol: SmolExecutor) -> None:
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        smol.run_code_raise_errors("def f(): 1 / 0\nf()")
    assert smol.run_code_raise_errors("'alive'").output == "'alive'"


def test_smolagents_does_not_hang_when_the_kernel_dies(  # A-U26, A-U27
    smol: SmolExecutor,
) -> None:
    with pytest.raises(AgentError, match="Died"):
        smol.run_code_raise_errors("import os; os._exit(9)")
    # The agent's next step has a fresh kernel.
    assert smol.run_code_raise_errors("6 * 7").output == "42"
    with pytest.raises(AgentError, match="NameError"):
        smol.run_code_raise_errors("x")


# --- AutoGen ---


@pytest.fixture
def connection(web: Web) -> JupyterConnectionInfo:
    return JupyterConnectionInfo(
        host=web.host, use_https=False, port=web.port, token=TOKEN
    )


def test_autogen_runs_blocks(  # A-AG2 to A-AG6
    connection: JupyterConnectionInfo, tmp_path: Path, web: Web
) -> None:
    async def run() -> None:
        executor = DockerJupyterCodeExecutor(connection, output_dir=tmp_path)
        async with executor:

            async def blocks(*codes: str) -> Any:
                return await executor.execute_code_blocks(
                    [CodeBlock(code=code, language="python") for code in codes],
                    CancellationToken(),
                )

            result = await blocks("x = 6 * 7", "print(x)", "x")
            assert (result.exit_code, result.output) == (0, "\n42\n\n42")
            result = await blocks(
                "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
            )
            assert result.exit_code == 0
            (image,) = result.output_files
            assert Path(image).read_bytes().startswith(b"\x89PNG")
            result = await blocks("x", "1 / 0", "print('never')")
            assert result.exit_code == 1
            assert "ZeroDivisionError" in result.output
            assert "never" not in result.output
            await executor.restart()
            result = await blocks("x")
            assert "NameError" in result.output
            result = await blocks("import os; os._exit(9)")
            assert result.exit_code == 1
            assert "KernelDied" in result.output
            assert (await blocks("print(6 * 7)")).output == "42\n"
            await blocks("import os; os._exit(9)")
            await executor.restart()
            assert (await blocks("print(6 * 7)")).output == "42\n"

    asyncio.run(run())
    assert web.get("/api/kernels").json == []  # its stop deletes the kernel


def test_autogen_lists(connection: JupyterConnectionInfo) -> None:
    async def run() -> None:
        client = JupyterClient(connection)
        kernel = await client.start_kernel("python3")
        assert kernel in [k["id"] for k in await client.list_kernels()]
        assert "python3" in (await client.list_kernel_specs())["kernelspecs"]
        await client.delete_kernel(kernel)
        await client.close()

    asyncio.run(run())


def test_autogen_survives_an_output_beyond_its_frames(  # A-U17
    connection: JupyterConnectionInfo, tmp_path: Path
) -> None:
    """websockets ends a connection at a frame of more than 1 MiB."""

    async def run() -> None:
        executor = DockerJupyterCodeExecutor(connection, output_dir=tmp_path)
        async with executor:
            for code in (
                "'x' * (3 << 20)",
                "from IPython.display import HTML; HTML('y' * (3 << 20))",
                "print('z' * (3 << 20))",
                "'still here'",
            ):
                result = await executor.execute_code_blocks(
                    [CodeBlock(code=code, language="python")],
                    CancellationToken(),
                )
                assert result.exit_code == 0, result.output[:300]
            assert result.output == "'still here'"

    asyncio.run(run())


def test_autogen_cell_that_runs_on_keeps_the_next_one_waiting(
    connection: JupyterConnectionInfo, kernel_gateway: KernelGateway
) -> None:
    """Its time-out interrupts nothing; the next execute waits in the queue."""

    async def run() -> None:
        client = JupyterClient(connection)
        kernel = await client.start_kernel("python3")
        shown = kernel_gateway.json("session", "show", "--json", kernel)
        async with await client.get_kernel_client(kernel) as kernel_client:
            result = await kernel_client.execute(
                "import os, time\n"
                "while not os.path.exists('go'): time.sleep(0.01)",
                timeout_seconds=0.5,
            )
            assert not result.is_ok
            assert "Timeout" in result.output
            waiting = asyncio.create_task(kernel_client.execute("7"))
            (Path(shown["workspace"]) / "go").touch()
            result = await asyncio.wait_for(waiting, DEADLINE)
            assert (result.is_ok, result.output) == (True, "7")
        await client.delete_kernel(kernel)
        await client.close()

    asyncio.run(run())


# --- Datalayer's jupyter-kernel-client ---


@pytest.fixture
def jkc(kernel_gateway: KernelGateway) -> Iterator[JupyterKernelClient]:
    with JupyterKernelClient(
        server_url=kernel_gateway.address, token=TOKEN
    ) as client:
        yield client


def test_kernel_client_executes(jkc: JupyterKernelClient) -> None:  # A-JK1..4
    # Its other sub-protocol, v1, raises KeyError in its own log line.
    reply = jkc.execute("print('out'); 6 * 7")
    assert reply["status"] == "ok"
    kinds = [output["output_type"] for output in reply["outputs"]]
    assert kinds == ["stream", "execute_result"]
    assert reply["outputs"][1]["data"]["text/plain"] == "42"
    failed = jkc.execute("1 / 0")
    assert failed["status"] == "error"
    assert failed["outputs"][-1]["ename"] == "ZeroDivisionError"


def test_kernel_client_asks(jkc: JupyterKernelClient) -> None:  # A-JK6
    asked: list[str] = []

    def answer(message: dict[str, Any]) -> None:
        asked.append(message["content"]["prompt"])
        jkc._manager.client.input("Ada")

    reply = jkc.execute_interactive(
        "name = input('who? '); name",
        allow_stdin=True,
        stdin_hook=answer,
        timeout=DEADLINE,
    )
    assert reply["content"]["status"] == "ok"
    assert asked == ["who? "]
    assert jkc.execute("name")["outputs"][0]["data"]["text/plain"] == "'Ada'"


def test_kernel_client_variables(jkc: JupyterKernelClient) -> None:
    """To read and write them, it wants a package of its own in the kernel."""
    jkc.execute("numbers = [1, 2, 3]")
    assert "numbers" in [found["name"] for found in jkc.list_variables()]


def test_kernel_client_lives(jkc: JupyterKernelClient, web: Web) -> None:
    assert jkc.is_alive()
    jkc.execute("x = 1")
    jkc.restart()
    assert jkc.execute("'x' in dir()")["outputs"][0]["data"]["text/plain"] == (
        "False"
    )
    kernel = jkc.id
    jkc.stop(shutdown_kernel=True)  # A-JK5
    wait_for(lambda: web.get(f"/api/kernels/{kernel}").status == 404, "its end")


def test_kernel_client_gets_pictures(jkc: JupyterKernelClient) -> None:
    found = jkc.execute(
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
    )
    data = found["outputs"][-1]["data"]["image/png"]
    assert base64.b64decode(data).startswith(b"\x89PNG")
