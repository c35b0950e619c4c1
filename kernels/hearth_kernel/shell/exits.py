"""Ends of a cell that end no session: exit(), quit() and SystemExit."""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import suppress
from typing import Any, Union

from IPython.core.autocall import ExitAutocall

from hearth_kernel import _link

STAYS = (
    "The session goes on, and its variables are kept. A client restarts or "
    "ends it: `hearth session restart` or `delete`, or MCP's tool `session` "
    "with `restart` or `end`."
)


class Exited(SystemExit):
    """The code has called exit() or quit(): its cell ends, without an error."""


class Exit(ExitAutocall):  # type: ignore[misc]
    """`exit` ends the cell and asks the front end; the session stays."""

    def __call__(
        self, code: Union[int, str, None] = None, keep_kernel: bool = True
    ) -> None:
        """IPython's first parameter is whether to keep the kernel, a bool.

        It is kept either way, because others may use it.
        """
        if code and not isinstance(code, bool):
            raise SystemExit(code)
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit  # threading is silent for this type alone
        raise Exited


def ask(shell: Any) -> None:
    """Have a console go, with the next reply."""
    shell.payload_manager.write_payload(
        {"source": "ask_exit", "keepkernel": True}
    )


def end(shell: Any) -> None:
    """Be the end of a cell that has called exit()."""
    if _link.is_child():
        return  # only that process ends
    ask(shell)
    with suppress(Exception):  # the session's stream may do anything
        print("exit() has ended this cell.", STAYS, file=sys.stderr)


def spare_advice() -> None:
    """Leave out what IPython says next, which is for its terminal.

    The filter goes before those that the session's code has set since.
    """
    warnings.filterwarnings("ignore", message="To exit: use")
