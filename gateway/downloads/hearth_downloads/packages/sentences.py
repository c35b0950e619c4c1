"""Makes one sentence of why uv has failed.

The sentence is for a model or a person who has asked for packages, and cannot
see the index. It says what to do next where that is known.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Optional

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import (
    Conflict,
    Failed,
    Fault,
    Refused,
    Unreachable,
    clean,
)
from hearth_downloads.core.proxy import Report
from hearth_downloads.packages.growth import too_many_bytes
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.rules import Rules

_YOUNG = re.compile(
    r"`([^`\s]+)` was filtered by `exclude-newer` to only include packages "
    r"uploaded before \S+ The (?:latest version satisfying the requirement is|"
    r"requested version,) v(\S+?)(?:,(?: was)? published at (\S+?))?\. "
)
_YOUNG_PIN = re.compile(
    r"(?<!\S)([^\s`]+)==(\S+) was published after the exclude newer time"
)
_NO_TIME = re.compile(r"is missing an upload date")
_NOT_FOUND = re.compile(r"Because (\S+) was not found in the package registry")
_NOT_CACHED = re.compile(
    r"(?:Because|and|,) ([^\s`]+) was not found in the cache|"
    r"(?:Because|and|,) ([^\s`]+) needs to be downloaded from a registry|"
    r"Failed to download `([^`]+)`.*? wasn't found in the cache"
)
_NO_VERSIONS = re.compile(r"there are no versions of ([^\s\[]+)")
_NO_WHEEL = re.compile(r"Wheels are required for `([^`\s]+)`")
_OWN_HINT = re.compile(r"`exclude-newer`|Wheels are required for")
_STATUS = re.compile(r"HTTP status (?:client|server) error \(([^)]*)\)")
_DENIED = re.compile(r"(403 Forbidden|401 Unauthorized)")
_PLACE = re.compile(r"for url \(https?://(?:[^@/)]*@)?([^:/)\s]+)")
_HASH = re.compile(
    r"Hash mismatch for `([^`]+)`"
    r"(?: Expected:((?: sha256:[0-9a-f]{64})+)"
    r" Computed: sha256:([0-9a-f]{64}))?"
)
_YANKED = re.compile(
    r"(?<!\S)(\S+?)==(\S+) was yanked(?: \(reason: (.*?)\))?"
    r"(?=[,.]| and | or |$)"
)
_YANKED_PIN = re.compile(
    r"warning: `(\S+?)==(\S+?)` is yanked(?: \(reason: (.*)\))?"
)
_NO_PAGE = re.compile(
    r"Received some unexpected JSON from `\S*?([^/`\s]*)/?`(?: cause: (.*))?"
)
_OTHER_PAGE = re.compile(
    r"Unsupported `Content-Type` (\S+) for `\S*?([^/`\s]*)/?`"
)
_LOCAL_FILE = re.compile(r"failed to open file `([^`]*)`")
_TAIL = re.compile(
    r",? we can conclude that your requirements are unsatisfiable\.?"
)
_WRONG_FILE = (
    "Failed to extract archive",
    "The wheel is invalid",
    "does not match given name",
)
_CUT = "end of file before message length reached"
_FETCH = ("Request failed", "Failed to fetch", "error sending request")
_UNSATISFIABLE = "your requirements are unsatisfiable"
_SOLUTION = ("No solution found", "Failed to resolve", _UNSATISFIABLE)
REASON_MAX = 600
_UNITS = {"day": 86400, "hour": 3600, "minute": 60}
OUTPUT_MAX = 64 * 1024
_REFUSALS = ("limit", "host", "address")
_SKEW = datetime.timedelta(minutes=5)  # of the index's clock and ours
_FAILURES = {
    "dial": "{place} cannot be reached: {reason}",
    "silent": "{place} has stopped answering",
    "head": "{place} does not speak HTTP: {reason}",
}


@dataclass(frozen=True)
class Young:
    """A version that the cooldown keeps back."""

    name: str
    version: str
    published: Optional[datetime.datetime]

    def is_ahead_of(self, now: datetime.datetime) -> bool:
        """Return true if the index gives it a time that is yet to come."""
        return self.published is not None and self.published > now + _SKEW


@dataclass(frozen=True)
class Case:
    """The facts that explain a failure, besides uv's output."""

    job: Job
    rules: Rules
    profile: dict[str, str]  # the versions of the profile's packages
    session: frozenset[str] = frozenset()  # the packages that it has
    asked: frozenset[str] = frozenset()  # the names of this request


