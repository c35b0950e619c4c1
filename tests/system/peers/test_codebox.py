"""codeboxapi, in the last version that starts a Kernel Gateway: hearth is the
`jupyter-kernelgateway` in PATH, and belongs to the box."""

from __future__ import annotations

from pathlib import Path

from deadline import wait_for
from harness import HEARTH, Gateway
from leftovers import inside
from program import CLIENTS, Program


def expect_ended(folders: Gateway) -> None:
    """No gateway, and no process that has a folder of its sessions."""
    wait_for(
        lambda: not folders.left_over() and not inside(folders.folder),
        "the end of what the box has started",
    )


def test_box(folders: Gateway, tmp_path: Path) -> None:
    (tmp_path / "jupyter-kernelgateway").symlink_to(HEARTH)
    env = {
        **folders.env,
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path}:{CLIENTS}:{folders.env['PATH']}",
    }
    with Program("codebox", tmp_path, env) as program:
        found = program.report()
        assert found == {
            "status": ["started", "running"],
            "first": ["text", "one\n"],
            "second": ["text", "42\n"],
            "error": ["error", "ZeroDivisionError: division by zero"],
            "kept": ["text", "41\n"],
            "picture": ["image/png", "iVBORw0K"],
        }
        assert inside(folders.folder)
        assert "the lock" in folders.left_over()
        program.go_on()
        assert program.report() == {"stopped": "stopped"}
        expect_ended(folders)
        program.go_on()
        assert program.report() == {
            "fresh": ["error", "NameError: name 'x' is not defined"]
        }
        assert inside(folders.folder)
        program.go_on()
        assert program.report() == {"stopped": "stopped"}
        expect_ended(folders)
        program.ends()
