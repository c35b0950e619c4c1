"""Server-sent events, as they come in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hearth_downloads.core.faults import Unreachable
from hearth_downloads.tools.messages import MESSAGE_MAX

RETRY_SECONDS = 1.0  # until a stream that has ended is asked for again
RETRY_MIN, RETRY_MAX = 0.2, 30.0
ID_MAX = 1024


@dataclass
class Events:
    """A stream: what of it is no whole line or no whole event yet."""

    last_id: str = ""
    retry: float = RETRY_SECONDS
    _pieces: list[bytes] = field(default_factory=list)
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0  # of both
    _is_message: bool = True  # and no event of another name

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of each event that ends in this piece."""
        self._count(len(piece))
        self._pieces.append(piece)
        if b"\n" not in piece and b"\r" not in piece:
            return
        lines = b"".join(self._pieces).splitlines(keepends=True)
        self._pieces = []
        # A line feed may follow a last carriage return.
        if lines[-1][-1:] != b"\n":
            self._pieces = [lines.pop()]
        for line in lines:
            text = line.rstrip(b"\r\n")
            if text:
                self._take(text)
            else:
                yield from self._end()

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > MESSAGE_MAX:
            raise Unreachable("sends an event of more than 32 MiB")

    def _end(self) -> Iterator[bytes]:
        data, self._data = b"\n".join(self._data), []
        is_message, self._is_message = self._is_message, True
        self._size = sum(map(len, self._pieces))
        if data and is_message:
            yield data

    def _take(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if name == b"data":
            self._data.append(value)
            return
        self._size -= len(line)  # it is not kept
        if name == b"event":
            self._is_message = value in (b"", b"message")
        elif name == b"id" and len(value) <= ID_MAX:
            text = value.decode("latin-1")
            if all(" " <= letter <= "~" for letter in text):
                self.last_id = text
        elif name == b"retry" and value.isdigit() and len(value) < 9:
            seconds = int(value) / 1000
            self.retry = min(max(seconds, RETRY_MIN), RETRY_MAX)
