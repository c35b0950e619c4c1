"""Reads the body of an answer that is no success."""

from __future__ import annotations

from typing import Any

from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools.messages import error_of, parse_json

KINDS = ("application/json", "application/problem+json", "text/plain")
# Beside an error of JSON-RPC: of OAuth, and of frameworks for the web.
_KEYS = ("error_description", "error", "detail", "message", "title")


def read_refusal(kind: str, body: bytes) -> tuple[int, str]:
    """Return the code of an error of JSON-RPC, or 0, and what is said."""
    if kind == "text/plain":
        return 0, body.decode("utf-8", "replace")
    try:
        found: Any = parse_json(body)
    except Unreachable:
        return 0, ""
    if not isinstance(found, dict):
        return 0, ""
    code, said = error_of(found)
    texts = [found[key] for key in _KEYS if isinstance(found.get(key), str)]
    return code, said or (texts[0] if texts else "")
