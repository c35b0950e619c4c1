"""Asks a server of Git LFS for one batch of objects, in the sandbox.

It is fetch/client.py for several files, and as hostile to the worker.

    answer      what the server says of the batch (batch.py)
    OID         an object, as far as it has come
    report      the end: `{"ok": …}` or `{"fault": …}`
"""

from __future__ import annotations

import json
import os
import ssl
from dataclasses import dataclass
from typing import Any, Optional

from hearth_downloads.clone.batch import (
    ANSWER_MAX,
    MEDIA_TYPE,
    Action,
    BadAnswer,
    encode_request,
    parse_answer,
    say_errors,
)
from hearth_downloads.clone.pointer import Pointer
from hearth_downloads.core.faults import Invalid
from hearth_downloads.fetch import client
from hearth_downloads.fetch.about import REPORT
from hearth_downloads.fetch.url import Url, parse_url, show_url

ANSWER = "answer"


@dataclass(frozen=True)
class Request:
    """One batch, and how servers are known."""

    url: Url  # of the batch API
    pointers: tuple[Pointer, ...]
    context: Optional[ssl.SSLContext]
    timeout: float
    tries: int


def run(request: Request) -> None:
    """Be the client."""
    try:
        report = _get_all(request)
    except client.Stop as stop:
        report = {"fault": stop.fault}
    try:
        client.write_file(REPORT, json.dumps(report))
    except OSError as error:
        os.write(2, f"no report: {error}".encode())
        os._exit(1)
    os._exit(0)


def _get_all(request: Request) -> dict[str, Any]:
    """Return the report."""
    report = _fetch(_describe_batch(request))
    if "fault" in report and report["fault"]["kind"] == "large":
        reason = f"it has more than {ANSWER_MAX} bytes"
        raise client.Stop("batch", request.url, reason)
    if "fault" in report:
        return report
    sizes = {one.oid: one.size for one in request.pointers}
    try:
        with open(f"{client.INSIDE}/{ANSWER}", "rb") as file:
            answer = parse_answer(file.read(ANSWER_MAX), sizes)
    except BadAnswer as error:
        raise client.Stop("batch", request.url, str(error)) from None
    if answer.errors:
        count = len(answer.errors)
        reason = say_errors(answer.errors)
        raise client.Stop("objects", request.url, reason, count)
    for oid, action in answer.actions.items():
        report = _fetch(_describe_object(request, oid, sizes[oid], action))
        if "fault" in report:
            return report
    return report


def _fetch(request: client.Request) -> dict[str, Any]:
    one = client.Client(request)
    try:
        return one.run()
    finally:
        one.close()


def _describe_batch(request: Request) -> client.Request:
    return client.Request(
        request.url,
        ANSWER_MAX,
        request.context,
        timeout=request.timeout,
        tries=request.tries,
        name=ANSWER,
        headers=(("Accept", MEDIA_TYPE), ("Content-Type", MEDIA_TYPE)),
        data=encode_request(request.pointers),
    )


def _describe_object(
    request: Request, oid: str, size: int, action: Action
) -> client.Request:
    return client.Request(
        _read_href(request.url, action.href),
        size,
        request.context,
        timeout=request.timeout,
        tries=request.tries,
        name=oid,
        headers=action.headers,
    )


def _read_href(batch: Url, href: str) -> Url:
    """Return the URL of an object; nothing goes on without https."""
    try:
        url = parse_url(href)
    except Invalid:
        raise client.Stop("href", batch, show_url(href)) from None
    if batch.scheme == "https" and url.scheme != "https":
        raise client.Stop("href", batch, url.shown)
    return url
