"""The orders of a job: add, remove and list."""

from __future__ import annotations

from hearth_packages.gateway import Gateway, encode
from hearth_packages.generations import Generations
from hearth_packages.job import Job
from hearth_packages.report import report


def do(job: Job, gateway: Gateway) -> bytes:
    """Do the job; return its answer as a datagram."""
    if job.order == "list":
        account = Generations(job.session).read()
        return encode(report(account, account, {}, []))
    # Most of a list's time would be the import of what only a change needs.
    from hearth_packages.change import change

    return change(job, gateway)
