"""Finds the versions of all packages that what was requested needs.

uv does it, with the profile's packages as constraints. The result is judged as
a whole: a dependency is a package like one that was asked for.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Optional

from hearth_kernel.packages.names import matches, normalise

from hearth_downloads.core.faults import (
    Conflict,
    Failed,
    Fault,
    Refused,
    Unreachable,
    clean,
)
from hearth_downloads.core.sandbox import Result
from hearth_downloads.packages.advisories import NOTHING, Advisories
from hearth_downloads.packages.generations import Account, Package
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.profile import Installed
from hearth_downloads.packages.requirement import (
    WORD_MAX,
    is_name,
    is_version,
    split,
    without_hashes,
)
from hearth_downloads.packages.rules import Rules
from hearth_downloads.packages.sentences import (
    Case,
    Young,
    explain,
    explain_no_times,
    explain_young,
    find_empty,
    find_yanked,
    find_young,
    is_missing,
    lacks_times,
    names_extra,
    say_held_back,
)
from hearth_downloads.packages.stage import Stage
from hearth_downloads.packages.uv import PROFILE, Uv

COUNT_MAX = 500
EMPTY_MAX = 10
YOUNG_MAX = 3  # in a sentence
# The words of an index about a project that are worth a note.
_STATUSES = {
    "archived": "archived, and gets no more releases",
    "deprecated": "deprecated, and another project has perhaps replaced it",
}
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
_COMMON = ("--color", "never", "--no-config", "--no-python-downloads")


@dataclass(frozen=True)
class Pin:
    """One package of the result."""

    name: str
    version: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]  # names of the packages that need it

    def encode(self) -> str:
        """Return its lines in a file of requirements, as uv writes them."""
        lines = " \\\n    ".join([f"{self.name}=={self.version}", *self.hashes])
        via = f"    # via {', '.join(self.via)}\n" * bool(self.via)
        return f"{lines}\n{via}"


class Resolver:
    """Resolves for one job."""

    def __init__(
        self,
        job: Job,
        stage: Stage,
        uv: Uv,
        rules: Rules,
        installed: dict[str, Installed],
    ) -> None:
        self.job = job
        self.stage = stage
        self.uv = uv
        self.advisories = NOTHING
        # Names of what comes however young it is.
        self.exempt: set[str] = set()
        self.result = "resolved.txt"  # in the stage
        self.notes: list[str] = []  # on what is new
        self.installed = installed
        versions = {one.name: one.version for one in installed.values()}
        self.case = Case(job, rules, versions)
        now = datetime.datetime.now(datetime.timezone.utc)
        newest = now - datetime.timedelta(seconds=job.cooldown)
        self.newest = newest.strftime("%Y-%m-%dT%H:%M:%SZ")

    def resolve(
        self, requested: dict[str, str], before: str, new: Iterable[str]
    ) -> list[Pin]:
        """Return all packages, without those that the profile has.

        `before` is the last result: its versions stay where they fit. `new`
        has the names that are asked for now.
        """
        stage = self.stage
        texts = "".join(f"{without_hashes(t)}\n" for t in requested.values())
        stage.write("requested.in", texts.encode())
        lines = [f"{one.constraint}\n" for one in self.installed.values()]
        lines += [f"{name}=={pin[0]}\n" for name, pin in self.job.pins.items()]
        stage.write("profile.txt", "".join(lines).encode())
        stage.write("resolved.txt", before.encode())
        self.case = replace(
            self.case,
            session=frozenset(pin.name for pin in parse(before)),
            asked=frozenset(new),
        )
        result = self._compile("requested.in", "resolved.txt", self._cooldown())
        result = self._resolve_kept(result, before)
        if result.code != 0:
            raise self._find_fault(result, before)
        pins = parse(self.read())
        found = [pin for pin in pins if pin.name not in self.installed]
        self._check(found, set(new))
        there = {(pin.name, pin.version) for pin in parse(before)}
        fresh = [pin for pin in found if (pin.name, pin.version) not in there]
        yanked = find_yanked(result.output)
        self.notes = [yanked[p.name] for p in fresh if p.name in yanked]
        asked = {
            pin.name: requested[pin.name]
            for pin in fresh
            if pin.name in self.case.asked and self._is_held(pin)
        }
        self._check_statuses([pin.name for pin in fresh], found, asked)
        return [pin_wheel(self.job, pin) for pin in found]

    def _is_held(self, pin: Pin) -> bool:
        """Return true if only the cooldown can keep back a newer version.

        Another package that needs it may exclude the newer one, too.
        """
        return (
            self.job.cooldown > 0
            and not pin.via
            and pin.name not in self.exempt
            and pin.name not in self.job.pins
        )

    def _check_statuses(
        self, names: list[str], pins: list[Pin], asked: dict[str, str]
    ) -> None:
        """Refuse projects in quarantine, and note what else they are.

        Note also which newer versions of `asked` are too young.
        """
        if self.job.offline:
            return
        from hearth_downloads.packages.status import ask_index

        graph = {pin.name: pin.via for pin in pins}
        newest = dict.fromkeys(asked, self.newest)
        answer = ask_index(self.uv, self.case, names, newest)
        for name, status in answer.statuses.items():
            if status.word == "quarantined":
                needed = say_needed(find_chain(name, graph))
                raise Refused(
                    f'"{name}"{needed} refused: the '
                    f"index has it in quarantine{status.because}",
                    rule="quarantine",
                )
            if status.word in _STATUSES:
                self.notes.append(
                    f"{name} is {_STATUSES[status.word]}{status.because}"
                )
        if not answer.young:
            return
        from hearth_downloads.packages.held_back import find_held_back

        taken = {pin.name: pin.version for pin in pins}
        self.notes += [
            say_held_back(self.job, one, taken[one.name])
            for one in find_held_back(
                self.stage, self._compile, answer.young, asked, taken
            )
            if not self.advisories.find(one.name, one.version)
        ]

    def read(self) -> str:
        """Return the result as uv has written it."""
        return self.stage.read(self.result)

    def _resolve_kept(self, first: Result, before: str) -> Result:
        """Return a result that leaves what is there as it is, or `first`.

        The cooldown does not hold that, but `first` may have another version
        of it, or none. Other versions of it are as young as they are.
        """
        kept = {
            pin.name: pin.version
            for pin in parse(before)
            if pin.name not in self.case.asked
        }
        if first.code:
            lost = {one.name for one in find_young(first.output)}
        else:
            found = {pin.name: pin.version for pin in parse(self.read())}
            lost = {n for n in kept if found.get(n, kept[n]) != kept[n]}
        if not lost & set(kept) or self.job.cooldown <= 0:
            return first
        exempt = self.exempt
        self.exempt = exempt | set(kept)
        lines = "".join(f"{name}=={kept[name]}\n" for name in kept)
        self.stage.write("kept.txt", lines.encode())
        self.stage.write("resolved-kept.txt", before.encode())
        again = self._compile(
            "requested.in",
            "resolved-kept.txt",
            [*self._cooldown(), "--constraint", self.stage.inside("kept.txt")],
        )
        if again.code != 0:
            self.exempt = exempt
            is_reason = first.code != 0 and find_young(again.output)
            return again if is_reason else first
        self.result = "resolved-kept.txt"
        return again

    def _cooldown(self) -> list[str]:
        if self.job.cooldown <= 0:
            return []
        options = ["--exclude-newer", self.newest]
        for name in sorted(self.exempt):
            options += ["--exclude-newer-package", f"{name}=false"]
        return options

    def lock(self) -> str:
        """Return which wheels fit here, as PEP 751 has it; "" if uv fails."""
        self.stage.write("lock.in", self.read().encode())
        options = [*self._cooldown(), "--no-deps", "--format", "pylock.toml"]
        result = self._compile("lock.in", "pylock.toml", options)
        return "" if result.code else self.stage.read("pylock.toml")

    def _network(self) -> list[str]:
        """Return the option without which uv would ask the index."""
        return ["--offline"] * self.job.offline

    def _compile(self, source: str, output: str, options: list[str]) -> Result:
        stage = self.stage
        return self.uv.run(
            *("pip", "compile", *_COMMON),
            *("--python", sys.executable),
            *("--only-binary", ":all:", "--generate-hashes", "--no-header"),
            *("--annotation-style", "line"),
            *("--find-links", PROFILE),
            *("--constraint", stage.inside("profile.txt")),
            *self._network(),
            *options,
            *("--output-file", stage.inside(output)),
            stage.inside(source),
        )

    def _find_fault(self, result: Result, before: str) -> Fault:
        """Return why nothing was found; of the cooldown only if it is that."""
        reports = self.uv.reports
        if reports:
            return explain(self.case, result.output, reports)
        if self.job.cooldown and lacks_times(result.output):
            return explain_no_times(self.job)
        young = find_young(result.output) if self.job.cooldown else []
        if young:
            self.stage.write("young.txt", before.encode())
            again = self._compile("requested.in", "young.txt", [])
            if again.code == 0:
                old = self._find_old(young[:YOUNG_MAX])
                return explain_young(self.case, young[:YOUNG_MAX], old)
            result, reports = again, self.uv.reports
        fault = self._find_missing(result) or explain(
            self.case, result.output, reports
        )
        if isinstance(fault, Conflict):
            # An index shows no file of a project that it has in quarantine.
            empty = find_empty(result.output)[:EMPTY_MAX]
            with contextlib.suppress(Unreachable):
                names = [one for one in empty if is_name(one)]
                self._check_statuses(names, [], {})
        return fault

    def _find_old(self, young: list[Young]) -> dict[str, str]:
        """Return the newest versions that the cooldown permits, by name."""
        found: dict[str, str] = {}
        for number, one in enumerate(young):
            source, output = f"old-{number}.in", f"old-{number}.txt"
            self.stage.write(source, f"{one.name}\n".encode())
            options = [*self._cooldown(), "--no-deps"]
            if is_name(one.name) and (
                self._compile(source, output, options).code == 0
            ):
                found.update(
                    (pin.name, pin.version)
                    for pin in parse(self.stage.read(output))
                )
        return found

    def _find_missing(self, result: Result) -> Optional[Fault]:
        """Return that the index lacks a name that has an extra, if it does.

        uv says that such a name has no versions, or only others; it says that
        the name alone is not there.
        """
        asked = sorted(self.case.asked)
        names = [one for one in asked if names_extra(result.output, one)]
        if not names:
            return None
        texts = "".join(f"{name}\n" for name in names)
        self.stage.write("names.in", texts.encode())
        alone = self._compile("names.in", "names.txt", ["--no-deps"])
        if not is_missing(alone.output):
            return None
        return explain(self.case, alone.output, self.uv.reports)

    def _check(self, pins: list[Pin], new: set[str]) -> None:
        """Judge the whole by the operator's lists and advisories."""
        if len(pins) > COUNT_MAX:
            raise Refused(
                f"{len(pins)} packages would be needed, and the most is "
                f"{COUNT_MAX}: ask for fewer"
            )
        graph = {pin.name: pin.via for pin in pins}
        for pin in pins:
            chain = find_chain(pin.name, graph)
            root = chain[0] if chain else pin.name
            try:
                check_name(self.job, pin.name, chain)
                check_version(self.advisories, pin, chain)
            except Refused as fault:
                if root in new:
                    raise
                raise Refused(
                    f"{fault.text}; the session has {root} already: remove "
                    "that first",
                    rule=fault.rule,
                ) from None

    def install(self, pins: list[Pin]) -> None:
        """Fill the stage's folder `new` with these packages."""
        if not self._prepare(pins):
            return
        result = self._install(*self._network(), *self._cooldown())
        if result.code != 0:
            raise explain(self.case, result.output, self.uv.reports)
        self.stage.remove_lock_of_uv()

    def reinstall(self, pins: list[Pin]) -> None:
        """Fill it with packages that the session has, however old or young.

        They are in uv's cache. Without a file there, the index is asked.
        """
        if not self._prepare(pins):
            return
        result = self._install("--offline")
        if result.code != 0 and not self.job.offline:
            shutil.rmtree(self.stage.new, ignore_errors=True)
            result = self._install()
        if result.code != 0:
            fault = explain(self.case, result.output, self.uv.reports)
            if isinstance(fault, Conflict):
                # uv's cache has the index's newest page, and not the version.
                raise Conflict(
                    "the index has taken back a package that would stay: "
                    f"remove it in the same request; {fault.text}"
                )
            raise fault
        self.stage.remove_lock_of_uv()

    def fetch_again(self) -> None:
        """Fill the folder once more, with files that the cache has not."""
        self.stage.empty_cache()
        shutil.rmtree(self.stage.new, ignore_errors=True)
        result = self._install()
        if result.code != 0:
            raise explain(self.case, result.output, self.uv.reports)
        self.stage.remove_lock_of_uv()

    def _prepare(self, pins: list[Pin]) -> bool:
        """Return true if there is something to install."""
        if not pins:
            self.stage.make_folder("new")
            return False
        text = "".join(pin.encode() for pin in pins)
        self.stage.write("install.txt", text.encode())
        return True

    def _install(self, *options: str) -> Result:
        stage = self.stage
        return self.uv.run(
            *("pip", "install", *_COMMON),
            *("--python", sys.executable),
            *("--only-binary", ":all:", "--no-deps", "--require-hashes"),
            # A uv that is taken over later changes files of its cache: a zygote
            # may import what a profile has.
            *("--link-mode", "copy" if self.job.is_copied else "hardlink"),
            *options,
            *("--target", stage.inside("new")),
            *("--requirements", stage.inside("install.txt")),
        )


