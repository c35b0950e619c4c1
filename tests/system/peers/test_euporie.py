"""euporie's own class for kernels, with the kernelspec."""

from __future__ import annotations

from pathlib import Path

from harness import Gateway
from jupyterpath import with_kernelspec
from program import Program, Watched

ONE = {"output_type": "stream", "text": "one\n"}


def error(name: str) -> dict[str, object]:
    return {"output_type": "error", "ename": name}


def result(text: str) -> dict[str, object]:
    return {"output_type": "execute_result", "data": {"text/plain": text}}


def test_kernel(gateway: Gateway, tmp_path: Path) -> None:
    env = {
        **gateway.env,
        **with_kernelspec(gateway, tmp_path / "jupyter"),
        "HOME": str(tmp_path),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
    }
    with Program("euporie_kernel", tmp_path, env) as program:
        found = program.report()
        (shown,) = found.pop("rich")
        assert shown["data"]["text/html"] == "<b>bold</b>"
        assert found == {
            "status": "idle",
            "missing": False,
            "first": [ONE],
            "second": [result("42")],
            "error": [error("ZeroDivisionError")],
            "interrupted": [
                {"output_type": "stream", "text": "on\n"},
                error("KeyboardInterrupt"),
            ],
            "kept": [result("41")],
            "completed": ["bit_length"],
        }
        first = Watched(gateway)
        program.go_on()
        assert program.report() == {
            "status": "idle",
            "fresh": [error("NameError")],
            "again": [result("1")],
        }
        first.expect_gone()
        second = Watched(gateway)
        program.go_on()
        assert program.report() == {"running": False}
        program.ends()
    second.expect_gone()
