"""Changes whole pages, wheels' metadata and advisories by chance, with known
seeds, as test_random_input.py does with shorter inputs.

Each reader answers or raises its own error, and nothing else. It has few
seconds of the processor's time for that, also for an input that is long.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_index import make_metadata
from hearth_downloads.clone import batch
from hearth_downloads.clone.modules import parse_modules, resolve_url
from hearth_downloads.core.faults import Failed, Invalid, Refused, Unreachable
from hearth_downloads.core.sandbox import Result
from hearth_downloads.fetch.url import parse_url
from hearth_downloads.packages import modules, status
from hearth_downloads.packages.advisories import read_advisories
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.metadata import judge_metadata
from hearth_downloads.packages.rules import read_rules
from hearth_downloads.packages.sentences import Case
from test_advisories import ALL, record
from test_random_input import TOKENS, change

ROUNDS = 1000
SECONDS = 5  # of the processor's time, for one input
LONG = 1 << 18  # bytes
NEWEST = "2026-01-01T00:00:00Z"
MORE = (
    *TOKENS,
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b"1e999",
    b"\\ud800",
    b"null",
    b"<![",
    b"<![x[",
    b"<!DOCTYPE [<!",
    b"<!--",
    b"<?",
    b"</",
    b"<script>",
    b"<meta name='pypi:project-status' content='quarantined",
    b"&#x110000;",
    b"&#99999999999;",
    b"'\"",
    b",,",
    b"Name: b\n",
    b"a" * 300_000,
    b"PK\1\2",
    b"\x00\x0e",  # a kind of compression
)
OID = "5a" * 32
WANTED = {OID: 12345, "6b" * 32: 7}


@dataclass
class Response:
    """An answer that has come as a whole."""

    data: bytes
    headers: dict[str, str]
    length: int = 0

    def read(self, size: int) -> bytes:
        return self.data[:size]


def read_page(data: bytes, kind: str, coding: str = "") -> None:
    head = {"Content-Type": kind, "Content-Encoding": coding}
    whole: Any = Response(data, head)
    page = status._read(whole, NEWEST)
    assert len(page.status) == 2
    assert all(len(word) <= 1000 for word in page.status)
    assert len(page.young) <= status.FILES_MAX
    json.dumps(page)  # as the sandbox passes it on


def read_json(data: bytes, place: Path) -> None:
    read_page(data, "application/vnd.pypi.simple.v1+json")


def read_html(data: bytes, place: Path) -> None:
    read_page(data, "text/html")


def read_zipped(data: bytes, place: Path) -> None:
    read_page(data, "application/vnd.pypi.simple.v1+json", "gzip")


class Left:
    """In the place of uv: what its sandbox has left is the input."""

    def __init__(self, data: bytes) -> None:
        self.reports: list[Any] = []
        self.stage = self
        self.text = data.decode("utf-8", "replace")

    def do(self, main: Callable[[], None]) -> Result:
        return Result(0, "")

    def read(self, name: str) -> str:
        return self.text


def read_statuses(data: bytes, place: Path) -> None:
    index = "http://127.0.0.1:9/simple/"
    case = Case(Job(index=index), read_rules(index, ()), {})
    left: Any = Left(data)
    answer = status.ask_index(left, case, ["a"], {"a": NEWEST})
    for one in answer.statuses.values():
        assert f"{one.word}{one.because}".isprintable()
    for files in answer.young.values():
        assert len(files) <= status.FILES_MAX
        for file in files:
            assert file.imitate("a")


def read_batch(data: bytes, place: Path) -> None:
    answer = batch.parse_answer(data, WANTED)
    assert answer.actions.keys() <= WANTED.keys()
    for action in answer.actions.values():
        for name, value in action.headers:
            assert f"{name}{value}".isascii()
            assert "\n" not in f"{name}{value}"
    assert isinstance(batch.say_errors(answer.errors), str)


def read_submodules(data: bytes, place: Path) -> None:
    found = parse_modules(data)
    base = parse_url("https://git.example/a/b.git")
    for path, module in found.items():
        assert path
        assert module.name.isprintable()
        assert resolve_url(base, module.url).scheme == "https"


def put(place: Path, name: str, data: bytes) -> None:
    (place / "a-1.dist-info").mkdir(exist_ok=True)
    (place / "a-1.dist-info" / name).write_bytes(data)


def judge(place: Path) -> None:
    folder = os.open(place, os.O_RDONLY)
    try:
        judge_metadata(folder, {"a": "1"}, lambda: None)
    finally:
        os.close(folder)


def read_text(data: bytes, place: Path) -> None:
    put(place, "METADATA", data)
    judge(place)


def read_record(data: bytes, place: Path) -> None:
    put(place, "RECORD", data)
    judge(place)


def read_name(data: bytes, place: Path) -> None:
    """The name of a folder with metadata."""
    name = data.replace(b"/", b"").replace(b"\0", b"")[:255]
    if name in (b"", b".", b".."):
        return
    path = os.path.join(os.fsencode(place), name)
    os.mkdir(path)
    try:
        judge(place)
    finally:
        os.rmdir(path)


def read_modules(data: bytes, place: Path) -> None:
    put(place, "RECORD", data)
    found = modules.find_modules(str(place), {"a"})
    for names in found.values():
        assert 0 < len(names) <= modules.MODULES_MAX
        for name in names:
            assert len(name) <= modules.NAME_MAX
            assert all(word.isidentifier() for word in name.split("."))


def read_advice(data: bytes, place: Path) -> None:
    """A file of advisories; what an earlier job has kept is not looked at."""
    (place / "all.zip").write_bytes(data)
    job = Job(order="add", work=str(place), advisories=str(place / "all.zip"))
    found = read_advisories(job, lambda: None)
    shutil.rmtree(place / "advisories")
    for name in ("a", "b"):
        for version in ("1", "1.5", "odd", "2rc1"):
            found.find(name, version)
        found.find_all(name)


def read_advisory(data: bytes, place: Path) -> None:
    """One record of it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("one.json", data)
        archive.writestr("two.json", json.dumps(record("b")))
    read_advice(out.getvalue(), place)


