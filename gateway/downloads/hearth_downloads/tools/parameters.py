"""Arguments of a call that the server wants in headers, too (x-mcp-header).

A tool whose schema asks for that in a wrong way must not be offered.
"""

from __future__ import annotations

import base64
import re
from typing import Any

MARK = "x-mcp-header"
DEPTH_MAX = 32
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_PLAIN = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")
_TYPES = ("string", "integer", "boolean")
_INTEGER_MAX = 2**53 - 1
Paths = dict[str, tuple[str, ...]]  # of an argument, by the header's name


def encode_value(value: str) -> str:
    """Return a value as a header can have it."""
    is_marked = value.startswith("=?base64?") and value.endswith("?=")
    if _PLAIN.fullmatch(value) and not is_marked:
        return value
    text = base64.b64encode(value.encode("utf-8", "replace")).decode()
    return f"=?base64?{text}?="


def _count_marks(value: Any, depth: int = 0) -> int:
    """Count the marks in a schema, wherever they are."""
    if depth > DEPTH_MAX:
        raise ValueError("its schema is nested too deeply")
    if isinstance(value, list):
        return sum(_count_marks(one, depth + 1) for one in value)
    if not isinstance(value, dict):
        return 0
    own = isinstance(value.get(MARK), str)
    return own + sum(_count_marks(one, depth + 1) for one in value.values())


def _find(schema: Any, path: tuple[str, ...], found: Paths) -> None:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) > DEPTH_MAX:
        return
    for name, one in properties.items():
        if isinstance(one, dict) and MARK in one:
            header = one[MARK]
            if not isinstance(header, str) or not _TOKEN.fullmatch(header):
                raise ValueError(f"its {MARK} is no name of a header")
            if one.get("type") not in _TYPES:
                raise ValueError(f"its {MARK} is not at a plain value")
            if header.lower() in map(str.lower, found):
                raise ValueError(f"its {MARK} is there twice")
            found[header] = (*path, name)
        _find(one, (*path, name), found)


def find_parameters(tool: dict[str, Any]) -> Paths:
    """Return the arguments of a tool that go into headers, too.

    ValueError if its schema says that where it cannot be meant.
    """
    schema = tool.get("inputSchema")
    found: Paths = {}
    _find(schema, (), found)
    if _count_marks(schema) != len(found):
        raise ValueError(f"its {MARK} is not at a property")
    return found


def list_headers(paths: Paths, arguments: Any) -> dict[str, str]:
    """Return the headers of a call; an argument that is absent has none."""
    headers = {}
    for header, path in paths.items():
        value = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, int) and abs(value) <= _INTEGER_MAX:
            text = str(value)
        elif isinstance(value, str):
            text = value
        else:
            continue
        headers[f"Mcp-Param-{header}"] = encode_value(text)
    return headers
