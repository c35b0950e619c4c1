"""Versions that the operator's advisories call malicious are refused."""

from __future__ import annotations

import json
import os
import resource
import zipfile
from pathlib import Path
from typing import Any, Optional

import pytest
from fake_index import FakeIndex
from hearth_downloads.core.faults import Failed
from hearth_downloads.packages import advisories
from hearth_downloads.packages.advisories import (
    Advice,
    find_advisories,
    read_advisories,
)
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.version import is_same, key_of
from worker import Folder, refuse

ALL = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]


def record(
    name: str,
    id_: str = "MAL-2026-1",
    versions: Optional[list[str]] = None,
    ranges: Optional[list[dict[str, Any]]] = None,
    ecosystem: str = "PyPI",
    **members: Any,
) -> dict[str, Any]:
    affected: dict[str, Any] = {
        "package": {"ecosystem": ecosystem, "name": name}
    }
    if versions is not None:
        affected["versions"] = versions
    if ranges is not None:
        affected["ranges"] = ranges
    return {"id": id_, "affected": [affected], **members}


def dump(path: Path, *records: Any) -> str:
    """Write a file of advisories; a text among the records stays as it is."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.md", "no record")
        for number, one in enumerate(records):
            text = one if isinstance(one, str) else json.dumps(one)
            archive.writestr(f"pypi/MAL-{number}.json", text)
    path.chmod(0o644)
    return str(path)


# ---- versions ----


def test_sorts_versions_as_pep_440_has_it() -> None:
    texts = (
        "1.dev1 1a1.dev1 1a1 1a2 1b1.dev2 1b1 1rc1 1 1+abc 1+abc.5 1+5 "
        "1.post1.dev1 1.post1 1.0.1 1.1 1.10 2020.1 1!0.1"
    )
    keys = [key_of(text) for text in texts.split(" ")]
    assert None not in keys
    assert keys == sorted(keys)  # type: ignore[type-var]
    assert len(set(keys)) == len(keys)


def test_sorts_versions_as_another_program_does() -> None:
    """Two programs that were written apart agree."""
    packaging = pytest.importorskip("packaging.version")
    texts = [
        f"{epoch}{release}{pre}{post}{dev}{local}"
        for epoch in ("", "1!")
        for release in ("0", "1.0", "1.2.3", "1.10", "v2")
        for pre in ("", "a", "-b.2", "rc1", "_preview_3", "c4")
        for post in ("", "-1", ".post", "rev2", "_r_3")
        for dev in ("", "dev", ".dev4", "-dev-5")
        for local in ("", "+a.1", "+1-a", "+01")
        if not (epoch and release == "v2")
    ]
    ours = sorted(texts, key=lambda text: (key_of(text), text))
    theirs = sorted(texts, key=lambda text: (packaging.Version(text), text))
    assert ours == theirs


def test_compares_versions_and_not_their_texts() -> None:
    assert is_same("1.0", "v1")
    assert is_same("1.0-1", "1.post1")
    assert not is_same("1.0", "1.0.1")
    assert is_same("odd one", "odd one")
    assert not is_same("odd one", "1")
    for text in ("", "odd", "1.0.x", "1" * 129, "1\n.2", "\u0661"):
        assert key_of(text) is None


@pytest.mark.parametrize(
    ("events", "within", "without"),
    [
        ([("introduced", "0")], "0.dev1 1 9!9", ""),
        ([("introduced", "1"), ("fixed", "2")], "1 1.9 2rc1", "0.9 2 3"),
        ([("introduced", "1"), ("last_affected", "2")], "1 2", "0.9 2.1"),
        ([("fixed", "2"), ("introduced", "1")], "1.5", "2"),
        (
            [("introduced", "0"), ("fixed", "1"), ("introduced", "2")],
            "0.5 2 3",
            "1 1.9",
        ),
        ([("introduced", "1"), ("limit", "2")], "1 1.9", "0.9 2"),
        ([("introduced", "1"), ("limit", "*")], "1 9", "0.9"),
        # What cannot be compared is not harmless.
        ([("introduced", "odd"), ("fixed", "2")], "1 2", ""),
        ([("introduced", "1"), ("fixed", "2")], "odd", ""),
    ],
)
def test_reads_ranges(
    events: list[tuple[str, str]], within: str, without: str
) -> None:
    advice = Advice("MAL-1", (), (tuple(events),))
    for version in within.split():
        assert advice.names(version), version
    for version in without.split():
        assert not advice.names(version), version


# ---- the file ----


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "work").mkdir()
    return Job(
        order="add",
        work=str(tmp_path / "work"),
        profile="python3",
        advisories=str(tmp_path / "all.zip"),
    )


def nothing() -> None:
    """Go on."""


def named(job: Job, name: str, version: str = "1") -> Optional[str]:
    advice = read_advisories(job, nothing).find(name, version)
    return advice.id if advice else None


def test_takes_what_is_malicious_of_this_index(job: Job) -> None:
    dump(
        Path(job.advisories),
        record("one", "MAL-1", ["1.0"]),
        record("a.Range", "MAL-2", [], ALL),
        record("nothing-else", "MAL-3"),
        record("commits", "MAL-4", None, [{"type": "GIT", "events": []}]),
        record("fault", "PYSEC-1", ["1"]),
        record("taken-back", "MAL-5", ["1"], withdrawn="2026-01-01T00:00:00Z"),
        record("elsewhere", "MAL-6", ["1"], ecosystem="npm"),
        record("suffix", "MAL-7", ["1"], ecosystem="PyPI:https://a.example"),
        {"id": "MAL-8"},
    )
    assert named(job, "one") == "MAL-1"
    assert named(job, "one", "1.1") is None
    assert named(job, "a-range", "7") == "MAL-2"
    assert named(job, "nothing-else") == "MAL-3"
    assert named(job, "commits") == "MAL-4"
    assert named(job, "suffix") == "MAL-7"
    for name in ("fault", "taken-back", "elsewhere", "other"):
        assert named(job, name) is None
    found = read_advisories(job, nothing)
    assert found.find_all("a-range")
    assert not found.find_all("one")


def test_reads_a_file_once(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    dump(Path(job.advisories), record("one"))
    assert find_advisories(job) is None
    assert named(job, "one") == "MAL-2026-1"
    monkeypatch.setattr(advisories, "_read", None)
    found = find_advisories(job)
    assert found is not None
    assert found.find("one", "1")
    assert named(job, "one") == "MAL-2026-1"
    monkeypatch.undo()
    # Another file in its place counts at once, and so does one that changed.
    other = Path(job.advisories).with_name("next")
    dump(other, record("two"))
    other.rename(job.advisories)
    assert find_advisories(job) is None
    assert named(job, "two")
    assert named(job, "one") is None
    dump(Path(job.advisories), record("three"))
    assert named(job, "three")
    assert named(job, "two") is None
    assert len(os.listdir(Path(job.work) / "advisories")) == 1


def test_what_is_kept_may_be_broken(job: Job) -> None:
    dump(Path(job.advisories), record("one"))
    named(job, "one")
    (kept,) = (Path(job.work) / "advisories").iterdir()
    for text in ("", "{}", "[]", '{"identity": [], "found": {"one": []}}'):
        kept.write_text(text)
        assert find_advisories(job) is None
        assert named(job, "one") == "MAL-2026-1"


def test_one_odd_record_hides_no_other(job: Job) -> None:
    odd = [record("-a"), {"id": "MAL-2", "affected": [{"ranges": []}]}]
    marked = "\ufeff" + json.dumps(record("marked"))
    dump(Path(job.advisories), *odd, record("one"), marked)
    assert named(job, "one") == named(job, "marked") == "MAL-2026-1"


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([], "none of its 0 records has an id with MAL- and is about a"),
        ([record("a", "PYSEC-1")], "none of its 1 records"),
        ([record("a", ecosystem="npm")], "none of its 1 records"),
        (["{"], "record pypi/MAL-0.json is no JSON"),
        (["[" * 100_000], "is no JSON"),
        ([record("ok"), "[]"], "record pypi/MAL-1.json has not the form"),
        (["{}"], "has not the form of OSV"),
        ([{"id": "MAL-1", "affected": [{}]}], "none of its 1 records"),
        ([record("../a"), record("-a"), record("ä")], "none of its 3"),
        ([{"id": "MAL-1", "affected": ["a"]}], "has not the form of OSV"),
        ([record("a", versions=[1])], "has not the form"),  # type: ignore[list-item]
        ([record("a", ranges=[{"type": "ECOSYSTEM"}])], "has not the form"),
        (
            [record("a", ranges=[{"type": "X", "events": [{"later": "1"}]}])],
            "has not the form of OSV",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_a_failure(
    job: Job, records: list[Any], says: str
) -> None:
    dump(Path(job.advisories), *records)
    with pytest.raises(Failed, match=says) as failed:
        read_advisories(job, nothing)
    assert failed.value.text.startswith(
        f"the advisories {job.advisories} cannot be used: "
    )
    assert "profile/python3/packages/advisories names a zip" in (
        failed.value.text
    )
    assert find_advisories(job) is None


def test_other_files_are_failures(job: Job) -> None:
    path = Path(job.advisories)
    with pytest.raises(Failed, match="No such file or directory"):
        read_advisories(job, nothing)
    path.mkdir()
    with pytest.raises(Failed, match=r"Is a directory|it is no file"):
        read_advisories(job, nothing)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(Failed, match="it is no file"):
        read_advisories(job, nothing)
    path.unlink()
    path.write_text('{"id": "MAL-1"}')
    with pytest.raises(Failed, match="no whole zip file"):
        read_advisories(job, nothing)
    dump(path, record("a", details="x" * 100_000))
    whole = path.read_bytes()
    at = whole.index(b"pypi/MAL-0.json") + 30
    path.write_bytes(whole[:at] + bytes(10) + whole[at + 10 :])
    with pytest.raises(Failed, match="no whole zip file"):
        read_advisories(job, nothing)


@pytest.mark.parametrize(
    ("name", "offset"), [("a.json", 2**64 - 1), ("b\u00e9.json", 0)]
)
def test_a_zip_that_no_program_writes_is_a_failure(
    job: Job, name: str, offset: int
) -> None:
    """Its offset leads beyond any file, or its name is not UTF-8."""
    with zipfile.ZipFile(job.advisories, "w") as archive:
        archive.writestr(name, json.dumps(record("a")))
        if offset:
            archive.filelist[0].header_offset = offset
    path = Path(job.advisories)
    path.write_bytes(path.read_bytes().replace(b"b\xc3\xa9", b"b\xff\xa9"))
    with pytest.raises(Failed, match="no whole zip file"):
        read_advisories(job, nothing)


def test_sizes_are_bounded(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    dump(Path(job.advisories), record("a", details="x" * 10_000))
    monkeypatch.setattr(advisories, "RECORD_MAX", 1000)
    with pytest.raises(Failed, match="has more than 1000 bytes"):
        read_advisories(job, nothing)
    monkeypatch.setattr(advisories, "FILE_MAX", 10)
    with pytest.raises(Failed, match="it has more than 10 bytes"):
        read_advisories(job, nothing)


def test_memory_is_bounded(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    dump(Path(job.advisories), record("a", details="x" * (32 << 20)))
    monkeypatch.setattr(advisories, "RECORD_MAX", 64 << 20)
    monkeypatch.setattr(advisories, "MEMORY_MAX", 8 << 20)
    with pytest.raises(Failed, match="more than 8388608 bytes of memory"):
        read_advisories(job, nothing)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_job_can_end_meanwhile(job: Job) -> None:
    class Ended(Exception):
        pass

    def end() -> None:
        raise Ended

    dump(Path(job.advisories), record("a"))
    with pytest.raises(Ended):
        read_advisories(job, end)
    assert find_advisories(job) is None


# ---- jobs ----


def test_refuses_what_is_malicious(
    folder: Folder, index: FakeIndex, place: Path
) -> None:
    index.add("foo", "1")
    index.add("foo", "2.1")
    index.add("bar", "1", requires=["foo"])
    index.add("gone", "1")
    folder.settings["advisories"] = dump(
        place / "all.zip",
        record("Foo", "MAL-2026-1234", ["2.1"]),
        record("gone", "MAL-2026-5", None, ALL),
    )
    no = refuse(folder, "foo")
    assert no.ename == "PackagesRefused"
    assert no.text == (
        '"foo" 2.1 refused: MAL-2026-1234 says that it is malicious; ask for '
        "another version"
    )
    assert refuse(folder, "bar").text.startswith(
        '"foo" 2.1, which is needed by bar, refused: MAL-2026-1234 says'
    )
    # Nothing of it was downloaded, and a request that can be judged alone
    # does not ask the index.
    assert index.downloads() == 0
    index.requests.clear()
    assert refuse(folder, "foo==2.1.0").text.startswith('"foo" 2.1.0 refused')
    assert refuse(folder, "gone>=1").text == (
        '"gone" refused: MAL-2026-5 says that all of its versions are malicious'
    )
    assert index.requests == []
    answer = folder.do("add", "foo<2", "bar")
    assert [one["version"] for one in answer["packages"]] == ["1", "1"]


def test_a_job_takes_what_is_kept_once(
    folder: Folder, index: FakeIndex, place: Path
) -> None:
    """It is megabytes of JSON; only a job that has to wait reads it twice."""
    index.add("a", "1")
    index.add("b", "1")
    folder.settings["advisories"] = dump(place / "all.zip", record("foo"))
    folder.do("add", "a")
    folder.hook = """
