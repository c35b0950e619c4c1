"""The worker's end of the socket to the gateway.

The gateway ends a job by closing its end. So every wait of the worker polls
this socket too, and every longer work calls `check` now and then.
"""

from __future__ import annotations

import json
import select
import socket
import time
from typing import Any

from hearth_packages.faults import Failed, Fault, Gone, Refused, clean
from hearth_packages.requirement import is_name, is_version

DATAGRAM_MAX = 64 * 1024


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
        """Return the job's datagram."""
        datagram = self.link.recv(DATAGRAM_MAX)
        if not datagram:
            raise Gone
        return datagram

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

    def _has_said(self) -> bool:
        """Read what no gateway sends; an end reads as nothing."""
        return bool(self.link.recv(DATAGRAM_MAX, socket.MSG_DONTWAIT))

    def progress(self, text: str) -> None:
        """Report what is being done, and look whether to go on."""
        self.check()
        self._send({"progress": clean(text, 200)})

    def fault(self, fault: Fault) -> None:
        """Answer why the job has failed."""
        self._send({"fault": {"ename": fault.ename, "text": fault.text}})

    def answer(self, answer: bytes) -> None:
        """Answer what `encode` has made."""
        self._send_bytes(answer)

    def _send(self, message: dict[str, Any]) -> None:
        self._send_bytes(json.dumps(message).encode())

    def _send_bytes(self, datagram: bytes) -> None:
        try:
            self.link.send(datagram, socket.MSG_NOSIGNAL)
        except OSError:
            raise Gone from None


def encode(answer: dict[str, list[dict[str, Any]]]) -> bytes:
    """Return the datagram of an answer, before the work is shown.

    Refuse one that the gateway would not take: the session would have packages
    that no list of it could name (gateway/registry/packages/packages_answer.c).
    """
    for entries in answer.values():
        for entry in entries:
            _check_entry(entry)
    datagram = json.dumps({"ok": answer}).encode()
    if len(datagram) > DATAGRAM_MAX:
        raise Refused(
            f"the list of the session's packages would have {len(datagram)} "
            f"bytes, and the most is {DATAGRAM_MAX}: ask for fewer packages"
        )
    return datagram


def _check_entry(entry: dict[str, Any]) -> None:
    for member, word in entry.items():
        if member == "requested":
            continue
        permits = is_name if member == "name" else is_version
        if not permits(word):
            raise Refused(
                f"the package {clean(entry['name'], 40)} has the {member} "
                f"{clean(word, 40)}, which the gateway does not take"
            )
