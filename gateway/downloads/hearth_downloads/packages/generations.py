"""A session's folder: generations of packages, and the account of the last.

    1/ 2/ …             what is imported; nothing else is in them
    current             a symbolic link to one of them
    packages.json       the account of that one

A new generation is shown by the rename of `current`. Its account lies beside
the old one before that, as packages.json.next, and takes its place after. An
account counts only if it names the generation of `current`. So a worker that
is killed leaves the old state or the new one.

An account that changes alone is packages.json.update until a rename puts it in
the place of the old one. It counts from then on and never before: a job that
could not rename it has failed, and has changed nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Optional

from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.folders import (
    NEW,
    Content,
    Measure,
    open_folder,
)

ACCOUNT = "packages.json"
NEXT = "packages.json.next"
UPDATE = "packages.json.update"
CURRENT = "current"
CURRENT_NEXT = "current.next"
ACCOUNT_MAX = 16 << 20
_TRIES = 20


@dataclass(frozen=True)
class Package:
    """One package of a session."""

    name: str
    version: str
    requested: bool
    via: tuple[str, ...] = ()  # the packages that need it
    sha256: str = ""  # of its wheel; "" if that is not known


@dataclass(frozen=True)
class Account:
    """The packages of a generation, and the requests that it was made from."""

    generation: int = 0  # counted from 1; 0 before the first one is shown
    requested: dict[str, str] = field(default_factory=dict)  # name: requirement
    packages: tuple[Package, ...] = ()
    resolved: str = ""  # with hashes, as uv has written it
    # Files and folders of the generation, and the lengths of all files; []: an
    # older hearth has made it.
    content: Content = field(default_factory=list)
    rules: int = 0  # RULES of the judge that has let it pass; 0: an older one

    def versions(self) -> dict[str, str]:
        """Return the version of each package."""
        return {package.name: package.version for package in self.packages}

    def find_wheel(self, name: str, version: str) -> str:
        """Return the SHA-256 of that version's wheel; "" if not known."""
        for one in self.packages:
            if (one.name, one.version) == (name, version):
                return one.sha256
        return ""


class Generations:
    """The folder; it is made with the first generation."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> Account:
        """Return the account of `current`, also while another is made."""
        for _ in range(_TRIES):
            current = self._current()
            if current == 0:
                return Account()
            for name in (ACCOUNT, NEXT):
                account = self._read_account(name)
                if account is not None and account.generation == current:
                    return account
        raise Failed(
            f"{self.path} has no account of its packages: remove that folder, "
            "and add the packages again"
        )

    def _current(self) -> int:
        try:
            return int(os.readlink(os.path.join(self.path, CURRENT)))
        except FileNotFoundError:
            return 0
        except ValueError:
            raise Failed(f"{self.path}/{CURRENT} leads elsewhere") from None

    def _read_account(self, name: str) -> Optional[Account]:
        try:
            number = os.open(
                os.path.join(self.path, name),
                os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC,
            )
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                return None
            raise
        try:
            with open(number, "rb") as file:
                return _decode(json.loads(file.read(ACCOUNT_MAX)))
        except (ValueError, KeyError, TypeError):
            return None

    def folder(self, account: Account) -> str:
        """Return the path of its generation."""
        return os.path.join(self.path, str(account.generation))

    def is_whole(self, account: Account) -> bool:
        """Return true if its folder has what it had when it was made."""
        try:
            folder = open_folder(self.folder(account))
        except OSError:
            return False
        try:
            measure = Measure()
            measure.add(folder)
        finally:
            os.close(folder)
        return account.content in ([], measure.content)

    def recover(self) -> None:
        """Finish or remove what a worker that was killed has left."""
        if not os.path.isdir(self.path):
            return
        current = self._current()
        account = self._read_account(NEXT)
        if account is not None and account.generation == current > 0:
            self._rename(NEXT, ACCOUNT)
        for name in (NEXT, CURRENT_NEXT, UPDATE):
            try:
                os.unlink(os.path.join(self.path, name))
            except FileNotFoundError:
                pass
        self._remove_others(current)

    def commit(self, staged: Optional[str], account: Account) -> Account:
        """Show a staged folder as the next generation; return its account.

        Without a folder the generation is empty. If this raises, the old one
        is shown. Once the new one is, nothing that is left to do can fail the
        job: `recover` does it before the next one.
        """
        os.makedirs(self.path, exist_ok=True)
        # A session that knows its name may read it, whatever the umask.
        os.chmod(self.path, 0o755)  # noqa: S103
        number = self.next_number()
        made = replace(account, generation=number)
        folder = os.path.join(self.path, str(number))
        if staged is None:
            os.mkdir(folder)
            os.chmod(folder, 0o755)  # noqa: S103
        else:
            os.rename(staged, folder)
        self._write(NEXT, made)
        link = os.path.join(self.path, CURRENT_NEXT)
        os.symlink(str(number), link)
        self._rename(CURRENT_NEXT, CURRENT)
        with contextlib.suppress(OSError):
            self._rename(NEXT, ACCOUNT)
            self._remove_others(number)
        return made

    def next_number(self) -> int:
        """Return the number of the next generation."""
        if not os.path.isdir(self.path):
            return 1
        return max([self._current(), *self._numbers()]) + 1

    def update(self, account: Account) -> None:
        """Replace the account alone; the packages are the same.

        If this raises, the old one counts, also after `recover`.
        """
        self._write(UPDATE, account)
        self._rename(UPDATE, ACCOUNT)

    def _rename(self, old: str, new: str) -> None:
        os.rename(os.path.join(self.path, old), os.path.join(self.path, new))

    def _write(self, name: str, account: Account) -> None:
        text = json.dumps(asdict(account), indent=1)
        if len(text) > ACCOUNT_MAX:
            # It could not be read again, and no job could change it.
            raise Refused(
                "the account of the packages, with the hashes of all files of "
                f"their versions, would have {len(text)} bytes, and the most "
                f"is {ACCOUNT_MAX}: ask for fewer packages"
            )
        number = os.open(os.path.join(self.path, name), NEW, 0o644)
        with open(number, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _numbers(self) -> list[int]:
        return [int(name) for name in os.listdir(self.path) if name.isdigit()]

    def _remove_others(self, current: int) -> None:
        """Keep the current generation and the one before it."""
        before = [number for number in self._numbers() if number < current]
        kept = {current, max(before, default=0)}
        for number in self._numbers():
            if number not in kept:
                shutil.rmtree(
                    os.path.join(self.path, str(number)), ignore_errors=True
                )


def _decode(found: dict[str, Any]) -> Account:
    return Account(
        int(found["generation"]),
        dict(found["requested"]),
        tuple(
            Package(
                one["name"],
                one["version"],
                one["requested"],
                tuple(one["via"]),
                one.get("sha256", ""),
            )
            for one in found["packages"]
        ),
        str(found["resolved"]),
        list(map(int, found.get("content", ()))),
        int(found.get("rules", 0)),
    )
