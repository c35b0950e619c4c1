"""What the worker does for a session, with an index that is honest."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from fake_index import FakeIndex
from hearth_downloads.core.faults import Conflict
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.rules import read_rules
from hearth_downloads.packages.sentences import Case, explain
from worker import ALWAYS, PACKAGE, ROOT, Folder, Refusal, names

OTHER = "1" * 32


def run(folder: Folder, code: str) -> str:
    """Run code in a Python that has the session's packages."""
    path = folder.session() / "current"
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path += [{str(path)!r}]\n{code}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_adds_lists_and_removes(any_folder: Folder, index: FakeIndex) -> None:
    folder = any_folder
    one = index.add("Humanize", "4.0", requires=["tz.data>=1"])
    other = index.add(
        "tz.data", "1.2", files={"tz_data/__init__.py": "X = 5\n"}
    )
    run_ = folder.start("add", "humanize")
    answer = run_.answer()
    assert answer == {
        "packages": [
            {
                "name": "humanize",
                "version": "4.0",
                "requested": True,
                "sha256": one.sha256,
            },
            {
                "name": "tz-data",
                "version": "1.2",
                "requested": False,
                "sha256": other.sha256,
            },
        ],
        "added": [
            {"name": "humanize", "version": "4.0"},
            {"name": "tz-data", "version": "1.2"},
        ],
        "changed": [],
        "removed": [],
        "present": [],
        "notes": [],
    }
    assert [text.split()[0] for text in run_.progress] == [
        "resolving",
        "installing",
        "judging",
    ]
    assert run(folder, "import Humanize; print(Humanize.VERSION)") == "4.0"
    assert run(folder, "import tz_data; print(tz_data.X)") == "5"
    listed = folder.do("list")
    assert listed["packages"] == answer["packages"]
    assert listed["added"] == []
    removed = folder.do("remove", "HUMANIZE")
    assert removed["packages"] == []
    assert removed["removed"] == answer["added"]
    assert folder.current() == []


def test_lists_nothing_at_first(folder: Folder) -> None:
    assert folder.do("list")["packages"] == []
    assert not folder.session().exists()


