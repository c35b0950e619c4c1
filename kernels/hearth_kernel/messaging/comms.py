"""Comms: the channels between widgets and their front ends."""

from __future__ import annotations

from typing import Any, Optional

import comm
from comm.base_comm import BaseComm, CommManager

from hearth_kernel import _link
from hearth_kernel.messaging import outlet

_EVENTS = {
    "comm_open": _link.COMM_OPEN,
    "comm_msg": _link.COMM_MSG,
    "comm_close": _link.COMM_CLOSE,
}
_REQUESTS = {
    _link.COMM_OPEN_IN: "comm_open",
    _link.COMM_MSG_IN: "comm_msg",
    _link.COMM_CLOSE_IN: "comm_close",
}

manager = CommManager()


class Comm(BaseComm):  # type: ignore[misc]
    """A comm whose messages are events of the link.

    It has no attribute `kernel`: to widgets None there means a dead one.
    """

    def publish_msg(
        self,
        msg_type: str,
        data: Optional[dict[str, Any]] = None,
        metadata: Optional[dict[str, Any]] = None,
        buffers: Optional[list[Any]] = None,
        **keys: Any,
    ) -> None:
        content = {"comm_id": self.comm_id, "data": data or {}, **keys}
        outlet.emit(_EVENTS[msg_type], content, metadata, buffers)


def install() -> None:
    """Make `comm` hand out ours."""
    comm.create_comm = Comm
    comm.get_comm_manager = lambda: manager


def serve(
    kind: int,
    content: dict[str, Any],
    metadata: dict[str, Any],
    buffers: list[bytes],
) -> None:
    """Give a message of the front end to the comm that it is for."""
    name = _REQUESTS[kind]
    message = {
        "header": {"msg_type": name},
        "msg_type": name,
        "parent_header": {},
        "metadata": metadata,
        "content": {"data": {}, **content},
        "buffers": [memoryview(buffer) for buffer in buffers],
    }
    getattr(manager, name)(None, None, message)


def describe(target: Optional[str]) -> dict[str, dict[str, str]]:
    """The open comms, of one target or of all."""
    return {
        key: {"target_name": item.target_name}
        for key, item in list(manager.comms.items())
        if target is None or item.target_name == target
    }
