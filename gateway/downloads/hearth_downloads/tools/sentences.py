"""Sentences about a server: what is wrong, and what would be right.

Each begins with the server's origin. Its URL may have a key, so it is not said.
"""

from __future__ import annotations

from hearth_downloads.core.faults import clean

SAID_MAX = 100  # characters of a server's own text
_STATUSES = {
    400: "says that the request is wrong (400)",
    401: "wants a key or refuses it (401); `headers` must have the right "
    "Authorization",
    403: "forbids it (403): the key in `headers` lacks a right",
    404: "has no endpoint there (404); `url` must be that of streamable HTTP, "
    "often ending with /mcp",
    405: "takes no POST there (405); `url` must be that of streamable HTTP, "
    "often ending with /mcp",
    406: "does not answer with JSON or events (406)",
    413: "refuses so long a request (413)",
    415: "does not take JSON (415)",
}


def of_status(status: int, retry_after: str, said: str) -> str:
    """Return what a status that is no success means."""
    quoted = f": {clean(said, SAID_MAX)}" if said else ""
    if status == 429:
        seconds = retry_after if retry_after.isdigit() else ""
        when = f", and wants a pause of {seconds[:9]} s" if seconds else ""
        return f"has too many requests (429){when}{quoted}"
    if status >= 500:
        return f"has a failure of its own ({status}){quoted}"
    return f"{_STATUSES.get(status, f'answers with status {status}')}{quoted}"


def of_redirect(status: int, origin: str) -> str:
    """Return why a redirect is not followed."""
    where = f" to {clean(origin, SAID_MAX)}" if origin else ""
    return (
        f"redirects{where} ({status}), and keys are not taken there; `url` "
        "must be where the endpoint is"
    )


def of_type(kind: str) -> str:
    """Return why an answer of that type is not read."""
    return (
        f"answers with {clean(kind, SAID_MAX) or 'no type'}; an endpoint of "
        "MCP answers with JSON or events: look at `url`"
    )
