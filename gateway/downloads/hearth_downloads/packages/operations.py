"""The operations of a job: add, remove, list and profile."""

from __future__ import annotations

from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages.generations import Generations
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.report import encode, report


def do(job: Job, gateway: Gateway) -> bytes:
    """Do the job; return its answer as a datagram."""
    if job.order == "list":
        account = Generations(job.session).read()
        return encode(report(account, account, {}, []))
    # Most of a list's time would be the import of what only a change needs.
    from hearth_downloads.packages.change import change

    return change(job, gateway)
