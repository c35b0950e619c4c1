"""A copy of the tree in which one file is changed and its tests are run.

Tests often run as root, and a changed file may do anything with a folder. They
have a folder for temporary files below the copy, and modes of folders outside
of it are put back after each run.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional, Sequence

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", "node_modules", "__pycache__", "build"),
    *(f"build-{kind}" for kind in ("asan", "clang", "fuzz", "tsan")),
)
# Of a build, what no test in C needs.
NOT_BUILT = shutil.ignore_patterns("logs", "python", "mutants-*")
SECONDS = 60  # a test that takes longer was stopped by the change
PYTHON_SECONDS = 300  # tests in Python wait for longer


class Modes:
    """The owners and modes of paths and of the folders above them."""

    def __init__(self, *paths: Path) -> None:
        folders = {folder for path in paths for folder in (path, *path.parents)}
        self.before = {folder: folder.stat() for folder in sorted(folders)}

    def put_back(self) -> list[str]:
        """Put back what differs; return a sentence for each."""
        found = []
        for folder, before in self.before.items():
            now = folder.stat()
            if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
                os.chown(folder, before.st_uid, before.st_gid)
                found.append(f"{folder} had another owner, and has its own")
            mode = stat.S_IMODE(before.st_mode)
            if stat.S_IMODE(folder.stat().st_mode) != mode:
                folder.chmod(mode)
                found.append(f"{folder} had another mode, and has {mode:o}")
        return found


def bring_up_to_date(source: str, target: str) -> None:
    """Copy a file that differs, so that make sees when it was changed.

    A new one has the time of its source: what was built of that is up to date.
    """
    if not os.path.exists(target):
        shutil.copy2(source, target)
    elif not filecmp.cmp(source, target, shallow=False):
        shutil.copy(source, target)


class Signals:
    """Ends this process, but not while it starts a test: that would stay."""

    def __init__(self) -> None:
        self.is_holding = False
        self.number = 0

    def take(self, number: int, frame: object) -> None:
        self.number = number
        if not self.is_holding:
            self.go_on()

    def go_on(self) -> None:
        self.is_holding = False
        if self.number:
            sys.exit(128 + self.number)


signals = Signals()


class Copy:
    """The tree's copy, in a folder of its own."""

    def __init__(self, folder: Path, tests: Sequence[str]) -> None:
        self.tree = folder / "hearth"
        self.build = self.tree / "build"
        self.tests = tests
        folder.mkdir(parents=True, exist_ok=True)
        # Two levels, so that `..` of a temporary folder is ours, too.
        self.temporary = folder / "outer" / "temporary"
        self.modes = Modes(
            *(Path("/tmp"), Path("/var/tmp"), Path(tempfile.gettempdir())),
            *(Path("/proc"), Path("/dev/shm"), ROOT, folder),
        )
        shutil.copytree(
            ROOT,
            self.tree,
            ignore=LEFT_OUT,
            symlinks=True,
            dirs_exist_ok=True,
            copy_function=bring_up_to_date,
        )

    def change(self, file: Path, text: str) -> None:
        (self.tree / file).write_text(text)

    def is_built(self) -> bool:
        """Return true if the tests can be run with the change."""
        raise NotImplementedError

    def passes(self) -> bool:
        """Return true if no test notices the change."""
        raise NotImplementedError

    def ends_well(
        self, command: Sequence[str], seconds: int, **environment: str
    ) -> bool:
        """Run a test; nothing is left of it, whatever it has become."""
        shutil.rmtree(self.temporary.parent, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        for folder in (self.temporary, self.temporary.parent):
            folder.chmod(0o1777)
        signals.is_holding = True
        process = subprocess.Popen(
            command,
            cwd=self.build,
            env={
                "srcdir": str(self.tree),
                "PATH": "/usr/bin:/bin",
                "TMPDIR": str(self.temporary),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        status: Optional[int] = None
        try:
            signals.go_on()
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_group(process.pid)
            process.wait()
            for sentence in self.modes.put_back():
                print(f"a change did harm: {sentence}", file=sys.stderr)
        return status == 0


def exit_on_signals() -> None:
    """Make a signal that ends this process end the running test, too."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signals.take)


def end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


class CCopy(Copy):
    """Holds a build of its own, and runs tests of tests/unit."""

    def __init__(self, folder: Path, tests: Sequence[str], jobs: int) -> None:
        super().__init__(folder, [f"tests/unit/{test}" for test in tests])
        self.jobs = jobs
        if not (self.build / "config.status").exists():
            self._take_build()

    def _take_build(self) -> None:
        """Begin with what was built in the tree, if anything was."""
        if (ROOT / "build" / "config.status").exists():
            shutil.copytree(ROOT / "build", self.build, ignore=NOT_BUILT)
            return
        self.build.mkdir(exist_ok=True)
        subprocess.run(["../configure", "--quiet"], cwd=self.build, check=True)

    def is_built(self) -> bool:
        make = ["make", f"-j{self.jobs}", "CFLAGS=-O0 -Wno-error", *self.tests]
        return (
            subprocess.run(make, cwd=self.build, capture_output=True).returncode
            == 0
        )

    def passes(self) -> bool:
        return all(
            self.ends_well([f"./{test}"], SECONDS) for test in self.tests
        )


class PythonCopy(Copy):
    """Holds a copy of the packages that were built; runs tests in Python."""

    def __init__(self, folder: Path, tests: Sequence[str]) -> None:
        super().__init__(folder, tests)
        self.python = self.build / "python"
        shutil.copytree(
            ROOT / "build" / "python",
            self.python,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )

    def change(self, file: Path, text: str) -> None:
        super().change(file, text)
        for count in range(len(file.parts)):
            built = self.python.joinpath(*file.parts[count:])
            if built.exists():
                built.write_text(text)

    def is_built(self) -> bool:
        return True

    def passes(self) -> bool:
        pytest = [sys.executable, "-m", "pytest"]
        # A test that was left by _exit(0) has no report.
        report = self.tree.parent / "report.xml"
        report.unlink(missing_ok=True)
        is_good = self.ends_well(
            [
                *(*pytest, "-q", "-x", "-p", "no:cacheprovider"),
                *(f"--rootdir={self.tree}", "-c", "../pyproject.toml"),
                *("-m", "not deep and not alone", f"--junitxml={report}"),
                *(str(self.tree / test) for test in self.tests),
            ],
            PYTHON_SECONDS,
            HEARTH=str(ROOT / "build" / "hearth"),
            HEARTH_PYTHON_DIR=str(self.python),
            PYTHONDONTWRITEBYTECODE="1",
        )
        return is_good and report.exists()
