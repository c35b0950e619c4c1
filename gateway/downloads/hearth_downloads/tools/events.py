"""Server-sent events, as they come in pieces."""

from __future__ import annotations

import codecs
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

    last_id: str = ""  # of the last whole event that had one
    retry: float = RETRY_SECONDS
    _id: str = ""  # likewise, of the event that is not whole yet
    _is_first: bool = True  # line
    _is_return: bool = False  # the last byte: a line feed belongs to its end
    _pieces: list[bytes] = field(default_factory=list)
    _data: list[bytes] = field(default_factory=list)
    _size: int = 0  # of both
    _is_message: bool = True  # and no event of another name

    def continued(self) -> Events:
        """Return the stream that goes on after this one has ended."""
        return Events(self.last_id, self.retry, self.last_id)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the data of each event that ends in this piece."""
        self._count(len(piece))
        if self._is_return and piece:
            piece = piece.removeprefix(b"\n")
            self._is_return = False
        if not piece:
            return
        self._is_return = piece.endswith(b"\r")
        self._pieces.append(piece)
        if b"\n" not in piece and b"\r" not in piece:
            return
        lines = b"".join(self._pieces).splitlines(keepends=True)
        self._pieces = []
        if not lines[-1].endswith((b"\n", b"\r")):
            self._pieces = [lines.pop()]
        if self._is_first:
            lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            self._is_first = False
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
        self.last_id = self._id
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
                self._id = text
        elif name == b"retry" and value.isdigit() and len(value) < 9:
            seconds = int(value) / 1000
            self.retry = min(max(seconds, RETRY_MIN), RETRY_MAX)