def pin_wheel(job: Job, pin: Pin) -> Pin:
    """Return the package with the hash that the job asks for alone.

    Refuse it if the index has another file.
    """
    version, sha256 = [*job.pins.get(pin.name, ()), "", ""][:2]
    one = f"--hash=sha256:{sha256}"
    if not sha256 or version != pin.version:
        return pin
    if one in pin.hashes:
        return replace(pin, hashes=(one,))
    got = ", ".join(hash_.partition(":")[2] for hash_ in pin.hashes[:2])
    raise Refused(
        f"the index has another file of {pin.name} {pin.version}: its SHA-256 "
        f"was to be {sha256}, and is {got}",
        rule="hash",
    )


def check_name(job: Job, name: str, chain: list[str]) -> None:
    """Refuse a package that the profile's lists or the session's forbid.

    `chain` has the packages by which it is needed, the requested one first.
    """
    needed = say_needed(chain)
    if matches(name, job.deny):
        raise Refused(
            f"{name}{needed} is not permitted here: {job.setting('deny')} "
            "names it",
            rule="deny",
        )
    if job.allow and not matches(name, job.allow):
        raise Refused(
            f"{name}{needed} is not permitted here: {job.setting('allow')} "
            f"permits {clean(', '.join(job.allow), 300)}",
            rule="allow",
        )
    if not job.permits(name):
        rule = "deny" if matches(name, job.own_deny) else "allow"
        raise Refused(
            f'"{name}"{needed} refused: {job.own_rule(rule)}', rule=rule
        )


