"""Other projects' own test suites, as they are published, with hearth in the
place of ipykernel (as the kernelspec `python3`) or of Kernel Gateway. Each has
a file of the tests that are left out, with the reason (suites/*.txt); all
others pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deadline import DEADLINE
from harness import Gateway
from jupyterpath import write_kernelspec

HERE = Path(__file__).resolve().parent
PLUGINS = HERE / "suites"
MODULES = (PLUGINS, HERE, HERE.parent, HERE.parent / "http")
SOURCES = Path(sys.prefix) / "src"


@dataclass
class Suite:
    """Which tests of it concern a kernel or a gateway, and how many pass."""

    words: list[str]  # pytest's
    count: int
    source: str = ""  # of suites.lock; else the installed package has them
    plugins: list[str] = field(default_factory=list)
    skipped: int = 0  # by the suite itself


SUITES = {
    "papermill": Suite(
        [
            "--pyargs",
            "papermill.tests.test_autosave",
            "papermill.tests.test_engines",
            "papermill.tests.test_execute",
        ],
        58,
    ),
    # TestRunCell is about its own loop, with mocks for the kernel.
    "nbclient": Suite(
        ["tests/test_client.py", "-k", "not TestRunCell"],
        37,
        "nbclient-0.11.0",
    ),
    "ipykernel": Suite(
        [
            "tests/test_async.py",
            "tests/test_kernel.py",
            "tests/test_message_spec.py",
        ],
        38,
        "ipykernel-7.4.0",
        ["ipykernel_version"],
        skipped=7,
    ),
    "kernel_gateway": Suite(
        ["tests/test_jupyter_websocket.py"],
        22,
        "jupyter_kernel_gateway-3.0.1",
        ["gateway_fixtures"],
    ),
}


@pytest.fixture(scope="module")
def kernels() -> Iterator[Gateway]:
    made = Gateway("--set", "profile/python3/notebook_folder=yes")
    made.start()
    try:
        yield made
    finally:
        made.end()


def lay_out(suite: Suite, folder: Path) -> None:
    """Copies the tests alone, beside which no package lies. A session of root's
    gateway has another user, who writes in a notebook's folder, too."""
    if not suite.source:
        return
    tests = folder / "tests"
    shutil.copytree(SOURCES / suite.source / "tests", tests)
    for path in (tests, *tests.rglob("*")):
        path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o666))
    if "gateway_fixtures" in suite.plugins:  # it has the fixtures of this one
        (tests / "conftest.py").unlink()


def run(name: str, suite: Suite, kernels: Gateway, folder: Path) -> Path:
    """Runs a suite, and returns its report."""
    write_kernelspec(folder / "jupyter", "python3")
    report = folder / "report.xml"
    work = folder / "work"
    work.mkdir()
    lay_out(suite, work)
    plugins = ["no:cacheprovider", "left_out", *suite.plugins]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q"),
            *("-c", PLUGINS / "pytest.ini", "--rootdir", work),
            *(word for plugin in plugins for word in ("-p", plugin)),
            *("--left-out", PLUGINS / f"{name}.txt"),
            *("--timeout", str(DEADLINE), "--junitxml", report),
            *suite.words,
        ],
        cwd=work,
        env={
            **kernels.env,
            "HOME": str(folder),
            "JUPYTER_PATH": str(folder / "jupyter"),
            "JUPYTER_PREFER_ENV_PATH": "0",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(map(str, MODULES)),
            "TMPDIR": str(work),
        },
        capture_output=True,
        text=True,
    )
    said = done.stdout[-6000:] + done.stderr[-2000:]
    assert done.returncode == 0, said
    return report


@pytest.mark.timeout(10 * DEADLINE)
@pytest.mark.parametrize("name", list(SUITES))
def test_suite(name: str, kernels: Gateway, tmp_path: Path) -> None:
    suite = SUITES[name]
    report = run(name, suite, kernels, tmp_path)
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    assert (len(cases) - len(skipped), len(skipped)) == (
        suite.count,
        suite.skipped,
    )
