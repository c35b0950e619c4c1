"""The hosts that uv may reach: the index, and those that files may come from.

A request is judged by its host and port, which the configuration names. Then
the address that the name leads to is judged. The owner of a name can let it
lead to this machine, or to a host that only this machine can reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from hearth_downloads.core.addresses import PORTS, is_forbidden, parse_address
from hearth_downloads.core.faults import Failed


@dataclass(frozen=True)
class Rules:
    """The index and the other hosts, as the configuration has them."""

    scheme: str
    host: str
    port: int
    hosts: tuple[str, ...] = ()
    is_closed: bool = False  # no request goes anywhere

    def permits(self, scheme: str, host: str, port: int) -> bool:
        """Return true if a request may go to that host and port.

        Where the index has https, no request without it is permitted: it
        would let others choose what is received.
        """
        if self.is_closed or (self.scheme == "https" and scheme == "http"):
            return False
        if (scheme, host, port) == (self.scheme, self.host, self.port):
            return True
        return host in self.hosts and port == PORTS[scheme]

    def permits_address(self, host: str, address: str) -> bool:
        """Return true if a connection to that host may go to that address."""
        literal = parse_address(host)
        if literal is not None:
            return host == self.host and parse_address(address) == literal
        found = parse_address(address)
        return found is not None and not is_forbidden(found)

    def describe(self) -> str:
        """Return a list of the hosts for people."""
        return ", ".join([f"{self.host}:{self.port} (the index)", *self.hosts])


def read_rules(
    index: str, hosts: tuple[str, ...], is_closed: bool = False
) -> Rules:
    """Return the rules for an index's URL."""
    try:
        url = urlsplit(index)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    if url.scheme not in PORTS or not host:
        raise Failed("the index is no URL with http or https and a host")
    return Rules(
        url.scheme,
        _plain(host),
        PORTS[url.scheme] if port is None else port,
        tuple(_plain(one) for one in hosts),
        is_closed,
    )


def _plain(host: str) -> str:
    """Return the host as a request has it."""
    host = host.lower()
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        raise Failed(f"{host!r} is not the name of a host") from None
