# Made by generate.py from _async/run.py; change that instead.
"""One run of code, while it runs and after."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional

import httpx

from hearth._answers import VIEW, json_of, retry_after
from hearth._sync.link import SessionLink
from hearth._background import sync_sleep
from hearth._records import Event, event_of
from hearth.errors import GatewayFailed, QueueFull, RunForgotten, RunRefused
from hearth.values import ModelView, Output, Result, read_result, read_view

_HOUR = 3600.0  # seconds
_SHORT = 0.02  # between two looks, in seconds


class Run:
    """Code that was sent to a session. Session.start() makes one."""

    def __init__(
        self,
        session: SessionLink,
        run: str,
        key: str,
        max_tokens: Optional[int],
        is_new: bool,
    ) -> None:
        #: The run's id: the `msg_id` in the journal.
        self.id = run
        #: The key under which it can be asked for again.
        self.key = key
        self._session = session
        self._path = f"/api/kernels/{session.id}/requests/{run}"
        self._params: dict[str, Any] = dict(VIEW)
        if max_tokens is not None:
            self._params["max_tokens"] = max_tokens
        self._began_at = session.cursor
        self._is_new = is_new
        self._result: Optional[Result] = None

    def status(self) -> str:
        """Return `queued`, `running`, `input` (it waits for an answer) or
        `finished`."""
        response = self._look()
        if response.status_code == 300:
            return "input"
        if response.status_code == 202:
            return str(json_of(response)["request_status"])
        return "finished"

    def result(
        self,
        *,
        on_output: Optional[Callable[[Output], object]] = None,
        on_input: Optional[Callable[[str], str]] = None,
    ) -> Result:
        """Wait until the code has ended. See Session.run()."""
        found = None
        while found is None:
            found = self.wait(
                _HOUR, on_output=on_output, on_input=on_input
            )
        return found

    def wait(
        self,
        seconds: float,
        *,
        on_output: Optional[Callable[[Output], object]] = None,
        on_input: Optional[Callable[[str], str]] = None,
    ) -> Optional[Result]:
        """Wait for the result for at most that long; None if the code still
        runs then. It goes on running.

        Raises QueueFull, RunRefused, RunForgotten, and what any request of the
        session raises.
        """
        has_shown = False
        if not self._take_result():
            until = time.monotonic() + seconds
            for event in self._follow(self._began_at, until):
                if on_output is not None and event.output is not None:
                    has_shown = True
                    on_output(event.output)
                if on_input is not None and event.question is not None:
                    self.answer(on_input(event.question))
        if self._result is not None and on_output is not None and not has_shown:
            for output in self._result.outputs:
                on_output(output)
        return self._result

    def events(self, since: int = 0) -> Iterator[Event]:
        """Yield what the run does, until it has ended.

        Each event has its cursor. `since` is the cursor of the last event that
        was taken: what comes after it is yielded, also by another process, also
        after the gateway was killed.
        """
        self._take_result()
        for event in self._follow(since, None):
            yield event

    def interrupt(self) -> None:
        """Interrupt the session, whatever of it runs."""
        self._session.interrupt()

    def answer(self, text: str) -> None:
        """Answer the code's `input()`."""
        self._session.ask(
            "POST",
            f"/api/kernels/{self._session.id}/input",
            accepted=(201,),
            json={"input": text},
        )

    def view(self, max_tokens: int = 4000) -> ModelView:
        """Return the run for a language model, in another size, or while it
        runs."""
        response = self._look(max_tokens=max_tokens)
        return read_view(json_of(response)["view"])

    # ---- following ----

    def _follow(
        self, since: int, until: Optional[float]
    ) -> Iterator[Event]:
        """Yield the run's events after a cursor, until it has ended or the
        time is over.

        The journal has a number for a run, which is in its request. That is
        looked for where this session's client had arrived when it began the
        run; a run of another client may be older than that.
        """
        cursor = start = self._began_at
        number = 0
        while True:
            is_done = self._result is not None
            left = _HOUR if until is None else until - time.monotonic()
            records = self._session.records(
                cursor, 0 if is_done else max(left, 0)
            )
            may_have_ended = not records
            for record in records:
                cursor = record["seq"]
                if record["header"].get("msg_id") == self.id:
                    number = record["request"]
                if not number or record["request"] != number:
                    may_have_ended |= record["kind"] in ("reply", "state")
                    continue
                if cursor > since:
                    yield event_of(record)
                if record["kind"] == "reply":
                    self._session.cursor = max(self._session.cursor, cursor)
                    self._take_result()
                    return
            if is_done and not records:
                if number or start == 0:
                    return
                cursor = start = 0
            elif may_have_ended:
                self._take_result()
            if self._result is None and left <= 0:
                return
            if self._result is None and (records or left < 1):
                sync_sleep(_SHORT)

    # ---- the result ----

    def _look(self, **more: Any) -> httpx.Response:
        response = self._session.ask(
            "GET",
            self._path,
            accepted=(200, 202, 300, 404, 500, 503),
            retry_busy=False,
            params={**self._params, **more},
        )
        if response.status_code == 404:
            self._session.require()
            raise RunForgotten(f"The gateway does not know the run {self.id}.")
        if response.status_code in (500, 503):
            raise self._refusal(response)
        return response

    def _refusal(self, response: httpx.Response) -> Exception:
        raw = json_of(
            self._session.ask(
                "GET", self._path, accepted=(200, 500, 503), retry_busy=False
            )
        )
        error = raw.get("error")
        if not error:
            return GatewayFailed(str(raw.get("message")))
        if response.status_code == 503:
            return QueueFull(error["evalue"], retry_after(response))
        return RunRefused(error["ename"], error["evalue"])

    def _take_result(self) -> bool:
        """Take the result if there is one."""
        if self._result is not None:
            return True
        if self._is_new:  # it cannot have ended yet
            self._is_new = False
            return False
        response = self._look()
        if response.status_code != 200:
            return False
        view = json_of(response)["view"]
        raw = json_of(
            self._session.ask("GET", self._path, accepted=(200, 500))
        )
        outputs = json.loads(raw["outputs"])
        self._result = read_result(self.key, view, raw, outputs)
        return True
