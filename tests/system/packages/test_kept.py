"""The packages that all sessions of a profile have: made once for a key, used
without the index, refused by the rules of today."""

from __future__ import annotations

import json
import os
import shutil
import stat
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from fake_index import FakeIndex, Member, make_metadata
from hearth_downloads.packages.generations import Generations
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.kept import make_key
from hearth_downloads.packages.profile import Installed
from worker import Folder, Refusal, refuse


def make(folder: Folder, *names: str, **settings: Any) -> dict[str, Any]:
    return folder.do(
        "profile", *names, session=str(folder.profiles()), **settings
    )


def no(folder: Folder, *names: str, **settings: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        make(folder, *names, **settings)
    return refused.value


def make_first(folder: Folder, index: FakeIndex) -> tuple[dict[str, Any], Path]:
    """Make an environment with the package a; return what is said of it, and
    where it is."""
    index.add("a", "1.0")
    first = make(folder, "a")
    return first, folder.profiles() / first["environment"]


def shown(folder: Folder, answer: dict[str, Any]) -> list[str]:
    return sorted(os.listdir(folder.profiles() / answer["environment"]))


def test_it_is_made_and_used_again_without_the_index(
    any_folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1.0", requires=["dep"])
    index.add("dep", "2")
    first = make(any_folder, "a>=1")
    key, number = first["environment"].split("/")
    assert (len(key), number) == (32, "1")
    assert {"a.py", "dep.py"} <= set(shown(any_folder, first))
    # No file is one of uv's cache, which a uv that is taken over can change.
    made = any_folder.profiles() / first["environment"]
    assert [one.stat().st_nlink for one in made.glob("*.py")] == [1, 1]
    about = made.stat()
    assert stat.S_IMODE(about.st_mode) == 0o755
    index.status = 500
    index.requests.clear()
    again = make(any_folder, "a >= 1")
    assert again["environment"] == first["environment"]
    assert again["added"] == []
    assert index.count() == 0


def test_another_list_is_made_beside_it(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1.0")
    index.add("b", "1.0")
    first = make(folder, "a")
    second = make(folder, "a", "b")
    assert first["environment"] != second["environment"]
    assert "b.py" not in shown(folder, first)
    assert "b.py" in shown(folder, second)


@pytest.mark.parametrize("member", ["pth", "shadow"])
def test_a_hostile_wheel_leaves_nothing(
    folder: Folder, index: FakeIndex, member: str
) -> None:
    bad = {
        "pth": Member("a.pth", b"import os"),
        "shadow": Member("json/__init__.py"),
    }[member]
    index.add("a", "1.0", members=[bad])
    assert no(folder, "a").ename == "PackagesRefused"
    for key in os.listdir(folder.profiles()):
        assert not (folder.profiles() / key / "current").exists()


def test_what_is_forbidden_today_is_refused(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1.0", requires=["dep"])
    index.add("dep", "2")
    first = make(folder, "a")
    refusal = no(folder, "a", deny=["dep"])
    assert refusal.ename == "PackagesRefused"
    assert "dep, which is needed by a, is not permitted" in refusal.text
    assert make(folder, "a")["environment"] == first["environment"]


def test_half_of_one_is_made_anew(folder: Folder, index: FakeIndex) -> None:
    """As a worker that was killed leaves it."""
    _, made = make_first(folder, index)
    (made.parent / "current").unlink()
    answer = make(folder, "a")
    assert "a.py" in shown(folder, answer)
    kept = Generations(str(made.parent))
    assert kept.is_whole(kept.read())
    shutil.rmtree(folder.profiles() / answer["environment"])
    assert "a.py" in shown(folder, make(folder, "a"))


@pytest.mark.parametrize("how", ["cut", "gone", "more"])
def test_one_that_is_not_whole_is_made_anew(
    folder: Folder, index: FakeIndex, how: str
) -> None:
    index.add("a", "1.0")
    index.add("b", "1.0", {"b/deep/x.py": "X = 1"})
    first = make(folder, "a", "b")
    made = folder.profiles() / first["environment"]
    if how == "cut":
        os.truncate(made / "b" / "deep" / "x.py", 0)
    elif how == "gone":
        (made / "b" / "deep" / "x.py").unlink()
    else:
        (made / "a.py").write_text("X = 1\n" * 9)
    answer = make(folder, "a", "b")
    assert answer["environment"] != first["environment"]
    again = folder.profiles() / answer["environment"]
    assert (again / "b" / "deep" / "x.py").read_text() == "X = 1"
    index.requests.clear()
    assert make(folder, "a", "b")["environment"] == answer["environment"]
    assert index.count() == 0


def make_older(made: Path) -> None:
    """Make of it one that a hearth without today's rules has made."""
    path = made.parent / "packages.json"
    account = json.loads(path.read_text())
    del account["content"], account["rules"]
    path.write_text(json.dumps(account))


def test_one_that_older_rules_have_let_pass_is_judged_again(
    folder: Folder, index: FakeIndex
) -> None:
    first, made = make_first(folder, index)
    make_older(made)
    index.requests.clear()
    assert make(folder, "a")["environment"] == first["environment"]
    assert json.loads((made.parent / "packages.json").read_text())["rules"]
    make_older(made)
    claim = made / "numpy-99.dist-info"
    claim.mkdir()
    (claim / "METADATA").write_bytes(make_metadata("numpy", "99", [], {}))
    assert index.count() == 0
    answer = make(folder, "a")
    assert answer["environment"] != first["environment"]
    assert "numpy-99.dist-info" not in shown(folder, answer)
    # While the index has nothing better, there is none.
    made = folder.profiles() / answer["environment"]
    make_older(made)
    (made / "b.pth").write_text("")
    index.releases.clear()
    index.add("a", "1.0", members=[Member("b.pth")])
    refusal = no(folder, "a")
    assert refusal.ename == "PackagesRefused"
    assert "b.pth" in refusal.text


def test_one_is_on_the_disk_before_it_has_its_name(
    folder: Folder, index: FakeIndex
) -> None:
    log = folder.profiles().parent / "work" / "log"
    folder.hook = f"""
import ctypes, os
from types import SimpleNamespace
def note(text):
    with open({str(log)!r}, "a") as file:
        file.write(text + "\\n")
def syncfs(number):
    note("sync " + " ".join(sorted(os.listdir(number))))
    return 0
ctypes.CDLL = lambda *_, **__: SimpleNamespace(syncfs=syncfs)
rename = os.rename
def look(old, new, **places):
    note(f"rename {{os.path.basename(new)}}")
    rename(old, new, **places)
os.rename = look
"""
    index.add("a", "1.0")
    make(folder, "a")
    lines = log.read_text().splitlines()
    assert lines.index("sync a-1.0.dist-info a.py") < lines.index("rename 1")


def test_a_damaged_account_is_made_anew(
    folder: Folder, index: FakeIndex
) -> None:
    first, made = make_first(folder, index)
    (made.parent / "packages.json").write_text("")
    answer = make(folder, "a")
    assert "a.py" in shown(folder, answer)
    # Sessions from before may still be shown the other one.
    assert answer["environment"] != first["environment"]
    assert made.is_dir()


def test_a_session_has_them_as_the_profiles(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1.0")
    index.add("a", "2.0")
    index.add("other", "1.0", requires=["a"])
    index.add("needs", "1.0", requires=["a>=2"])
    index.add("hides", "1.0", {"a.py": ""})
    made = make(folder, "a<2")
    there = str(folder.profiles() / made["environment"])
    answer = folder.do("add", "a", preinstalled=there)
    assert answer["present"] == [{"name": "a", "version": "1.0"}]
    assert answer["packages"] == []
    answer = folder.do("add", "other", preinstalled=there)
    assert [one["name"] for one in answer["packages"]] == ["other"]
    assert not [one for one in folder.current() if one.startswith("a")]
    assert refuse(folder, "a==2.0", preinstalled=there)
    assert refuse(folder, "needs", preinstalled=there)
    refusal = refuse(folder, "hides", preinstalled=there)
    assert "has a module a" in refusal.text


def test_what_a_profile_has_no_more_hinders_no_removal(
    folder: Folder, index: FakeIndex
) -> None:
    """A package needs what the profile had when that was added."""
    for name in ("had", "other"):
        index.add(name, "1")
    index.add("needs", "1", requires=["had"])
    there = str(folder.profiles() / make(folder, "had")["environment"])
    folder.do("add", "needs", "other", preinstalled=there)
    answer = folder.do("remove", "other")
    assert answer["removed"] == [{"name": "other", "version": "1"}]
    assert "needs.py" in folder.current()


def test_a_namespace_of_both_is_shared(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("one", "1", {"shared/one.py": ""})
    index.add("two", "1", {"shared/two.py": ""})
    index.add("three", "1", {"shared/one.py": ""})
    there = str(folder.profiles() / make(folder, "one")["environment"])
    assert folder.do("add", "two", preinstalled=there)["added"]
    refusal = refuse(folder, "three", preinstalled=there)
    assert "has a module shared.one" in refusal.text


def test_what_the_profile_has_itself_is_not_made(
    folder: Folder, index: FakeIndex
) -> None:
    answer = make(folder, "pytest")
    assert answer["present"] == [
        {"name": "pytest", "version": version("pytest")}
    ]
    assert shown(folder, answer) == []


def test_all_that_decides_is_in_the_key() -> None:
    installed = {"x": Installed("x", "1", (), ())}
    wanted = {"a": "a>=1"}
    job = Job(profile="p", index="http://a/", hosts=("b",), cooldown=1)
    keys = [
        make_key(job, wanted, installed),
        make_key(job, {"a": "a>=2"}, installed),
        make_key(job, wanted, {}),
        make_key(job, wanted, {"x": Installed("x", "2", (), ())}),
        *(
            make_key(Job(**{**vars(job), **other}), wanted, installed)
            for other in (
                {"profile": "q"},
                {"index": "http://b/"},
                {"hosts": ("c",)},
                {"cooldown": 2},
                {"max_bytes": 1},
                {"max_files": 1},
                {"require_hashes": True},
            )
        ),
    ]
    assert len(set(keys)) == len(keys)
    assert make_key(Job(**{**vars(job), "deny": ("z",)}), wanted, {}) == keys[2]
