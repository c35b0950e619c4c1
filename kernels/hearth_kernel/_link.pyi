"""The kernel's end of the kernel link; docs/PROTOCOL.kernel.md."""

from types import FrameType
from typing import Any, Callable, Optional

FRAME_VERSION: int
EXECUTE: int
COMPLETE: int
INSPECT: int
IS_COMPLETE: int
HISTORY: int
COMM_INFO: int
COMM_OPEN_IN: int
COMM_MSG_IN: int
COMM_CLOSE_IN: int
SHUTDOWN: int
REHEARSE: int
READY: int
DISPLAY: int
UPDATE: int
RESULT: int
ERROR: int
CLEAR: int
COMM_OPEN: int
COMM_MSG: int
COMM_CLOSE: int
INPUT_REQUEST: int
REPLY: int
YIELDED: int

def start(
    listener: int, retain: int, cause: Callable[[], Optional[int]]
) -> int: ...
def write_stdout(text: str) -> int: ...
def write_stderr(text: str) -> int: ...
def flush() -> None: ...
def emit(
    type: int,
    request: int,
    content: bytes,
    metadata: bytes = ...,
    buffers: Optional[list[bytes]] = ...,
    hold: bool = ...,
) -> None: ...
def join(epoll: int, /) -> None: ...
def poll() -> None: ...
def has_next() -> bool: ...
def next() -> Optional[tuple[int, int, bytes, bytes, list[bytes]]]: ...
def input_wait(request: int) -> bytes: ...
def input_clear() -> None: ...
def attribute(request: int) -> None: ...
def cause() -> int: ...
def is_child() -> bool: ...
def is_sent() -> bool: ...
def is_base64(text: bytes, /) -> Optional[bool]: ...
def interrupter(
    decide: Callable[[int, Optional[FrameType]], bool], /
) -> Callable[[int, Optional[FrameType]], Any]: ...
