"""Fetches the seed of Kernel Gateway's `seed_uri` from a server, into a file.

    python3 -I hearth_fetch.py URL FILE

The seed runs in every kernel, so it must come from the server that was asked:
by HTTPS with a valid certificate, or from this machine itself, without a proxy.
No redirection leads from one to the other. The caller checks that it is a
notebook. On a failure a sentence goes to standard output, and FILE is
unchanged.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPException, HTTPMessage
from typing import IO, Optional
from urllib.parse import urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    ProxyHandler,
    Request,
    build_opener,
)

BYTES_MAX = 64 << 20
TIMEOUT_S = 20  # for each answer of the network
HERE = ("localhost", "127.0.0.1", "::1")
READABLE = 0o600


class Refusal(Exception):
    """A sentence for the operator."""


def check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname in HERE:
        return
    if parts.scheme != "https" or not parts.hostname:
        raise Refusal(
            f"{url} is refused: a seed comes by https://, or by http:// from "
            "this machine"
        )


class Follower(HTTPRedirectHandler):
    """Goes where a redirection leads if that is as safe in the same way."""

    def redirect_request(
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Optional[Request]:
        if urlsplit(newurl).scheme != urlsplit(req.full_url).scheme:
            raise Refusal(f"{req.full_url} leads to {newurl}: refused")
        check(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str) -> bytes:
    check(url)
    proxies = [] if urlsplit(url).scheme == "https" else [ProxyHandler({})]
    opener = build_opener(Follower, *proxies)
    with opener.open(url, timeout=TIMEOUT_S) as answer:
        body: bytes = answer.read(BYTES_MAX + 1)
    if len(body) > BYTES_MAX:
        raise Refusal(f"{url} has more than {BYTES_MAX} bytes")
    return body


def keep(body: bytes, path: str) -> None:
    """In one step: a gateway that is killed meanwhile leaves no half of it."""
    fresh = f"{path}.new"
    descriptor = os.open(
        fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, READABLE
    )
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
    os.replace(fresh, path)


def main(url: str, path: str) -> int:
    try:
        keep(fetch(url), path)
    except Refusal as refusal:
        print(refusal)
        return 1
    except (OSError, HTTPException, ValueError) as error:
        print(f"{url}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
