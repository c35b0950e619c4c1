"""Addresses of hosts, and those where no download leads.

The owner of a name can let it lead to this machine, or to a host that only this
machine can reach. So the address that a name leads to is judged, too.
"""

from __future__ import annotations

import ipaddress
from typing import Optional, Union

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
# Where clouds answer the machines that run in them, often with their keys:
# Amazon, Google, Alibaba, Oracle, Azure, Scaleway. Others are link-local.
_METADATA = tuple(
    ipaddress.ip_network(text)
    for text in (
        "fd00:ec2::/32",
        "fd20:ce::254/128",
        "100.100.100.200/32",
        "192.0.0.192/32",
        "168.63.129.16/32",
        "fd00:42::42/128",
    )
)
# Teredo, and NAT64 of a local prefix: what is embedded where is unknown.
_NETWORKS_6 = tuple(
    ipaddress.IPv6Network(text) for text in ("2001::/32", "64:ff9b:1::/48")
)


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
        any(
            network.version == address.version and address in network
            for network in _METADATA
        )
        or address.is_loopback
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
