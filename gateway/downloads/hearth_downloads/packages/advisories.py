"""Malicious versions, as the operator's file of advisories names them.

The file is a zip of OSV records, as https://osv.dev publishes one for PyPI. The
records that count have an id that begins with `MAL-`, are not withdrawn, and
name a package of PyPI. All others are about faults, and not about malice.

To read them takes seconds. So what counts is kept in the work folder, where no
sandbox reaches it, and is made anew when the file is another one.

    advisories/KEY      one for each path; it names the file it was made from

A file that cannot be read ends the job: a check that was not made is no check.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Callable, Optional

from hearth_kernel.packages.names import normalise

from hearth_downloads.core.faults import Failed, clean
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.requirement import is_name
from hearth_downloads.packages.stage import ADVISORIES
from hearth_downloads.packages.version import Key, is_same, key_of

ECOSYSTEM = "PyPI"
BEGINNING = "MAL-"
FORM = 1  # of what is kept; another release may keep something else
FILE_MAX = 2 << 30
RECORD_MAX = 16 << 20
KEPT_MAX = 256 << 20
MEMORY_MAX = 1 << 30  # that may be added while the file is read
LOOK_RECORDS = 200  # between two looks whether to go on
_ID_MAX = 80
# Errors of zipfile for a file that is broken.
_BROKEN: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OverflowError,  # as for an offset that no file can have
    ValueError,  # as for a name that is not UTF-8
)
with contextlib.suppress(ImportError):  # not every Python has it
    import lzma

    _BROKEN = (*_BROKEN, lzma.LZMAError)
_EVENTS = ("introduced", "fixed", "last_affected", "limit")

Event = tuple[str, str]
Check = Callable[[], None]


class _Flaw(Exception):
    """A record or a file that is not what it has to be."""


@dataclass(frozen=True)
class Advice:
    """A record's words about one package; all versions if it names none."""

    id: str
    versions: tuple[str, ...] = ()
    ranges: tuple[tuple[Event, ...], ...] = ()

    @property
    def is_about_all(self) -> bool:
        """Return true if no version of the package is harmless."""
        if not self.versions and not self.ranges:
            return True
        return any(events == (("introduced", "0"),) for events in self.ranges)

    def names(self, version: str) -> bool:
        """Return true if it says that this version is malicious."""
        return (
            self.is_about_all
            or any(is_same(one, version) for one in self.versions)
            or any(_is_within(events, version) for events in self.ranges)
        )


def _is_within(events: tuple[Event, ...], version: str) -> bool:
    """Return true if the version is in a range of OSV, or cannot be compared.

    The events are a line of time: each one but a limit changes what holds from
    its version on.
    """
    key = key_of(version)
    timed = [
        (_key_of_event(kind, text), kind)
        for kind, text in events
        if (kind, text) != ("limit", "*")
    ]
    if key is None or any(at is None for at, _ in timed):
        return True
    line = [(at, kind) for at, kind in timed if at is not None]
    limits = [at for at, kind in line if kind == "limit"]
    if limits and ("limit", "*") not in events and key >= max(limits):
        return False
    found = False
    for at, kind in sorted(line):
        if kind == "introduced" and key >= at:
            found = True
        elif (kind == "fixed" and key >= at) or (
            kind == "last_affected" and key > at
        ):
            found = False
    return found


def _key_of_event(kind: str, text: str) -> Optional[Key]:
    """Return the key of its version; that of "0" is before all others."""
    return () if (kind, text) == ("introduced", "0") else key_of(text)


class Advisories:
    """Malicious versions, by the normalised name of their package."""

    def __init__(self, found: dict[str, list[Any]]) -> None:
        self._found = found

    def find(self, name: str, version: str) -> Optional[Advice]:
        """Return the advice that names this version, None if there is none."""
        return next((one for one in self._of(name) if one.names(version)), None)

    def find_all(self, name: str) -> Optional[Advice]:
        """Return the advice that names all versions, None if there is none."""
        return next((one for one in self._of(name) if one.is_about_all), None)

    def _of(self, name: str) -> Iterator[Advice]:
        for id_, versions, ranges in self._found.get(name, ()):
            yield Advice(
                id_,
                tuple(versions),
                tuple(
                    tuple((kind, text) for kind, text in events)
                    for events in ranges
                ),
            )


NOTHING = Advisories({})


def find_advisories(job: Job) -> Optional[Advisories]:
    """Return what is kept of the job's file; None if it has to be read."""
    if not job.advisories:
        return NOTHING
    try:
        about = os.stat(job.advisories)
    except OSError:
        return None
    return _find(job, _identify(about))