def make_advisories(kind: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for number, one in enumerate((ADVISORY, record("b", ranges=ALL))):
            about = zipfile.ZipInfo(f"\u00e9{number}.json")
            archive.writestr(about, json.dumps(one), kind)
    return out.getvalue()


FILES = [
    {
        "filename": f"a-{number}-py3-none-any.whl",
        "upload-time": f"2026-0{number}-02T00:00:00.5Z",
        "requires-python": ">=3.9",
        "url": "https://files.example/a",
        "hashes": {"sha256": OID},
    }
    for number in (1, 2)
]
PAGE = json.dumps(
    {
        "meta": {"api-version": "1.4"},
        "project-status": {"status": "archived", "reason": "it is old"},
        "files": FILES,
    }
).encode()
HTML = (
    b"<!DOCTYPE html>\n<html><head>"
    b'<meta name="pypi:project-status" content="archived">\n'
    b'<meta name="pypi:project-status-reason" content="it &amp; he">\n'
    b'</head><body><a href="/files/a#sha256=5a">a</a><br/></body></html>\n'
)
STATUSES = json.dumps(
    {
        "found": {"a": ["archived", "it is old"], "b": ["deprecated", ""]},
        "young": {"a": [[FILES[0]["filename"], "2026-01-02T00:00:00", ">=3"]]},
    }
).encode()
FAULT = b'{"fault": "a: it answers 404"}'
BATCH = json.dumps(
    {
        "transfer": "basic",
        "objects": [
            {
                "oid": OID,
                "size": 12345,
                "actions": {
                    "download": {
                        "href": "https://lfs.example/a",
                        "header": {"Authorization": "Basic \u00e4"[:-1]},
                    }
                },
            },
            {"oid": "6b" * 32, "error": {"code": 404, "message": "none"}},
        ],
    }
).encode()
SUBMODULES = (
    b"submodule.one.path\none\0submodule.one.url\n../c.git\0"
    b"submodule.a.b.path\ndeep/x\0submodule.a.b.url\nhttps://h.example/x\0"
    b"submodule.one.update\n!rm\0core.bare\nfalse\0"
)
RECORD = (
    b'a.py,sha256=x,1\r\na/__init__.py,,\n"b,c/d.py",,\nns/x/y.so,,\n'
    b"a-1.dist-info/METADATA,,\na-1.dist-info/RECORD,,\n"
)
ADVISORY = record(
    "a",
    versions=["1.0", "1.5"],
    ranges=[
        {
            "type": "ECOSYSTEM",
            "events": [{"introduced": "1"}, {"last_affected": "2"}],
        },
        {"type": "GIT", "events": [{"introduced": "0"}]},
    ],
)


@dataclass(frozen=True)
class Reading:
    """A reader, an input that it takes, and the errors that are its own."""

    read: Callable[[bytes, Path], None]
    sample: bytes
    faults: tuple[type[Exception], ...] = ()


CASES = [
    Reading(read_json, PAGE, (status._Flaw,)),
    Reading(read_html, HTML, (status._Flaw,)),
    Reading(read_zipped, gzip.compress(PAGE, mtime=0), (status._Flaw,)),
    Reading(read_statuses, STATUSES, (Failed,)),
    Reading(read_statuses, FAULT, (Failed, Unreachable)),
    Reading(read_batch, BATCH, (batch.BadAnswer,)),
    Reading(read_submodules, SUBMODULES, (Invalid, Refused)),
    Reading(read_text, make_metadata("a", "1", ["b"], {}), (Refused,)),
    Reading(read_record, RECORD, (Refused,)),
    Reading(read_name, b"a-1.dist-info", (Refused,)),
    Reading(read_modules, RECORD),
    Reading(read_advisory, json.dumps(ADVISORY).encode(), (Failed,)),
    Reading(read_advice, make_advisories(zipfile.ZIP_STORED), (Failed,)),
    Reading(read_advice, make_advisories(zipfile.ZIP_DEFLATED), (Failed,)),
    Reading(read_advice, make_advisories(zipfile.ZIP_BZIP2), (Failed,)),
    Reading(read_advice, make_advisories(zipfile.ZIP_LZMA), (Failed,)),
]
each_case = pytest.mark.parametrize(
    "case",
    CASES,
    ids=[f"{at}-{one.read.__name__}" for at, one in enumerate(CASES)],
)


def is_read(case: Reading, data: bytes, place: Path, which: str) -> bool:
    """Return false if the input is refused, by an error of the reader's own."""
    began = time.thread_time()
    try:
        case.read(data, place)
        found = True
    except case.faults:
        found = False
    except Exception as error:
        raise AssertionError(f"{which}: {data[:2000]!r}") from error
    assert time.thread_time() - began < SECONDS, which
    return found


@each_case
def test_a_changed_input_is_read_or_refused(
    tmp_path: Path, case: Reading
) -> None:
    assert is_read(case, case.sample, tmp_path, "itself") or (
        case.sample == FAULT
    )
    found = [
        is_read(
            case,
            change(Random(seed), case.sample, MORE),
            tmp_path,
            f"seed {seed}",
        )
        for seed in range(ROUNDS)
    ]
    assert any(found) or case.sample == FAULT  # both happen
    # Newer Pythons take each page of HTML.
    assert not all(found) or not case.faults or case.read is read_html


@pytest.mark.deep
@each_case
def test_a_long_input_takes_no_long_time(tmp_path: Path, case: Reading) -> None:
    """One in which a piece comes again and again, in the middle."""
    middle = len(case.sample) // 2
    pieces = {*MORE, *(case.sample[at : at + 7] for at in range(0, middle, 7))}
    for piece in sorted(pieces):
        more = piece * (LONG // len(piece) + 1)
        for at in (0, middle, len(case.sample)):
            data = case.sample[:at] + more + case.sample[at:]
            is_read(case, data, tmp_path, f"{piece[:20]!r} at {at}")
