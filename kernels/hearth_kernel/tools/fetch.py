"""`%fetch` in a kernel: the gateway is asked to bring a file from outside."""

from __future__ import annotations

from typing import Any

from hearth_kernel.tools import outside

_USAGE = "%fetch: name a URL: `%fetch URL [PATH] [--sha256 HASH]`"


def _line(reply: dict[str, Any]) -> str:
    """Describe a file as `hearth fetch` does.

    Whether it was in the gateway's cache is left out: a replay prints the same.
    """
    encoding = reply["encoding"]
    return (
        f"{reply['path']}  {outside.size_text(reply['size'])}  "
        f"sha256 {reply['sha256']}"
        f"{f'  compressed: {encoding}' if encoding else ''}"
    )


def serve(line: str) -> None:
    """Fetch what a line asks for; wait for it, however long that takes."""
    asked = outside.read(line, "%fetch", _USAGE, {"--sha256": "a hash"})
    later = "the same line waits for it"
    print(_line(outside.ask("%fetch", "files", later, asked)))
