"""Runs git in its sandbox, and looks at it meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Optional

from hearth_downloads.clone import program
from hearth_downloads.clone.asked import Asked
from hearth_downloads.clone.dotgit import Head, parse_default, parse_head
from hearth_downloads.clone.git import (
    environment,
    find_git,
    visible_folders,
    write_config,
)
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.sentences import Failure
from hearth_downloads.clone.space import Space
from hearth_downloads.clone.tree import NOUN
from hearth_downloads.core.faults import Failed, Fault, clean
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.proxy import Bounds, Proxy, Report
from hearth_downloads.core.sandbox import Program, Result, Sandbox
from hearth_downloads.fetch.places import Places
from hearth_downloads.fetch.sentences import Case
from hearth_downloads.fetch.url import Url, split_place

PROGRESS_SECONDS = 1.0
MEASURE_SECONDS = 0.25
TRAFFIC_FACTOR = 2  # of max_bytes: a pack, and what was sent in vain
SPARE_BYTES = 16 << 20


@dataclass(frozen=True)
class About:
    """Describes the job, as it was judged before anything is asked."""

    job: Job
    url: Url
    places: Places
    ref: str
    depth: int
    authorities: str  # why no server with https can be known


class Run:
    """The program in its sandbox, and the looks at it meanwhile."""

    def __init__(
        self,
        about: About,
        gateway: Gateway,
        space: Space,
        asked: Optional[Asked],
    ) -> None:
        self.about = about
        self.job = about.job
        self.gateway = gateway
        self.space = space
        self.asked = asked
        self.default: Optional[str] = None  # the server's, if it was asked
        self.is_away = False  # it cannot be reached, and the mirror is used
        self.git = find_git()
        self.reported_at = time.monotonic()
        self.measured_at = 0.0
        self.proxy: Optional[Proxy] = None

    def run(self) -> Head:
        """Return what was checked out."""
        job, about = self.job, self.about
        job.check_user()
        request = program.Request(
            self.git,
            environment(),
            {n: write_config(job, about.url.text, n) for n in (40, 64)},
            about.ref,
            about.depth,
            job.lfs,
            job.submodules,
            self.asked,
        )
        sandbox = Sandbox(job, self.space.path, visible_folders())
        most = TRAFFIC_FACTOR * job.bytes_left + SPARE_BYTES
        bounds = Bounds(most, job.silence, takes_posts=True)
        self.proxy = Proxy(about.places, bounds, job.uid, job.gid)
        try:
            step = Program(
                lambda: program.run(request),
                self.proxy.attach,
                self._look,
                self.space.take_back,
            )
            result = sandbox.run(self.gateway, step)
            return self._read(self.proxy, result)
        finally:
            self.proxy.close()

    def _look(self) -> None:
        """Report how much has come; end what is too much."""
        now = time.monotonic()
        if now >= self.measured_at:
            self.space.check_size()
            spent = time.monotonic() - now
            self.measured_at = now + max(MEASURE_SECONDS, 10 * spent)
        if self.proxy and now >= self.reported_at + PROGRESS_SECONDS:
            self.reported_at = now
            self.gateway.report_bytes(self.proxy.received(), -1)

    def _read(self, proxy: Proxy, result: Result) -> Head:
        """Return what the program reports; raise what it could not do."""
        self.space.check_size()
        report = self.space.read_report()
        if report is None:
            said = clean(result.output[-500:])
            raise Failed(f"git has ended without a report: {said or 'no word'}")
        reports = proxy.reports()
        if "fault" in report:
            raise self._explain(proxy, reports, report["fault"])
        self.default = parse_default(report.get("asked"))
        if "away" in report:
            self.is_away = self._is_away(proxy, reports)
            if not self.is_away:
                raise self._explain(proxy, reports, report["away"])
        return parse_head(report.get("ok"))

    def _is_away(self, proxy: Proxy, reports: list[Report]) -> bool:
        """Return true if no connection to the server could be made.

        The proxy knows it. What git says may quote a server that refuses.
        """
        url = self.about.url
        return (
            bool(reports)
            and proxy.received() == 0
            and all(
                one.kind == "dial"
                and split_place(one.place) == (url.host, url.port)
                for one in reports
            )
        )

    def _explain(
        self, proxy: Proxy, reports: list[Report], fault: object
    ) -> Fault:
        found = fault if isinstance(fault, dict) else {}
        kind, said = (
            value if isinstance(value, str) else ""
            for value in map(found.get, ("kind", "said"))
        )
        about = self.about
        case = Case(
            self.job,
            about.places,
            about.url,
            reports,
            about.authorities,
            NOUN,
            TRAFFIC_FACTOR,
        )
        received = proxy.received()
        return Failure(case, kind, said, received, self.job).explain()
