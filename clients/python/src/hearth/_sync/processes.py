# Made by generate.py from _async/processes.py; change that instead.
"""Programs beside a session's kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from hearth._answers import json_of, sentence_of
from hearth._sync.link import SessionLink
from hearth.errors import ProcessEnded
from hearth.process_values import (
    Finished,
    ProcessInfo,
    ProcessOutput,
    finished,
    process_info,
    process_output,
)

_WAIT_MAX = 60.0  # seconds that one request waits
_INPUT_PIECE = 32 << 10  # bytes


class Process:
    """A program that runs in a session, also while a cell computes."""

    def __init__(self, session: SessionLink, number: int) -> None:
        self._session = session
        #: Its number in the session.
        self.number = number
        self._path = f"/hearth/sessions/{session.id}/processes/{number}"

    def info(self) -> ProcessInfo:
        """Describe it, also when it has ended."""
        return process_info(json_of(self._session.ask("GET", self._path)))

    def output(self, since: int = 0, wait: float = 0.0) -> ProcessOutput:
        """Return its output after an offset, of the last 64 KiB. Wait up
        to `wait` seconds for some, or for the end."""
        response = self._session.ask(
            "GET",
            f"{self._path}/output",
            seconds=wait,
            params={"from": since, "wait": wait, "encoding": "base64"},
        )
        return process_output(json_of(response), since)

    def stream(self, since: int = 0) -> Iterator[ProcessOutput]:
        """Yield its output until it has ended. `next` of a piece is where
        another call goes on, also after a restart of the gateway."""
        offset = since
        while True:
            piece = self.output(offset, _WAIT_MAX)
            offset = piece.next
            if piece.stdout or piece.stderr:
                yield piece
            elif piece.process.has_ended:
                return

    def write(self, data: Union[bytes, str]) -> None:
        """Write to its input, in the order of the calls. Raises
        ProcessEnded."""
        content = data.encode() if isinstance(data, str) else data
        for start in range(0, len(content), _INPUT_PIECE):
            self._order(
                "input",
                content=content[start : start + _INPUT_PIECE],
                headers={"Content-Type": "application/octet-stream"},
            )

    def close_input(self) -> None:
        """End its input. Raises ProcessEnded."""
        self._order("input", json={"end": True})

    def signal(self, name: Union[str, int]) -> None:
        """Send a signal to its process group: `INT`, or a number. Raises
        ProcessEnded."""
        self._order("signal", json={"signal": name})

    def resize(self, rows: int, columns: int) -> None:
        """Give its terminal a size."""
        self._order("resize", json={"rows": rows, "columns": columns})

    def _order(self, what: str, **options: Any) -> None:
        response = self._session.ask(
            "POST", f"{self._path}/{what}", accepted=(204, 409), **options
        )
        if response.status_code == 409:
            raise ProcessEnded(sentence_of(response))

    def kill(self) -> None:
        """End it with all that it has started: SIGTERM, SIGKILL after 5 s. It
        is no error if it has ended."""
        self._session.ask("DELETE", self._path, accepted=(204, 409))

    def wait(self, seconds: float) -> Optional[ProcessInfo]:
        """Wait for its end for at most that long; None if it still runs."""
        until = time.monotonic() + seconds
        offset = 0
        while True:
            left = max(until - time.monotonic(), 0)
            piece = self.output(offset, min(left, _WAIT_MAX))
            offset = piece.next
            if piece.process.has_ended:
                return piece.process
            if left <= 0:
                return None


class Processes:
    """Session.processes."""

    def __init__(self, session: SessionLink) -> None:
        self._session = session
        self._path = f"/hearth/sessions/{session.id}/processes"

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        takes_input: bool = False,
        terminal: bool = False,
    ) -> Process:
        """Start a program and return while it runs.

        Parameters:
            argv: the program and its arguments; no shell reads them.
            cwd: a folder below the session's.
            env: variables beside the session's own.
            timeout: seconds after which it is ended with all it has started.
            takes_input: write() will write to it.
            terminal: it has a terminal; both streams are one.
        """
        body = _body(argv, cwd, env, timeout)
        body["input"] = takes_input
        if terminal:
            body["terminal"] = True
        response = self._session.ask(
            "POST", self._path, accepted=(201,), json=body
        )
        return Process(self._session, json_of(response)["process"])

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        input: Union[bytes, str, None] = None,
    ) -> Finished:
        """Run a program to its end. Of each stream at most the first MiB is
        kept if it has no input, and what was not overtaken otherwise;
        `left_out` counts the rest. See start()."""
        if input is not None:
            process = self.start(
                argv, cwd=cwd, env=env, timeout=timeout, takes_input=True
            )
            return self._feed(process, input)
        response = self._session.ask(
            "POST",
            self._path,
            accepted=(201,),
            seconds=_WAIT_MAX,
            params={"wait": _WAIT_MAX, "encoding": "base64"},
            json=_body(argv, cwd, env, timeout),
        )
        first = process_output(json_of(response))
        process = Process(self._session, first.process.number)
        pieces = [first]
        for piece in process.stream(first.next):
            pieces.append(piece)
        return finished(process.info(), pieces)

    def _feed(
        self, process: Process, data: Union[bytes, str]
    ) -> Finished:
        content = data.encode() if isinstance(data, str) else data
        pieces = []
        offset = 0
        try:
            for start in range(0, len(content), _INPUT_PIECE):
                process.write(content[start : start + _INPUT_PIECE])
                piece = process.output(offset)
                offset = piece.next
                pieces.append(piece)
            process.close_input()
        except ProcessEnded:
            pass  # it did not want all of it
        for piece in process.stream(offset):
            pieces.append(piece)
        return finished(process.info(), pieces)

    def list(self) -> list[ProcessInfo]:
        """List those that run and the last that have ended."""
        response = self._session.ask("GET", self._path)
        return [process_info(model) for model in json_of(response)]

    def get(self, number: int) -> Process:
        """Return the process with this number, from info() or list()."""
        return Process(self._session, number)


def _body(
    argv: Sequence[str],
    cwd: Optional[str],
    env: Optional[Mapping[str, str]],
    timeout: Optional[float],
) -> dict[str, Any]:
    given = {
        "argv": list(argv),
        "cwd": cwd,
        "env": dict(env) if env is not None else None,
        "timeout": timeout,
    }
    return {key: value for key, value in given.items() if value is not None}
