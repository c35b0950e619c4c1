"""A wheel does not pass as a package that it is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable

import pytest
from depth import spread
from fake_index import FakeIndex, make_metadata
from hearth_downloads.core.faults import Gone, Refused
from hearth_downloads.packages.metadata import judge_metadata
from hearth_downloads.packages.profile import METADATA_MAX
from worker import Folder, Refusal, refuse_by_rule

NUMPY = make_metadata("numpy", "99", [], {})
VERSIONS = {"b-c": "1.0", "local": "1.0+cu1"}


def judge(
    folder: Path,
    versions: dict[str, str] = VERSIONS,
    check: Callable[[], None] = lambda: None,
) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        judge_metadata(number, versions, check)
    finally:
        os.close(number)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


CLAIMS = [
    ("numpy-99.dist-info/METADATA", "pass as numpy 99, which was not"),
    ("numpy-99.dist-info/x", "pass as numpy 99, which was not"),
    ("numpy.egg-info", "pass as numpy, which was not"),
    ("NumPy-99-py3.11.EGG-INFO/PKG-INFO", "pass as numpy 99, which was"),
    ("numpy-99-py3.11.egg/x", "numpy-99-py3.11.egg, by which"),
    ("numpy.egg-link", "numpy.egg-link, by which"),
    ("a-2.dist-info/METADATA", "pass as a 2, and 1 was resolved"),
    ("a-1.dist-info/METADATA", "pass as numpy, and it is that of a"),
]


@pytest.mark.parametrize(
    ("below", "path", "why"),
    spread(
        [
            (below, path, why)
            for below in ("", "a-1.data/purelib/", "a-1.data/data/")
            for path, why in CLAIMS
            # uv itself takes no wheel with two such folders.
            if below or ".dist-info" not in path
        ]
    ),
)
def test_refuses_the_metadata_of_another_package(
    folder: Folder, index: FakeIndex, below: str, path: str, why: str
) -> None:
    index.add("a", "1", {"a.py": "", f"{below}{path}": NUMPY})
    refuse_by_rule(folder, why)


def test_refuses_it_for_all_sessions_too(
    folder: Folder, index: FakeIndex
) -> None:
    path = "a-1.data/purelib/numpy-99.dist-info/METADATA"
    index.add("a", "1", {path: NUMPY})
    profiles = folder.profiles()
    with pytest.raises(Refusal, match="pass as numpy 99"):
        folder.do("profile", "a", session=str(profiles))
    assert not list(profiles.rglob("current"))


@pytest.mark.parametrize(
    "name",
    [
        "b_c-1.0.dist-info",
        "B.c-1.0.dist-info",
        "b_c-1.dist-info",
        "b_c.egg-info",
        "b_c-1.0-py3.11.egg-info",
        "local-1.0+cu1.dist-info",
        "numpy-99",
        "egg",
    ],
)
def test_takes_what_is_its_own(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    judge(tmp_path)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("b_c/x,,\nlocal-1.dist-info/METADATA,,\n", "which is that of another"),
        ('"local-1.DIST-INFO/a,b",,\r\n', "which is that of another"),
        ("x" * 200_000, "RECORD cannot be read"),
    ],
)
def test_refuses_what_writes_in_the_metadata_of_another(
    tmp_path: Path, record: str, why: str
) -> None:
    write(tmp_path / "b_c-1.0.dist-info" / "RECORD", record)
    with pytest.raises(Refused, match=why):
        judge(tmp_path)


def test_takes_a_record_of_its_own(tmp_path: Path) -> None:
    """Also of what others it has inside, and by another form of its name."""
    write(
        tmp_path / "b_c-1.0.dist-info" / "RECORD",
        "\nB.C-1.dist-info/x,,\nb_c/local-1.dist-info/x,,\nlocal.dist-info,,",
    )
    judge(tmp_path)


@pytest.mark.parametrize("name", ["b_c.dist-info", "-1.dist-info", ".egg-info"])
def test_refuses_a_folder_without_name_or_version(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(Refused, match="only the metadata of its own"):
        judge(tmp_path)


@pytest.mark.parametrize("text", ["METADATA", "PKG-INFO"])
@pytest.mark.parametrize(
    "head",
    [
        "Name: numpy\n",
        "Name: b-c\nname: numpy\n",
        "Name: b-c\r\nNAME:numpy\r\n",
        "Name: b-c\rName: numpy\r",
        "Name:\n numpy\n",
        "Name: b-c\nVersion: 99\n",
        "\nName: numpy\n",
    ],
)
def test_refuses_a_head_with_another_name(
    tmp_path: Path, text: str, head: str
) -> None:
    write(tmp_path / "b_c-1.0.dist-info" / text, head)
    with pytest.raises(Refused, match="by which it would pass as"):
        judge(tmp_path)


def test_takes_other_names_in_a_description(tmp_path: Path) -> None:
    own = tmp_path / "b_c-1.0.dist-info"
    write(
        own / "METADATA",
        "Name: B_C\nVersion: 1\nSummary: x\n        Name: y\n\nName: numpy\n",
    )
    judge(tmp_path)
    write(own / "x" / "METADATA", "Name: numpy\n")
    judge(tmp_path)


def test_refuses_large_metadata(tmp_path: Path) -> None:
    """All workers read that of a profile later."""
    path = tmp_path / "b_c-1.0.dist-info" / "METADATA"
    write(path, "Name: b-c\n\n")
    os.truncate(path, METADATA_MAX)
    judge(tmp_path)
    os.truncate(path, METADATA_MAX + 1)
    with pytest.raises(Refused, match=r"b_c-1\.0.*/METADATA has"):
        judge(tmp_path)


@pytest.mark.parametrize("text", ["METADATA", "PKG-INFO"])
def test_refuses_a_folder_in_the_place_of_a_text(
    tmp_path: Path, text: str
) -> None:
    write(tmp_path / "b_c-1.0.dist-info" / text / "x", "")
    with pytest.raises(Refused, match=f"/{text} of a package is a folder"):
        judge(tmp_path)


def test_ends_with_the_job(tmp_path: Path) -> None:
    """Not only after all of the files, which may be many and long."""
    versions = {f"a{number}": "1" for number in range(10)}
    for name in versions:
        text = make_metadata(name, "1", [], {}).decode()
        write(tmp_path / f"{name}-1.dist-info/METADATA", text)
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 5:
            raise Gone

    with pytest.raises(Gone):
        judge(tmp_path, versions, check)
    calls.clear()
    judge(tmp_path, versions, lambda: calls.append(1))
    assert len(calls) == 20  # and once more for who has written it
