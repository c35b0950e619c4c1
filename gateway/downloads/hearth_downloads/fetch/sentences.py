"""Makes one sentence of why a file could not be fetched.

The client's report comes out of the sandbox, so it says no more than which
sentence it is. The proxy's reports, which no program can write, come first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from hearth_downloads.core.addresses import is_forbidden, parse_address
from hearth_downloads.core.faults import (
    Failed,
    Fault,
    Refused,
    Unreachable,
    clean,
)
from hearth_downloads.core.proxy import Report
from hearth_downloads.fetch.about import TOTAL_MAX
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.places import Places, explain, say_list
from hearth_downloads.fetch.url import (
    REDIRECTS_MAX,
    URL_MAX,
    Url,
    show_url,
    split_place,
)

CA_SETTING = "fetch/ca_file"  # of all profiles
REASON_MAX = 300
TRAFFIC_FACTOR = 4  # of max_bytes: all that comes for one file
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def say_size(size: int) -> str:
    """Return a number of bytes for people."""
    value, unit = float(size), 0
    while value >= 1024 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{size} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def too_large(job: Job, size: int = -1, noun: str = "file") -> Refused:
    """Return the fault of a file that is too large; -1: it is not known."""
    most = f"{job.setting('max_bytes')} permits ({say_size(job.max_bytes)})"
    if size <= job.max_bytes:
        return Refused(f"the {noun} has more than {most}")
    return Refused(f"the {noun} has {say_size(size)}, more than {most}")


def too_slow(job: Job, url: Url, received: int) -> Unreachable:
    """Return the fault of a server that sends too little."""
    time = f"{job.silence:g} seconds"
    if received == 0:
        return Unreachable(f"{url.shown} sent nothing for {time}")
    return Unreachable(
        f"{url.shown} sent {say_size(received)} in {time}, and a server has to "
        f"send at least {say_size(job.rate)} a second"
    )


def wrong_hash(url: Url, wanted: str, found: str) -> Refused:
    """Return the fault of a file that is not the one that was asked for."""
    return Refused(
        f"{url.shown} is not the file that was asked for: its SHA-256 is "
        f"{found}, and it was to be {wanted}"
    )


def no_authorities(path: str = "", reason: str = "") -> str:
    """Return why no server with https can be known; "": there is no file."""
    if not path:
        return (
            "this machine has no file of certificates to know a server "
            f"with https by: name one in {CA_SETTING}"
        )
    return (
        f"{CA_SETTING} names {path}, which has no certificates that can be "
        f"read ({reason}): it has to be a file in PEM"
    )


class NoRoom(Failed):
    """A disk that is full; removing other files may help."""


def no_room(job: Job, reason: str, noun: str = "file") -> NoRoom:
    """Return the fault of a folder that takes no more."""
    return NoRoom(
        f"{job.work} took no more of the {noun} ({reason}): make room on its "
        f"disk, or ask for a smaller {noun}"
    )


@dataclass(frozen=True)
class Case:
    """The facts that explain a failure."""

    job: Job
    places: Places
    url: Url
    reports: list[Report]
    authorities: str  # why no server with https can be known
    noun: str = "file"
    factor: int = TRAFFIC_FACTOR
    leads: str = "redirects to"  # how the URL names another place

    def explain(self, fault: Any) -> Fault:
        """Return the fault for the client's report."""
        for report in self.reports:
            if report.kind in ("limit", "host", "address"):
                return self._explain_refusal(report)
        kind, said, reason, size = read_fault(fault)
        url = said or self.url.shown
        return (
            self._explain_proxy(kind, reason)
            or self._explain_limit(kind, url, reason, size)
            or self._explain_server(kind, url, reason, size)
        )

    def _explain_limit(
        self, kind: str, url: str, reason: str, size: int
    ) -> Optional[Fault]:
        if kind == "large":
            return too_large(self.job, size, self.noun)
        if kind == "disk":
            return no_room(self.job, reason, self.noun)
        if kind in _REDIRECTS:
            return Refused(_REDIRECTS[kind].format(url=url, reason=reason))
        if kind == "authorities":
            return Failed(self.authorities)
        return None

    def _explain_server(
        self, kind: str, url: str, reason: str, size: int
    ) -> Fault:
        form = _FAILURES.get(kind)
        if form is None:
            return Failed("the client's report cannot be read")
        got = f" after {say_size(size)}" if size > 0 else ""
        return Unreachable(
            form.format(url=url, reason=reason, got=got, setting=CA_SETTING)
        )

    def _explain_refusal(self, report: Report) -> Fault:
        job = self.job
        if report.kind == "limit":
            return Refused(
                f"more than {self.factor} times as much has come for this "
                f"{self.noun} as {job.setting('max_bytes')} permits "
                f"({say_size(job.max_bytes)}): its server ends and begins again"
            )
        host, port = split_place(report.place)
        if report.kind == "host":
            shown = host if port == 443 and ":" not in host else report.place
            why = explain(job, self.places, host, port)
            if (host, port) == (self.url.host, self.url.port):
                return Refused(f"{shown} is not permitted here: {why}")
            return Refused(
                f"{self.url.shown} {self.leads} {shown}, which is not "
                f"permitted here: {why}"
            )
        return self._explain_address(host, report.reason)

    def _explain_address(self, host: str, address: str) -> Fault:
        job = self.job
        found = parse_address(address)
        if found is None or is_forbidden(found):
            return Refused(
                f"{host} was not asked: its address {address} is one of this "
                "machine, its link or its cloud, where no name may lead; a "
                f"place there is named by its address in {job.setting('allow')}"
            )
        own = f"; {job.own_rule('deny')}" * bool(job.own_deny)
        return Refused(
            f"{host} was not asked: its address {address} is a private or a "
            f"denied one; {job.setting('private')} permits "
            f"{say_list(job.private)}, and {job.setting('deny')} denies "
            f"{say_list(job.deny)}{own}"
        )

    def _explain_proxy(self, kind: str, reason: str) -> Optional[Fault]:
        """Return what the proxy says, where the client has met it alone."""
        has_met = kind in ("tunnel", "broken") or reason[:3] in ("502", "403")
        for report in reversed(self.reports) if has_met else ():
            form = _PROXY.get(report.kind)
            if form:
                return Unreachable(
                    form.format(place=report.place, reason=report.reason)
                )
        return None


