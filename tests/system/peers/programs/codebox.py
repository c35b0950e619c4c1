"""codeboxapi's local box: it starts `jupyter kernelgateway` and has it ended
by SIGTERM. It has no way to interrupt, and a restart is a stop and a start."""

from __future__ import annotations

import socket
from typing import Any

from codeboxapi import CodeBox
from steps import report

PICTURE = (
    "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('!')"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def seen(code: str) -> list[str]:
    out: Any = box.run(code)
    return [out.type, out.content]


box = CodeBox()
box.port = free_port()
started = str(box.start())
found = {
    "status": [started, str(box.status())],
    "first": seen("x = 41\nprint('one')"),
    "second": seen("x + 1"),
    "error": seen("1 / 0"),
    # The box reads no further than to the error. What it sends before the cell
    # has ended is aborted (stop_on_error), and that is this.
    "after": seen("pass"),
    "kept": seen("x"),
}
del found["after"]
kind, picture = seen(PICTURE)
report({**found, "picture": [kind, picture[:8]]})
report({"stopped": str(box.stop())})
box.start()
report({"fresh": seen("x")})
report({"stopped": str(box.stop())})
