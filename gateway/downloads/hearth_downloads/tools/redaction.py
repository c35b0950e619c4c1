"""Takes keys out of what a server says: it may echo the request."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable

WORD_MIN = 6  # characters; a shorter text is no key, and is in many words
SEGMENT_MIN = 16  # likewise, of a part of the URL's path
SHOWN = "***"
_SCHEMES = ("basic", "bearer", "digest", "negotiate")


def find_secrets(target: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return what may be a key in a URL's path and query, and in headers."""
    path, _, query = target.partition("?")
    found = {query, *re.split("[&=]", query)}
    found |= {part for part in path.split("/") if len(part) >= SEGMENT_MIN}
    for value in values:
        found |= {value, *value.split()}
    found |= {urllib.parse.unquote_plus(one) for one in found}
    kept = {
        one
        for one in found
        if len(one) >= WORD_MIN and one.lower() not in _SCHEMES
    }
    return tuple(sorted(kept, key=len, reverse=True))


def redact(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text without them."""
    for one in secrets:
        text = text.replace(one, SHOWN)
    return text
