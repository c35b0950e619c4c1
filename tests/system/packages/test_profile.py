"""The packages of the profile's Python, as uv gets them."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Iterator

import pytest
from hearth_downloads.packages.profile import find_installed
from hearth_kernel.packages.names import normalise
from worker import PACKAGE


def test_finds_what_the_profile_has() -> None:
    installed = find_installed()
    assert installed["pytest"].version == pytest.__version__
    assert "pytest-xdist" in installed


def test_reads_what_importlib_reads() -> None:
    installed = find_installed()
    seen = set()
    for one in distributions():
        name = normalise(one.metadata["Name"])
        if name in seen:
            continue
        seen.add(name)
        found = installed[name]
        assert found.version == one.version
        extras = one.metadata.get_all("Provides-Extra") or []
        assert list(found.extras) == extras
        assert set(found.needs) <= set(one.requires or [])
    assert set(installed) == seen
    assert installed["pytest-xdist"].needs


@pytest.mark.parametrize(
    ("filename", "text", "version", "extras", "needs"),
    [
        (
            "a-1.dist-info/METADATA",
            "Metadata-Version: 2.1\nNAME: A\nVersion:  1 \n"
            "Summary: one\n  Version: 2\n"
            "Provides-Extra: x\nRequires-Dist: b; extra == 'x'\n"
            "Requires-Dist: c\n\nVersion: 3\nProvides-Extra: y\n",
            "1",
            ("x",),
            ("b; extra == 'x'",),
        ),
        (
            "a.egg-info/PKG-INFO",
            "Metadata-Version: 2.1\nName: a\nVersion: 1\nProvides-Extra: x\n",
            "1",
            ("x",),
            ('b; extra == "x"',),
        ),
        (
            "a-1.dist-info/METADATA",
            "Name: a\nVersion: 1\nProvides-Extra: x\n"
            "Requires-Dist: b\n ; extra == 'x'\n",
            "1",
            ("x",),
            (),  # a line end is no part of a requirement
        ),
    ],
    ids=["wheel", "egg", "folded"],
)
def test_reads_metadata(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    filename: str,
    text: str,
    version: str,
    extras: tuple[str, ...],
    needs: tuple[str, ...],
) -> None:
    path = tmp_path / filename
    path.parent.mkdir()
    path.write_text(text)
    (path.parent / "requires.txt").write_text("c\n\n[x]\nb\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (found,) = find_installed().values()
    assert (found.name, found.version) == ("a", version)
    assert (found.extras, found.needs) == (extras, needs)


@pytest.mark.parametrize("text", ["", "Name: a\n", "Name: a b\nVersion: 1\n"])
def test_takes_no_package_without_a_name_and_a_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = tmp_path / "a-1.dist-info"
    path.mkdir()
    (path / "METADATA").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_installed() == {}


METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: 1\n"


def test_reads_what_only_importlib_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A zip file, an egg, and what a finder of its own knows."""
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("z-1.dist-info/METADATA", METADATA.format("z"))
    for info in ("e.egg/EGG-INFO", "own/f-1.dist-info", "b-1.dist-info"):
        (tmp_path / info).mkdir(parents=True)
    (tmp_path / "e.egg/EGG-INFO/PKG-INFO").write_text(METADATA.format("e"))
    (tmp_path / "own/f-1.dist-info/METADATA").write_text(METADATA.format("f"))
    (tmp_path / "b-1.dist-info/METADATA").write_text(METADATA.format("b"))
    places = [tmp_path / "z.zip", tmp_path / "e.egg", tmp_path / "none"]
    monkeypatch.setattr(sys, "path", [str(one) for one in places])
    assert list(find_installed(str(tmp_path))) == ["b", "z", "e"]

    class Finder:
        @staticmethod
        def find_spec(*_: object) -> None:
            return None

        @classmethod
        def find_distributions(cls, *_: object) -> Iterator[Distribution]:
            return iter([Distribution.at(tmp_path / "own/f-1.dist-info")])

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert list(find_installed()) == ["z", "e", "f"]


def printed(code: str) -> list[str]:
    """Return the words that a process prints, in which nothing is imported."""
    done = subprocess.run(
        [
            *(sys.executable, "-I", "-c"),
            f"import sys; sys.path.insert(0, {PACKAGE!r})\n{code}",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_most_are_read_without_importlib() -> None:
    """Its import takes longer than to read them."""
    count, is_imported = printed(
        "from hearth_downloads.packages.profile import find_installed\n"
        "print(len(find_installed()), 'importlib.metadata' in sys.modules)"
    )
    assert int(count) > 10
    assert is_imported == "False"


def test_a_list_does_not_import_what_a_change_needs(tmp_path: Path) -> None:
    loaded = printed(
        "from hearth_downloads.packages.job import Job\n"
        "from hearth_downloads.packages.operations import do\n"
        f"do(Job('list', session={str(tmp_path)!r}), None)\n"
        "print(*sys.modules)"
    )
    assert "hearth_downloads.packages.operations" in loaded
    assert not {"hearth_downloads.packages.change", "importlib.metadata"} & set(
        loaded
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ("'add'", ["False", "True"]),
        ("'add', offline=True", ["False", "False"]),
        ("'remove'", ["False", "False"]),
    ],
)
def test_statuses_are_imported_while_uv_resolves(
    job: str, expected: list[str]
) -> None:
    """When its sandbox gets its way out, the processor has time."""
    assert expected == printed(
        "from unittest.mock import Mock\n"
        "from hearth_downloads.packages.job import Job\n"
        "import hearth_downloads.packages.change\n"
        "from hearth_downloads.packages.uv import Uv\n"
        "def look():\n"
        "    print('hearth_downloads.packages.status' in sys.modules)\n"
        "def do(gateway, program):\n"
        "    look()\n"
        "    program.attach(7)\n"
        "    look()\n"
        "    return Mock(output='')\n"
        f"uv = Mock(job=Job({job}), stage=Mock(), sandbox=Mock(run=do))\n"
        "uv._attach = lambda listener: Uv._attach(uv, listener)\n"
        "Uv.do(uv, lambda: None)\n"
    )
