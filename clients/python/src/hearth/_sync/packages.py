# Made by generate.py from _async/packages.py; change that instead.
"""Packages that a session is given while it runs."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import quote

from hearth._answers import json_of
from hearth._sync.link import SessionLink
from hearth._background import sync_sleep
from hearth.errors import (
    GatewayBusy,
    GatewayError,
    GatewayUnreachable,
    HearthError,
    IndexUnreachable,
    PackagesRefused,
)
from hearth.values import Package, PackagesChanged, packages_changed

_JOB_SECONDS = 600.0  # that the gateway gives a job, and one before it
_PAUSE = 0.5  # seconds before a removal is repeated
_MEANINGS: dict[int, type[HearthError]] = {
    403: PackagesRefused,
    409: PackagesRefused,
    502: IndexUnreachable,
}


class Packages:
    """Session.packages. The gateway fetches and unpacks them: the session
    needs no network, and its next run can import what was added.

    Every method raises what any request of the session raises, and
    PackagesRefused if the session can have no packages. Those that change
    something raise PackagesRefused and IndexUnreachable, and have changed
    nothing then.
    """

    def __init__(self, session: SessionLink) -> None:
        self._session = session
        self._path = f"/hearth/sessions/{session.id}/packages"
        self._retry_seconds = session.transport.retry_seconds

    def add(self, *requirements: str) -> PackagesChanged:
        """Add packages, as `humanize` or `humanize>=4`, and those that they
        need. What is there already stays as it is, also what the first of two
        requests added, if the connection broke before its answer."""
        return self._change(
            "POST",
            self._path,
            is_safe=True,
            json={"packages": list(requirements)},
        )

    def remove(self, name: str) -> PackagesChanged:
        """Remove a package, and those that only it needed.

        The gateway refuses to remove it twice. So where an answer is lost,
        the list says whether the package is still there, and `removed` is what
        the list no longer has."""
        path = f"{self._path}/{quote(name, safe='')}"
        before = self.list()
        until = 0.0
        while True:
            try:
                return self._change("DELETE", path, is_safe=False)
            except (GatewayBusy, GatewayUnreachable, PackagesRefused) as error:
                if not until and not _may_be_done(error):
                    raise
                until = until or time.monotonic() + self._retry_seconds
                after = self._list_after(name)
                if _has(before, name) and not _has(after, name):
                    return _without(before, after)
                is_over = time.monotonic() > until
                if is_over or isinstance(error, PackagesRefused):
                    raise
            sync_sleep(_PAUSE)

    def _list_after(self, name: str) -> tuple[Package, ...]:
        """List the packages after a removal whose answer was lost."""
        try:
            return self.list()
        except GatewayError as error:
            raise GatewayUnreachable(
                f"Whether {name} was removed is unknown: the answer was lost,"
                " and the packages could not be listed.",
                was_sent=True,
            ) from error

    def list(self) -> tuple[Package, ...]:
        """List the packages that were added, by name."""
        response = self._session.ask("GET", self._path)
        return packages_changed(json_of(response)).packages

    def _change(
        self, method: str, path: str, **options: Any
    ) -> PackagesChanged:
        response = self._session.transport.send(
            method, path, seconds=2 * _JOB_SECONDS, **options
        )
        if response.status_code == 200:
            return packages_changed(json_of(response))
        raise self._session.error_of(response, _MEANINGS)


def _may_be_done(error: HearthError) -> bool:
    """Return whether the request may have been done. A gateway that stops
    answers that it is busy, also if the job has begun."""
    return isinstance(error, GatewayBusy) or (
        isinstance(error, GatewayUnreachable) and error.was_sent
    )


def _has(packages: tuple[Package, ...], name: str) -> bool:
    """Return whether a package was asked for and is there: one that another
    needs stays when it is removed."""
    return _common(name) in [
        _common(one.name) for one in packages if one.is_requested
    ]


def _common(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _without(
    before: tuple[Package, ...], after: tuple[Package, ...]
) -> PackagesChanged:
    """Return what a removal has changed."""
    left = [one.name for one in after]
    return PackagesChanged(
        packages=after,
        added=(),
        removed=tuple(
            (one.name, one.version) for one in before if one.name not in left
        ),
        changed=(),
        present=(),
    )
