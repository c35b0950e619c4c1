"""What wheels bring is what they brought before, whatever is in uv's cache."""

from __future__ import annotations

import os
import re
import shutil
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


def test_all_notes_can_be_removed_offline(used: Folder) -> None:
    shutil.rmtree(used.path / "work" / DIGESTS)
    used.do("add", "b", token=TWO, offline=True)
    assert used.read("b/x.py", token=TWO) == "X = 1"


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


def test_a_note_that_is_cut_is_none_offline(used: Folder) -> None:
    (note,) = (used.path / "work" / DIGESTS).iterdir()
    whole = note.read_text()
    note.write_text("")
    used.do("add", "b", token=TWO, offline=True)
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


def test_a_wheel_without_a_note_hides_no_change(
    used: Folder, index: FakeIndex
) -> None:
    """Else its list could claim the file of another wheel."""
    index.add("c", "1", {"c/x.py": "X = 1"})
    used.do("add", "c", token=TWO)
    for note in (used.path / "work" / DIGESTS).iterdir():
        if "c/x.py" in note.read_text():
            note.unlink()
    claim = "echo b/x.py,, | tee -a ../*/c-1.dist-info/RECORD"
    change(used, f"{IN_PLACE}; {claim}")
    used.do("add", "b", "c", token=THREE)
    assert used.read("b/x.py", token=THREE) == "X = 1"
    assert index.downloads("b") == 2


@pytest.mark.parametrize("tag", ["py3-none-xyz", "py2-none-any"])
def test_tags_hide_no_change(
    folder: Folder, index: FakeIndex, tag: str
) -> None:
    """They say which wheel of several it is, and are in the cache, too."""
    index.add("a", "1")
    index.add("b", "1", {"b/x.py": "X = 1"})
    index.add("b", "1", {"b/x.py": "X = 3"}, tag="py2-none-any")
    folder.do("add", "b")
    change(folder, f"{IN_PLACE}; sed -i s/py3-none-any/{tag}/ b-1*/WHEEL")
    for token in (TWO, THREE):
        folder.do("add", "b", token=token)
        assert folder.read("b/x.py", token=token) == "X = 1"
        assert index.downloads("b") == 2


def test_a_wheel_of_an_unknown_hash_is_fetched_once(
    used: Folder, index: FakeIndex
) -> None:
    """Its version was built again: both files have the same tags."""
    index.add("b", "1", {"b/x.py": "X = 2"}, tag="1-py3-none-any")
    shutil.rmtree(used.path / "work/uv/cache")  # one wheel is to be changed
    for token in (ONE, TWO, THREE):
        used.do("add", "b", token=token)
        assert used.read("b/x.py", token=token) == "X = 2"
        assert index.downloads("b") == 2
    used.do("remove", "b", token=ONE)
    change(used, "printf 'X = 3' 1<> b/x.py")
    used.do("add", "b", token=ONE)
    assert used.read("b/x.py", token=ONE) == "X = 2"
    assert index.downloads("b") == 3


def test_wheels_may_have_one_file(used: Folder, index: FakeIndex) -> None:
    """The list of one that has just been fetched is believed."""
    index.add("c", "1", {"b/x.py": "X = 3"})
    for token in (TWO, THREE):
        used.do("add", "b", "c", token=token)
        assert used.read("b/x.py", token=token) in ("X = 1", "X = 3")
        assert index.downloads("b") == 1


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

    def find(
        self, *names: str, sha256: str = "", cached: str = ""
    ) -> list[str]:
        """Compare the packages, and note those that are new.

        Those of `cached` have not come in this job.
        """
        folder = open_folder(str(self.top))
        packages = [
            Package(name, "1", True, (), sha256 or name * 64) for name in names
        ]
        try:
            found = self.digests.find_changed(
                folder,
                packages,
                lambda: None,
                set(names) - set(cached),
                {name: {name * 64} for name in names},
            )
        finally:
            os.close(folder)
        if not found:
            self.digests.note()
        return found

    def compared(self) -> list[str]:
        """Return the packages whose notes are not empty."""
        texts = {one.name: one.read_text() for one in self.all()}
        return sorted(name[0] for name in texts if texts[name] != "[]")

    def all(self) -> list[Path]:
        return list((self.work / DIGESTS).iterdir())

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
    assert seen.compared() == []


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
    assert seen.find("a", "b") == (["a", "b"] if listed else ["a"])


@pytest.mark.parametrize("listed", ["a/x.py", "a/nothing.py"])
def test_the_list_of_a_new_wheel_hides_no_change(
    seen: Seen, listed: str
) -> None:
    """If it has just been fetched it is the list that the wheel has."""
    seen.put("a", {"a/x.py": "1"})
    assert seen.find("a") == []
    seen.put("b", {"b.py": "1"}, listed)
    path = "a/x.py" if listed == "a/x.py" else "a/z.so"
    (seen.top / path).write_text("2")
    assert seen.find("a", "b", cached="b") == ["b", "a"]
    assert seen.find("a", "b") == []


