"""The process for one job of fetch (core.worker)."""

from __future__ import annotations

from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.worker import Worker
from hearth_downloads.fetch.job import OPERATIONS, Job


def _do(job: Job, gateway: Gateway) -> None:
    # After the limits of a job, because it imports all the rest.
    from hearth_downloads.fetch.transfer import do

    do(job, gateway)


def main() -> None:
    """Be the worker."""
    Worker("Fetch", Job, OPERATIONS, _do).main()
