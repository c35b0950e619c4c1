"""The facts about a file that its server has sent, and their strict reading.

A sandbox writes them, so they are hostile to the worker. A cache keeps them,
and the next request names the file's state by them.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from typing import Any

from hearth_downloads.fetch.url import URL_MAX

BODY, ABOUT, REPORT = "body", "about", "report"  # files of the client
ABOUT_MAX = 16 * 1024
TOTAL_MAX = 1 << 60
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,500}"')
_MODIFIED = re.compile(
    r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT", re.ASCII
)
# As the gateway takes it (registry/downloads/fetch_answer.c).
_ENCODING = re.compile(r"(?=.{1,40}$)[a-z0-9._-]+(?:, [a-z0-9._-]+)*")
_SOURCE = re.compile(r"https?://[\x21-\x7e]+")


@dataclass(frozen=True)
class About:
    """A file as its server describes it; "" is for what it does not say."""

    source: str = ""  # the URL that answered, without its query
    etag: str = ""
    modified: str = ""  # Last-Modified
    encoding: str = ""  # Content-Encoding
    total: int = -1  # bytes

    @property
    def range_validator(self) -> str:
        """Return what If-Range takes: a strong ETag, else a time."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified

    def encode(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))


def read_field(pattern: re.Pattern[str], value: str) -> str:
    """Return the value of a field if it can be read, else ""."""
    return value if pattern.fullmatch(value) else ""


def read_fields(
    source: str, etag: str, modified: str, encoding: str, total: int
) -> About:
    """Return what the fields of an answer say; unreadable ones are ""."""
    codings = [
        coding.strip().lower()
        for coding in encoding.split(",")
        if coding.strip().lower() not in ("", "identity")
    ]
    return About(
        source[:URL_MAX],
        read_field(_ETAG, etag.strip()),
        read_field(_MODIFIED, modified.strip()),
        read_field(_ENCODING, ", ".join(codings)) or "unknown" * bool(codings),
        total,
    )


def parse_about(found: Any) -> About:
    """Return what a program has written; ValueError if it is anything else."""
    if not isinstance(found, dict):
        raise ValueError("no object")
    known = {field.name for field in fields(About)}
    about = About(**{k: v for k, v in found.items() if k in known})
    rules = (
        (about.source, _SOURCE),
        (about.etag, _ETAG),
        (about.modified, _MODIFIED),
        (about.encoding, _ENCODING),
    )
    for value, pattern in rules:
        if not isinstance(value, str) or (
            value and not pattern.fullmatch(value)
        ):
            raise ValueError("a field that no answer has")
    if type(about.total) is not int or not -1 <= about.total <= TOTAL_MAX:
        raise ValueError("no size")
    if len(about.source) > URL_MAX:
        raise ValueError("a long URL")
    return about


def parse_object(text: bytes | None) -> dict[str, Any]:
    """Return an object of JSON that a program has written, else ValueError."""
    try:
        found = json.loads(text or b"")
    except RecursionError:
        raise ValueError("deep") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found