def read_advisories(job: Job, check: Check) -> Advisories:
    """Return the malicious versions; keep them for the next job.

    The work folder's lock is held. `check` is called now and then, may raise.
    """
    if not job.advisories:
        return NOTHING
    try:
        with open(job.advisories, "rb", opener=_open) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise _Flaw("it is no file")
            if about.st_size > FILE_MAX:
                raise _Flaw(f"it has more than {FILE_MAX} bytes")
            kept = _find(job, _identify(about))
            if kept is not None:
                return kept
            with _bounded_memory():
                found = _read(file, check)
            # A file that was written to meanwhile is read again next time.
            _keep(job, _identify(about), found)
    except (OSError, _Flaw) as error:
        raise _fault(job, error) from None
    return Advisories(found)


def _fault(job: Job, error: Exception) -> Failed:
    reason = getattr(error, "strerror", None) or str(error)
    return Failed(
        f"the advisories {job.advisories} cannot be used: {reason}; nothing is "
        f"added before they can. {job.setting('advisories')} names a zip file "
        "of OSV records for PyPI, which the user of the zygotes can read"
    )


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def _identify(about: os.stat_result) -> list[int]:
    return [
        FORM,
        about.st_dev,
        about.st_ino,
        about.st_size,
        about.st_mtime_ns,
        about.st_ctime_ns,
    ]


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """Let the process take MEMORY_MAX more; a zip may claim anything."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", "rb") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + MEMORY_MAX
    for limit in (soft, hard):
        if limit != resource.RLIM_INFINITY:
            most = min(most, limit)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    except MemoryError:
        raise _Flaw(
            f"to read it takes more than {MEMORY_MAX} bytes of memory"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _read(file: IO[bytes], check: Check) -> dict[str, list[Any]]:
    """Return what counts of all records."""
    found: dict[str, list[Any]] = {}
    count = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                if member.is_dir() or not member.filename.endswith(".json"):
                    continue
                if count % LOOK_RECORDS == 0:
                    check()
                count += 1
                _add(found, _read_record(archive, member), member.filename)
    except _BROKEN as error:
        raise _Flaw(f"it is no whole zip file: {clean(str(error), 200)}") from (
            None
        )
    except (NotImplementedError, RuntimeError) as error:
        raise _Flaw(clean(str(error), 200)) from None
    if not found:
        raise _Flaw(
            f"none of its {count} records has an id with {BEGINNING} and is "
            f"about a package of {ECOSYSTEM}"
        )
    return found


def _read_record(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    name = clean(member.filename, 100)
    with archive.open(member) as file:
        text = file.read(RECORD_MAX + 1)
    if len(text) > RECORD_MAX:
        raise _Flaw(f"its record {name} has more than {RECORD_MAX} bytes")
    try:
        return json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _Flaw(f"its record {name} is no JSON") from None


def _add(found: dict[str, list[Any]], record: Any, filename: str) -> None:
    try:
        id_ = record["id"]
        if not id_.startswith(BEGINNING) or record.get("withdrawn"):
            return
        for affected in record.get("affected") or ():
            package = affected.get("package")
            # Without one it is about commits. The part after a colon would
            # name another index.
            if (
                not package
                or package["ecosystem"].partition(":")[0] != ECOSYSTEM
            ):
                continue
            if not is_name(package["name"]):
                continue  # no index has such a project
            entry = [clean(id_, _ID_MAX), *_read_affected(affected)]
            found.setdefault(normalise(package["name"]), []).append(entry)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _Flaw(
            f"its record {clean(filename, 100)} has not the form of OSV"
        ) from None


def _read_affected(affected: dict[str, Any]) -> tuple[list[str], list[Any]]:
    """Return the versions, and the ranges as lists of events.

    A range of commits says nothing about versions: OSV asks for those then.
    """
    versions = affected.get("versions") or []
    ranges = []
    for one in affected.get("ranges") or ():
        if one["type"] == "GIT":
            continue
        events = [
            (kind, text)
            for event in one["events"]
            for kind, text in event.items()
        ]
        if any(kind not in _EVENTS for kind, _ in events) or not events:
            raise ValueError
        ranges.append(events)
    texts = [*versions, *(text for events in ranges for _, text in events)]
    if not all(isinstance(text, str) for text in texts) or not isinstance(
        versions, list
    ):
        raise ValueError
    return versions, ranges


# ---- what is kept ----


def _place(job: Job) -> str:
    key = hashlib.sha256(job.advisories.encode()).hexdigest()[:32]
    return os.path.join(job.work, ADVISORIES, key)


def _find(job: Job, identity: list[int]) -> Optional[Advisories]:
    """Return what was kept of that very file, None if nothing was."""
    try:
        number = os.open(
            _place(job), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        )
        with open(number, "rb") as file:
            kept = json.loads(file.read(KEPT_MAX))
        if kept["identity"] == identity and kept["found"]:
            return Advisories(kept["found"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _keep(job: Job, identity: list[int], found: dict[str, list[Any]]) -> None:
    place = _place(job)
    text = json.dumps({"identity": identity, "found": found}).encode()
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(place), 0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(f"{place}.next", flags, 0o600), "wb") as file:
        file.write(text)
    os.rename(f"{place}.next", place)
