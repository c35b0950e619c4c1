"""Events as Python makes them: content is packed as JSON and handed to _link.

Before the link is started, while the zygote warms up, events vanish.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import numbers
import os
from contextvars import ContextVar
from typing import Any, Optional

from hearth_kernel import _link

# The request that the running code belongs to. Tasks inherit it; threads
# begin without one, and then the most recent cell is the cause.
cause: ContextVar[Optional[int]] = ContextVar("hearth_cause", default=None)

_LARGE = 1 << 16  # encoded bytes that JSON's encoder need not go over

_is_started = False


def start(listener: int, retain: int) -> int:
    """Start the link; return the descriptor that tells of requests."""
    global _is_started
    descriptor = _link.start(listener, retain, cause.get)
    _is_started = True
    return descriptor


class Base64:
    """Bytes on their way into JSON: encoded once, copied rarely."""

    __slots__ = ("text",)

    def __init__(self, value: bytes) -> None:
        self.text = base64.b64encode(value)


def _plain(value: object) -> object:
    """What stands for a value that JSON does not know."""
    if isinstance(value, Base64):
        return value.text.decode("ascii")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, (set, frozenset, tuple)) or hasattr(value, "tolist"):
        return _to_list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def _to_list(value: Any) -> object:
    return value.tolist() if hasattr(value, "tolist") else list(value)


# Not ASCII alone: a lone surrogate shall stay visible to _encode.
_encoder = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    separators=(",", ":"),
    default=_plain,
)


def _without_nan(value: object) -> object:
    """Replace the numbers that JSON cannot write by their names."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    if isinstance(value, numbers.Real) and not isinstance(
        value, numbers.Integral
    ):
        number = float(value)
        return number if math.isfinite(number) else repr(number)
    return value


def _pack_with(content: dict[str, Any], large: dict[str, Base64]) -> bytes:
    """Pack with names for the large parts, then put the parts in."""
    names = {key: os.urandom(16).hex() for key in large}
    packed = pack({**content, "data": {**content["data"], **names}})
    pieces = []
    for key, part in large.items():
        head, _, packed = packed.partition(names[key].encode())
        pieces += [head, part.text]
    return b"".join([*pieces, packed])


def pack(content: dict[str, Any]) -> bytes:
    """JSON in UTF-8; surrogates that stand alone become question marks."""
    data = content.get("data")
    if isinstance(data, dict):
        large = {
            key: part
            for key, part in data.items()
            if isinstance(part, Base64) and len(part.text) > _LARGE
        }
        if large:
            return _pack_with(content, large)
    try:
        text = _encoder.encode(content)
    except ValueError:
        text = _encoder.encode(_without_nan(content))
    return text.encode("utf-8", "replace")


def emit(
    kind: int,
    content: dict[str, Any],
    metadata: Optional[dict[str, Any]] = None,
    buffers: Optional[list[Any]] = None,
    request: Optional[int] = None,
    hold: bool = False,
) -> None:
    """Send an event; with `hold` it travels with the next one."""
    if not _is_started:
        return
    _link.emit(
        kind,
        _link.cause() if request is None else request,
        pack(content),
        pack(metadata) if metadata else b"",
        [bytes(buffer) for buffer in buffers] if buffers else None,
        hold,
    )
