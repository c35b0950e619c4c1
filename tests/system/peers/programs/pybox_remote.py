"""pybox over HTTP: its manager waits for the first messages of a WebSocket on
which it sends nothing, and each run has a WebSocket of its own."""

from __future__ import annotations

import logging
import sys
from typing import Any

from pybox import RemotePyBoxManager
from steps import report


class Warnings(logging.Handler):
    """What pybox holds against the server."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def seen(box: Any, code: str) -> dict[str, Any]:
    out = box.run(code)
    return {"data": out.data, "error": out.error and out.error.ename}


warnings = Warnings()
logging.getLogger("pybox").addHandler(warnings)
manager = RemotePyBoxManager(host=sys.argv[1])
box = manager.start()
report({"id": box.kernel_id, "warnings": warnings.found})
report(
    {
        "first": seen(box, "x = 41\nprint('one', flush=True)"),
        "second": seen(box, "x + 1"),
        "error": seen(box, "1 / 0"),
        "kept": seen(box, "x"),
        "rich": seen(
            box,
            "from IPython.display import HTML, display\n"
            "display(HTML('<b>bold</b>'))",
        ),
    }
)
manager.shutdown(box.kernel_id)
report({"warnings": warnings.found})
