"""build-aux/in-memory.sh: what tests write to /tmp does not go to a disk."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user mounts nothing"
)


@pytest.fixture
def checkout() -> Iterator[Path]:
    """Make a folder in a folder of /tmp, with a file beside it."""
    with tempfile.TemporaryDirectory(prefix="hearth a b-", dir="/tmp") as place:
        made = Path(place) / "checkout"
        made.mkdir()
        (made.parent / "beside").write_text("read")
        yield made


def run(
    folder: Path, checkout: Path, build: Path, *command: str, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "build-aux/in-memory.sh", checkout, build, *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


def has_room() -> bool:
    lines = Path("/proc/meminfo").read_text().splitlines()
    (free,) = [int(x.split()[1]) for x in lines if "MemAvailable" in x]
    return free >= 4 << 20


def test_the_command_has_a_folder_of_its_own(checkout: Path) -> None:
    if not has_room():
        pytest.skip("less than 4 GiB of memory are free")
    before = Path("/proc/self/mounts").read_text()
    about = "stat -f -c %T /tmp; stat -c %a /tmp; ls /tmp; touch /tmp/new"
    done = run(checkout, checkout, Path("/"), "sh", "-c", about)
    assert done.stderr == ""
    assert done.stdout == f"tmpfs\n1777\n{checkout.parent.name}\n"
    assert not Path("/tmp/new").exists()
    assert Path("/proc/self/mounts").read_text() == before


@pytest.mark.parametrize("where", ["checkout", "build", "HEARTH"])
def test_it_sees_what_it_works_with(checkout: Path, where: str) -> None:
    env = {"HEARTH": f"{checkout}/hearth"} if where == "HEARTH" else {}
    done = run(
        checkout,
        checkout if where == "checkout" else Path("/"),
        checkout if where == "build" else Path("/"),
        "sh", "-c", "pwd; cat ../beside; echo new >made; exit 7",
        **env,
    )  # fmt: skip
    assert done.stderr == ""
    assert (done.returncode, done.stdout) == (7, f"{checkout}\nread")
    assert (checkout / "made").read_text() == "new\n"


def test_without_memory_it_has_what_there_is(
    checkout: Path, tmp_path: Path
) -> None:
    """A user who may not mount runs the tests all the same."""
    program = tmp_path / "unshare"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ours = os.readlink("/proc/self/ns/mnt")
    see = ["readlink", "/proc/self/ns/mnt"]
    done = run(checkout, checkout, Path("/"), *see, PATH=path)
    assert done.stdout.strip() == ours
