"""Answers that run no cell: complete, inspect, is_complete, history, and what
kernel this is.

All but the last take the content of a request; each returns that of its reply.
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from IPython.core.completer import provisionalcompleter, rectify_completions
from IPython.utils.tokenutil import token_at_cursor

from hearth_kernel import __version__

Content = dict[str, Any]


def _cursor(content: Content) -> int:
    code = content["code"]
    cursor = content.get("cursor_pos")
    if not isinstance(cursor, int):
        return len(code)
    return max(0, min(cursor, len(code)))


def complete(shell: Any, content: Content) -> Content:
    """Complete at the cursor."""
    code, cursor = content["code"], _cursor(content)
    with provisionalcompleter():
        found = list(
            rectify_completions(code, shell.Completer.completions(code, cursor))
        )
    return {
        "status": "ok",
        "matches": [item.text for item in found],
        "cursor_start": found[0].start if found else cursor,
        "cursor_end": found[0].end if found else cursor,
        "metadata": {
            "_jupyter_types_experimental": [
                {
                    "start": item.start,
                    "end": item.end,
                    "text": item.text,
                    "type": item.type or "<unknown>",
                    "signature": item.signature or "",
                }
                for item in found
            ]
        },
    }


def inspect(shell: Any, content: Content) -> Content:
    """Tell about the name at the cursor."""
    name = token_at_cursor(content["code"], _cursor(content))
    reply: Content = {
        "status": "ok",
        "found": False,
        "data": {},
        "metadata": {},
    }
    try:
        data = shell.object_inspect_mime(
            name,
            detail_level=int(content.get("detail_level") or 0),
            omit_sections=content.get("omit_sections") or (),
        )
    except KeyError:
        return reply
    if not shell.enable_html_pager:
        data.pop("text/html", None)
    reply.update(found=True, data=data)
    return reply


def is_complete(shell: Any, content: Content) -> Content:
    """Tell whether the code is whole, or how to indent its next line."""
    manager = shell.input_transformer_manager
    status, indent = manager.check_complete(content["code"])
    if status == "incomplete":
        return {"status": status, "indent": " " * (indent or 0)}
    return {"status": status}


def history(shell: Any, content: Content) -> Content:
    """List what was run."""
    manager = shell.history_manager
    raw = bool(content.get("raw", True))
    output = bool(content.get("output", False))
    kind = content.get("hist_access_type")
    if kind == "tail":
        found = manager.get_tail(
            int(content.get("n") or 10), raw, output, include_latest=True
        )
    elif kind == "range":
        found = manager.get_range(
            int(content.get("session") or 0),
            int(content.get("start") or 1),
            content.get("stop"),
            raw,
            output,
        )
    elif kind == "search":
        found = manager.search(
            content.get("pattern") or "*",
            raw,
            output=output,
            n=content.get("n"),
            unique=bool(content.get("unique", False)),
        )
    else:
        found = []
    return {"status": "ok", "history": [list(entry) for entry in found]}


def info(banner: str) -> Content:
    """The content of a kernel_info_reply."""
    version = platform.python_version()
    return {
        "status": "ok",
        "protocol_version": "5.5",
        "implementation": "hearth",
        "implementation_version": __version__,
        "language_info": {
            "name": "python",
            "version": version,
            "mimetype": "text/x-python",
            "codemirror_mode": {
                "name": "ipython",
                "version": sys.version_info[0],
            },
            "pygments_lexer": "ipython3",
            "nbconvert_exporter": "python",
            "file_extension": ".py",
        },
        "banner": banner,
        "help_links": [
            {
                "text": "Python Reference",
                "url": f"https://docs.python.org/{version.rpartition('.')[0]}",
            },
            {
                "text": "IPython Reference",
                "url": "https://ipython.org/documentation.html",
            },
        ],
        "supported_features": [],
    }
