"""Ends a server that sends too little, by what the proxy has got."""

from __future__ import annotations

import time

from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.sentences import too_slow
from hearth_downloads.fetch.url import Url


class Pace:
    """Counts what has come in each time of `silence`."""

    def __init__(self, job: Job, url: Url) -> None:
        self.job = job
        self.url = url
        self.began_at = time.monotonic()
        self.began_with = 0

    def look(self, received: int) -> None:
        """Refuse a server that is too slow; `received` is of all that came."""
        now = time.monotonic()
        if now < self.began_at + self.job.silence:
            return
        came = received - self.began_with
        if came < self.job.rate * self.job.silence:
            raise too_slow(self.job, self.url, came)
        self.began_at = now
        self.began_with += came
