"""Says what to do where input() or getpass() cannot ask."""

from __future__ import annotations

import threading

from IPython.core import error as ipython_error

_IPYKERNEL = (
    "raw_input was called, but this frontend does not support input requests."
)
_NO_ANSWER = (
    "The client of this cell cannot answer: put the value into the code. "
    "These can answer: `hearth exec` at a terminal, `hearth attach`, an MCP "
    "client with elicitation, HTTP with `allow_stdin`, `on_input` of the "
    "Python client."
)
_NOT_ASKED = "getpass() was called, but the client must not ask for secrets."
_RECORDED = (
    "Code is recorded, so no secret belongs into it. Bring it as a file of the "
    "workspace (`hearth files put`), or let a person answer: `hearth exec` at "
    "a terminal, or `hearth attach`."
)
_ELSEWHERE = (
    "Only the running cell can ask, in the session's own process: neither a "
    "thread or callback of an earlier cell, nor a process that was forked. "
    "Ask in the cell, and pass the answer on."
)


class StdinNotImplementedError(ipython_error.StdinNotImplementedError):
    """IPython's error, by its name and text, which nbclient compares; its
    traceback ends with advice."""

    def __init__(self, text: str, advice: str) -> None:
        super().__init__(text)
        self.advice = advice


def refusal(
    is_in_cell: bool, password: bool, allow_secrets: bool
) -> StdinNotImplementedError:
    """Return what is raised."""
    if not is_in_cell:
        text, advice = _IPYKERNEL, _ELSEWHERE
    elif password:
        text = _IPYKERNEL if allow_secrets else _NOT_ASKED
        advice = _RECORDED
    else:
        text, advice = _IPYKERNEL, _NO_ANSWER
    if is_in_cell and threading.current_thread() is threading.main_thread():
        return StdinNotImplementedError(text, advice)
    # Python itself writes this traceback, which has no place for advice.
    return StdinNotImplementedError(f"{text} {advice}", "")
