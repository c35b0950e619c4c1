"""Sessions that want one wheel at the same time, and workers that are killed at
each step. What is left serves the next job, and nothing else is left."""

from __future__ import annotations

import os

import pytest
from downloading import SOON, are_gone, await_that, children
from fake_index import FakeIndex
from worker import ALWAYS, LONG, Ended, Folder

ROUNDS = 3
FIRST, SECOND = "1" * 32, "2" * 32
# On the way to the commit, in it and after it.
MOMENTS = [
    ("stage.Stage", "_take_over", "after"),
    ("resolve.Resolver", "install", "after"),
    ("generations.Generations", "commit", "before"),
    ("generations.Generations", "_rename", "after"),
    ("generations.Generations", "commit", "after"),
    ("stage.Stage", "clear", "before"),
]
# Each step between them.
MORE_MOMENTS = [
    ("stage.Stage", "try_lock", "after"),
    ("stage.Stage", "_open_space", "before"),
    ("stage.Stage", "_take_over", "before"),
    ("stage.Stage", "open", "after"),
    ("profile_wheels.ProfileWheels", "_make", "before"),
    ("profile_wheels.ProfileWheels", "_make", "after"),
    ("resolve.Resolver", "resolve", "before"),
    ("resolve.Resolver", "resolve", "after"),
    ("resolve.Resolver", "install", "before"),
    ("resolve.Resolver", "lock", "after"),
    ("change._Change", "_judge", "after"),
    ("generations.Generations", "_write", "after"),
    ("generations.Generations", "_remove_others", "before"),
    ("stage.Stage", "clear", "after"),
]


def kill_at(place: str, name: str, when: str) -> str:
    """Return the hook by which a worker kills itself at that step."""
    module, owner = place.split(".")
    return f"""
import os, signal
from hearth_downloads.packages import {module}
real = {module}.{owner}.{name}
def step(*arguments, **options):
    if {when!r} == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{module}.{owner}.{name} = step
"""


# Shows a generation by two steps, and not by one rename.
IN_TWO_STEPS = """
import os
from hearth_downloads.packages import generations
def hide(self):
    os.unlink(os.path.join(self.path, generations.CURRENT))
def rename(self, old, new, real=generations.Generations._rename):
    if new == generations.CURRENT:
        self.hide()
    real(self, old, new)
generations.Generations.hide = hide
generations.Generations._rename = rename
"""


def kill(folder: Folder, hook: str) -> None:
    """Let a worker change the version from 1 to 2, and be killed then."""
    folder.hook = hook
    killed = folder.start("add", "a==2")
    with pytest.raises((Ended, ConnectionResetError)):
        killed.answer()
    assert killed.process.wait(LONG) < 0
    folder.hook = ""


def check_shown(folder: Folder) -> None:
    """The session has the old packages or the new."""
    assert folder.read("a.py") in ("VERSION = '1'\n", "VERSION = '2'\n")


def check_left(folder: Folder) -> None:
    """Nothing of a job is in the work folder, nor beside the sessions."""
    work = folder.path / "work"
    assert sorted(os.listdir(work)) == ALWAYS
    assert os.listdir(work / "uv") == ["cache"]
    for session in (folder.path / "sessions").iterdir():
        others = {one for one in os.listdir(session) if not one.isdigit()}
        assert others == {"current", "packages.json"}


@pytest.mark.parametrize(
    ("owner", "name", "when"),
    [
        *MOMENTS,
        *(pytest.param(*one, marks=pytest.mark.deep) for one in MORE_MOMENTS),
    ],
)
def test_a_kill_at_a_moment(
    folder: Folder, index: FakeIndex, owner: str, name: str, when: str
) -> None:
    """The session has the old packages or the new, and the next job works."""
    for version in ("1", "2"):
        index.add("a", version, tag="py3-none-any")
        # Another wheel of it: uv is asked which one it has taken.
        index.add("a", version, tag="py2-none-any")
    folder.do("add", "a==1")
    for path in (folder.path / "work" / "profile-wheels").iterdir():
        os.truncate(next(path.iterdir()), 0)  # so it is made again
    kill(folder, kill_at(owner, name, when))
    check_shown(folder)
    answer = folder.do("add", "a==2", token=FIRST)
    assert [one["version"] for one in answer["packages"]] == ["2"]
    index.add("b", "1")
    folder.do("add", "a==2", "b")  # a change clears up, as a list does not
    for token in ("0" * 32, FIRST):
        assert folder.read("a.py", token) == "VERSION = '2'\n"
    check_left(folder)


def test_a_kill_in_a_commit_of_two_steps_is_seen(
    folder: Folder, index: FakeIndex
) -> None:
    """So the test before sees a commit that is not atomic."""
    for version in ("1", "2"):
        index.add("a", version)
    folder.do("add", "a==1")
    step = kill_at("generations.Generations", "hide", "after")
    kill(folder, IN_TWO_STEPS + step)
    with pytest.raises(FileNotFoundError):
        check_shown(folder)


@pytest.mark.parametrize("is_killed", [False, True])
def test_two_sessions_race_on_one_wheel(
    folder: Folder, index: FakeIndex, is_killed: bool
) -> None:
    """The first is in the middle of the wheel when the second begins."""
    for number in range(ROUNDS):
        name = f"{'abc'[number]}{'k' * is_killed}"
        release = index.add(name, "1", silent=is_killed)
        before = index.downloads(name)
        first = folder.start("add", name, token=FIRST)
        await_that(lambda: index.downloads(name) > before, "nothing came")
        second = folder.start("add", name, token=SECOND)
        below = children(first.process.pid)
        if is_killed:
            assert second.await_progress() == "waiting for another job's end"
            release.silent = False
            first.kill()
        else:
            assert first.answer()["added"] == [{"name": name, "version": "1"}]
        added = second.answer()["added"]
        assert added == [{"name": name, "version": "1"}]
        if is_killed:
            folder.do("add", name, token=FIRST)
        await_that(lambda: are_gone(below), "something runs on", SOON)
        check_same(folder, f"{name}.py")
        check_left(folder)


def check_same(folder: Folder, name: str) -> None:
    """Both have the right content, and it is one file."""
    one, other = (
        folder.session(token) / "current" / name for token in (FIRST, SECOND)
    )
    assert one.read_text() == other.read_text() == "VERSION = '1'\n"
    assert one.stat().st_ino == other.stat().st_ino
