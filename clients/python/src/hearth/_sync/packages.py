# Made by generate.py from _async/packages.py; change that instead.
"""Packages that a session is given while it runs."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from hearth._answers import json_of, sentence_of
from hearth._sync.link import SessionLink
from hearth.errors import IndexUnreachable, PackagesRefused
from hearth.values import Package, PackagesChanged, packages_changed

_JOB_SECONDS = 600.0  # that the gateway gives a job, and one before it


class Packages:
    """Session.packages. The gateway fetches and unpacks them: the session
    needs no network, and its next run can import what was added.

    Every method raises what any request of the session raises; those that
    change something raise PackagesRefused and IndexUnreachable, and have
    changed nothing then.
    """

    def __init__(self, session: SessionLink) -> None:
        self._session = session
        self._path = f"/hearth/sessions/{session.id}/packages"

    def add(self, *requirements: str) -> PackagesChanged:
        """Add packages, as `humanize` or `humanize>=4`, and those that they
        need. What is there already stays as it is."""
        return self._change(
            "POST", self._path, json={"packages": list(requirements)}
        )

    def remove(self, name: str) -> PackagesChanged:
        """Remove a package, and those that only it needed."""
        return self._change(
            "DELETE", f"{self._path}/{quote(name, safe='')}"
        )

    def list(self) -> tuple[Package, ...]:
        """List the packages that were added, by name."""
        response = self._session.ask("GET", self._path)
        return packages_changed(json_of(response)).packages

    def _change(
        self, method: str, path: str, **options: Any
    ) -> PackagesChanged:
        response = self._session.transport.send(
            method, path, is_safe=True, seconds=2 * _JOB_SECONDS, **options
        )
        if response.status_code == 200:
            return packages_changed(json_of(response))
        if _is_refusal(response):
            raise PackagesRefused(sentence_of(response))
        if response.status_code == 502:
            raise IndexUnreachable(sentence_of(response))
        raise self._session.error_of(response)


def _is_refusal(response: httpx.Response) -> bool:
    """Return whether it is about the packages, not about the token."""
    return response.status_code == 409 or (
        response.status_code == 403
        and "WWW-Authenticate" not in response.headers
    )
