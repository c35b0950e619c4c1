"""What the answer says is to be imported."""

from __future__ import annotations

from pathlib import Path

from fake_index import FakeIndex
from hearth_downloads.packages.modules import (
    MODULES_MAX,
    NAME_MAX,
    find_modules,
)
from worker import Folder


def find(place: Path, *paths: str) -> dict[str, list[str]]:
    record = place / "some_name-1.dist-info" / "RECORD"
    record.parent.mkdir(exist_ok=True)
    record.write_text("".join(f"{path},sha256=x,1\n" for path in paths))
    return find_modules(str(place), {"some-name"})


def test_a_module_of_another_name_is_named(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("python-docx", "1", {"docx/__init__.py": "", "docx/x.py": ""})
    index.add("a-b", "1", requires=["python-docx"])
    answer = folder.do("add", "a-b")
    assert answer["added"] == [
        {"name": "a-b", "version": "1"},
        {"name": "python-docx", "version": "1", "modules": ["docx"]},
    ]
    # What was there already is not named again.
    index.add("c", "1", {"other.py": ""})
    answer = folder.do("add", "c")
    assert answer["added"] == [
        {"name": "c", "version": "1", "modules": ["other"]}
    ]


def test_modules_are_found_by_the_files(tmp_path: Path) -> None:
    expected = ["google.one", "google.two", "native", "plain", "pkg"]
    assert find(
        tmp_path,
        "plain.py",
        '"native.cpython-311-x86_64-linux-gnu.so"',
        "pkg/__init__.py",
        "pkg/inner/__init__.py",
        "pkg/deep/a/b/c.py",
        "google/one/__init__.py",
        "google/one/x.py",
        "google/two.py",
        "_hidden.py",
        "../bin/x.py",
        "data/x.txt",
        "some-name.data/x.py",
    ) == {"some-name": sorted(expected)}
    assert find(tmp_path, "some_name/__init__.py") == {}
    assert find(tmp_path, "Some_Name.py") == {}
    assert find(tmp_path) == {}


def test_a_hostile_record_is_bounded(tmp_path: Path) -> None:
    long = "x" * (NAME_MAX + 1)
    many = [f"m{n}.py" for n in range(100)]
    found = find(tmp_path, f"{long}.py", "a/" * 100_000 + "x.py", *many, "é.py")
    assert len(found["some-name"]) == MODULES_MAX
    assert max(map(len, found["some-name"])) <= NAME_MAX
    (tmp_path / "some_name-1.dist-info" / "RECORD").unlink()
    (tmp_path / "some_name-1.dist-info" / "RECORD").symlink_to("/dev/zero")
    assert find_modules(str(tmp_path), {"some-name"}) == {}
