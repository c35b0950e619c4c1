"""The HTTP answers that are errors, as the errors of this package."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx

from hearth.errors import (
    BadRequest,
    FetchCancelled,
    FetchRefused,
    FetchUnreachable,
    FileDenied,
    FileExists,
    FileNotFound,
    GatewayBusy,
    GatewayFailed,
    GatewayFull,
    HearthError,
    IndexUnreachable,
    NotPermitted,
    PackagesRefused,
    PathRefused,
    SessionUnknown,
    TokenRefused,
    ToolsRemoved,
    WorkspaceFull,
)

# What the gateway's names mean where a status has several meanings.
_BY_NAME: dict[str, type[HearthError]] = {
    "FetchCancelled": FetchCancelled,
    "FetchInvalid": BadRequest,
    "FetchOff": FetchRefused,
    "FetchRefused": FetchRefused,
    "FetchUnreachable": FetchUnreachable,
    "FileDenied": FileDenied,
    "FileNotFound": FileNotFound,
    "FolderNotEmpty": FileExists,
    "IsFolder": PathRefused,
    "NotPermitted": NotPermitted,
    "PackagesConflict": PackagesRefused,
    "PackagesOff": PackagesRefused,
    "PackagesRefused": PackagesRefused,
    "PackagesUnreachable": IndexUnreachable,
    "PathRefused": PathRefused,
    "ProviderRemoved": ToolsRemoved,
    "RestartNeeded": PackagesRefused,
    "TooManySessions": GatewayFull,
    "WorkspaceFull": WorkspaceFull,
}
# The query for a view for models that names this client's methods.
VIEW: Mapping[str, str] = MappingProxyType(
    {"view": "model", "client": "python"}
)
NO_MEANINGS: Mapping[int, type[HearthError]] = MappingProxyType({})


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


def _name_of(response: httpx.Response) -> str:
    """Return the gateway's name of the error, "" if it gave none."""
    try:
        return str(response.json()["ename"])
    except (ValueError, KeyError, TypeError):
        return ""


def error_of(
    response: httpx.Response,
    meanings: Mapping[int, type[HearthError]] = NO_MEANINGS,
) -> HearthError:
    """Return the error that the gateway names. If it names none, `meanings`
    has what a status means for this request, unless the token is refused."""
    text = sentence_of(response)
    status = response.status_code
    kind = _BY_NAME.get(_name_of(response))
    if kind is None and "WWW-Authenticate" not in response.headers:
        kind = meanings.get(status)
    if kind:
        return kind(text)
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