def say_duration(seconds: int) -> str:
    """Return a duration in words."""
    for unit, length in _UNITS.items():
        if seconds % length == 0 and seconds:
            return _say_count(seconds // length, unit)
    return f"{seconds} seconds"


def _say_count(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' if count != 1 else ''}"


def say_age(seconds: float) -> str:
    """Return how long ago something was, in its largest unit."""
    for unit, length in _UNITS.items():
        if seconds >= length:
            return _say_count(int(seconds // length), unit)
    return "a moment"


def _say_time(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def find_young(output: str) -> list[Young]:
    """Return what uv has left out because it is too young."""
    text = " ".join(output.split())
    found = []
    for name, version, when in _YOUNG.findall(text):
        published = None
        if when:
            try:
                published = datetime.datetime.fromisoformat(
                    re.sub(r"(\.\d+)?Z?$", "+00:00", when, count=1)
                )
            except ValueError:
                pass
        found.append(Young(clean(name, 100), clean(version, 100), published))
    known = {one.name for one in found}
    # Another reason of uv for the same, which has no time.
    found += [
        Young(clean(name, 100), clean(version, 100), None)
        for name, version in _YOUNG_PIN.findall(text)
        if name not in known
    ]
    return found


def lacks_times(output: str) -> bool:
    """Return true if the index does not say when a file was published."""
    return _NO_TIME.search(output) is not None


def find_yanked(output: str) -> dict[str, str]:
    """Return notes on what uv takes although it was yanked, by the name."""
    return {
        normalise(name): f"{clean(name, 100)} {clean(version, 100)} was yanked"
        f"{_because_of(reason)}"
        for name, version, reason in _YANKED_PIN.findall(output)
    }


def _because_of(reason: str) -> str:
    """Return the end of a sentence with the reason, quoted by uv."""
    text = clean(reason.strip('"'), 300)
    return f": {text}" * bool(text)


def is_missing(output: str) -> bool:
    """Return true if the index does not have a package."""
    return _NOT_FOUND.search(" ".join(output.split())) is not None


def find_empty(output: str) -> list[str]:
    """Return the packages of which the index has no file."""
    names = _NO_VERSIONS.findall(" ".join(output.split()))
    return list(dict.fromkeys(map(normalise, names)))


def names_extra(output: str, name: str) -> bool:
    """Return true if it speaks of that package with an extra."""
    return re.search(rf"(?<!\S){re.escape(name)}\[", output) is not None


def explain_no_times(job: Job) -> Fault:
    """Return the fault of an index that a cooldown cannot be judged by."""
    advice = (
        f"the operator can set {job.setting('cooldown')} to 0, or "
        f"{job.setting('index')} to an index with upload times"
    )
    if "cooldown" in job.own_texts:
        advice = job.own_rule("cooldown")
    return Refused(
        "the index does not say when a version was published, so the cooldown "
        f"of {say_duration(job.cooldown)} permits none: "
        f"{advice}",
        rule="cooldown",
    )


def explain_young(case: Case, young: list[Young], old: dict[str, str]) -> Fault:
    """Return the fault of versions that the cooldown keeps back.

    `old` has the newest version that it permits, by the name.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    job = case.job
    cooldown = (
        f"the cooldown is {say_duration(job.cooldown)} "
        f"({job.setting('cooldown')})"
    )
    head, *rest = [
        said for one in young for said in _say_young(case, one, now, old)
    ]
    return Refused("; ".join([head, cooldown, *rest]), rule="cooldown")


def say_held_back(job: Job, young: Young, taken: str) -> str:
    """Return the note on a version that only the cooldown has kept back."""
    now = datetime.datetime.now(datetime.timezone.utc)
    age = "too young"
    if young.published is not None:
        age = f"{say_age((now - young.published).total_seconds())} old"
        if young.is_ahead_of(now):
            age = "dated in the future"
    return (
        f"{young.name} {young.version} is {age} (cooldown "
        f"{say_duration(job.cooldown)}): {taken} was taken"
    )


def _say_young(
    case: Case, one: Young, now: datetime.datetime, old: dict[str, str]
) -> list[str]:
    """Return what there is to say about one version, its refusal first."""
    length = case.job.cooldown
    what = f'"{one.name}" {one.version} refused: published'
    if one.published is None:
        said = [f"{what} within the last {say_duration(length)}"]
    elif one.is_ahead_of(now):
        said = [
            f'"{one.name}" {one.version} refused: the index dates it '
            f"{_say_time(one.published)}, which is in the future"
        ]
    else:
        age = say_age((now - one.published).total_seconds())
        due = one.published + datetime.timedelta(seconds=length)
        said = [f"{what} {age} ago", f"it may be had from {_say_time(due)}"]
    found = old.get(normalise(one.name))
    said.append(
        f"the newest version of {one.name} that is old enough is {found}"
        if found
        else f"no version of {one.name} is old enough"
    )
    advice = _advise(case, one.name)
    return said + [advice.removeprefix("; ")] * bool(advice)


def explain(case: Case, output: str, reports: list[Report]) -> Fault:
    """Return the fault for what uv has printed and the proxy reported."""
    for report in sorted(reports, key=_rank):
        if report.kind in _REFUSALS:
            return _explain_refusal(case, report)
    # The end has the reason; a long search for versions says megabytes.
    text = " ".join(clean(output[-OUTPUT_MAX:], OUTPUT_MAX).split())
    return (
        (_explain_offline(case, text) if case.job.offline else None)
        or _explain_files(text)
        or _explain_page(text)
        or _explain_index(case, text, reports)
        or _explain_solution(case, text)
        or Failed(f"uv has failed: {_last_error(text)}")
    )


def _explain_offline(case: Case, text: str) -> Optional[Fault]:
    """Return that something is not in the cache, if it is that."""
    found = [name for names in _NOT_CACHED.findall(text) for name in names]
    names = [f'"{name}"' for name in dict.fromkeys(filter(None, found))]
    if not names:
        return None
    advice = filter(None, (_advise(case, name) for name in found if name))
    is_are = "it is" if len(names) == 1 else "they are"
    return Refused(
        f"{' and '.join(names[:3])} refused: {is_are} not in the cache of "
        f"packages, and {case.job.setting('offline')} is set, so the index is "
        f"not asked{next(advice, '')}",
        rule="offline",
    )


def _rank(report: Report) -> int:
    return _REFUSALS.index(report.kind) if report.kind in _REFUSALS else 9


def _explain_refusal(case: Case, report: Report) -> Fault:
    job, rules = case.job, case.rules
    if job.offline:
        return Refused(
            f"{report.place} was not asked: {job.setting('offline')} is set",
            rule="offline",
        )
    if report.kind == "limit":
        return too_many_bytes(job)
    if report.kind == "host":
        return Refused(
            f"the index led to {report.place}, where packages may not come "
            f"from; permitted are {rules.describe()}, and "
            f"{job.setting('hosts')} names further hosts",
            rule="hosts",
        )
    return Refused(
        f"{report.place} was not asked: its address {report.reason} is one of "
        "this machine or its link, where no name may lead; an index there is "
        f"named by its address in {job.setting('index')}",
        rule="address",
    )


def _explain_files(text: str) -> Optional[Fault]:
    found = _HASH.search(text)
    if found:
        wanted = (found[2] or "").replace("sha256:", "").split()[:2]
        which = f": it was to be {' or '.join(wanted)}, and is {found[3]}"
        return Refused(
            f"the file of {found[1]} is not the one that was to come: its hash "
            f"differs{which * bool(wanted)}",
            rule="hash",
        )
    if any(sign in text for sign in _WRONG_FILE):
        return Refused(f"a package's file is refused: {_last_error(text)}")
    return None


def _explain_page(text: str) -> Optional[Fault]:
    """Return that what the index sends cannot be read, if it is that."""
    page = _NO_PAGE.search(text)
    if page:
        return Unreachable(
            f"the index's page of {clean(page[1], 100)} is not as PEP 691 has "
            f"it: {clean(page[2] or 'it cannot be read', 300)}"
        )
    other = _OTHER_PAGE.search(text)
    if other:
        return Unreachable(
            f"the index's page of {clean(other[2], 100)} is neither JSON nor "
            f"HTML, but {clean(other[1], 100)}"
        )
    local = _LOCAL_FILE.search(text)
    if local:
        return Refused(
            f"the index led to the file {clean(local[1], 200)} of this "
            "machine, where no package may come from",
            rule="hosts",
        )
    if _CUT in text:
        return Unreachable(
            "an answer of the index has ended before its length: "
            f"{_last_error(text)}"
        )
    return None


def _explain_denied(case: Case, text: str, status: str) -> Fault:
    """Return whether a host wants a user and a password, or others."""
    found = _PLACE.search(text)
    host = found[1].lower() if found else case.rules.host
    where = "the index" if host == case.rules.host else "the host"
    setting = case.job.setting("credentials")
    if case.job.find_user(host):
        return Unreachable(
            f"{where} {host} did not accept the user and the password of "
            f"{setting} ({status})"
        )
    return Unreachable(
        f"{where} {host} wants a user and a password ({status}): the operator "
        f"can name a file with them in {setting}"
    )


def _explain_index(
    case: Case, text: str, reports: list[Report]
) -> Optional[Fault]:
    denied = _DENIED.search(text)
    if denied:
        return _explain_denied(case, text, denied[1])
    if not any(sign in text for sign in _FETCH):
        return None
    for report in reports:
        form = _FAILURES.get(report.kind)
        if form:
            return Unreachable(
                form.format(place=report.place, reason=report.reason)
            )
    if "invalid peer certificate" in text:
        return Unreachable(
            "the index's certificate is not one that this machine trusts: "
            f"{_last_error(text)}"
        )
    status = _STATUS.search(text)
    if status:
        return Unreachable(f"the index answers {status[1]}")
    return Unreachable(f"the index does not answer: {_last_error(text)}")


def _explain_solution(case: Case, text: str) -> Optional[Fault]:
    wanted = dict.fromkeys(_NO_WHEEL.findall(text))
    names = [name for name in wanted if name not in case.profile]
    if names and not _find_kept(case, text):
        advice = filter(None, (_advise(case, name) for name in names))
        return Refused(
            f"only the source of {' and '.join(names[:3])} would fit, and "
            "hearth builds nothing"
            f"{next(advice, '') or f': {_because(case, text)}'}",
            rule="wheels",
        )
    found = _NOT_FOUND.search(text)
    if found:
        why = _advise(case, found[1]) or f": {_because(case, text)}"
        return Conflict(f"the index has no package {found[1]}{why}")
    yanked = _YANKED.search(text)
    if yanked:
        pin = f"{yanked[1]}=={yanked[2]}"
        return Refused(
            f'"{yanked[1]}" {yanked[2]} refused: it was yanked'
            f"{_because_of(yanked[3] or '')}; ask for another version, or for "
            f"{pin} if it has to be that one",
            rule="yanked",
        )
    if any(sign in text for sign in _SOLUTION):
        offline = f" {case.job.setting('offline')} is set: other versions than "
        offline += "those of the cache were not looked for."
        return Conflict(
            f"no version fits: {_because(case, text)}"
            f"{offline * case.job.offline}"
        )
    return None


def _advise(case: Case, found: str) -> str:
    """Return the end of the sentence for a name that was asked for."""
    name = normalise(found.partition("[")[0])
    if name not in case.asked:
        return ""  # another package needs it: the user cannot change that
    from hearth_downloads.packages.near import advise

    text = advise(name, case.profile, case.session, case.job.permits)
    return f"; {text}" * bool(text)


def _find_kept(case: Case, text: str) -> list[tuple[str, str]]:
    """Return the profile's packages that are among uv's reasons.

    uv also gives its hint about wheels when older versions of a package have
    none, and the newer ones conflict with these.
    """
    reason = text.partition(" hint: ")[0]
    return [
        (name, version)
        for name, version in case.profile.items()
        if re.search(rf" {re.escape(f'{name}=={version}')}(?=[,. ]|$)", reason)
    ]


def _because(case: Case, text: str) -> str:
    """Return uv's reasons without what is the same in all of them."""
    whole = text.partition(" cause: ")[2]
    reason, *hints = (whole or text).split(" hint: ")
    kept = _find_kept(case, whole or text)
    reason = _TAIL.sub(".", reason).strip()
    said = [clean(reason, REASON_MAX)]
    if not whole and len(reason) > REASON_MAX:
        # Its beginning was cut off: what it ends with is nearer to the reason.
        said = [f"… {reason[-REASON_MAX:].partition(' ')[2]}"]
    said += [
        f"The profile's Python has {name} {version}, which stays."
        for name, version in kept[:3]
    ]
    said += [hint for hint in hints if not _OWN_HINT.search(hint)]
    return " ".join(said)


def _last_error(text: str) -> str:
    return text.partition("error: ")[2] or text or "it has said nothing"
