"""What wheels bring is what they brought before, whatever is in uv's cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Iterator

import pytest
from fake_index import FakeIndex
from hearth_downloads.core.folders import open_folder
from hearth_downloads.packages import digests
from hearth_downloads.packages.digests import Digests
from hearth_downloads.packages.generations import Package
from hearth_downloads.packages.stage import DIGESTS
from worker import Folder, Refusal, refuse

ONE, TWO, THREE = ("1" * 32, "2" * 32, "3" * 32)
# A uv that was taken over changes another package, at the same size.
EVIL = """#!/bin/sh
cd /workspace/cache/archive-v0/*/b/.. || exit
{change}
echo 'error: Hash mismatch for `x`' >&2
exit 1
"""
IN_PLACE = "printf 'X = 2' 1<> b/x.py"
REPLACED = "rm b/x.py; printf 'X = 2' > b/x.py"
WITHOUT = """
from hearth_downloads.packages import change
change._Change._find_changed = lambda *_: []
"""


@pytest.fixture
def used(folder: Folder, index: FakeIndex) -> Folder:
    """Make a folder with a session that has the package b."""
    index.add("a", "1")
    index.add("b", "1", {"b/x.py": "X = 1"})
    folder.do("add", "b")
    return folder


def change(folder: Folder, script: str) -> None:
    """Change the cache by a uv that was taken over."""
    program = folder.path.parent / "uv"
    program.write_text(EVIL.format(change=script))
    program.chmod(0o755)
    refuse(folder, "a", uv=str(program), token=ONE)


@pytest.mark.parametrize("script", [IN_PLACE, REPLACED])
def test_a_changed_wheel_is_fetched_again(
    used: Folder, index: FakeIndex, script: str
) -> None:
    change(used, script)
    used.do("add", "b", token=TWO)
    assert used.read("b/x.py", token=TWO) == "X = 1"
    assert index.downloads("b") == 2
    used.do("add", "b", token=THREE)
    assert used.read("b/x.py", token=THREE) == "X = 1"
    assert index.downloads("b") == 2


def test_the_change_gets_through_without_that(used: Folder) -> None:
    change(used, IN_PLACE)
    used.hook = WITHOUT
    used.do("add", "b", token=TWO)
    assert used.read("b/x.py", token=TWO) == "X = 2"


def test_what_stays_is_fetched_again_too(
    used: Folder, index: FakeIndex
) -> None:
    used.do("add", "a", "b", token=TWO)
    change(used, IN_PLACE)
    used.do("remove", "a", token=TWO)
    assert used.read("b/x.py", token=TWO) == "X = 1"
    assert index.downloads("b") == 2


def test_a_changed_wheel_is_not_used_offline(used: Folder) -> None:
    """The cache stays: it may be all that there is."""
    change(used, REPLACED)
    with pytest.raises(Refusal) as refused:
        used.do("add", "b", token=TWO, offline=True)
    assert refused.value.ename == "PackagesFailed"
    assert "files of b are not what they were" in refused.value.text
    assert "packages/offline forbids to fetch them" in refused.value.text
    assert not used.session(TWO).exists()
    assert list(used.path.glob("work/uv/cache/archive-v0/*/b/x.py"))


def test_a_note_that_is_not_right_can_be_removed(used: Folder) -> None:
    (note,) = (used.path / "work" / DIGESTS).iterdir()
    note.write_text(note.read_text().replace("b/x.py", "b/y.py"))
    with pytest.raises(Refusal) as refused:
        used.do("add", "b", token=TWO)
    assert f"remove {used.path}/work/{DIGESTS} if" in refused.value.text
    note.unlink()
    used.do("add", "b", token=TWO)
    assert used.read("b/x.py", token=TWO) == "X = 1"


def test_a_note_that_is_cut_is_none(used: Folder) -> None:
    (note,) = (used.path / "work" / DIGESTS).iterdir()
    whole = note.read_text()
    note.write_text(whole[:20])
    used.do("add", "b", token=TWO)
    assert note.read_text() == whole