from hearth_downloads.packages import advisories, change
def only_once(owner, name):
    real, seen = getattr(owner, name), []
    def step(*arguments):
        assert not seen, name
        seen.append(name)
        return real(*arguments)
    setattr(owner, name, step)
only_once(advisories, "_find")
only_once(change._Change, "_find_there")
"""
    for name in ("b", "a"):
        found = folder.do("add", name)["packages"]
        assert [one["name"] for one in found] == ["a", "b"]


def test_refuses_what_became_malicious(
    folder: Folder, index: FakeIndex, place: Path
) -> None:
    for name in ("bad", "good", "other"):
        index.add(name, "1")
    folder.settings["advisories"] = dump(place / "all.zip", record("x"))
    folder.do("add", "bad", "good")
    dump(place / "all.zip", record("bad", "MAL-1", ["1"]))
    for asked in ("other", "good"):
        assert refuse(folder, asked).text == (
            '"bad" 1 refused: MAL-1 says that it is malicious; ask for another '
            "version; the session has bad already: remove that first"
        )
    folder.do("remove", "bad")
    assert [one["name"] for one in folder.do("add", "other")["packages"]] == [
        "good",
        "other",
    ]


def test_a_job_fails_without_its_advisories(
    any_folder: Folder, index: FakeIndex, place: Path
) -> None:
    folder = any_folder
    index.add("a", "1")
    folder.settings["advisories"] = dump(place / "all.zip", record("x"))
    folder.do("add", "a")
    (place / "all.zip").write_text("broken")
    for asked in ("a", "b"):
        no = refuse(folder, asked)
        assert no.ename == "PackagesFailed"
        assert f"the advisories {place}/all.zip cannot be used" in no.text
    folder.do("list")
    folder.do("remove", "a")
    if os.geteuid() == 0 and folder.kind != "root":
        dump(place / "all.zip", record("x"))
        (place / "all.zip").chmod(0o600)
        no = refuse(folder, "a")
        assert "cannot be used: Permission denied; nothing is added" in no.text
        assert "which the user of the zygotes can read" in no.text
