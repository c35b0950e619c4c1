"""Which server to reach, as the gateway says it.

The description is a file in memory, descriptor 3. A list of processes shows
arguments, and a process inherits variables; keys are in neither.
"""

from __future__ import annotations

import json
import os
import ssl
import urllib.parse
from dataclasses import dataclass, field
from typing import Optional

from hearth_downloads.core.addresses import PORTS
from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.core.connection import make_context
from hearth_downloads.tools.redaction import find_secrets

SERVER_FD = 3


@dataclass(frozen=True)
class Place:
    """Where requests go: an origin, and a path with its query."""

    scheme: str
    host: str
    port: int
    target: str = field(repr=False)  # its query may have a key

    @property
    def origin(self) -> str:
        """Return the origin, which has no secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def parse_place(url: str) -> Place:
    """Return the place of a URL; ValueError for another scheme."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("no URL of http or https")
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    port = parts.port or PORTS[parts.scheme]
    return Place(parts.scheme, parts.hostname, port, target)


@dataclass(frozen=True)
class Server:
    """A server that the operator has named."""

    name: str
    place: Place
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)  # that it is not to echo
    context: Optional[ssl.SSLContext] = None  # for https
    flaw: str = ""  # why it cannot be asked at all
    missing: str = ""  # a variable that its entry names and that is not set

    @property
    def shown(self) -> str:
        """Return what sentences call it."""
        return self.place.origin


def read_server(ca_file: str, number: int = SERVER_FD) -> Server:
    """Return the described server. The file stays for the next worker."""
    text = os.pread(number, os.fstat(number).st_size, 0)
    os.close(number)
    description = json.loads(text)
    place = parse_place(description["url"])
    headers = tuple((name, value) for name, value in description["headers"])
    context, flaw = None, ""
    path = ca_file or find_certificates()
    if place.scheme == "https":
        try:
            context = make_context(path)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror or type(error).__name__
            flaw = (
                f"is not asked: its certificate is judged by {path}, which "
                f"cannot be read as PEM ({reason}); see fetch/ca_file"
            )
    secrets = find_secrets(place.target, (value for _, value in headers))
    return Server(
        description["name"],
        place,
        headers,
        secrets,
        context,
        flaw,
        description.get("missing", ""),
    )