def say_needed(chain: list[str]) -> str:
    """Return why a package is there, for the middle of a sentence."""
    if not chain:
        return ""
    return f", which is needed by {', by '.join(reversed(chain))},"


def check_asked(advisories: Advisories, new: dict[str, str]) -> None:
    """Refuse what is malicious whatever uv would find.

    `new` has requirements by their names. It is all versions of a package, or
    the only one that is asked for.
    """
    for name, text in new.items():
        _, clauses = split(text)
        pinned = re.fullmatch(r"==([^,*]+)", clauses)
        if advisories.find_all(name):
            check_version(advisories, Pin(name, "", (), ()), [])
        elif pinned:
            check_version(advisories, Pin(name, pinned[1], (), ()), [])


def check_version(advisories: Advisories, pin: Pin, chain: list[str]) -> None:
    """Refuse a version that is known to be malicious; `chain` as above."""
    advice = advisories.find_all(pin.name)
    if advice:
        what, which, other = f'"{pin.name}"', "all of its versions are", ""
    else:
        advice = advisories.find(pin.name, pin.version)
        what, which = f'"{pin.name}" {pin.version}', "it is"
        other = "; ask for another version"
    if advice:
        raise Refused(
            f"{what}{say_needed(chain)} refused: {advice.id} says that "
            f"{which} malicious{other}",
            rule="advisories",
        )


