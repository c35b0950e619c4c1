"""State that the parts of a kernel share: its shell, its loop, its request."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any, Optional

from hearth_kernel import _link
from hearth_kernel.execution.namespace import Namespace
from hearth_kernel.execution.workspace import Workspace
from hearth_kernel.messaging import outlet
from hearth_kernel.messaging.parents import Parents
from hearth_kernel.shell.interactive import ZMQInteractiveShell, describe_error

Content = dict[str, Any]

_NO_LOOP: Any = None


class State:
    """The state of a kernel. Kernel is one with the parts that work on it."""

    def __init__(self, shell: ZMQInteractiveShell) -> None:
        self.shell = shell
        self.loop: asyncio.AbstractEventLoop = _NO_LOOP
        self.context = contextvars.copy_context()
        self.request = 0  # the one that is served, or 0
        self.metadata: Content = {}  # of the last request
        self.last = 0  # the request of the most recent cell
        self.task: Optional[asyncio.Task[Any]] = None  # a cell that awaits
        self.parents = Parents()
        self.namespace = Namespace()
        self.workspace = Workspace()

    def reply(
        self,
        content: Content,
        metadata: Optional[Content] = None,
        request: Optional[int] = None,
    ) -> None:
        """End the request that is served, or another one."""
        request = request or self.request
        try:
            outlet.emit(_link.REPLY, content, metadata, request=request)
        except (TypeError, ValueError) as error:
            # Only what user code put there can be unfit: payloads, values.
            name, value = describe_error(type(error), error)
            outlet.emit(
                _link.REPLY,
                {
                    "status": "error",
                    "ename": name,
                    "evalue": value,
                    "traceback": [f"{name}: {value}"],
                    "execution_count": self.shell.execution_count - 1,
                },
                metadata,
                request=request,
            )
