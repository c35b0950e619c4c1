"""A session's folder after a worker that was killed at any step."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.packages import generations
from hearth_downloads.packages.generations import Account, Generations, Package

STEPS = 60  # more than a commit has
move = os.rename


class Killed(BaseException):
    """The end of the process: nothing catches it."""


class Clock:
    """Ends the process before one of its calls, or lets all from there fail."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        error: type[BaseException] = Killed,
    ) -> None:
        self.left = 10**6
        self.error = error
        self.names: list[str] = []
        for owner, name in (
            (os, "rename"),
            (os, "symlink"),
            (os, "open"),
            (os, "unlink"),
            (os, "fsync"),
            (os, "chmod"),
            (shutil, "rmtree"),
        ):
            monkeypatch.setattr(
                owner, name, self.wrap(name, getattr(owner, name))
            )

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **named: Any) -> Any:
            if self.left <= 0:
                raise self.error
            self.left -= 1
            self.names.append(name)
            return call(*arguments, **named)

        return count


def stage(folder: Path, text: str) -> str:
    staged = folder / "staged"
    if staged.exists():
        (staged / "x.py").unlink()
        staged.rmdir()
    staged.mkdir()
    (staged / "x.py").write_text(text)
    return str(staged)


def account(version: str) -> Account:
    return Account(0, {"x": f"x=={version}"}, (Package("x", version, True),))


def seen(path: Path) -> tuple[str, str]:
    """Return what the session imports, and what the account says."""
    found = Generations(str(path)).read()
    shown = ""
    if (path / "current").exists():
        shown = (path / "current" / "x.py").read_text()
    return shown, found.versions().get("x", "")


def change(
    made: Generations, staged: str, before: Account, is_update: bool
) -> None:
    """Have an account that is larger than the one before."""
    longer = replace(before, resolved="x==1")
    if is_update:
        made.update(longer)
    else:
        made.commit(staged, longer)


@pytest.mark.parametrize("is_update", [False, True])
def test_an_account_that_could_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_update: bool
) -> None:
    """An index may list any number of files, each with its hash."""
    path = tmp_path / "session"
    made = Generations(str(path))
    first = made.commit(stage(tmp_path, "1"), account("1"))
    size = (path / "packages.json").stat().st_size
    monkeypatch.setattr(generations, "ACCOUNT_MAX", size)
    staged = stage(tmp_path, "2")
    with pytest.raises(Refused, match=f"the most is {size}"):
        change(made, staged, first, is_update)
    made.recover()
    assert seen(path) == ("1", "1")
    made.commit(stage(tmp_path, "2"), account("2"))
    assert seen(path) == ("2", "2")


def test_shows_one_generation_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = Generations(str(path))
    assert made.read() == Account()
    for number in (1, 2, 3):
        made.commit(stage(tmp_path, str(number)), account(str(number)))
        assert seen(path) == (str(number), str(number))
        assert made.read().generation == number
    assert sorted(os.listdir(path)) == ["2", "3", "current", "packages.json"]
    assert os.readlink(path / "current") == "3"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def begin(folder: Path, count: int) -> Path:
    """Make a session's folder with that count of generations; return it."""
    folder.mkdir()
    for number in range(count):
        Generations(str(folder / "token")).commit(
            stage(folder, str(number)), account(str(number))
        )
    return folder / "token"


def copy_over(old: str, new: str) -> None:
    """Do with a link what os.rename does, in more than one step."""
    if not os.path.islink(old):
        move(old, new)
        return
    os.unlink(new)
    os.symlink(os.readlink(old), new)
    os.unlink(old)


def kill_a_commit(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    left: int,
    rename: Callable[[str, str], None] = move,
) -> tuple[bool, list[str]]:
    """Commit, and end the process before that step.

    Return whether it was ended, and its steps.
    """
    staged = stage(path.parent, "new")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        clock = Clock(patch)
        clock.left = left
        try:
            Generations(str(path)).commit(staged, account("new"))
        except Killed:
            return True, clock.names
        return False, clock.names


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_kill_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    outcomes = set()
    for left in range(STEPS):
        folder = tmp_path / str(left)
        path = begin(folder, count)
        old = seen(path)
        was_killed, names = kill_a_commit(monkeypatch, path, left)
        assert seen(path) in (old, ("new", "new")), names
        outcomes.add(seen(path) == old)
        recover_and_go_on(folder, path)
        if not was_killed:
            break
    assert not was_killed
    assert outcomes == {False, True}