@pytest.mark.parametrize("text", ["null", "[1, 2]", "[{}]", "[" * 100_000])
def test_a_note_of_another_form_is_none(seen: Seen, text: str) -> None:
    seen.put("a", {"a.py": "1"})
    assert seen.find("a") == []
    (note,) = (seen.work / DIGESTS).iterdir()
    whole = note.read_text()
    note.write_text(text)
    assert seen.find("a") == []
    assert note.read_text() == whole


# --- what is compared ---


class Seen:
    """A folder as uv fills it, and the notes of its wheels."""

    def __init__(self, place: Path) -> None:
        self.top = place / "new"
        self.work = place / "work"
        (self.work / DIGESTS).mkdir(parents=True)
        self.number = open_folder(str(self.work))
        self.digests = Digests(self.number)

    def put(self, name: str, files: dict[str, str], listed: str = "") -> None:
        """Add a package; `listed` has files besides."""
        info = f"{name}-1.dist-info"
        whole = {**files, f"{info}/INSTALLER": str(len(files))}
        record = "".join(f"{path},,\n" for path in [*files, *listed.split()])
        for path, text in {**whole, f"{info}/RECORD": record}.items():
            (self.top / path).parent.mkdir(parents=True, exist_ok=True)
            (self.top / path).write_text(text)

    def find(self, *names: str, sha256: str = "") -> list[str]:
        """Compare the packages, and note those that are new."""
        folder = open_folder(str(self.top))
        packages = [
            Package(name, "1", True, (), sha256 or name * 64) for name in names
        ]
        try:
            found = self.digests.find_changed(folder, packages, lambda: None)
        finally:
            os.close(folder)
        if not found:
            self.digests.note()
        return found

    def notes(self) -> list[str]:
        return sorted(one[0] for one in os.listdir(self.work / DIGESTS))


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[Seen]:
    made = Seen(tmp_path)
    yield made
    os.close(made.number)


def test_what_is_the_same_is_no_change(seen: Seen) -> None:
    seen.put("a", {"a/x.py": "1", "a/y.py": "2"})
    assert seen.find("a") == []
    assert seen.notes() == ["a"]
    assert seen.find("a") == []


@pytest.mark.parametrize("how", ["other", "gone", "more"])
def test_a_change_is_found(seen: Seen, how: str) -> None:
    seen.put("a", {"a/x.py": "1", "a/y.py": "2"})
    seen.put("b", {"b.py": "1"})
    assert seen.find("a", "b") == []
    if how == "gone":
        (seen.top / "a/x.py").unlink()
    else:
        seen.put("a", {"a/x.py": "1", "a/y.py": "2", how: "1"})
        (seen.top / "a/x.py").write_text("2" if how == "other" else "1")
    assert seen.find("a", "b") == ["a"]


def test_a_file_that_hides_a_module_is_found(seen: Seen) -> None:
    """It is on no list."""
    seen.put("a", {"a.py": "1"})
    assert seen.find("a") == []
    (seen.top / "a.abi3.so").write_text("")
    (seen.top / "c.py").write_text("")
    assert seen.find("a") == ["a"]
    (seen.top / "a.abi3.so").unlink()
    assert seen.find("a") == []


def test_a_file_on_no_list_may_be_the_wheels(seen: Seen) -> None:
    seen.put("a", {"a/x.py": "1"})
    (seen.top / "a/y.py").write_text("1")
    assert seen.find("a") == []
    assert seen.find("a") == []
    (seen.top / "a/y.py").write_text("2")
    assert seen.find("a") == ["a"]
    (seen.top / "a/y.py").unlink()
    assert seen.find("a") == []


def test_a_file_on_no_list_may_be_another_wheels(seen: Seen) -> None:
    """Both have modules in one namespace."""
    seen.put("a", {"space/a.py": "1"})
    assert seen.find("a") == []
    seen.put("b", {"space/b.py": "1"})
    (seen.top / "space/data.txt").write_text("1")
    assert seen.find("a", "b") == []
    assert seen.notes() == ["a", "b"]
    assert seen.find("a", "b") == []
    (seen.top / "space/data.txt").write_text("2")
    assert seen.find("a", "b") == ["a", "b"]


