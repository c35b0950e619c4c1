"""Messages of JSON-RPC, read strictly.

The gateway passes over a line that it cannot read, and a call would then wait
until its time is over. So what it cannot read is a fault here.
"""

from __future__ import annotations

import itertools
import json
import re
from array import array
from typing import Any, NoReturn

from hearth_downloads.core.faults import Unreachable

Message = dict[str, Any]
MESSAGE_MAX = 32 << 20  # bytes; the gateway takes no longer line
DEPTH_MAX = 120  # the gateway reads 128, with what it puts around
DIGITS_MAX = 4000  # of an integer; the gateway reads 4300
_STRING = re.compile(rb'"[^"]*"?')
_OTHERS = bytes(set(range(256)) - set(b'"[]{}'))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _parse_integer(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError("a number is too long")
    return int(text)


def _measure_depth(text: bytes) -> int:
    """Return how deeply it is nested, up to what makes it no JSON."""
    text = text.replace(rb"\\", b"").replace(rb"\"", b"")
    marks = text.translate(None, _OTHERS).replace(b'""', b"")
    steps = array("b", _STRING.sub(b"", marks).translate(_STEPS))
    return max(itertools.accumulate(steps), default=0)


def parse_json(text: bytes) -> Any:
    """Return what a server has sent; Unreachable if it is no JSON.

    The depth is found first. Python's parser is recursive, and since 3.12 it
    takes more than the stack of a thread has.
    """
    try:
        if _measure_depth(text) > DEPTH_MAX:
            raise ValueError("it is nested too deeply")
        return json.loads(
            # A parser of bytes would also take UTF-16.
            str(text, "utf-8-sig"),
            parse_constant=_refuse_constant,
            parse_int=_parse_integer,
        )
    except ValueError as error:
        reason = "" if isinstance(error, UnicodeDecodeError) else f": {error}"
        raise Unreachable(f"sends what is no JSON{reason}") from None


def parse_message(text: bytes) -> Message:
    """Return a message of a server; Unreachable if it cannot be read."""
    found = parse_json(text)
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise Unreachable("sends JSON that is no message of JSON-RPC 2.0")
    return found


def error_of(message: Message) -> tuple[int, str]:
    """Return the code and the text of an error; 0 and "" without one."""
    error = message.get("error")
    if not isinstance(error, dict):
        return 0, ""
    code, text = error.get("code"), error.get("message")
    return (
        code if isinstance(code, int) else 0,
        text if isinstance(text, str) else "",
    )


def write_message(message: Message) -> bytes:
    """Return a message as one line; Unreachable if that is no JSON."""
    try:
        text = json.dumps(message, ensure_ascii=False, allow_nan=False)
        line = text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise Unreachable(
            f"sends half of a surrogate pair, {half}, which is no character"
        ) from None
    except ValueError:
        raise Unreachable("sends a number that JSON cannot have") from None
    if len(line) > MESSAGE_MAX:
        raise Unreachable("sends more than 32 MiB in a message")
    return line
