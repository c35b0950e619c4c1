"""build-aux/reachable.sh: root's home may be closed to the users of tests."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AS_ANOTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="for root alone: others' programs are their own"
)


def run(
    checkout: Path, *command: str, folder: Path = Path("/")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "build-aux/reachable.sh", checkout, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a file that all may read, in a home and a folder that are closed."""
    tmp_path.chmod(0o755)
    made = tmp_path / "home/a b/open/checkout"
    made.mkdir(parents=True)
    (made / "file").write_text("read")
    made.chmod(0o755)
    (tmp_path / "home/a b").chmod(0o750)
    (tmp_path / "home").chmod(0o700)
    for folder in tmp_path.parents:  # pytest's, which are closed
        if Path(tempfile.gettempdir()) in folder.parents:
            folder.chmod(0o711)
    return made


def test_others_reach_the_checkout_alone(checkout: Path) -> None:
    (checkout.parent / "secret").write_text("of root")
    file = str(checkout / "file")
    closed = subprocess.run([*AS_ANOTHER, "cat", file], check=False)
    assert closed.returncode != 0

    done = run(checkout, *AS_ANOTHER, "cat", file)
    assert (done.stdout, done.stderr) == ("read", "")
    assert run(checkout, "ls", str(checkout.parent)).stdout == "checkout\n"


def test_folder_status_and_files_are_the_commands(checkout: Path) -> None:
    done = run(
        checkout, "sh", "-c", "pwd; echo new >made; exit 7", folder=checkout
    )
    assert (done.returncode, done.stdout) == (7, f"{checkout}\n")
    assert (checkout / "made").read_text() == "new\n"
    mounts = Path("/proc/self/mounts").read_text()
    assert "hearth-tests" not in mounts


def test_an_open_checkout_is_left_alone(checkout: Path) -> None:
    for folder in (checkout.parents[1], checkout.parents[2]):
        folder.chmod(0o755)
    ours = os.readlink("/proc/self/ns/mnt")
    assert run(checkout, "readlink", "/proc/self/ns/mnt").stdout.strip() == ours
