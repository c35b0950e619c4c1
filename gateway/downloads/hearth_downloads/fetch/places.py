"""The places that a session may fetch from, and the addresses of names.

A request is judged by its host and port, which the operator's lists name. Then
the address that a name leads to is judged, where it is dialled.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Optional, Union

from hearth_downloads.core.addresses import (
    PORTS,
    Address,
    embedded,
    is_forbidden,
    parse_address,
)
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.url import Url, is_name, split_place

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
SHOWN = 8  # places of a list in a sentence
# All that is or will be given to hosts of the whole Internet.
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")


@dataclass(frozen=True)
class Place:
    """An entry of a list: HOST, *.HOST or *, and perhaps a port."""

    text: str  # as the list has it
    host: str  # a name or an address; "" for *
    is_below: bool  # the names below the host, and not the host
    port: Optional[int]

    def has(self, host: str) -> bool:
        """Return true if it has that host, at some port."""
        if not self.host:
            return is_name(host)
        if self.is_below:
            return is_name(host) and host.endswith(f".{self.host}")
        return host == self.host

    def permits(self, scheme: str, host: str, port: int) -> bool:
        """Return true if the place is one that may be asked."""
        if self.port is None:
            return (
                scheme == "https" and port == PORTS[scheme] and self.has(host)
            )
        return port == self.port and self.has(host)

    def denies(self, host: str, port: int) -> bool:
        """Return true if the place is one that may not be asked."""
        has = not self.host or self.has(host)
        return has and self.port in (None, port)


def parse_place(text: str, setting: str) -> Place:
    """Return the place; Failed names the setting."""
    star, _, port = text.partition(":")
    if star == "*":
        host, number = "", -1
        if port or text != "*":
            host, number = split_place(f"x:{port}")
            host = "" if host else "?"
        is_below = False
    else:
        is_below = text.startswith("*.")
        host, number = split_place(text[2:] if is_below else text)
        if not host or (is_below and parse_address(host) is not None):
            host = "?"
    if host == "?":
        raise Failed(
            f"{setting} has {text!r}, which is no place: write data.example, "
            "*.data.example, *, 192.0.2.1 or [2001:db8::1], and a port after a "
            "colon if it is not that of https"
        )
    return Place(text, host, is_below, None if number < 0 else number)


@dataclass(frozen=True)
class Places:
    """The lists of profile and session; the rules that the proxy keeps to."""

    allow: tuple[Place, ...]
    deny: tuple[Place, ...]
    private: tuple[Network, ...]
    needs_https: bool  # nothing that began with https goes on without
    own_allow: tuple[Place, ...] = ()  # empty: all that the profile permits
    own_deny: tuple[Place, ...] = ()

    def permits(self, scheme: str, host: str, port: int) -> bool:
        """Return true if a request may go to that host and port."""
        if self.needs_https and scheme != "https":
            return False
        host = _plain(host)
        return self.find_denying(host, port) is None and all(
            any(place.permits(scheme, host, port) for place in allow)
            for allow in (self.allow, self.own_allow or self.allow)
        )

    def find_denying(self, host: str, port: int) -> Optional[Place]:
        """Return the entry that forbids it."""
        for place in self.deny + self.own_deny:
            if place.denies(host, port):
                return place
        return None

    def permits_address(self, host: str, address: str) -> bool:
        """Return true if a connection to that host may go to that address."""
        found, literal = parse_address(address), parse_address(host)
        if found is None or literal is not None:
            # A listed literal may be dialled, whatever it is.
            return found is not None and found == literal
        inner = _inner(found)
        if is_forbidden(found):  # also what it embeds
            return False
        if any(_is_in(one, self._denied()) for one in (found, inner)):
            return False
        return is_public(found) or _is_in(inner, self.private)

    def _denied(self) -> tuple[Network, ...]:
        """Return the addresses that are denied, whatever the port."""
        denied = self.deny + self.own_deny
        found = (parse_address(place.host) for place in denied)
        return tuple(ipaddress.ip_network(one) for one in found if one)


def _plain(host: str) -> str:
    """Return a request's host as the lists have it."""
    address = parse_address(host)
    if address is not None:
        return str(address)
    host = host.lower()
    return host[:-1] if host.endswith(".") else host


def _inner(address: Address) -> Address:
    """Return the IPv4 address that is embedded, or the address itself."""
    if isinstance(address, ipaddress.IPv6Address):
        return embedded(address) or address
    return address


def _is_in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(
        address.version == network.version and address in network
        for network in networks
    )


def is_public(address: Address) -> bool:
    """Return true if every host of the Internet can reach it."""
    inner = _inner(address)
    if isinstance(inner, ipaddress.IPv6Address) and inner not in _GLOBAL_6:
        return False
    return inner.is_global


def read_places(job: Job, url: Url) -> Places:
    """Return the lists of a job."""
    private = []
    for text in job.private:
        try:
            private.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise Failed(
                f"{job.setting('private')} has {text!r}, which is no network: "
                "write one as 10.0.0.0/8"
            ) from None
    return Places(
        tuple(parse_place(one, job.setting("allow")) for one in job.allow),
        tuple(parse_place(one, job.setting("deny")) for one in job.deny),
        tuple(private),
        url.scheme == "https",
        tuple(parse_place(one, job.own_rule("allow")) for one in job.own_allow),
        tuple(parse_place(one, job.own_rule("deny")) for one in job.own_deny),
    )


def check_url(job: Job, places: Places, url: Url) -> None:
    """Refuse a URL that the lists do not permit."""
    if not places.permits(url.scheme, url.host, url.port):
        place = url.place if url.scheme == "https" else f"http://{url.place}"
        why = explain(job, places, url.host, url.port)
        raise Refused(f"{place} is not permitted here: {why}")


def explain(job: Job, places: Places, host: str, port: int) -> str:
    """Return which list does not permit a host and port."""
    host = _plain(host)
    denying = places.find_denying(host, port)
    if denying is not None and denying not in places.deny:
        return job.own_rule("deny")
    if denying is not None:
        return f"{job.setting('deny')} names {denying.text}"
    if job.own_allow and any(
        place.permits(scheme, host, port)
        for place in places.allow
        for scheme in PORTS
    ):
        return job.own_rule("allow")
    setting = job.setting("allow")
    text = f"{setting} permits {say_list(job.allow)}"
    if any(one.port is None and one.has(host) for one in places.allow):
        text += (
            "; a place without a port is https at port 443, and "
            f"HOST:{port} in {setting} would permit this one"
        )
    return text


def say_list(entries: tuple[str, ...]) -> str:
    """Return a list of the configuration for people."""
    if not entries:
        return "nothing"
    shown = ", ".join(entries[:SHOWN])
    rest = len(entries) - SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
