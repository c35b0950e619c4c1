"""pybox, in both of its ways: a gateway's HTTP, and the kernelspec."""

from __future__ import annotations

from pathlib import Path

from harness import Gateway
from jupyterpath import with_kernelspec
from kernelgateway import KernelGateway
from program import Program, Watched

ONE = {"data": [{"text/plain": "one\n"}], "error": None}


def test_remote(open_gateway: KernelGateway, tmp_path: Path) -> None:
    env = {**open_gateway.env, "HOME": str(tmp_path)}
    with Program(
        "pybox_remote", tmp_path, env, open_gateway.address
    ) as program:
        made = program.report()
        assert made["warnings"] == []
        session = Watched(open_gateway)
        assert session.ids == [made["id"]]
        program.go_on()
        found = program.report()
        (shown,) = found.pop("rich")["data"]
        assert shown["text/html"] == "<b>bold</b>"
        assert found == {
            "first": ONE,
            "second": {"data": [{"text/plain": "42"}], "error": None},
            "error": {"data": [], "error": "ZeroDivisionError"},
            "kept": {"data": [{"text/plain": "41"}], "error": None},
        }
        program.go_on()
        assert program.report() == {"warnings": []}
        program.ends()
    session.expect_gone()


def test_local(gateway: Gateway, tmp_path: Path) -> None:
    env = {
        **gateway.env,
        **with_kernelspec(gateway, tmp_path / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
    }
    with Program("pybox_local", tmp_path, env) as program:
        found = program.report()
        assert found == {
            "first": ONE,
            "second": {"data": [{"text/plain": "42"}], "error": None},
            "error": {"data": [], "error": "ZeroDivisionError"},
            "late": "Timeout getting execute reply.",
            "interrupted": ["KeyboardInterrupt"],
            "kept": {"data": [{"text/plain": "41"}], "error": None},
        }
        first = Watched(gateway)
        program.go_on()
        assert program.report() == {"fresh": {"data": [], "error": "NameError"}}
        first.expect_gone()
        second = Watched(gateway)
        program.go_on()
        assert program.report() == {"ids": []}
        program.ends()
    second.expect_gone()
