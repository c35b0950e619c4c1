"""What build-aux/check-layers.sh finds, in folders of a file or two."""

import pathlib
import subprocess

import pytest

CHECK = pathlib.Path(__file__).parents[2] / "build-aux" / "check-layers.sh"
# Folder, its files in their order.
FOLDERS = {
    "base": ["low.h", "high.h"],
    "protocol": ["frame.h"],
    "sandbox": ["policy/walls.h", "launch/mounts.h"],
    "notebooks": [],
    "workspace": [],
    "kernels": [],
    "gateway": ["session/parts/timers.h", "session/acts/stop.h"],
}


@pytest.fixture
def check(tmp_path):
    """Makes the folders, lets one file include a header, and runs the check."""
    text = ""
    for folder, files in FOLDERS.items():
        names = "".join(f" \\\n\t%D%/{name}" for name in files)
        for name in files:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text("")
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "Makemodule.am").write_text(f"x ={names}\n")
        text += f"include {folder}/Makemodule.am\n"
    (tmp_path / "Makefile.am").write_text(text)

    def run(name, header):
        (tmp_path / name).write_text(f'#include "{header}"\n')
        done = subprocess.run(
            [CHECK, tmp_path], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("protocol/frame.h", "base/high.h"),
        ("base/low.h", "base/high.h"),
        ("gateway/session/acts/stop.h", "gateway/session/parts/timers.h"),
        ("gateway/session/parts/timers.h", "sandbox/policy/walls.h"),
        ("sandbox/launch/mounts.h", "sandbox/policy/walls.h"),
    ],
)
def test_passes_what_stands_before(check, name, header):
    assert check(name, header) == (0, "")


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("base/low.h", "protocol/frame.h"),
        ("gateway/session/parts/timers.h", "gateway/session/acts/stop.h"),
        ("sandbox/policy/walls.h", "sandbox/launch/mounts.h"),
        # Of sandbox the gateway may know some headers alone.
        ("gateway/session/parts/timers.h", "sandbox/launch/mounts.h"),
    ],
)
def test_refuses_what_stands_behind(check, name, header):
    folder = pathlib.PurePath(name).parent
    assert check(name, header) == (
        1,
        f'{name}:1: {folder}/ may not include "{header}"\n',
    )
