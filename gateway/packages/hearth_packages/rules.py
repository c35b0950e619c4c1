"""The hosts that uv may reach: the index, and those that files may come from.

A request is judged by its host and port, which the configuration names. Then
the address that the name leads to is judged. The owner of a name can let it
lead to this machine, or to a host that only this machine can reach.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Optional, Union
from urllib.parse import urlsplit

from hearth_packages.faults import Failed

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
PORTS = {"http": 80, "https": 443}
_NETWORKS_4 = tuple(
    ipaddress.IPv4Network(text) for text in ("0.0.0.0/8", "240.0.0.0/4")
)
# Networks whose last 32 bits are an IPv4 address: compatible, mapped, two of
# NAT64.
_EMBEDDING = tuple(
    ipaddress.IPv6Network(text)
    for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
# Teredo, and NAT64 of a local prefix: what is embedded where is unknown.
_NETWORKS_6 = tuple(
    ipaddress.IPv6Network(text) for text in ("2001::/32", "64:ff9b:1::/48")
)


@dataclass(frozen=True)
class Rules:
    """The index and the other hosts, as the configuration has them."""

    scheme: str
    host: str
    port: int
    hosts: tuple[str, ...] = ()

    def permits(self, scheme: str, host: str, port: int) -> bool:
        """Return true if a request may go to that host and port.

        Where the index has https, no request without it is permitted: it
        would let others choose what is received.
        """
        if self.scheme == "https" and scheme == "http":
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


def read_rules(index: str, hosts: tuple[str, ...]) -> Rules:
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


def parse_address(text: str) -> Optional[Address]:
    """Return the address, None if it is a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_forbidden(address: Address) -> bool:
    """Return true if no name may lead there."""
    if isinstance(address, ipaddress.IPv4Address):
        if any(address in network for network in _NETWORKS_4):
            return True
    elif any(address in network for network in _NETWORKS_6):
        return True
    else:
        inner = embedded(address)
        if inner is not None and is_forbidden(inner):
            return True
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_unspecified
        or address.is_multicast
    )


def embedded(address: ipaddress.IPv6Address) -> Optional[ipaddress.IPv4Address]:
    """Return the IPv4 address in an IPv6 address, None if there is none."""
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if any(address in network for network in _EMBEDDING):
        return last
    if address.sixtofour is not None:
        return address.sixtofour
    if (number >> 32) & 0xFDFFFFFF == 0x00005EFE:  # ISATAP
        return last
    return None