_REDIRECTS = {
    "redirects": "{url} redirects more than "
    f"{REDIRECTS_MAX} times, which is the most",
    "nowhere": "{url} redirects to nowhere: its answer has no Location, where "
    "the URL would be",
    "long": "{url} redirects to a URL with more than "
    f"{URL_MAX} bytes, which is the most",
    "location": "{url} redirects to {reason}, which is no URL with https or "
    "http and a host",
    "downgrade": "{url} redirects to {reason}: what began with https does not "
    "go on without; ask for that URL itself",
}
_FAILURES = {
    "status": "{url} answered {reason}",
    "head": "{url} sent no answer that can be read: {reason}",
    "broken": "{url} broke off{got}, each time that it was asked: {reason}",
    "certificate": "{url} has a certificate that is not trusted here "
    "({reason}): {setting} names the authorities",
    "tunnel": "{url} cannot be reached",
}
_PROXY = {
    "dial": "{place} cannot be reached: {reason}",
    "silent": "{place} has stopped answering",
    "head": "{place} sent no answer that can be read: {reason}",
}


def read_fault(fault: Any) -> tuple[str, str, str, int]:
    """Return kind, URL, reason and size of a report, made harmless."""
    if not isinstance(fault, dict):
        return "", "", "", -1
    kind, url, reason = (
        clean(value, REASON_MAX) if isinstance(value, str) else ""
        for value in map(fault.get, ("kind", "url", "reason"))
    )
    size = fault.get("size")
    if type(size) is not int or not -1 <= size <= TOTAL_MAX:
        size = -1
    if kind in _REDIRECTS:
        reason = show_url(reason)
    return kind, show_url(url), reason, size