def find_chain(name: str, graph: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the way from a requested package to that one, without it."""
    seen = {name}
    way: list[str] = []
    while True:
        above = [one for one in graph.get(name, ()) if one not in seen]
        if not above:
            return way[::-1]
        name = above[0]
        seen.add(name)
        way.append(name)


def keep_needed(pins: list[Pin], requested: Iterable[str]) -> list[Pin]:
    """Return the packages that a requested one needs, and those themselves."""
    needs: dict[str, list[str]] = {}
    for pin in pins:
        for above in pin.via:
            needs.setdefault(above, []).append(pin.name)
    kept: set[str] = set()
    left = list(requested)
    while left:
        name = left.pop()
        if name not in kept:
            kept.add(name)
            left += needs.get(name, [])
    return [
        replace(pin, via=tuple(one for one in pin.via if one in kept))
        for pin in pins
        if pin.name in kept
    ]


def parse(text: str) -> list[Pin]:
    """Return the packages of what uv has written; nothing else may be in it."""
    pins: list[Pin] = []
    version = ""
    hashes: list[str] = []
    via: list[str] = []
    name = ""

    def finish() -> None:
        if name:
            pins.append(Pin(name, version, tuple(hashes), tuple(via)))

    for line in text.splitlines():
        stripped = line.strip().rstrip("\\").strip()
        if not stripped:
            continue
        if stripped.startswith("#"):
            via = _read_via(stripped)
        elif _HASH.fullmatch(stripped):
            hashes.append(stripped)
        else:
            finish()
            name, version = _read_pin(stripped)
            hashes, via = [], []
    finish()
    return pins


def _read_pin(line: str) -> tuple[str, str]:
    name, _, version = line.partition("==")
    for what, word in (("name", name), ("version", version)):
        if len(word) > WORD_MAX:
            raise Refused(
                f"the package {name[:40]}{'…' * (len(name) > 40)} has a {what} "
                f"of {len(word)} letters, and the most is {WORD_MAX}"
            )
    if not is_name(name) or not is_version(version):
        raise Failed(f"uv has resolved to a line that is no package: {line}")
    return normalise(name), version


def _read_via(comment: str) -> list[str]:
    """Return the packages of `# via a, b, -r FILE`."""
    words = comment.partition("via")[2].split(",")
    return [normalise(word.strip()) for word in words if is_name(word.strip())]


def to_packages(
    pins: list[Pin], requested: dict[str, str], before: Account
) -> tuple[Package, ...]:
    """Return what the account says of them, sorted by name.

    The wheels are those of `before`, as far as they are known.
    """
    return tuple(
        Package(
            pin.name,
            pin.version,
            pin.name in requested,
            pin.via,
            before.find_wheel(pin.name, pin.version),
        )
        for pin in sorted(pins, key=lambda pin: pin.name)
    )
