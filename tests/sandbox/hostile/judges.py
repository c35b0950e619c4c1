"""What came out of a case, looked at from outside: each says what is wrong,
or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
from typing import TYPE_CHECKING, Any

from client import Turn
from deadline import wait_for
from harness import HEARTH, Session

if TYPE_CHECKING:
    from .case import Case
    from .suite import Suite

# Colours and the erasing of a line are the command line's own.
HARMLESS = re.compile(rb"\x1b\[[0-9;]*m")
CONTROLS = re.compile(rb"[\x00-\x06\x07\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
MIME = re.compile(
    r"[!#$&^_.+a-zA-Z0-9-]{1,127}/[!#$&^_.+a-zA-Z0-9-]{1,127}(;[ -~]*)?"
)


def on_terminal(suite: Suite, *words: str) -> bytes:
    """Return the output of a command of ours on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [HEARTH, *words],
        env={**suite.gateway.env, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        **suite.gateway.identity,
    )
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):  # EIO: the last end is closed
        while chunk := os.read(ours, 65536):
            text += chunk
    os.close(ours)
    process.wait()
    return text


def controls_in(text: bytes) -> str:
    found = CONTROLS.search(HARMLESS.sub(b"", text))
    return f"{found[0]!r} in {text!r}"[:300] if found else ""


def terminal_is_safe(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    words = ("exec", session.id, "-c", f"attempt({case.code!r})")
    return controls_in(on_terminal(suite, *words))


def names_are_safe(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    text = on_terminal(suite, "files", "ls", session.id)
    if b"hostile" not in text:
        return f"the name is not listed: {text!r}"
    return controls_in(text)


def text_is_valid(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    """The client has parsed it; and nothing in it cannot be written again."""
    for message in turn.messages:
        try:
            json.dumps(message["content"], ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            return str(error)
    return ""


def numbers_are_valid(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    for message in turn.messages:
        try:
            json.dumps(message["content"], allow_nan=False)
        except ValueError as error:
            return str(error)
    return ""


def bundles(value: Any) -> list[dict[str, Any]]:
    return [
        content["data"]
        for name in ("display_data", "execute_result")
        for content in value.contents(name)
    ]


def mime_types_are_valid(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    bad = [
        kind
        for bundle in bundles(turn)
        for kind in bundle
        if not MIME.fullmatch(kind)
    ]
    return f"MIME types {bad!r}"[:200] if bad else ""


def gateway_holds_no_more_descriptors(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    def held() -> int:
        return len(os.listdir(f"/proc/{suite.gateway.pid}/fd"))

    more = held() - suite.descriptors
    return f"{more} descriptors more" if more > 20 else ""


def workspace_goes(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    session.delete()
    suite.gateway.run("session", "delete", "--purge", session.id)
    return ""


def nothing_is_left(
    suite: Suite, session: Session, turn: Turn, case: Case
) -> str:
    from processes import members

    namespace = session.namespace()
    if len(members(namespace)) < 4:
        return "the processes are not there before the end"
    session.delete()
    wait_for(lambda: not members(namespace), "the end of all processes")
    return ""
