"""Invisible cells, run by a session that waits in the pool.

A fork copies the pages that it writes to, one by one, and a first cell writes
to two hundred. Here they are copied before a client waits. A request is served
from its bytes to its reply, which is not sent, and all effects that a session
could see afterwards are undone.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own makes enums
import asyncio
import contextvars
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hearth_kernel import _link
from hearth_kernel.execution.workspace import Workspace
from hearth_kernel.forking import reseed
from hearth_kernel.messaging import outlet, streams
from hearth_kernel.messaging.parents import Parents
from hearth_kernel.shell import policy

CELL = "x = [1 + 1]\nfor i in x:\n    print(i)"
_MODULES = ("sys", "numpy", "pandas", "matplotlib.pyplot")
_HEADER = {
    "msg_id": "rehearsal",
    "session": "rehearsal",
    "username": "hearth",
    "date": "2026-01-01T00:00:00.000000Z",
    "msg_type": "execute_request",
    "version": "5.4",
}
_METADATA = json.dumps({"hearth": {"header": _HEADER}}).encode()
TIMES = 12  # in a zygote, twice
_SIGINT = int(signal.SIGINT)
_INPUTS = ("_i", "_ii", "_iii")  # texts of the latest cells


def imports() -> str:
    """Write imports of the loaded modules, as most first cells have them."""
    return "\n".join(
        f"import {name}" for name in _MODULES if name in sys.modules
    )


def _request(code: str) -> bytes:
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    return json.dumps(content).encode()


@contextmanager
def _unseen() -> Iterator[None]:
    """Nothing is sent, and no rule of a policy is asked."""
    kept = sys.stdout, sys.stderr, policy.current
    sys.stdout = sys.stderr = streams.SilentStream()  # type: ignore[assignment]
    policy.current = None
    try:
        with outlet.hushed():
            yield
    finally:
        sys.stdout, sys.stderr, policy.current = kept


class _Kept:
    """The state that a rehearsal changes and a session could see."""

    def __init__(self, kernel: Any) -> None:
        names = kernel.shell.user_ns
        self.names = set(names)
        self.inputs = {name: names[name] for name in _INPUTS if name in names}
        # One without a folder opens none: the gateway may be looking at this
        # moment which descriptors a kernel has
        # (sandbox/verification/verification.h).
        self.workspace, kernel.workspace = kernel.workspace, Workspace()
        self.parents, kernel.parents = kernel.parents, Parents()

    def restore(self, kernel: Any) -> None:
        """Make the session as new; reset() would write to far more."""
        shell = kernel.shell
        for name in set(shell.user_ns) - self.names:
            del shell.user_ns[name]
            shell.user_ns_hidden.pop(name, None)
        shell.push(self.inputs, interactive=False)
        shell.history_manager.forget_all()
        shell.execution_count = 1
        shell.last_execution_result = kernel.cells.result = None
        # A fork has no children yet; those of the zygote are not its own.
        kernel.cells.cpu_of_children = 0.0
        kernel.namespace.begin(shell.user_ns)
        kernel.workspace = self.workspace
        kernel.parents = self.parents
        kernel.metadata = kernel.cells.content = {}


def rehearse(kernel: Any, code: str) -> None:
    """Serve a request of a session that has served no cell."""
    kept = _Kept(kernel)
    try:
        with _unseen():
            contextvars.copy_context().run(
                kernel.serve, _link.EXECUTE, 0, _request(code), _METADATA, []
            )
    finally:
        kept.restore(kernel)


def _begin(kernel: Any) -> None:
    """Do as a kernel does from its fork on, as far as that needs no link."""
    reseed.reseed()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    ours, theirs = os.pipe()
    loop.add_reader(ours, lambda: os.read(ours, 1))
    os.write(theirs, b"x")
    loop.call_soon(rehearse, kernel, imports())
    loop.call_later(0, rehearse, kernel, CELL)
    loop.call_later(0.001, loop.stop)
    loop.run_forever()
    loop.remove_reader(ours)
    asyncio.set_event_loop(None)
    loop.close()
    os.close(ours)
    os.close(theirs)


def rehearse_in_zygote(kernel: Any, times: int) -> None:
    """Rehearse in the zygote, so often that it leaves no further trace.

    CPython 3.11 and later counts in each function's code how often it ran,
    until it adapts the code to its arguments. It also remembers where
    attributes of classes were found, by name. All of that is written to the
    pages of code and names, and each kernel would do it again for itself.
    """
    handler = _signal.getsignal(_SIGINT)
    for _ in range(times):
        _begin(kernel)
    _signal.signal(_SIGINT, handler)