def test_files_on_no_list_are_kept_in_bounds(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "ODD_MAX", 2)
    seen.put("a", {"space/a.py": "1"})
    for number in range(9):
        (seen.top / f"space/{number}.txt").write_text("1")
    assert seen.find("a") == []
    assert len(seen.digests.new["a" * 64].others) == 3
    assert seen.notes() == []


def test_what_uv_writes_is_not_compared(seen: Seen) -> None:
    info = "a-1.dist-info"
    seen.put("a", {f"{info}/METADATA": "1", "bin/a": "#!/usr/bin/python3"})
    assert seen.find("a") == []
    (seen.top / "bin/a").write_text("#!/opt/python3")
    (seen.top / info / "REQUESTED").write_text("")
    assert seen.find("a") == []
    (seen.top / info / "entry_points.txt").write_text("")
    assert seen.find("a") == ["a"]


@pytest.mark.parametrize("changed", ["\x7fELF2", "#!/bin/sh"])
def test_a_changed_program_is_found(seen: Seen, changed: str) -> None:
    """A session has it in its PATH."""
    seen.put("a", {"a.py": "1", "bin/a": "\x7fELF1"})
    assert seen.find("a") == []
    assert seen.find("a") == []
    (seen.top / "bin/a").write_text(changed)
    assert seen.find("a") == ["a"]


@pytest.mark.parametrize("together", [True, False])
def test_a_file_of_two_wheels_is_not_compared(
    seen: Seen, together: bool
) -> None:
    """The one that comes last wins."""
    seen.put("a", {"a/x.py": "1", "tests/x.py": "a"})
    if not together:
        assert seen.find("a") == []
    seen.put("b", {"b/x.py": "1", "tests/x.py": "b"})
    assert seen.find("a", "b") == []
    (seen.top / "tests/x.py").write_text("c")
    assert seen.find("a", "b") == []
    (seen.top / "a/x.py").write_text("2")
    assert seen.find("a", "b") == ["a"]


@pytest.mark.parametrize("listed", ["a/x.py", ""])
def test_a_list_of_another_wheel_hides_no_change(
    seen: Seen, listed: str
) -> None:
    """uv writes the lists, and one that was taken over can change them."""
    seen.put("a", {"a/x.py": "1"})
    seen.put("b", {"b.py": "1"})
    assert seen.find("a", "b") == []
    seen.put("b", {"b.py": "1"}, listed)
    (seen.top / "a/x.py").write_text("2")
    assert seen.find("a", "b") == (["b"] if listed else ["a"])


def test_a_list_may_name_a_file_of_another_wheel(seen: Seen) -> None:
    """It is there with the other, or not."""
    seen.put("b", {"b.py": "1"}, "a/x.py bin/b")
    assert seen.find("b") == []
    seen.put("a", {"a/x.py": "1"}, "bin/b")
    assert seen.find("a", "b") == []
    assert seen.find("a", "b") == []


def test_a_wheel_with_many_odd_files_is_not_noted(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "ODD_MAX", 1)
    shared = {"tests/x.py": "1", "tests/y.py": "1"}
    for name in "ab":
        seen.put(name, {f"{name}.py": "1", **shared})
    seen.put("c", {"c.py": "1"})
    assert seen.find("a", "b", "c") == []
    assert seen.notes() == ["c"]


def test_a_wheel_that_is_not_known_is_not_noted(seen: Seen) -> None:
    seen.put("a", {"a.py": "1"})
    assert seen.find("a", sha256="../x") == []
    assert seen.notes() == []


def test_a_list_may_name_what_is_not_there(seen: Seen) -> None:
    seen.put("a", {"a.py": "1"}, "../x.py nothing.py")
    assert seen.find("a") == []
    (seen.top / "nothing.py").write_text("1")
    assert seen.find("a") == ["a"]