def test_leaves_nothing_of_its_own(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    folder.do("add", "a")
    assert folder.current() == ["a-1.dist-info", "a.py"]
    left = os.listdir(folder.path / "work")
    assert sorted(left) == ALWAYS
    assert os.listdir(folder.path / "work" / "uv") == ["cache"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has other users")
def test_other_users_can_read(any_folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", files={"a/__init__.py": "", "a/data/x.txt": "x"})
    any_folder.do("add", "a")
    path = any_folder.session() / "current"
    done = subprocess.run(
        ["find", f"{path}/", "-type", "f", "-exec", "cat", "{}", "+"],
        user=64399,
        group=64399,
        extra_groups=[],
    )
    assert done.returncode == 0
    # Who does not know a session's name does not find it.
    done = subprocess.run(
        ["ls", any_folder.path / "sessions"],
        user=64399,
        group=64399,
        extra_groups=[],
        stderr=subprocess.DEVNULL,
    )
    assert done.returncode != 0


def test_keeps_versions_until_another_is_asked_for(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    folder.do("add", "a")
    index.add("a", "2")
    index.add("b", "1")
    answer = folder.do("add", "b")
    assert names(answer) == {"a": "1", "b": "1"}
    assert answer["added"] == [{"name": "b", "version": "1"}]
    answer = folder.do("add", "a>=2")
    assert answer["changed"] == [{"name": "a", "from": "1", "to": "2"}]
    assert folder.read("a.py") == "VERSION = '2'\n"
    # The new requirement has replaced the old one.
    answer = folder.do("add", "a<2")
    assert answer["changed"] == [{"name": "a", "from": "2", "to": "1"}]


def test_a_generation_before_is_kept(folder: Folder, index: FakeIndex) -> None:
    for name in "abcd":
        index.add(name, "1")
        folder.do("add", name)
    entries = sorted(os.listdir(folder.session()))
    assert entries == ["3", "4", "current", "packages.json"]
    assert os.readlink(folder.session() / "current") == "4"


def test_nothing_changes_where_nothing_is_new(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    wheel = index.add("b", "1")
    folder.do("add", "a")
    before = index.downloads()
    answer = folder.do("add", "b")
    assert answer["added"] == answer["changed"] == []
    assert {
        "name": "b",
        "version": "1",
        "requested": True,
        "sha256": wheel.sha256,
    } in answer["packages"]
    assert os.readlink(folder.session() / "current") == "1"
    assert index.downloads() == before == 2
    # And b is requested from now on.
    assert names(folder.do("remove", "a")) == {"b": "1"}


def test_installs_extras(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", extras={"x": ["b"]})
    index.add("b", "1")
    assert names(folder.do("add", "a")) == {"a": "1"}
    assert names(folder.do("add", "a[x]")) == {"a": "1", "b": "1"}
    # What an extra has brought stays until its package is removed.
    assert names(folder.do("add", "a>=1")) == {"a": "1", "b": "1"}
    folder.do("remove", "a")
    assert names(folder.do("add", "a")) == {"a": "1"}


def test_two_sessions_share_files(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", files={"a.py": "x" * 100_000})
    folder.do("add", "a")
    folder.do("add", "a", token=OTHER)
    one = folder.session() / "current" / "a.py"
    other = folder.session(OTHER) / "current" / "a.py"
    assert os.path.samefile(one, other)
    assert index.downloads() == 1
    folder.do("remove", "a")
    assert other.read_text() == "x" * 100_000


def test_takes_what_the_profile_has(folder: Folder, index: FakeIndex) -> None:
    """A package of the profile is neither installed nor replaced."""
    there = version("pytest")
    index.add("pytest", "999")
    index.add("a", "1", requires=["pytest>=1"])
    answer = folder.do("add", "a", "pytest")
    assert names(answer) == {"a": "1"}
    assert answer["present"] == [{"name": "pytest", "version": there}]
    assert folder.current() == ["a-1.dist-info", "a.py"]


def test_conflicts_with_what_the_profile_has(
    folder: Folder, index: FakeIndex
) -> None:
    there = re.escape(version("pytest"))
    index.add("pytest", "999")
    index.add("a", "1", requires=["pytest>=999"])
    for asked in ("a", "pytest>=999"):
        with pytest.raises(Refusal, match=f"pytest=={there}") as refused:
            folder.do("add", asked)
        assert refused.value.ename == "PackagesConflict"
        says = f"The profile's Python has pytest {there}, which stays."
        assert re.search(says, refused.value.text)


def test_needs_no_index_for_what_the_profile_has(
    folder: Folder, index: FakeIndex
) -> None:
    """The profile may have a version that no index has."""
    index.add("a", "1", requires=["pytest", "numpy>=1"])
    assert names(folder.do("add", "a")) == {"a": "1"}


def test_installs_extras_of_what_the_profile_has(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("setproctitle", "1.3")
    answer = folder.do("add", "pytest-xdist[setproctitle]")
    assert names(answer) == {"setproctitle": "1.3"}
    assert [one["name"] for one in answer["present"]] == ["pytest-xdist"]
    index.add("b", "1")
    assert names(folder.do("add", "b")) == {"b": "1", "setproctitle": "1.3"}


def test_the_cooldown_keeps_back_what_is_young(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", age_days=30)
    index.add("a", "2", age_days=2)
    index.add("young", "1", age_days=2)
    index.add("needs", "1", requires=["young"])
    assert names(folder.do("add", "a")) == {"a": "1"}
    for asked in ("young", "needs", "a>=2", "a==2"):
        with pytest.raises(Refusal) as refused:
            folder.do("add", asked)
        assert refused.value.ename == "PackagesRefused"
        name, found = ("a", "2") if asked[0] == "a" else ("young", "1")
        old = {
            "a": "the newest version of a that is old enough is 1",
            "young": "no version of young is old enough",
        }[name]
        assert re.fullmatch(
            rf'"{name}" {found} refused: published 2 days ago; the cooldown is '
            r"7 days \(profile/python3/packages/cooldown\); it may be "
            rf"had from 2\d{{3}}-\d\d-\d\d \d\d:\d\d UTC; {old}",
            refused.value.text,
        )
    assert names(folder.do("add", "young", cooldown=86400)) == {
        "a": "1",
        "young": "1",
    }
    assert names(folder.do("add", "a>=2", cooldown=0))["a"] == "2"


def test_the_cooldown_is_not_blamed_for_another_conflict(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", age_days=2, requires=["b>=2"])
    index.add("b", "1")
    with pytest.raises(Refusal, match="b>=2") as refused:
        folder.do("add", "a")
    assert refused.value.ename == "PackagesConflict"
    assert "cooldown" not in refused.value.text


def test_the_cooldown_needs_upload_times(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    index.says_times = False
    with pytest.raises(Refusal, match="does not say when") as refused:
        folder.do("add", "a")
    assert refused.value.ename == "PackagesRefused"
    assert names(folder.do("add", "a", cooldown=0)) == {"a": "1"}


def test_takes_an_index_in_html(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", requires=["b"])
    index.add("b", "1")
    index.html = True
    assert names(folder.do("add", "a", cooldown=0)) == {"a": "1", "b": "1"}


def test_deny_and_allow_hold_for_what_is_asked(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a-b", "1")
    with pytest.raises(Refusal, match="packages/deny names it") as refused:
        folder.do("add", "A_b", deny=["a*"])
    assert refused.value.ename == "PackagesRefused"
    with pytest.raises(Refusal, match=r"packages/allow permits c, d\*"):
        folder.do("add", "a-b", allow=["c", "d*"])
    assert index.count() == 0
    assert names(folder.do("add", "a-b", allow=["A.B"])) == {"a-b": "1"}


def test_deny_and_allow_hold_for_dependencies(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1", requires=["b"])
    index.add("b", "1", requires=["c"])
    index.add("c", "1")
    chain = "c, which is needed by b, by a, is not permitted"
    with pytest.raises(Refusal, match=chain):
        folder.do("add", "a", deny=["c"])
    with pytest.raises(Refusal, match=chain):
        folder.do("add", "a", allow=["a", "b"])
    with pytest.raises(Refusal, match="c, which"):
        folder.do("add", "a", allow=["*"], deny=["c"])
    assert index.downloads() == 0
    assert not folder.session().exists()
    folder.do("add", "a", allow=["a", "b", "c"])


def test_says_what_is_not_there(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", requires=["gone"])
    for asked, name in (("nothing", "nothing"), ("a", "gone")):
        with pytest.raises(
            Refusal, match=f"the index has no package {name}"
        ) as refused:
            folder.do("add", asked)
        assert refused.value.ename == "PackagesConflict"


def test_says_that_no_version_fits(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    with pytest.raises(Refusal, match="only a==1 is available") as refused:
        folder.do("add", "a>=2")
    assert refused.value.ename == "PackagesConflict"
    assert "unsatisfiable" not in refused.value.text


@pytest.mark.parametrize("steps", [1, 100, 10_000])
def test_says_that_no_version_fits_after_a_long_search(steps: int) -> None:
    """uv says megabytes then, whose beginning is not kept."""
    said = "".join(
        f"    ({one}) Because b=={one} depends on c>=3 and c==2, we can "
        f"conclude that b=={one} cannot be used.\n"
        for one in range(steps)
    )
    output = (
        "error: No solution found when resolving dependencies:\n"
        f"  cause: {said}    And because you require b, we can conclude that "
        "your requirements are unsatisfiable.\n"
    )[-(1 << 20) :]
    rules = read_rules("https://pypi.example/simple", ())
    case = Case(Job(profile="python3"), rules, {"c": "2"})
    fault = explain(case, output, [])
    assert isinstance(fault, Conflict)
    assert fault.text.startswith("no version fits: ")
    assert fault.text.endswith("The profile's Python has c 2, which stays.")
    if steps != 100:
        assert "And because you require b." in fault.text


def test_builds_nothing(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1", sdist=True)
    index.add("b", "1", requires=["a"])
    for asked in ("a", "b"):
        with pytest.raises(
            Refusal, match="only the source of a would fit"
        ) as refused:
            folder.do("add", asked)
        assert refused.value.ename == "PackagesRefused"
    assert index.downloads() == 0


def test_a_conflict_comes_before_old_versions_of_source(
    folder: Folder, index: FakeIndex
) -> None:
    """uv says of both that wheels are required."""
    kept = version("pytest")
    index.add("core", "0.1", sdist=True)
    for number in ("1", "2"):
        index.add("core", number, requires=[f"pytest<{kept}"])
        index.add("above", number, requires=[f"core<={number}"])
    with pytest.raises(Refusal) as refused:
        folder.do("add", "above")
    assert refused.value.ename == "PackagesConflict"
    text = refused.value.text
    assert text.startswith("no version fits: Because ")
    assert f"depends on pytest<{kept} and pytest=={kept}" in text
    assert text.endswith(
        f"The profile's Python has pytest {kept}, which stays."
    )
    # Where there is no conflict, the source is the reason.
    with pytest.raises(Refusal, match="only the source of core would fit"):
        folder.do("add", "core==0.1")


def test_takes_no_yanked_version(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    index.add("a", "2", yanked=True)
    assert names(folder.do("add", "a")) == {"a": "1"}


@pytest.mark.parametrize(
    "text", ["a @ http://x/a.whl", "--index-url=http://x", "./a", "a\nb", ""]
)
def test_refuses_a_bad_requirement(
    folder: Folder, index: FakeIndex, text: str
) -> None:
    with pytest.raises(Refusal) as refused:
        folder.do("add", "good", text)
    assert refused.value.ename == "PackagesInvalid"
    assert index.count() == 0


def test_a_failure_leaves_what_was(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    index.add("bad", "1", wrong_hash=True)
    before = folder.do("add", "a")
    with pytest.raises(Refusal):
        folder.do("add", "bad")
    assert folder.do("list")["packages"] == before["packages"]
    assert folder.current() == ["a-1.dist-info", "a.py"]
    # A later one does not ask for it again.
    index.add("c", "1")
    assert names(folder.do("add", "c")) == {"a": "1", "c": "1"}


def test_hides_the_password_of_an_index(
    folder: Folder, index: FakeIndex
) -> None:
    index.add("a", "1")
    secret = index.url.replace("://", "://user:pa55word@")
    run_ = folder.start("add", "a", index=secret)
    run_.await_progress()
    said = subprocess.run(
        ["ps", "-eo", "args"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert "pa55word" not in said
    assert names(run_.answer()) == {"a": "1"}
    index.status = 500
    with pytest.raises(Refusal) as refused:
        folder.do("add", "b", index=secret, token=OTHER)
    assert "pa55word" not in refused.value.text


def test_finds_uv_where_it_is_named(folder: Folder, index: FakeIndex) -> None:
    index.add("a", "1")
    with pytest.raises(Refusal, match="packages/uv names /nowhere/uv"):
        folder.do("add", "a", uv="/nowhere/uv")
    uv = os.path.join(os.path.dirname(sys.executable), "uv")
    assert names(folder.do("add", "a", uv=uv)) == {"a": "1"}


def test_says_what_is_wrong_with_a_job(folder: Folder) -> None:
    with pytest.raises(Refusal, match="unknown order"):
        folder.do("destroy")
    with pytest.raises(Refusal, match="no URL"):
        folder.do("add", "a", index="")


def test_the_package_is_what_is_built() -> None:
    """Every module of the source is installed beside hearth_kernel."""
    source = ROOT / "gateway/downloads/hearth_downloads"
    built = Path(PACKAGE) / "hearth_downloads"
    assert {one.relative_to(source) for one in source.rglob("*.py")} == {
        one.relative_to(built) for one in built.rglob("*.py")
    }
