"""The worker's end of the socket to the gateway.

The gateway ends a job by closing its end. So every wait of the worker polls
this socket too, or is `interrupted`, and every longer work calls `check` now
and then.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hearth_downloads.core.faults import Failed, Fault, Gone, Refused, clean

DATAGRAM_MAX = 64 * 1024
JOB_MAX = 1 << 20  # bytes; of a longer job than a datagram's
INTERRUPT_SECONDS = 0.1


class Gateway:
    """The socket, and until when the job has to be done."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.seconds = 0.0
        self.ends_at = float("inf")
        self._poll = select.poll()
        self._poll.register(link, select.POLLIN | select.POLLRDHUP)

    def fileno(self) -> int:
        """Return the descriptor, for poll."""
        return self.link.fileno()

    def receive(self) -> bytes:
        """Return the job: the first datagram, or the file that is with it."""
        datagram, files, _, _ = socket.recv_fds(self.link, DATAGRAM_MAX, 1)
        if not datagram:
            raise Gone
        if not files:
            return datagram
        try:
            return os.pread(files[0], JOB_MAX, 0)
        finally:
            os.close(files[0])

    def limit(self, seconds: float) -> None:
        """Let `check` end the job after that time."""
        self.seconds = seconds
        self.ends_at = time.monotonic() + seconds

    def check(self) -> None:
        """Raise Gone or Failed if the job has to end."""
        for _, events in self._poll.poll(0):
            if events & ~select.POLLIN or not self._has_said():
                raise Gone
        if time.monotonic() > self.ends_at:
            raise Failed(
                f"the job was ended: it took more than {self.seconds:g} seconds"
            )

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """Let a timer call `check`, which ends a call that waits for a lock."""
        before = signal.signal(signal.SIGALRM, lambda *_: self.check())
        signal.setitimer(
            signal.ITIMER_REAL, INTERRUPT_SECONDS, INTERRUPT_SECONDS
        )
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _has_said(self) -> bool:
        """Read what no gateway sends; an end reads as nothing."""
        return bool(self.link.recv(DATAGRAM_MAX, socket.MSG_DONTWAIT))

    def progress(self, text: str) -> None:
        """Report what is being done, and look whether to go on."""
        self.check()
        self._send({"progress": clean(text, 200)})

    def report_bytes(self, size: int, total: int) -> None:
        """Report how much has come, of how much; -1 if that is unknown."""
        self.check()
        self._send({"progress": {"bytes": size, "total": total}})

    def fault(self, noun: str, fault: Fault) -> None:
        """Answer why the job has failed; clients know it by `noun`, too."""
        ename = f"{noun}{fault.ename}"
        rule = fault.rule if isinstance(fault, Refused) else ""
        said = {"ename": ename, "text": fault.text}
        self._send({"fault": {**said, **({"rule": rule} if rule else {})}})

    def answer(self, answer: bytes, descriptors: Sequence[int] = ()) -> None:
        """Answer with a datagram, and hand descriptors over with it."""
        self._send_bytes(answer, descriptors)

    def _send(self, message: dict[str, Any]) -> None:
        self._send_bytes(json.dumps(message).encode())

    def _send_bytes(
        self, datagram: bytes, descriptors: Sequence[int] = ()
    ) -> None:
        rights = (
            socket.SOL_SOCKET,
            socket.SCM_RIGHTS,
            array.array("i", descriptors),
        )
        try:
            self.link.sendmsg(
                [datagram],
                [rights] if descriptors else [],
                socket.MSG_NOSIGNAL,
            )
        except OSError:
            raise Gone from None
