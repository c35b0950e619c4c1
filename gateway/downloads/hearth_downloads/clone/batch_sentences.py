"""Makes one sentence of why contents of Git LFS did not come."""

from __future__ import annotations

from typing import Any

from hearth_downloads.core.faults import Fault, Refused, Unreachable
from hearth_downloads.fetch.sentences import Case, read_fault, say_size

NOUN = "Git LFS content"
LEADS = "has Git LFS contents at"
_CLOSED = ("401", "403", "404")  # as servers answer without a password
_FORMS: dict[str, tuple[type[Fault], str]] = {
    "batch": (
        Unreachable,
        "{url} sent no answer about Git LFS that can be read: {reason}",
    ),
    "objects": (
        Unreachable,
        "{url} has not {size} of the Git LFS contents that the pointers name: "
        "{reason}",
    ),
    "href": (
        Refused,
        f"{{url}} {LEADS} {{reason}}, which is no URL with {{schemes}} and a "
        "host",
    ),
    "large": (
        Refused,
        "{url} has another content than a Git LFS pointer names: it is larger"
        "{came}",
    ),
    "closed": (
        Unreachable,
        "{url} answered {reason}: it gives no Git LFS contents of this "
        "repository without a user and a password",
    ),
}


def explain(case: Case, fault: Any) -> Fault:
    """Return the fault for the client's report; the proxy's come first."""
    kind, said, reason, size = read_fault(fault)
    if kind == "status" and reason[:3] in _CLOSED:
        kind = "closed"
    walls = ("limit", "host", "address")
    if kind not in _FORMS or any(one.kind in walls for one in case.reports):
        return case.explain(fault)
    make, form = _FORMS[kind]
    return make(
        form.format(
            url=said or case.url.shown,
            reason=reason,
            size=size,
            came=f", with {say_size(size)}" if size >= 0 else "",
            schemes="https" if case.places.needs_https else "http or https",
        )
    )
