"""Makes one sentence of why a repository could not be copied.

The words of git come out of the sandbox and quote the server. So they choose a
sentence, and give at most a short reason. The proxy's reports come first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Optional

from hearth_downloads.clone.job import Job
from hearth_downloads.clone.tree import NOUN, too_large
from hearth_downloads.core.faults import (
    Failed,
    Fault,
    Refused,
    Unreachable,
    clean,
)
from hearth_downloads.core.proxy import Report
from hearth_downloads.fetch.sentences import (
    CA_SETTING,
    Case,
    no_room,
)
from hearth_downloads.fetch.url import show_url, split_place

REASON_MAX = 200
_LINE = re.compile(r"^(?:fatal|error): *(.*)$", re.MULTILINE)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"]*", re.IGNORECASE)
_ACCESS = re.compile(r"^unable to access '[^']*': *")

# Words of git, curl and its libraries for TLS; the first that fits counts.
_SERVER = (
    (
        "certificate verif|certificate problem|alternative certificate|"
        "certificate subject|certificate is not yet|certificate.*expired|"
        "certificate.*does not match|CERTIFICATE_VERIFY_FAILED",
        "{url} has a certificate that is not trusted here ({reason}): "
        f"{CA_SETTING} names the authorities",
    ),
    (
        "could not read (Username|Password)|Authentication failed|"
        "returned error: 40[13]",
        "{url} wants a user and a password, which hearth cannot give; many "
        "servers answer so, too, where they have no repository",
    ),
    (
        "not valid: is this a git repository|repository .* not found|"
        "returned error: 404|info/refs not found|not a git repository|"
        "invalid server response|not valid: could not determine hash",
        "{url} has no git repository that can be read: {reason}",
    ),
    (
        "Maximum \\([0-9]+\\) redirects",
        "{url} redirects too often: {reason}",
    ),
    (
        "not supported or disabled in libcurl|not allowed to be followed|"
        "redirected to|Unsupported protocol|transport .* not allowed",
        "{url} redirects to where no repository is got from: {reason}",
    ),
    (
        "does not support shallow|no shallow|dumb http",
        "{url} speaks git's old protocol alone, which has no depth",
    ),
    ("returned error: [0-9]+", "{url} failed: {reason}"),
    (
        # No mirror is the reason that a connection breaks off.
        "Recv failure|Send failure|Empty reply from server|"
        "Connection reset by peer|connection was non-properly terminated|"
        "SSL_ERROR_SYSCALL",
        "{url} sent no repository that git can read: {reason}",
    ),
    (
        "Operation too slow",
        "{url} sent nothing for {silence:g} seconds",
    ),
)
_REFUSED = (
    (
        "fsck error|contains '\\.git'|bad config|is malicious|"
        "(?:^|\\W)object [0-9a-f]{40,64}: ",
        "{url} has an object that git refuses: {reason}",
    ),
    (
        "invalid path|unable to create file|cannot create directory|"
        "File name too long|unable to checkout working tree",
        "{url} has a file that cannot be written: {reason}",
    ),
    (
        "[Oo]ut of memory|malloc|Cannot allocate",
        "git needed too much memory for {url}: ask for a depth",
    ),
    (
        "died of signal (9|24)",  # SIGKILL, SIGXCPU
        "git needed too much time for {url}: ask for a depth",
    ),
)


_TOO_LARGE = "File too large|died of signal 25"  # SIGXFSZ


class Unclear(Unreachable):
    """A failure for which a mirror that was spoilt may be the reason."""


@dataclass(frozen=True)
class Failure:
    """A failure of the program, and what is known of it."""

    case: Case
    kind: str  # of the step, as program.py reports it
    said: str
    received: int  # bytes, as the proxy has counted them
    job: Job

    def explain(self) -> Fault:
        """Return the fault."""
        for report in self.case.reports:
            if report.kind in ("limit", "host", "address"):
                return self._explain_downgrade(report) or self.case.explain({})
        return (
            self._explain_content()
            or self._explain_disk()
            or self._find(_REFUSED, Refused)
            or self._explain_proxy()
            or self._explain_said()
        )

    def _explain_downgrade(self, report: Report) -> Optional[Fault]:
        """Return that a redirect leads from https to http, if one does."""
        case = self.case
        host, port = split_place(report.place)
        open_places = replace(case.places, needs_https=False)
        is_it = case.places.needs_https and report.kind == "host"
        if not is_it or not open_places.permits("http", host, port):
            return None
        return Refused(
            f"{case.url.shown} redirects to http://{report.place}: what began "
            "with https does not go on without; ask for that URL itself"
        )

    def _explain_content(self) -> Optional[Fault]:
        """Return what the repository has not."""
        url = self.case.url.shown
        found = {
            "empty": f"{url} has no commit: it is an empty repository, or none",
            "old": f"{url} speaks git's old protocol alone, which is not taken",
            "head": f"{url} has no branch of its own that it names: name a "
            "branch, a tag or a commit",
            "ref": f"{url} has no branch and no tag {self.job.ref!r}: write "
            "the bare name, or all digits of a commit's hash",
            "commit": f"{url} has no commit {self.job.ref!r} that it gives out",
        }.get(self.kind)
        if self._has("not our ref|unadvertised object"):
            found = f"{url} has no commit {self.job.ref!r} that it gives out"
        return Refused(found) if found else None

    def _explain_disk(self) -> Optional[Fault]:
        job = self.job
        if self.received > job.max_bytes or self._has(_TOO_LARGE):
            return too_large(job)
        if self._has("No space left on device"):
            return no_room(job, "No space left on device", NOUN)
        if self._has("Disk quota exceeded"):
            return no_room(job, "Disk quota exceeded", NOUN)
        return None

    def _explain_proxy(self) -> Optional[Fault]:
        if self._has("certificate"):
            return None  # the client ends such a connection
        if self.kind not in ("ask", "get"):
            return None
        fault = self.case.explain({"kind": "broken", "reason": ""})
        return fault if self._has_report() else None

    def _has_report(self) -> bool:
        kinds = ("dial", "silent", "head")
        return any(one.kind in kinds for one in self.case.reports)

    def _explain_said(self) -> Fault:
        case = self.case
        if case.authorities and self._has("certificate"):
            return Failed(case.authorities)
        found = self._find(_SERVER, Unreachable)
        if found:
            return found
        if self.kind in ("ask", "get"):
            return Unclear(
                self._fill(
                    "{url} sent no repository that git can read: {reason}"
                )
            )
        return Failed(self._fill("git failed with {url}: {reason}"))

    def _find(
        self, table: tuple[tuple[str, str], ...], kind: type[Fault]
    ) -> Optional[Fault]:
        """Return the fault of the first words that git says."""
        for pattern, form in table:
            if self._has(pattern):
                return kind(self._fill(form))
        return None

    def _has(self, pattern: str) -> bool:
        return re.search(pattern, self.said) is not None

    def _fill(self, form: str) -> str:
        return form.format(
            url=self.case.url.shown,
            reason=self._reason() or "no word",
            silence=self.case.job.silence,
        )

    def _reason(self) -> str:
        """Return git's first sentence, without what may be a secret."""
        found = _LINE.search(self.said)
        line = _ACCESS.sub("", found[1] if found else self.said[-REASON_MAX:])
        shown = _URL.sub(lambda url: show_url(url[0]), line)
        return clean(shown, REASON_MAX)
