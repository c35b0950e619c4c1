"""What is not shown to a session."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest
from hearth_downloads.core.faults import Gone, Refused
from hearth_downloads.packages import judge as judging
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.judge import Tally
from hearth_downloads.packages.profile import find_module

JOB = Job("add", "/", profile="p", max_bytes=10_000, max_files=50)


def judge(
    folder: Path,
    job: Job = JOB,
    check: Callable[[], None] = lambda: None,
) -> Tally:
    number = os.open(folder, os.O_RDONLY)
    try:
        return judging.judge(job, number, find_module, check)
    finally:
        os.close(number)


def test_takes_plain_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "inner").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("x" * 10)
    (tmp_path / "pkg" / "inner" / "é.pth").write_text("x" * 5)
    (tmp_path / "pkg-1.0.dist-info").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "run").touch(0o755)
    assert judge(tmp_path) == Tally(size=15, count=7)


def test_refuses_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "x").symlink_to("/etc/passwd")
    with pytest.raises(Refused, match="pkg/x of a package is a symbolic link"):
        judge(tmp_path)


def test_refuses_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "pkg").symlink_to("/")
    with pytest.raises(Refused, match="symbolic link"):
        judge(tmp_path)


def test_refuses_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    with pytest.raises(Refused, match="special"):
        judge(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_refuses_a_device(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "x", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container makes no devices")
    with pytest.raises(Refused, match="special"):
        judge(tmp_path)


@pytest.mark.parametrize("bit", [stat.S_ISUID, stat.S_ISGID, stat.S_ISVTX])
@pytest.mark.parametrize("is_folder", [False, True])
def test_refuses_special_bits(
    tmp_path: Path, bit: int, is_folder: bool
) -> None:
    path = tmp_path / "x"
    if is_folder:
        path.mkdir()
    else:
        path.touch()
    path.chmod(0o755 | bit)
    with pytest.raises(Refused, match="set-user-id"):
        judge(tmp_path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.py", "A.py"),
        ("straße", "STRASSE"),
        ("\u00e9", "e\u0301"),
        ("\ufb01le", "file"),
    ],
)
def test_refuses_names_that_clash(tmp_path: Path, one: str, other: str) -> None:
    inner = tmp_path / "pkg"
    inner.mkdir()
    (inner / one).touch()
    (inner / other).touch()
    with pytest.raises(Refused, match="differ only by case or form"):
        judge(tmp_path)


def test_refuses_a_control_character(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m").touch()
    with pytest.raises(Refused) as refused:
        judge(tmp_path)
    assert "control character" in refused.value.text
    assert refused.value.text.isprintable()


def test_refuses_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    open(os.fsencode(tmp_path) + b"/\xff", "w").close()
    with pytest.raises(Refused, match="not UTF-8"):
        judge(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "x.pth",
        "X.PTH",
        "sitecustomize.py",
        "usercustomize",
        "sitecustomize.cpython-311-x86_64-linux-gnu.so",
    ],
)
def test_refuses_what_runs_at_start(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(Refused, match="at its start"):
        judge(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "json",  # of the standard library
        "sys.py",  # builtin
        "pytest.py",  # a package
        "_pytest",
        "IPython",
        "hearth.py",  # a kernel's own
        "hearth_kernel",
        "zlib.cpython-311-x86_64-linux-gnu.so",
    ],
)
def test_refuses_a_module_that_is_there(tmp_path: Path, name: str) -> None:
    if "." in name:
        (tmp_path / name).touch()
    else:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    with pytest.raises(Refused, match="one of that name already"):
        judge(tmp_path)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("x.pth", "pth"), ("usercustomize.py", "pth"), ("json.py", "shadow")],
)
def test_a_switch_lets_it_through(
    tmp_path: Path, name: str, setting: str
) -> None:
    """It is for sessions, whose own rules count, and for no profile."""
    (tmp_path / name).touch()
    on: dict[str, Any] = {setting: True}
    said = f"the operator can permit it by profile/p/packages/{setting} = yes"
    assert said in refused(tmp_path, JOB)
    assert judge(tmp_path, replace(JOB, **on)).count == 1
    other = "shadow" if setting == "pth" else "pth"
    wrong: dict[str, Any] = {other: True}
    assert said in refused(tmp_path, replace(JOB, **wrong))
    own = replace(JOB, own_texts={setting: "no"})
    said = f"this session was created with packages/{setting} = no"
    assert said in refused(tmp_path, own)
    of_profile = replace(JOB, order="profile", **on)
    said = "such a package can only be in the profile's Python"
    assert said in refused(tmp_path, of_profile)


@pytest.mark.parametrize("name", ["hearth", "hearth_kernel"])
def test_no_switch_is_for_hearths_own_names(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").touch()
    said = refused(tmp_path, replace(JOB, pth=True, shadow=True))
    assert said.endswith("the profile's Python has one of that name already")


def refused(folder: Path, job: Job) -> str:
    with pytest.raises(Refused) as error:
        judge(folder, job)
    return error.value.text


def test_lets_namespace_packages_share_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there" / "shared"
    there.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(there.parent))
    staged = tmp_path / "staged"
    (staged / "shared" / "mine").mkdir(parents=True)
    judge(staged)
    (staged / "shared" / "__init__.py").touch()
    with pytest.raises(Refused, match="one of that name already"):
        judge(staged)


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("shared/plain.py", "plain"),
        ("shared/plain/__init__.py", "plain"),
        ("shared/plain.cpython-311-x86_64-linux-gnu.so", "plain"),
        ("shared/pkg/__init__.py", "pkg"),
        ("shared/pkg/other.py", "pkg"),
        ("shared/pkg.py", "pkg"),
        ("shared/deep.py", "deep"),
        ("shared/deep/__init__.py", "deep"),
        ("shared/deep/down.py", "deep.down"),
    ],
)
def test_refuses_to_hide_a_module_of_a_shared_namespace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, module: str
) -> None:
    there = tmp_path / "there" / "shared"
    for one in ("plain.py", "pkg/__init__.py", "deep/down.py"):
        write(there / one)
    monkeypatch.syspath_prepend(str(there.parent))
    staged = tmp_path / "staged"
    for one in ("mine.py", "deep/mine.py", "own/down.py", "data.txt"):
        write(staged / "shared" / one)
    judge(staged)
    write(staged / path)
    with pytest.raises(Refused) as refused:
        judge(staged)
    assert f"a module shared.{module}, and the profile" in refused.value.text


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_bounds_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(JOB.max_bytes))
    judge(tmp_path)
    (tmp_path / "y").write_bytes(b"x")
    with pytest.raises(Refused, match="profile/p/packages/max_bytes"):
        judge(tmp_path)


def test_bounds_files(tmp_path: Path) -> None:
    for number in range(JOB.max_files):
        (tmp_path / f"x{number}").touch()
    judge(tmp_path)
    (tmp_path / "y").mkdir()
    with pytest.raises(Refused, match="profile/p/packages/max_files"):
        judge(tmp_path)


def test_bounds_depth(tmp_path: Path) -> None:
    job = Job("add", "/", max_files=10_000)
    path = tmp_path
    for _ in range(judging.DEPTH_MAX):
        path = path / "d"
    path.mkdir(parents=True)
    judge(tmp_path, job)
    (path / "d" / "d").mkdir(parents=True)
    with pytest.raises(Refused, match="too deep"):
        judge(tmp_path, job)


def test_stops_when_the_gateway_has_gone(tmp_path: Path) -> None:
    def check() -> None:
        raise Gone

    with pytest.raises(Gone):
        judge(tmp_path, check=check)
