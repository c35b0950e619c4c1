"""Sentences about a server: what is wrong, and what would be right.

Each begins with the server's origin. Its URL may have a key, so it is not said.
What is quoted has been made harmless by the caller.
"""

from __future__ import annotations

import http.client
import socket
import ssl

SAID_MAX = 100  # characters of a server's own text
CONNECT_SECONDS = 10.0
CUT = "ends its answer before the end"
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
# Reasons of OpenSSL, when the peer does not speak TLS.
_NO_TLS = (
    "HTTP_REQUEST",
    "RECORD_LAYER_FAILURE",
    "UNKNOWN_PROTOCOL",
    "WRONG_VERSION_NUMBER",
)


def of_status(status: int, retry_after: str, said: str) -> str:
    """Return what a status that is no success means."""
    quoted = f": {said}" if said else ""
    if status == 429:
        sentence = "has too many requests (429)"
    elif status >= 500:
        sentence = f"has a failure of its own ({status})"
    else:
        sentence = _STATUSES.get(status, f"answers with status {status}")
    if status in (429, 503) and retry_after.isdigit():
        sentence += f", and wants a pause of {retry_after[:9]} s"
    return sentence + quoted


def of_missing(variable: str) -> str:
    """Return what may be the reason why a key is refused."""
    return f"; the variable {variable} of its entry is not set" * bool(variable)


def of_redirect(status: int, where: str, is_own: bool) -> str:
    """Return why a redirect is not followed.

    `where` is a path of its own origin, or another origin; "": no place.
    """
    shown = f" to {where}" if where else ""
    reason = "which is no answer" if is_own else "and keys are not taken there"
    return (
        f"redirects{shown} ({status}), {reason}; `url` must be where the "
        "endpoint is"
    )


def of_type(kind: str) -> str:
    """Return why an answer of that type is not read."""
    return (
        f"answers with {kind or 'no type'}; an endpoint of MCP answers with "
        "JSON or events: look at `url`"
    )


_REASONS = (
    (socket.timeout, f"does not take a connection in {CONNECT_SECONDS:g} s"),
    (http.client.RemoteDisconnected, "closes the connection without an answer"),
    (http.client.IncompleteRead, CUT),
)


def of_error(error: Exception, what: str) -> str:
    """Return a sentence; most texts of errors may quote a request's keys.

    `what` is what the server does, if it is only known that it failed.
    """
    for kind, text in _REASONS:
        if isinstance(error, kind):
            return text
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"has a certificate that is not trusted ({error.verify_message}); "
            "fetch/ca_file names the authorities"
        )
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        return "speaks no TLS at that port, and `url` says https"
    if isinstance(error, http.client.HTTPException):
        is_ours = type(error) is http.client.HTTPException
        reason = str(error) if is_ours else type(error).__name__
        return f"answers with what is no HTTP: {reason}"
    reason = getattr(error, "reason", "") or getattr(error, "strerror", "")
    return f"{what}: {reason or type(error).__name__}"
