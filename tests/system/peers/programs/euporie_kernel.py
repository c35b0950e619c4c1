"""euporie's kernel, without its windows. It ends and restarts its process by
SIGKILL."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from euporie.core.kernel.jupyter import JupyterKernel
from steps import report

# What a kernel asks of the tab that it belongs to.
TAB: Any = SimpleNamespace(
    kernel_name="hearth",
    app=SimpleNamespace(config=SimpleNamespace(record_cell_timing=False)),
)


class Cell:
    """One that runs, with what euporie would write of it in a notebook."""

    def __init__(self, code: str) -> None:
        self.outputs: list[Any] = []
        self.has_output = threading.Event()
        self.is_done = threading.Event()
        self.is_idle = threading.Event()
        kernel.run(
            code,
            add_output=self.add_output,
            done=lambda content: self.is_done.set(),
            set_status=self.set_status,
        )

    def add_output(self, output: Any, own: bool) -> None:
        kept = ("output_type", "text", "ename", "data")
        self.outputs.append({key: output[key] for key in kept if key in output})
        self.has_output.set()

    def set_status(self, status: str) -> None:
        if status == "idle":
            self.is_idle.set()

    def end(self) -> list[Any]:
        self.is_done.wait()
        self.is_idle.wait()
        return self.outputs


def seen(code: str) -> list[Any]:
    return Cell(code).end()


def interrupted() -> list[Any]:
    cell = Cell("print('on', flush=True)\nwhile True: pass")
    cell.has_output.wait()
    kernel.interrupt()
    return cell.end()


kernel = JupyterKernel(TAB, kernel_name="hearth")
kernel.start(wait=True)
report(
    {
        "missing": kernel.missing,
        "first": seen("x = 41\nprint('one', flush=True)"),
        "second": seen("x + 1"),
        "error": seen("1 / 0"),
        "interrupted": interrupted(),
        "kept": seen("x"),
        "rich": seen("from IPython.display import HTML\nHTML('<b>bold</b>')"),
        # After a cell's end: when it has started, euporie executes an empty
        # cell of its own.
        "status": kernel.status,
        "completed": [
            found["text"] for found in kernel.complete("x.bit_len", 9)
        ],
    }
)
kernel.restart(wait=True)
report({"fresh": seen("x"), "again": seen("y = 1; y"), "status": kernel.status})
kernel.shutdown(wait=True)
report({"running": kernel.km.has_kernel})
