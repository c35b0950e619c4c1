"""A change of a session's packages: resolved, installed, judged and shown."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from dataclasses import replace

from hearth_downloads.core.faults import Conflict, Failed, Refused, clean
from hearth_downloads.core.folders import Content, open_folder
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages.advisories import (
    NOTHING,
    Advisories,
    find_advisories,
    read_advisories,
)
from hearth_downloads.packages.digests import Digests, find_fetched
from hearth_downloads.packages.generations import Account, Generations, Package
from hearth_downloads.packages.hashes import OPTION, Hashes
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.judge import RULES, judge
from hearth_downloads.packages.kept import (
    name_generation,
    place,
    sync,
)
from hearth_downloads.packages.metadata import judge_metadata
from hearth_downloads.packages.modules import find_modules
from hearth_downloads.packages.needs import judge_needs
from hearth_downloads.packages.profile import find_installed, find_module
from hearth_downloads.packages.profile_wheels import ProfileWheels
from hearth_downloads.packages.report import Answer, encode, report
from hearth_downloads.packages.requirement import (
    parse_all,
    parse_names,
    with_extras,
)
from hearth_downloads.packages.resolve import (
    Resolver,
    check_asked,
    check_name,
    keep_needed,
    parse,
    to_packages,
)
from hearth_downloads.packages.rules import read_rules
from hearth_downloads.packages.stage import DIGESTS, Stage
from hearth_downloads.packages.there import find_requested
from hearth_downloads.packages.uv import Uv
from hearth_downloads.packages.wheels import Wheels, check_pins, fits_pins

REQUESTED_MAX = 300
_GROWING = ("add", "profile")


def change(job: Job, gateway: Gateway) -> bytes:
    """Add or remove; return the answer as a datagram."""
    job.check_user()
    check_pins(job)
    if job.order in _GROWING:
        new = {one.name: one.text for one in parse_all(job.names)}
        for name in new:
            check_name(job, name, [])
    else:
        new = dict.fromkeys(parse_names(job.names), "")
    return _Change(job, gateway, new).run(new)


class _Change:
    """One change of a session's packages."""

    def __init__(
        self,
        job: Job,
        gateway: Gateway,
        new: dict[str, str],
    ) -> None:
        self.installed = find_installed(job.preinstalled)
        if job.order == "profile":
            job = place(job, new, self.installed)
        self.job = job
        self.gateway = gateway
        self.stage = Stage(job)
        self.generations = Generations(job.session)
        self.profile = {
            one.name: one.version for one in self.installed.values()
        }
        self.before = Account()
        # None: they have to be read, which waits for other workers.
        self.advisories: Advisories | None = NOTHING
        self.notes: list[str] = []

    def run(self, new: dict[str, str]) -> bytes:
        """Make the change; `new` has requirements, or names to be removed."""
        is_add = self.job.order in _GROWING
        if not self.stage.try_lock():
            if is_add:
                # A request that changes nothing does not wait for them.
                self.advisories = find_advisories(self.job)
                self.before = self._read()
                if self._find_there(new) == self.before.requested:
                    return encode(self._report(self.before, new))
            self.stage.take_lock(self.gateway)
        self.generations.recover()
        self.before = self._judge_again(self._read())
        if is_add:
            check = self.gateway.check
            self.advisories = read_advisories(self.job, check)
            check_asked(self.advisories, new)
            requested = self._find_there(new)
            if requested == self.before.requested:
                return encode(self._report(self.before, new))
            if requested is not None:
                return self._record(requested, new)
        self.stage.open(self.gateway)
        try:
            return self._make(new)
        finally:
            # The answer stays what it is: the next job clears up, or says why
            # not.
            with contextlib.suppress(Failed):
                self.stage.clear()

    def _read(self) -> Account:
        """Return what is there; a profile's that is damaged is made anew."""
        try:
            return self.generations.read()
        except Failed:
            if self.job.order != "profile":
                raise
            return Account()

    def _judge_again(self, account: Account) -> Account:
        """Judge packages that older rules have let pass.

        If they are refused, they are made anew: those of a profile all of them,
        those of a session as what it has. If the index still has the same, the
        refusal says why.
        """
        if _is_judged(account):
            return account
        self.gateway.progress(f"judging {len(account.packages)} packages")
        try:
            self._judge(self.generations.folder(account), account)
        except (Refused, OSError):
            return Account() if self.job.order == "profile" else account
        account = replace(account, rules=RULES)
        self.generations.update(account)
        return account

    def _find_there(self, new: dict[str, str]) -> dict[str, str] | None:
        """Return what is requested then if all of `new` is there, else None."""
        there = self.before.versions()
        if not all(map(self.job.permits, there)):
            return None
        if self.advisories is None or any(
            self.advisories.find(name, there[name]) for name in there
        ):
            return None
        if not fits_pins(self.job, self.before) or not self._is_whole():
            return None
        if not _is_judged(self.before):
            return None
        if self.job.order == "profile":
            # Its key has what the profile's Python has.
            return new if new == self.before.requested else None
        return find_requested(new, self.before, self.profile)

    def _record(self, requested: dict[str, str], new: dict[str, str]) -> bytes:
        """Request packages that are there."""
        _check_count(self.job, requested)
        packages = tuple(
            replace(one, requested=one.name in requested)
            for one in self.before.packages
        )
        return self._keep(requested, packages, self.before.resolved, new)

    def _make(self, new: dict[str, str]) -> bytes:
        if self.job.order == "profile":
            requested = new
        elif self.job.order == "add":
            before = self.before.requested
            requested = dict(before)
            for name, text in new.items():
                requested[name] = with_extras(text, before.get(name, ""))
        else:
            requested = self._take_out(list(new))
            if requested == self.before.requested:
                return encode(self._report(self.before, new))
        _check_count(self.job, requested)
        if not requested:
            return self._finish(None, requested, (), "", new)
        rules = read_rules(self.job.index, self.job.hosts, self.job.offline)
        wheels = ""
        if self.job.order in _GROWING:
            all_ = self.installed.values()
            wheels = ProfileWheels(self.job, self.stage, all_).keep()
        uv = Uv(self.job, self.gateway, rules, self.stage, wheels)
        try:
            resolver = Resolver(self.job, self.stage, uv, rules, self.installed)
            resolver.advisories = self.advisories or NOTHING
            if self.job.order == "remove":
                return self._reduce(resolver, requested, new)
            return self._resolve(resolver, requested, new)
        except Refused:
            # Files that were unpacked for it would stay in the cache.
            uv.growth.take_back()
            raise
        finally:
            uv.close()

    def _take_out(self, names: list[str]) -> dict[str, str]:
        """Return what is requested without these names.

        A repeated request may remove what could not be added again.
        """
        account = self.before
        requested = dict(account.requested)
        there = {package.name: package for package in account.packages}
        for name in names:
            if name in requested:
                del requested[name]
            elif name in there:
                needed = " and ".join(there[name].via) or "another package"
                raise Conflict(
                    f"{name} is there because {needed} needs it, and goes with "
                    f"that: remove {needed}"
                )
            elif name not in account.requested and not self.job.repeated:
                have = ", ".join(sorted(account.requested)) or "none"
                raise Conflict(
                    f"{name} is not among the session's packages; requested "
                    f"are: {have}"
                )
        return requested

    def _resolve(
        self, resolver: Resolver, requested: dict[str, str], new: dict[str, str]
    ) -> bytes:
        self.gateway.progress(f"resolving {len(requested)} requirements")
        hashes = Hashes(self.job, requested, self.before)
        resolver.exempt = set(hashes.wanted)
        pins = resolver.resolve(requested, self.before.resolved, new)
        pins = hashes.narrow(pins)
        self.notes = resolver.notes
        packages = to_packages(pins, requested, self.before)
        resolved = resolver.read()
        if self._has(packages) and hashes.are_there(pins):
            return self._keep(requested, packages, resolved, new)
        self.gateway.progress(f"installing {len(pins)} packages")
        resolver.install(pins)
        wheels = Wheels(pins, self.before)
        # uv runs no more when its folder is judged.
        lock = resolver.lock() if wheels.open else ""
        return self._finish(
            resolver, requested, packages, resolved, new, wheels.reader(lock)
        )

    def _reduce(
        self, resolver: Resolver, requested: dict[str, str], new: dict[str, str]
    ) -> bytes:
        """Keep what is still needed, as it is.

        Neither the index nor the operator's lists are asked about that: else
        one package that they take back would keep every other one there.
        """
        needed = keep_needed(parse(self.before.resolved), requested)
        there = self.before.versions()
        pins = [
            pin
            for pin in needed
            if pin.name in there and pin.name not in self.installed
        ]
        packages = to_packages(pins, requested, self.before)
        resolved = "".join(pin.encode() for pin in needed)
        if self._has(packages):
            return self._keep(requested, packages, resolved, new)
        self.gateway.progress(f"installing {len(pins)} packages")
        # An index may have several files of a version that fit here.
        hashes = Hashes(self.job, requested, self.before)
        resolver.reinstall(hashes.keep(pins))
        return self._finish(resolver, requested, packages, resolved, new)

    def _has(self, packages: tuple[Package, ...]) -> bool:
        """Return true if the session has just these packages."""
        versions = Account(packages=packages).versions()
        return (
            versions == self.before.versions()
            and self.before.generation > 0
            and _is_judged(self.before)
            and self._is_whole()
        )

    def _is_whole(self) -> bool:
        """Return true if no file of the packages is missing or cut."""
        before = self.before
        return not before.generation or self.generations.is_whole(before)

    def _keep(
        self,
        requested: dict[str, str],
        packages: tuple[Package, ...],
        resolved: str,
        new: dict[str, str],
    ) -> bytes:
        """Change the account alone: no file would be another."""
        account = replace(
            self.before,
            requested=requested,
            packages=packages,
            resolved=resolved,
        )
        answer = encode(self._report(account, new))
        self.gateway.check()
        if account.generation:
            self.generations.update(account)
        else:
            self.generations.commit(None, replace(account, rules=RULES))
        return answer

    def _report(
        self,
        account: Account,
        new: dict[str, str],
        modules: dict[str, list[str]] | None = None,
    ) -> Answer:
        answer = report(
            self.before, account, self.profile, list(new), self.notes, modules
        )
        if self.job.order == "profile":
            number = account.generation or self.generations.next_number()
            answer["environment"] = name_generation(self.job, number)
        return answer

    def _finish(
        self,
        resolver: Resolver | None,
        requested: dict[str, str],
        packages: tuple[Package, ...],
        resolved: str,
        new: dict[str, str],
        find_wheels: Callable[[str], dict[str, str]] | None = None,
    ) -> bytes:
        """Judge what was staged, and show it."""
        if resolver is None:
            self.stage.make_folder("new")
        self.gateway.progress(f"judging {len(packages)} packages")
        account = Account(0, requested, packages, resolved, rules=RULES)
        account = self._judge_staged(account, find_wheels)
        digests = Digests(self.stage.work, self.job.offline)
        if resolver and self._find_changed(digests, account):
            account = self._fetch_again(resolver, account, find_wheels, digests)
        added = account.versions().keys() - self.before.versions().keys()
        modules = find_modules(self.stage.new, added)
        answer = encode(self._report(account, new, modules))
        self.gateway.check()
        digests.note()
        self.generations.commit(self.stage.new, account)
        return answer

    def _judge_staged(
        self,
        account: Account,
        find_wheels: Callable[[str], dict[str, str]] | None,
    ) -> Account:
        """Return the account with what is in the stage and its wheels."""
        content = self._judge(self.stage.new, account)
        packages = account.packages
        if find_wheels:
            found = find_wheels(self.stage.new)
            packages = tuple(
                replace(one, sha256=found.get(one.name, "")) for one in packages
            )
        return replace(account, packages=packages, content=content)

    def _find_changed(
        self, digests: Digests, account: Account, is_fresh: bool = False
    ) -> list[str]:
        """Return the packages that have other files than they had.

        `is_fresh`: all of them were fetched in this job.
        """
        fetched = account.versions() if is_fresh else find_fetched(self.stage)
        hashes = {
            pin.name: {one[len(OPTION) :] for one in pin.hashes}
            for pin in parse(account.resolved)
        }
        folder = open_folder(self.stage.new)
        try:
            return digests.find_changed(
                folder, account.packages, self.gateway.check, fetched, hashes
            )
        finally:
            os.close(folder)

    def _fetch_again(
        self,
        resolver: Resolver,
        account: Account,
        find_wheels: Callable[[str], dict[str, str]] | None,
        digests: Digests,
    ) -> Account:
        """Have uv fetch what was changed in its cache, and all else there."""
        if not self.job.offline:
            self.gateway.progress(
                "the cache cannot be relied on: fetching all again"
            )
            resolver.fetch_again()
            account = self._judge_staged(account, find_wheels)
        is_fresh = not self.job.offline
        changed = self._find_changed(digests, account, is_fresh)
        if not changed:
            return account
        advice = f"{self.job.setting('offline')} forbids to fetch them again"
        if not self.job.offline:
            self.stage.empty_cache()
            advice = "try it again"
        raise Failed(
            f"files of {clean(', '.join(changed), 300)} are not what they were "
            f"when they were first installed: {advice}, or remove "
            f"{self.job.work}/{DIGESTS} if today's are right"
        )

    def _judge(self, path: str, account: Account) -> Content:
        # Count what the profile had then, though it may have it no more.
        pins = parse(account.resolved)
        there = {pin.name for pin in pins}
        folder = open_folder(path)
        try:
            find = functools.partial(
                find_module, preinstalled=self.job.preinstalled
            )
            tally = judge(self.job, folder, find, self.gateway.check)
            judge_metadata(folder, account.versions(), self.gateway.check)
            judge_needs(
                folder,
                account.packages,
                there.union(self.installed),
                {pin.name for pin in pins if len(pin.hashes) > 1},
                self.gateway.check,
            )
            if self.job.order == "profile":
                # Later jobs look at the sizes of its files alone.
                sync(folder)
            os.fchmod(folder, 0o755)
        finally:
            os.close(folder)
        return [tally.count, tally.size]


def _is_judged(account: Account) -> bool:
    """Return true if today's rules have let all of it pass."""
    return not account.generation or account.rules == RULES


def _check_count(job: Job, requested: dict[str, str]) -> None:
    if len(requested) > REQUESTED_MAX:
        raise Refused(
            f"the {job.whose} would have {len(requested)} requested packages, "
            f"and the most is {REQUESTED_MAX}: remove some of them first"
        )
