"""What can go wrong, each as a type of its own.

The text of an error is a sentence that says what happened, and one that says
what to do. A cell that raised is no error here: it is a `Result`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Optional


class HearthError(Exception):
    """The parent of all errors of this package."""

    what_to_do = ""

    def __init__(self, text: str) -> None:
        super().__init__(" ".join(filter(None, [text, self.what_to_do])))


# ---- the gateway ----


class GatewayError(HearthError):
    """The gateway could not be reached, or refused the request."""


class GatewayNotFound(GatewayError):
    """No gateway runs for this user, and none could be started."""

    what_to_do = (
        "Start one with `hearth gateway start`, or name one by HEARTH_URL and"
        " HEARTH_TOKEN."
    )


class GatewayUnreachable(GatewayError):
    """The network failed, or the gateway has gone, for longer than the client
    retries. A request with a key can be sent again without running twice."""

    what_to_do = "See whether the gateway runs: `hearth gateway status`."

    def __init__(self, text: str, was_sent: bool = False) -> None:
        super().__init__(text)
        #: Whether the request was sent, so that it may have been done.
        self.was_sent = was_sent


class GatewayBusy(GatewayError):
    """The gateway has no room at the moment. Nothing was done."""

    what_to_do = "Send the same request again later."

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        #: Seconds after which the gateway expects to have room.
        self.retry_after = retry_after


class GatewayFull(GatewayError):
    """As many sessions live as the gateway permits."""

    what_to_do = "End a session, or raise sessions/sessions_max."


class GatewayFailed(GatewayError):
    """The gateway answered that it failed (status 500), or in a form that this
    client does not understand."""

    what_to_do = "`hearth logs` has the gateway's messages."


class TokenRefused(GatewayError):
    """The gateway does not know the token: it is wrong, revoked or expired."""

    what_to_do = "`hearth gateway info` prints the token of your own gateway."


class NotPermitted(GatewayError):
    """The token lacks a scope, or the gateway does not permit the request."""

    what_to_do = "`hearth token create` makes a token with other scopes."


class BadRequest(GatewayError):
    """An argument is not possible; the text names it."""


# ---- a session ----


class SessionError(HearthError):
    """The session cannot do what was asked."""


class SessionUnknown(SessionError):
    """The gateway has no session with this id, and no recording of one."""

    what_to_do = "List the sessions, or make a new one."


class SessionGone(SessionError):
    """The session has ended. Its variables are lost; its files and its
    notebook are kept for some time."""

    what_to_do = (
        "Make a new session. One whose kernel died gets another by restart()."
    )

    def __init__(
        self, text: str, reason: str, at: Optional[datetime] = None
    ) -> None:
        super().__init__(text)
        #: A word for why: `idle`, `deleted`, `memory` …
        self.reason = reason
        #: When, in UTC; None if the gateway did not say.
        self.at = at


class KeyConflict(SessionError):
    """Other code was sent under this key before. Nothing was run."""

    what_to_do = "Give other code another key."


class ToolsRemoved(SessionError):
    """Another client has removed the functions of `session.tools` from the
    session. They are not offered again by themselves."""

    what_to_do = "Offer them with another Session, if they are to be called."


class QueueFull(SessionError):
    """Too many requests of the session wait. Nothing was run."""

    what_to_do = "Send the same request again later, also under its key."

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        #: Seconds to wait before.
        self.retry_after = retry_after


class RunRefused(SessionError):
    """The session did not accept the request. Nothing was run."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        #: The session's own name of the error.
        self.name = name


class RunForgotten(SessionError):
    """The gateway has no such run, or its journal keeps it no longer."""


class OutputUnknown(SessionError):
    """The session has no such output, or its journal keeps it no longer."""


class ProcessEnded(SessionError):
    """The program has ended: it takes no input and no signal."""


class PackagesRefused(SessionError):
    """The packages were not changed: the policy of the session's profile
    refuses one, no version fits, or the kernel has to restart first. The text
    says which, and what would be right."""


class IndexUnreachable(SessionError):
    """The gateway did not reach the index of packages. Nothing changed."""


# ---- files ----


class FileError(HearthError):
    """A file of a session cannot be read or written."""


class FileNotFound(FileError):
    """There is no such file or folder."""


class FileExists(FileError):
    """There is one already, or it changed meanwhile, or a folder is not
    empty."""


class FileDenied(FileError):
    """The file is not for this user to change."""


class PathRefused(FileError):
    """The path leads through a link, out of the folder, or to what is no file
    or folder."""


class WorkspaceFull(FileError):
    """The session's folder has as many bytes or files as it may."""

    what_to_do = "Remove files that are not needed."


class FetchRefused(FileError):
    """Nothing was fetched: the session's profile does not permit the host or
    the size, or the file has another hash. The text says which."""


class FetchUnreachable(FileError):
    """The server was not reached, or does not send the file or the repository.
    What has come is kept for the next fetch of the same URL."""


class FetchCancelled(FileError):
    """Another client has cancelled the fetch. What has come is kept."""


# ---- code, if a program prefers exceptions: Result.check() ----


class CodeError(HearthError):
    """The code did not end well."""


class CodeFailed(CodeError):
    """The code raised. The variables are kept."""

    def __init__(self, name: str, value: str, traceback: str) -> None:
        super().__init__(f"{name}: {value}" if value else name)
        #: The name of the exception's type.
        self.name = name
        #: The exception's text.
        self.value = value
        #: The traceback as plain text.
        self.traceback = traceback


class CodeTimedOut(CodeError):
    """The code was interrupted at its time limit. The variables are kept."""

    what_to_do = "Give it more time, or less to do."


class StateLost(CodeError):
    """The kernel ended while the code ran. The variables are lost."""

    what_to_do = "Import and compute again what the code needs."
