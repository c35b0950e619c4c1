"""The batch API of Git LFS: a request for objects, and its answer.

The answer is read in the sandbox, and strictly: its sender may be hostile.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hearth_downloads.clone.pointer import Pointer
from hearth_downloads.fetch.url import Url

OBJECTS_MAX = 100  # of one request, as git-lfs has it
ANSWER_MAX = 2 << 20  # bytes
HEADERS_MAX = 20
HEADER_BYTES_MAX = 8 * 1024  # of one value
# Most servers read no more in one head. The proxy reads 64 KiB, and the rest of
# a request has not half of that (http_head.py).
HEADERS_BYTES_MAX = 32 * 1024  # of all names and values together
MEDIA_TYPE = "application/vnd.git-lfs+json"
_MESSAGE_MAX = 100
_REASONS_MAX = 3
_DIGITS_MAX = 19
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e\t]*")
# Fields of one connection, and those that hearth's own request has.
_FORBIDDEN = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "if-range",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)


class BadAnswer(Exception):
    """An answer that cannot be read, or says what was not asked for."""


@dataclass(frozen=True)
class Action:
    """Where an object is, and what a request there has to have."""

    href: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Answer:
    """Places of objects by their ids, and why there are no others."""

    actions: dict[str, Action]
    errors: list[str]


def batch_url(url: Url) -> Url:
    """Return where the objects of a repository are asked for."""
    path = url.target.rstrip("/")
    path += "" if path.endswith(".git") else ".git"
    target = f"{path}/info/lfs/objects/batch"
    return Url(url.scheme, url.host, url.port, target)


def encode_request(pointers: Iterable[Pointer]) -> bytes:
    """Return the body of a request."""
    asked = {
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": one.oid, "size": one.size} for one in pointers],
        "hash_algo": "sha256",
    }
    return json.dumps(asked).encode()


def say_errors(errors: list[str]) -> str:
    """Return reasons with how often each came."""
    found = Counter(errors).most_common()
    shown = [f"{reason} ({count})" for reason, count in found[:_REASONS_MAX]]
    rest = sum(count for _, count in found[_REASONS_MAX:])
    return ", ".join([*shown, *[f"others ({rest})"] * bool(rest)])


def parse_answer(content: bytes, wanted: dict[str, int]) -> Answer:
    """Return what an answer says of these objects, by their sizes."""
    found = _load(content)
    if found.get("transfer", "basic") != "basic":
        raise BadAnswer("it wants another transfer than basic")
    if found.get("hash_algo", "sha256") != "sha256":
        raise BadAnswer("it names another hash than sha256")
    objects = found.get("objects")
    if not isinstance(objects, list):
        raise BadAnswer("it has no list of objects")
    if len(objects) > len(wanted):
        raise BadAnswer(
            f"it has {len(objects)} objects, and {len(wanted)} were asked for"
        )
    actions: dict[str, Action] = {}
    errors: list[str] = []
    seen: set[str] = set()
    for one in objects:
        oid = _check_object(one, wanted, seen)
        if one.get("error") is not None:
            errors.append(_read_error(one["error"]))
        else:
            actions[oid] = _read_action(one)
    errors += ["no word of it"] * (len(wanted) - len(seen))
    return Answer(actions, errors)


def _load(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            content,
            object_pairs_hook=_read_pairs,
            parse_int=_read_int,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise BadAnswer("its JSON is too deep") from None
    except ValueError:
        raise BadAnswer("it is no JSON") from None
    if not isinstance(found, dict):
        raise BadAnswer("its JSON is no object")
    return found


def _read_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadAnswer("an object of its JSON has a member twice")
    return found


def _read_int(text: str) -> int:
    if len(text) > _DIGITS_MAX:
        raise BadAnswer("its JSON has a number that is too large")
    return int(text)


def _refuse_constant(text: str) -> None:
    raise BadAnswer(f"its JSON has {text}")


def _check_object(one: Any, wanted: dict[str, int], seen: set[str]) -> str:
    """Return the id of an object that was asked for, once."""
    oid = one.get("oid") if isinstance(one, dict) else None
    if not isinstance(oid, str) or oid not in wanted:
        raise BadAnswer("it has an object that was not asked for")
    if oid in seen:
        raise BadAnswer("it has an object twice")
    seen.add(oid)
    size = one.get("size", wanted[oid])
    if type(size) is not int or size != wanted[oid]:
        raise BadAnswer("it has an object with another size than its pointer")
    return oid


def _read_error(error: Any) -> str:
    found = error if isinstance(error, dict) else {}
    code, message = found.get("code"), found.get("message")
    said = [str(code)] if type(code) is int else []
    said += [message[:_MESSAGE_MAX]] if isinstance(message, str) else []
    return " ".join(said) or "no reason"


def _read_action(one: dict[str, Any]) -> Action:
    actions = one.get("actions")
    action = actions.get("download") if isinstance(actions, dict) else None
    href = action.get("href") if isinstance(action, dict) else None
    if not isinstance(action, dict) or not isinstance(href, str):
        raise BadAnswer("it has an object without an href to download it from")
    header = action.get("header")
    if header is None:
        return Action(href, ())
    if not isinstance(header, dict) or len(header) > HEADERS_MAX:
        raise BadAnswer(
            f"it has an object with more than {HEADERS_MAX} headers"
        )
    headers = tuple(_read_header(*pair) for pair in header.items())
    if sum(len(name) + len(value) for name, value in headers) > (
        HEADERS_BYTES_MAX
    ):
        raise BadAnswer(
            f"it has an object with headers of more than {HEADERS_BYTES_MAX} "
            "bytes"
        )
    return Action(href, headers)


def _read_header(name: str, value: Any) -> tuple[str, str]:
    if not _NAME.fullmatch(name) or name.lower() in _FORBIDDEN:
        raise BadAnswer(f"it names the header {name[:40]!r}, which is not sent")
    if (
        not isinstance(value, str)
        or len(value) > HEADER_BYTES_MAX
        or not _VALUE.fullmatch(value)
    ):
        raise BadAnswer(
            f"it names a value of the header {name[:40]!r}, which is not sent"
        )
    return name, value
