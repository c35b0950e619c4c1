"""Host tools in a notebook: recorded calls answer in a replay and a revival."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from deadline import wait_for
from harness import Gateway
from test_tools import ADD, Provider, path_of
from web import Kernel, Web, of_type, text_of

CELL = "from hearth import tools, ToolError\nx = tools.add(0.1, b=2)\nprint(x)"
FAILS = "try: tools.add(1, 1)\nexcept ToolError as error: print(error)"
TWICE = (
    "import asyncio\n"
    "print(await asyncio.gather(tools.add(5, 5), tools.add(6, 6)))"
)


def answer(call: dict[str, Any]) -> dict[str, Any]:
    a, b = call["arguments"]["a"], call["arguments"]["b"]
    if a == b == 1:
        return {"error": "no ones"}
    return {"result": {"sum": a + b, "n": 10**300}}


def record(web: Web) -> Kernel:
    """A session in which tools were called, whose provider has gone."""
    kernel = Kernel(web, web.create())
    provider = Provider(web, kernel.id, answer=answer).start()
    with kernel.socket() as ws:
        for cell in (CELL, FAILS, TWICE):
            found = ws.run(cell)
            (reply,) = of_type(found, "execute_reply")
            assert reply["content"]["status"] == "ok", reply
    provider.close()
    return kernel


def exported(gateway: Gateway, kernel: Kernel) -> dict[str, Any]:
    notebook: dict[str, Any] = gateway.json("notebook", "export", kernel.id)
    return notebook


def test_a_notebook_has_the_calls(web: Web, gateway: Gateway) -> None:
    kernel = record(web)
    notebook = exported(gateway, kernel)
    (tool,) = notebook["metadata"]["hearth"]["tools"]
    assert json.loads(tool) == ADD
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    (call,) = cells[0]["metadata"]["hearth"]["tools"]
    assert call["name"] == "add"
    assert call["arguments"] == '{"a":0.1,"b":2}'
    assert json.loads(call["result"])["sum"] == 2.1
    assert call["by"].startswith("token=")
    (call,) = cells[1]["metadata"]["hearth"]["tools"]
    assert call["error"] == {"reason": "failed", "text": "no ones"}
    assert len(cells[2]["metadata"]["hearth"]["tools"]) == 2
    kernel.close()


def test_a_replay_answers_from_the_recording(
    web: Web, gateway: Gateway, tmp_path: Path
) -> None:
    kernel = record(web)
    file = tmp_path / "run.ipynb"
    notebook = exported(gateway, kernel)
    file.write_text(json.dumps(notebook))
    kernel.close()
    done = gateway.run("notebook", "replay", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 same, 0 different" in done.stdout
    # What was not recorded has no answer.
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace("0.1", "0.2")
    file.write_text(json.dumps(notebook))
    done = gateway.run("notebook", "replay", str(file))
    assert done.returncode == 1
    assert "the recording has no further call of this tool" in done.stdout


@pytest.mark.parametrize("error", ["a text", None, 1, ["x"]])
def test_a_wrong_recorded_error_is_left_out(
    gateway: Gateway, tmp_path: Path, error: object
) -> None:
    call = {"name": "add", "arguments": "{}", "error": error}
    cell = nbformat.v4.new_code_cell(
        "1 + 1", metadata={"hearth": {"status": "ok", "tools": [call]}}
    )
    notebook = nbformat.v4.new_notebook(
        cells=[cell], metadata={"hearth": {"tools": [json.dumps(ADD)]}}
    )
    file = tmp_path / "run.ipynb"
    file.write_text(nbformat.writes(notebook))
    done = gateway.run("notebook", "replay", "--json", str(file))
    assert done.returncode >= 0, done.stderr
    assert len(json.loads(done.stdout)["cells"]) == 1


def test_a_revival_answers_from_the_recording(
    web: Web, gateway: Gateway
) -> None:
    kernel = record(web)
    web.delete(kernel.id)
    wait_for(
        lambda: web.get(f"/hearth/sessions/{kernel.id}").status == 410,
        "the end of the session",
    )
    done = gateway.run("session", "revive", kernel.id)
    assert done.returncode == 0, done.stdout + done.stderr
    with kernel.socket() as ws:
        assert ws.value("x['sum']") == "2.1"
        assert web.get(path_of(kernel.id)).json["tools"][0]["name"] == "add"
        # From now on processes answer again.
        provider = Provider(web, kernel.id, answer=answer).start()
        found = ws.run("print(tools.add(0.1, b=2))")
        assert "2.1" in text_of(found)
        assert provider.seen
        provider.close()
    kernel.close()
