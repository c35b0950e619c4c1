"""Keys of requests, and the tokens that they came with."""

from __future__ import annotations

import hashlib
import uuid

from harness import Gateway


def two_tokens(gateway: Gateway, scope: str = "observe,execute") -> list[str]:
    """Two tokens with the same scopes."""
    create = ("token", "create", "--json", "--scope", scope)
    return [
        str(gateway.json(*create, name)["token"]) for name in ("one", "other")
    ]


def guessed(session: str, key: str) -> str:
    """The id of a request, if only these two were in it."""
    digest = bytearray(
        hashlib.blake2b(
            session.encode() + b"\0" + key.encode(), digest_size=16
        ).digest()
    )
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(digest)))
