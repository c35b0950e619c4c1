"""Records of a session's journal, as events of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional

from hearth.values import Output, read_time

_OUTPUTS = {
    "stream",
    "display_data",
    "execute_result",
    "update_display_data",
    "error",
}


@dataclass(frozen=True)
class Event:
    """One thing that a run did."""

    #: Its number in the journal: events(since=cursor) continues after it.
    cursor: int
    #: `request`, `stream`, `display_data`, `execute_result`, `error`,
    #: `clear_output`, `input_request`, `reply` (the last one), or another of
    #: Jupyter's types of messages.
    kind: str
    time: Optional[datetime]
    #: What was shown; None if this shows nothing.
    output: Optional[Output]
    #: What `input()` asks; None if this is no question.
    question: Optional[str]
    #: The message's content.
    content: Mapping[str, Any]


def event_of(record: Mapping[str, Any]) -> Event:
    kind, content = record["msg_type"], record["content"]
    if record["kind"] in ("request", "reply"):
        kind = record["kind"]
    output = None
    if kind in _OUTPUTS:
        output = _output(kind, content)
    return Event(
        cursor=record["seq"],
        kind=kind,
        time=read_time(record.get("time")),
        output=output,
        question=content.get("prompt", "") if kind == "input_request" else None,
        content=content,
    )


def _output(kind: str, content: Mapping[str, Any]) -> Output:
    text = content.get("text", "")
    if kind == "error":
        text = f"{content.get('ename', '')}: {content.get('evalue', '')}"
    return Output(
        kind=kind,
        name=content.get("name", ""),
        text=text,
        data=content.get("data", {}),
        metadata=content.get("metadata", {}),
    )
