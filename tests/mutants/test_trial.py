"""What keeps a changed program from doing harm outside of its copy."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import trial
from trial import CCopy, Copy, Modes, PythonCopy, bring_up_to_date


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes_of_folders_are_put_back(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o1777)
    modes = Modes(inner)
    assert modes.put_back() == []
    inner.parent.chmod(0o700)
    assert modes.put_back() == [
        f"{inner.parent} had another mode, and has 1777"
    ]
    assert mode(inner.parent) == 0o1777


def test_the_folder_of_all_temporary_files_is_looked_at(copy: Copy) -> None:
    assert Path("/tmp") in copy.modes.before
    assert trial.ROOT in copy.modes.before


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    tree = tmp_path / "tree"
    (tree / "build").mkdir(parents=True)
    (tree / "a.py").touch()
    monkeypatch.setattr(trial, "ROOT", tree)
    made = Copy(tmp_path / "copy", [])
    made.build.mkdir()
    return made


def run(copy: Copy, code: str, seconds: int = 60) -> bool:
    return copy.ends_well([sys.executable, "-c", code], seconds)


def test_a_test_has_a_temporary_folder_of_its_own(copy: Copy) -> None:
    code = (
        "import os, tempfile; name = tempfile.gettempdir();"
        f"assert name == {str(copy.temporary)!r}; os.mkdir(name + '/a')"
    )
    assert run(copy, code)
    assert run(copy, code)  # the first one's folder is gone
    assert not run(copy, "raise SystemExit(1)")


def test_harm_by_a_test_is_put_back(
    copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    before = mode(copy.tree.parent)
    assert run(copy, f"import os; os.chmod({str(copy.tree.parent)!r}, 0o711)")
    assert mode(copy.tree.parent) == before
    assert "a change did harm" in capsys.readouterr().err


def test_what_a_test_has_started_ends_with_it(
    copy: Copy, tmp_path: Path
) -> None:
    """A pipe's end closes when its last holder has ended."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    assert run(
        copy,
        f"""
import os, signal
writer = os.open({str(pipe)!r}, os.O_WRONLY)
if os.fork() == 0:
    signal.pause()
os.write(writer, b"x")
""",
    )
    assert os.read(reader, 9) == b"x"
    assert os.read(reader, 9) == b""
    os.close(reader)


# Has the signal come when the test runs, and is not known yet.
EARLY = """
import os, select, signal, subprocess
def start(*words, real=subprocess.Popen, **options):
    reader = os.open(PIPE, os.O_RDONLY | os.O_NONBLOCK)
    process = real(*words, **options)
    select.select([reader], [], [])
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = start
"""


@pytest.mark.parametrize("early", [EARLY, ""])
def test_a_signal_ends_the_running_test(
    copy: Copy, tmp_path: Path, early: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    test = f"""
import os, signal
os.write(os.open({str(pipe)!r}, os.O_WRONLY), b"x")
signal.pause()
"""
    runner = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            f"""
import pathlib, sys
sys.path.insert(0, {str(Path(trial.__file__).parent)!r})
import trial
trial.ROOT = pathlib.Path({str(trial.ROOT)!r})
trial.exit_on_signals()
copy = trial.Copy(pathlib.Path({str(copy.tree.parent)!r}), [])
PIPE = {str(pipe)!r}
{early}
copy.ends_well([sys.executable, "-c", {test!r}], 60)
""",
        ]
    )
    if not early:
        select.select([reader], [], [])
        runner.terminate()
    assert runner.wait() == 128 + signal.SIGTERM
    os.set_blocking(reader, True)  # the system ends the test after the kill
    assert os.read(reader, 9) == b"x"
    assert os.read(reader, 9) == b""
    os.close(reader)


def test_a_file_that_is_the_same_keeps_its_time(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("a")
    os.utime(source, (1, 1))
    bring_up_to_date(str(source), str(target))
    assert target.stat().st_mtime == 1
    os.utime(source, (2, 2))
    bring_up_to_date(str(source), str(target))
    assert target.stat().st_mtime == 1
    source.write_text("b")
    os.utime(source, (3, 3))
    bring_up_to_date(str(source), str(target))
    assert target.read_text() == "b"
    assert target.stat().st_mtime > 3


def test_a_c_file_is_tried_in_what_was_built(copy: Copy) -> None:
    build = trial.ROOT / "build"
    (build / "logs").mkdir()
    for name in ("config.status", "a.o", "logs/a.log"):
        (build / name).touch()
        os.utime(build / name, (1, 1))
    made = CCopy(copy.tree.parent / "another", ["test_a"], 1)
    assert (made.build / "a.o").stat().st_mtime == 1
    assert sorted(os.listdir(made.build)) == ["a.o", "config.status"]


def test_a_test_that_is_left_early_has_not_passed(copy: Copy) -> None:
    test = copy.tree / "tests" / "test_a.py"
    test.parent.mkdir()
    (copy.tree / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["deep: no", "alone: no"]\n'
    )
    trial.ROOT.joinpath("build", "python").mkdir()
    made = PythonCopy(copy.tree.parent, ["tests/test_a.py"])
    for code, is_good in (
        ("pass", True),
        ("assert False", False),
        ("__import__('os')._exit(0)", False),
    ):
        test.write_text(f"def test_a():\n    {code}\n")
        assert made.passes() == is_good, code


def test_a_change_is_made_where_the_build_has_it(copy: Copy) -> None:
    built = trial.ROOT / "build" / "python" / "hearth" / "b.py"
    built.parent.mkdir(parents=True)
    built.touch()
    source = trial.ROOT / "gateway" / "hearth" / "b.py"
    source.parent.mkdir(parents=True)
    source.touch()
    made = PythonCopy(copy.tree.parent, [])
    made.change(Path("gateway/hearth/b.py"), "1\n")
    for place in ("gateway", "build/python"):
        assert (made.tree / place / "hearth" / "b.py").read_text() == "1\n"
    assert built.read_text() == source.read_text() == ""
