"""Frames of the kernel link in Python; docs/design/PROTOCOL.kernel.md."""

import dataclasses
import json
import re
import struct
from pathlib import Path

HEADER = struct.Struct("<IHHQQII")
VERSION = 1

# The rows of FRAME_TYPES in protocol/frame.h: name, code, direction.
_ROWS = re.findall(
    r"\bX\((\w+), (\d+), (UP|DOWN),",
    (Path(__file__).resolve().parents[3] / "protocol/frame.h").read_text(),
)
DOWN = {name: int(code) for name, code, way in _ROWS if way == "DOWN"}
UP = {int(code): name for name, code, way in _ROWS if way == "UP"}


@dataclasses.dataclass
class Event:
    """An event of the kernel."""

    kind: str
    seq: int
    request: int
    content: dict
    metadata: dict
    buffers: list


def encode(kind, seq=0, request=0, content=None, metadata=None, buffers=()):
    """One frame as bytes."""
    meta = b"" if metadata is None else json.dumps(metadata).encode()
    body = b"" if content is None else json.dumps(content).encode()
    lengths = b"".join(struct.pack("<I", len(item)) for item in buffers)
    rest = lengths + meta + body + b"".join(buffers)
    head = HEADER.pack(
        len(rest), VERSION, DOWN[kind], seq, request, len(meta), len(buffers)
    )
    return head + rest


class Decoder:
    """Bytes in, events out."""

    def __init__(self):
        self.bytes = bytearray()

    def next(self):
        """The next event, or None."""
        if len(self.bytes) < HEADER.size:
            return None
        size, version, kind, seq, request, meta, count = HEADER.unpack_from(
            self.bytes
        )
        assert version == VERSION
        if len(self.bytes) < HEADER.size + size:
            return None
        body = bytes(self.bytes[HEADER.size : HEADER.size + size])
        del self.bytes[: HEADER.size + size]
        lengths = struct.unpack_from(f"<{count}I", body)
        at = 4 * count
        metadata = body[at : at + meta]
        at += meta
        end = len(body) - sum(lengths)
        content = body[at:end]
        buffers = []
        for length in lengths:
            buffers.append(body[end : end + length])
            end += length
        return Event(
            UP[kind],
            seq,
            request,
            json.loads(content) if content else {},
            json.loads(metadata) if metadata else {},
            buffers,
        )