@pytest.mark.parametrize("hash_", ["", "b" * 64])
def test_a_wheel_without_a_note_has_to_come(seen: Seen, hash_: str) -> None:
    """Its hash may be unknown because it was changed."""
    seen.put("a", {"a.py": "1"})
    assert seen.find("a") == []
    found = seen.find("a", sha256=hash_ or "unknown", cached="a")
    assert found == ["a"]
    assert seen.find("a", sha256=hash_ or "unknown") == []


def test_a_wheel_without_a_note_may_stay_offline(seen: Seen) -> None:
    """An operator may have removed all notes."""
    seen.digests.is_offline = True
    seen.put("a", {"a.py": "1"})
    assert seen.find("a", cached="a") == []
    assert seen.notes() == ["a"]
    assert seen.find("a", sha256="b" * 64, cached="a") == ["a"]


def test_a_wheel_of_an_unknown_hash_may_stay(seen: Seen) -> None:
    """No file of its version has a note."""
    seen.put("a", {"a.py": "1"})
    assert seen.find("a", sha256="unknown", cached="a") == []
    assert seen.notes() == []


def test_a_wheel_of_an_unknown_hash_is_compared(seen: Seen) -> None:
    """Another that was fetched may be the other file of its version."""
    seen.put("a", {"a.py": "1", "a-1.dist-info/WHEEL": "1"})
    assert seen.find("a", sha256="unknown") == []
    (seen.top / "a.py").write_text("2")
    assert seen.find("a", sha256="unknown", cached="a") == ["a"]
    assert seen.find("a", sha256="unknown") == []
    assert seen.find("a", sha256="unknown", cached="a") == []
    assert len(seen.all()) == 1
    (seen.top / "a-1.dist-info/WHEEL").write_text("2")
    assert seen.find("a", sha256="unknown") == []
    assert len(seen.all()) == 2


def test_a_new_wheel_may_bring_the_same_file(seen: Seen) -> None:
    seen.put("a", {"a/x.py": "1", "tests/x.py": ""})
    assert seen.find("a") == []
    seen.put("b", {"b/x.py": "1", "tests/x.py": ""})
    assert seen.find("a", "b") == []


def test_a_file_of_two_wheels_is_that_of_one(seen: Seen) -> None:
    """Each has a note of its own file."""
    seen.put("a", {"tests/x.py": "a"})
    assert seen.find("a") == []
    shutil.rmtree(seen.top)
    seen.put("b", {"tests/x.py": "b"})
    assert seen.find("b") == []
    seen.put("a", {"tests/x.py": "a"})
    assert seen.find("a", "b") == []
    seen.put("b", {"tests/x.py": "b"})
    assert seen.find("a", "b") == []
    (seen.top / "tests/x.py").write_text("c")
    assert seen.find("a", "b") == ["a", "b"]


def test_a_script_may_come_in_place_of_a_program(seen: Seen) -> None:
    """Two wheels have one of that name, and the one that comes last wins."""
    seen.put("b", {"b.py": "1", "bin/x": "\x7fELF1"})
    assert seen.find("b") == []
    seen.put("a", {"a.py": "1", "bin/x": "#!/usr/bin/python3"})
    assert seen.find("a", "b") == []
    assert seen.find("a", "b") == []
    seen.put("b", {"b.py": "1", "bin/x": "\x7fELF1"})
    assert seen.find("a", "b") == []
    (seen.top / "bin/x").unlink()
    seen.put("a", {"a.py": "1"})
    assert seen.find("b") == ["b"]


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
    assert seen.compared() == ["c"]
    (seen.top / "a.py").write_text("2")
    assert seen.find("a", "b", "c", cached="ab") == []


def test_a_note_that_could_not_be_read_is_not_written(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen.put("a", {"a.py": "1"})
    seen.put("b", {f"b/{number}.py": "1" for number in range(9)})
    monkeypatch.setattr(digests, "BYTES_MAX", 400)
    assert seen.find("a", "b") == []
    assert seen.compared() == ["a"]
    assert seen.find("a", "b", cached="ab") == []


def test_a_note_is_written_up_to_what_is_read(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen.put("a", {"a/\u00e9.py": "1"})
    assert seen.find("a") == []
    (note,) = (seen.work / DIGESTS).iterdir()
    size = note.stat().st_size
    for most, count in ((size, 1), (size - 1, 0)):
        note.unlink()
        monkeypatch.setattr(digests, "BYTES_MAX", most)
        assert seen.find("a") == []
        assert len(seen.compared()) == count
        assert seen.find("a", cached="a") == []


def test_a_hash_that_is_none_names_no_note(seen: Seen) -> None:
    seen.put("a", {"a.py": "1"})
    assert seen.find("a", sha256="../x") == []
    (note,) = seen.all()
    assert re.fullmatch("[0-9a-f]{64}", note.name)
    assert os.listdir(seen.work) == [DIGESTS]


def test_a_list_may_name_what_is_not_there(seen: Seen) -> None:
    seen.put("a", {"a.py": "1"}, "../x.py nothing.py")
    assert seen.find("a") == []
    (seen.top / "nothing.py").write_text("1")
    assert seen.find("a") == ["a"]
