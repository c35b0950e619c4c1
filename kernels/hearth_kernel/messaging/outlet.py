"""Events as Python makes them: content is packed as JSON and handed to _link.

Before the link is started, while the zygote warms up, events vanish; those of
its rehearsals are packed before.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import numbers
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Callable, Optional, Union

from hearth_kernel import _link

# The request that the running code belongs to. Tasks inherit it; threads
# begin without one, and then the most recent cell is the cause.
cause: ContextVar[Optional[int]] = ContextVar("hearth_cause", default=None)

_LARGE = 1 << 16  # characters of base64 that go around JSON's encoder

# Clients cannot read longer integers: Python's own limit, which user code may
# lift and Pythons before 3.9.14 and 3.10.7 do not have.
_DIGITS_MAX = 4300
_LONG_NUMBER = re.compile(f"[0-9]{{{_DIGITS_MAX + 1}}}")
_TOO_LONG = 10**_DIGITS_MAX
_digits_limit: Callable[[], int] = getattr(
    sys, "get_int_max_str_digits", lambda: 0
)

_is_started = False
_is_hushed = False


def start(listener: int, retain: int) -> int:
    """Start the link; return the descriptor that is readable on requests."""
    global _is_started
    descriptor = _link.start(listener, retain, cause.get)
    _is_started = True
    return descriptor


@contextmanager
def hushed() -> Iterator[None]:
    """Let events be made and go nowhere."""
    global _is_hushed
    _is_hushed = True
    try:
        yield
    finally:
        _is_hushed = False


class Base64:
    """Base64 on its way into JSON: made or looked at once, copied rarely."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        """Take letters and padding, which stand for themselves in JSON."""
        self.text = text

    @classmethod
    def encode(cls, value: bytes) -> Base64:
        return cls(base64.b64encode(value))


def find_base64(value: object) -> Union[Base64, str, None]:
    """Return the text of base64, as it is where it has lines; None: of none."""
    if not isinstance(value, str) or not value.isascii():
        return None
    raw = value.encode("ascii")
    is_plain = _link.is_base64(raw)
    if is_plain is None:
        return None
    return Base64(raw) if is_plain else value


def _plain(value: object) -> object:
    """Return a replacement for a value that JSON does not know."""
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


def _make_writer() -> Callable[[object], str]:
    """Make json's encoder once: it makes one for each value, by itself.

    Not ASCII alone: a lone surrogate shall stay visible to _encode.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
            default=_plain,
        ).encode
    quote = json.encoder.encode_basestring  # type: ignore[attr-defined]
    # Markers, default, strings, indent, separators, sorted, skipping, NaN.
    pieces = make(None, _plain, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(pieces(value, 0))


_write = _make_writer()


def _portable(value: object) -> object:
    """Replace the numbers that JSON cannot write, or clients read, by text."""
    if isinstance(value, dict):
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_portable(item) for item in value]
    if isinstance(value, int):
        return str(value) if abs(value) >= _TOO_LONG else value
    if isinstance(value, numbers.Real) and not isinstance(
        value, numbers.Integral
    ):
        number = float(value)
        return number if math.isfinite(number) else repr(number)
    return value


def _encode(value: object) -> bytes:
    try:
        text = _write(value)
    except ValueError:
        text = _write(_portable(value))
    if (
        len(text) > _DIGITS_MAX
        and not 0 < _digits_limit() <= _DIGITS_MAX
        and _LONG_NUMBER.search(text)
    ):
        text = _write(_portable(value))
    return text.encode("utf-8", "replace")


def _find_large(value: object) -> Optional[bytes]:
    """Return a picture's text if it needs no escapes in JSON and is long."""
    if isinstance(value, str) and len(value) >= _LARGE:
        value = find_base64(value)
    return value.text if isinstance(value, Base64) else None


def _pack_large(
    content: dict[str, Any], large: dict[str, bytes]
) -> list[bytes]:
    """Return the pieces of the object; the large texts are as they are."""
    data = content["data"]
    rest = {key: data[key] for key in data if key not in large}
    outer = {key: content[key] for key in content if key != "data"}
    pieces = [b"{"]
    if outer:
        pieces += [_encode(outer)[1:-1], b","]
    pieces.append(b'"data":{')
    if rest:
        pieces += [_encode(rest)[1:-1], b","]
    for key, raw in large.items():
        pieces += [_encode(key), b':"', raw, b'"', b","]
    pieces[-1] = b"}}"
    return pieces


def pack(content: dict[str, Any]) -> list[bytes]:
    """Return pieces of JSON in UTF-8; lone surrogates become question marks.

    Python's encoder takes 10 ns for each character: a picture of 20 MB goes
    around it, and is joined only where it is sent.
    """
    data = content.get("data")
    if type(data) is dict:
        large = {
            key: raw
            for key, value in data.items()
            if type(key) is str and (raw := _find_large(value)) is not None
        }
        if large:
            return _pack_large(content, large)
    return [_encode(content)]


def emit(
    kind: int,
    content: dict[str, Any],
    metadata: Optional[dict[str, Any]] = None,
    buffers: Optional[list[Any]] = None,
    request: Optional[int] = None,
    hold: bool = False,
) -> None:
    """Send an event; with `hold` it travels with the next one."""
    if not _is_started and not _is_hushed:
        return
    event = (
        kind,
        _link.cause() if request is None else request,
        pack(content),
        _encode(metadata) if metadata else b"",
        [bytes(buffer) for buffer in buffers] if buffers else None,
        hold,
    )
    if not _is_hushed:
        _link.emit(*event)
