"""pybox with the kernelspec: a cell's time is over, and pybox interrupts it by
a message on control. (What is sent before that cell has ended is aborted, as
ipykernel does.)"""

from __future__ import annotations

from typing import Any

from pybox import LocalPyBoxManager
from steps import report


def seen(box: Any, code: str) -> dict[str, Any]:
    out = box.run(code)
    return {"data": out.data, "error": out.error and out.error.ename}


def until_idle(box: Any) -> list[str]:
    """Reads what pybox left unread of the cell, and returns its errors."""
    errors = []
    while True:
        message = box.client.get_iopub_msg()
        if message["msg_type"] == "error":
            errors.append(message["content"]["ename"])
        is_cell = message["parent_header"]["msg_type"] == "execute_request"
        if is_cell and message["content"].get("execution_state") == "idle":
            return errors


manager = LocalPyBoxManager()
box = manager.start(kernel_name="hearth")
first = seen(box, "x = 41\nprint('one', flush=True)")
second = seen(box, "x + 1")
error = seen(box, "1 / 0")
try:
    box.run("while True: pass", timeout=1)
    late = "no TimeoutError"
except TimeoutError as raised:
    late = str(raised)
report(
    {
        "first": first,
        "second": second,
        "error": error,
        "late": late,
        "interrupted": until_idle(box),
        "kept": seen(box, "x"),
    }
)
manager.shutdown(box.kernel_id, now=True)
with manager.start(kernel_name="hearth") as box:
    report({"fresh": seen(box, "x")})
report({"ids": manager.kernel_manager.list_kernel_ids()})
