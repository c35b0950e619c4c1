"""The process for one job with packages (core.worker)."""

from __future__ import annotations

from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.worker import Worker
from hearth_downloads.packages.job import OPERATIONS, Job


def _do(job: Job, gateway: Gateway) -> None:
    # After the limits of a job, because it imports all the rest.
    from hearth_downloads.packages.operations import do

    gateway.answer(do(job, gateway))


def main() -> None:
    """Be the worker."""
    Worker("Packages", Job, OPERATIONS, _do).main()
