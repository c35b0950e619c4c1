"""What tests leave is an error that names the one that made it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST = "import os, subprocess, tempfile\n"

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Run a module of tests with the plugin; return status and output."""
    place = tempfile.TemporaryDirectory(prefix="hearth-")  # no place of pytest

    def these(text: str) -> tuple[int, str]:
        (tmp_path / "test_it.py").write_text(FIRST + text)
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                "-p", "tests.lib.remains", "-c", ROOT / "pyproject.toml",
                "--rootdir", tmp_path, tmp_path / "test_it.py",
            ],
            cwd=ROOT,
            env={
                **{k: v for k, v in os.environ.items() if "PYTEST" not in k},
                "HEARTH_DEADLINE": "0.5",
                "TMPDIR": place.name,
            },
            capture_output=True,
            text=True,
        )  # fmt: skip
        return done.returncode, done.stdout

    with place:
        yield these


def left(output: str) -> list[str]:
    """The lines that say what is left."""
    return re.findall(r"^E +(\S.*, of \S+)$", output, re.MULTILINE)


def test_what_is_removed_in_time_is_none(run: Run) -> None:
    status, output = run(
        "import pytest\n"
        "@pytest.fixture(scope='module')\n"
        "def folder():\n"
        "    with tempfile.TemporaryDirectory() as made: yield made\n"
        "def test_one(folder): open(folder + '/x', 'w').close()\n"
        "def test_two(folder, tmp_path): assert os.listdir(folder)\n"
    )
    assert status == 0, output


def test_folders_and_files_are_named_with_their_test(run: Run) -> None:
    status, output = run(
        "def test_one(): tempfile.mkdtemp(prefix='one-')\n"
        "def test_two(): tempfile.NamedTemporaryFile(\n"
        "    prefix='two-', delete=False)\n"
        "def test_three(): pass\n"
    )
    assert status == 1
    one, two = left(output)
    assert "/one-" in one
    assert one.endswith("of test_it.py::test_one")
    assert "/two-" in two
    assert two.endswith("of test_it.py::test_two")
    assert re.search(r"^ERROR .*test_it.py::test_three\b", output, re.MULTILINE)


@pytest.mark.parametrize(
    "how",
    [
        "['sh', '-c', 'sleep 600 & sleep 600', folder]",
        "['sleep', '600'], env={**os.environ, 'STATE': folder + '/s'}",
    ],
    ids=["arguments", "environment"],
)
def test_a_process_is_found_by_its_folder(run: Run, how: str) -> None:
    status, output = run(
        "import pytest\n"
        "processes = []\n"
        "def test_one():\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        f"        processes.append(subprocess.Popen({how},\n"
        "            start_new_session=True))\n"
        "        print('\\ngroup', processes[0].pid)\n"
        "        assert False\n"
    )
    group = int(re.findall(r"^group (\d+)$", output, re.MULTILINE)[0])
    os.killpg(group, 9)
    assert status == 1
    assert left(output)
    assert all(line.startswith("process ") for line in left(output)), output
    assert left(output)[0].endswith("of test_it.py::test_one")


def check_is_found(run: Run, program: list[str], held: str) -> None:
    """It holds the path in the test's folder that it reads, and is left over
    when that is gone."""
    status, output = run(
        "def test_one():\n"
        "    with tempfile.TemporaryDirectory() as folder:\n"
        f"        one = subprocess.Popen({program},\n"
        "            start_new_session=True, text=True,\n"
        "            stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"        print(folder + {held!r}, file=one.stdin, flush=True)\n"
        "        assert one.stdout.readline() == 'so\\n'\n"
        "        print('\\ngroup', one.pid)\n"
        "        assert False\n"
    )
    group = int(re.findall(r"^group (\d+)$", output, re.MULTILINE)[0])
    os.killpg(group, 9)
    assert status == 1
    assert [line.partition(" (")[0] for line in left(output)] == [
        f"process {group}"
    ], output


LOCK = (
    "import fcntl, sys, time; file = open(sys.stdin.readline()[:-1], 'w'); "
    "fcntl.flock(file, fcntl.LOCK_EX); print('so', flush=True); time.sleep(600)"
)


def test_a_lock_is_found_by_who_holds_it(run: Run) -> None:
    """Also when the locked file itself is gone."""
    check_is_found(run, [sys.executable, "-c", LOCK], "/lock")


def test_a_thread_that_goes_on_is_named_with_its_test(run: Run) -> None:
    """A thread that ends in time is not left."""
    status, output = run(
        "import threading, time\n"
        "def test_one():\n"
        "    threading.Thread(target=time.sleep, args=(0.1,)).start()\n"
        "def test_two():\n"
        "    threading.Thread(target=time.sleep, args=(600,), name='long',\n"
        "        daemon=True).start()\n"
        "def test_three(): pass\n"
    )
    assert status == 1
    assert left(output) == ["thread long, of test_it.py::test_two"], output


MOUNTS = 'read at; mount --bind "$at" /mnt; echo so; exec sleep 600'


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_process_is_found_by_its_mounts(run: Run) -> None:
    """As a session's kernel, which shows the folder nowhere else."""
    check_is_found(run, ["unshare", "--mount", "sh", "-c", MOUNTS], "")


def test_another_ones_folder_is_no_matter(run: Run) -> None:
    status, output = run(
        "def test_one():\n    subprocess.run(['mktemp', '-d'], check=True)\n"
    )
    assert status == 0, output
