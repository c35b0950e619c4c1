"""Frames of the kernel link in Python; docs/PROTOCOL.kernel.md."""

import dataclasses
import json
import struct

HEADER = struct.Struct("<IHHQQII")
VERSION = 1

DOWN = {
    "HELLO": 1,
    "ACK": 2,
    "EXECUTE": 3,
    "COMPLETE": 4,
    "INSPECT": 5,
    "IS_COMPLETE": 6,
    "HISTORY": 7,
    "COMM_INFO": 8,
    "COMM_OPEN_IN": 9,
    "COMM_MSG_IN": 10,
    "COMM_CLOSE_IN": 11,
    "INPUT_REPLY": 12,
    "SHUTDOWN": 13,
    "MARK": 14,
    "REHEARSE": 15,
}
UP = {
    32: "WELCOME",
    33: "READY",
    34: "STREAM",
    35: "DISPLAY",
    36: "UPDATE",
    37: "RESULT",
    38: "ERROR",
    39: "CLEAR",
    40: "COMM_OPEN",
    41: "COMM_MSG",
    42: "COMM_CLOSE",
    43: "INPUT_REQUEST",
    44: "REPLY",
    45: "MARKED",
    46: "YIELDED",
}


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
