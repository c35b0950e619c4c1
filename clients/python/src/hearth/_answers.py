"""The HTTP answers that are errors, as the errors of this package."""

from __future__ import annotations

from typing import Any

import httpx

from hearth.errors import (
    BadRequest,
    GatewayBusy,
    GatewayFailed,
    HearthError,
    NotPermitted,
    SessionUnknown,
    TokenRefused,
)


def json_of(response: httpx.Response) -> Any:
    """Return the body; raises GatewayFailed if it is no JSON."""
    try:
        return response.json()
    except ValueError as error:
        raise GatewayFailed(
            f"{response.request.url} did not answer with JSON"
            f" (status {response.status_code}): is it a hearth gateway?"
        ) from error


def sentence_of(response: httpx.Response) -> str:
    """Return the gateway's own sentence, with a full stop."""
    try:
        text = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        text = f"The gateway answered with status {response.status_code}"
    return text.rstrip(".") + "."


def retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 1.0


def error_of(response: httpx.Response) -> HearthError:
    """Return the error for a status that says nothing more particular."""
    text = sentence_of(response)
    status = response.status_code
    if status in (429, 503):
        return GatewayBusy(text, retry_after(response))
    if status in (404, 410):
        return SessionUnknown(text)
    types: dict[int, type[HearthError]] = {
        400: BadRequest,
        401: TokenRefused,
        403: NotPermitted,
        413: BadRequest,
    }
    return types.get(status, GatewayFailed)(text)