@pytest.mark.parametrize("count", [1, 2])
def test_a_kill_in_a_commit_by_a_copy_leaves_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """So the test before sees a commit that is not atomic."""
    neither = []
    for left in range(STEPS):
        path = begin(tmp_path / str(left), count)
        old = seen(path)
        was_killed, names = kill_a_commit(monkeypatch, path, left, copy_over)
        if seen(path) not in (old, ("new", "new")):
            neither.append(names[-1])
        if not was_killed:
            break
    assert not was_killed
    assert neither == ["unlink"]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_commit_that_fails_has_changed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """And one that has changed something does not fail, whatever is left."""
    failed = []
    for left in range(STEPS):
        folder = tmp_path / str(left)
        folder.mkdir()
        path = folder / "token"
        for number in range(count):
            Generations(str(path)).commit(
                stage(folder, str(number)), account(str(number))
            )
        old = seen(path)
        staged = stage(folder, "new")
        with monkeypatch.context() as patch:
            clock = Clock(patch, OSError)
            clock.left = left
            try:
                Generations(str(path)).commit(staged, account("new"))
                failed.append(False)
            except OSError:
                failed.append(True)
        assert seen(path) == (old if failed[-1] else ("new", "new"))
        recover_and_go_on(folder, path)
        if clock.left > 0:
            break
    assert clock.left > 0
    # The renames of the link and of the account are two steps.
    assert failed.count(True) > 0
    assert failed.count(False) > 1


def recover_and_go_on(folder: Path, path: Path) -> None:
    before = seen(path)
    Generations(str(path)).recover()
    assert seen(path) == before
    names = set(os.listdir(path)) if path.exists() else set()
    assert not names & {
        "packages.json.next",
        "packages.json.update",
        "current.next",
    }
    assert len([name for name in names if name.isdigit()]) <= 2
    Generations(str(path)).commit(stage(folder, "next"), account("next"))
    assert seen(path) == ("next", "next")


def test_a_kill_in_an_update_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for left in range(STEPS):
        folder = tmp_path / str(left)
        folder.mkdir()
        path = folder / "token"
        made = Generations(str(path))
        old = made.commit(stage(folder, "1"), account("1"))
        new = Account(1, {}, old.packages)
        with monkeypatch.context() as patch:
            Clock(patch).left = left
            try:
                made.update(new)
                was_killed = False
            except Killed:
                was_killed = True
        assert made.read() in (old, new)
        made.recover()
        assert made.read() in (old, new)
        if not was_killed:
            break
    assert made.read() == new


def test_an_update_that_fails_has_changed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job has said so; the next one must not make it untrue."""
    failed = []
    for left in range(STEPS):
        folder = tmp_path / str(left)
        folder.mkdir()
        path = folder / "token"
        made = Generations(str(path))
        old = made.commit(stage(folder, "1"), account("1"))
        new = Account(1, {}, old.packages)
        with monkeypatch.context() as patch:
            clock = Clock(patch, OSError)
            clock.left = left
            try:
                made.update(new)
                failed.append(False)
            except OSError:
                failed.append(True)
        expected = old if failed[-1] else new
        assert made.read() == expected, clock.names
        made.recover()
        assert made.read() == expected, clock.names
        assert sorted(os.listdir(path)) == ["1", "current", "packages.json"]
        made.update(new)
        assert made.read() == new
        if clock.left > 0:
            break
    assert clock.left > 0
    assert failed.count(True) == 3  # of the file's begin, its end, the rename


def test_follows_no_link(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = Generations(str(path))
    made.commit(stage(tmp_path, "1"), account("1"))
    target = tmp_path / "target"
    target.write_text("kept")
    (path / "packages.json.next").symlink_to(target)
    made.recover()
    made.commit(stage(tmp_path, "2"), account("2"))
    assert target.read_text() == "kept"
    assert seen(path) == ("2", "2")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"generation": "x"}', "null"]
)
def test_says_that_an_account_is_torn(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    made = Generations(str(path))
    made.commit(stage(tmp_path, "1"), account("1"))
    (path / "packages.json").write_text(text)
    with pytest.raises(Failed, match="has no account"):
        made.read()
