"""Parents: the messages that made code run, as IPython's kernels call them.

Output belongs to the parent of the code that makes it. Code can ask for its
own and give it to a thread, so that the thread's output goes to that cell.
"""

from __future__ import annotations

from contextvars import Token
from typing import Any, Optional

from hearth_kernel import _link
from hearth_kernel.messaging import outlet

Parent = dict[str, Any]
ParentToken = Token[Optional[int]]

_KNOWN_MAX = 64  # as many requests are a gateway's parents of late output


class Parents:
    """The headers of the latest requests."""

    def __init__(self) -> None:
        self._known: dict[int, Parent] = {}

    def note(self, request: int, metadata: Parent) -> None:
        """Remember the gateway's metadata of a request."""
        hearth = metadata.get("hearth")
        header = hearth.get("header") if isinstance(hearth, dict) else None
        if not header:
            return
        self._known[request] = {"header": header, "metadata": metadata}
        if len(self._known) > _KNOWN_MAX:
            del self._known[next(iter(self._known))]

    def get(self) -> Parent:
        """The parent of the code that asks; empty when it is unknown."""
        return self._known.get(_link.cause(), {})

    def _request_of(self, parent: Parent) -> int:
        identifier = parent.get("header", parent).get("msg_id")
        for request, known in self._known.items():
            if known["header"]["msg_id"] == identifier:
                return request
        raise ValueError(f"no recent request has the id {identifier!r}")

    def set(self, parent: Parent) -> None:
        """Output of this thread, and of all without a parent, goes there."""
        request = self._request_of(parent)
        outlet.cause.set(request)
        _link.attribute(request)

    def set_here(self, parent: Parent) -> ParentToken:
        """Output of this thread or task alone goes there, until reset."""
        return outlet.cause.set(self._request_of(parent))

    def reset_here(self, token: ParentToken) -> None:
        """Undo the set_here that returned the token."""
        outlet.cause.reset(token)
