"""What installing and uninstalling do to an operator's configuration."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from deadline import DEADLINE
from harness import HEARTH

BUILD = Path(HEARTH).parent


def make(target: str, root: Path) -> None:
    done = subprocess.run(
        ["make", "-C", str(BUILD), target, f"DESTDIR={root}"],
        capture_output=True,
        text=True,
        timeout=4 * DEADLINE,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def configuration(root: Path) -> Path:
    (default,) = root.rglob("etc/hearth/hearth.cfg.default")
    return default.with_name("hearth.cfg")


def install(root: Path) -> Path:
    if not (BUILD / "Makefile").exists():
        pytest.skip("the program was not built here")
    make("install", root)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return install(tmp_path)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that change nothing in it."""
    return install(tmp_path_factory.mktemp("installed"))


def test_a_changed_configuration_stays(root: Path) -> None:
    file = configuration(root)
    default = file.read_text()
    file.write_text(default + "# mine\n")
    make("install", root)
    assert file.read_text() == default + "# mine\n"
    make("uninstall", root)
    assert file.read_text() == default + "# mine\n"
    assert [path.name for path in file.parent.iterdir()] == ["hearth.cfg"]


def test_an_unchanged_configuration_goes(root: Path) -> None:
    file = configuration(root)
    assert file.read_text() == file.with_suffix(".cfg.default").read_text()
    make("uninstall", root)
    assert not list(file.parent.iterdir())


def test_the_manuals_name_the_configured_folder(looked_at: Path) -> None:
    file = configuration(looked_at)
    installed = "/" + str(file.relative_to(looked_at))
    for page in looked_at.rglob("man/man?/*"):
        text = page.read_text()
        assert f".It Pa {installed}\n" in text, page
        assert text.count("/etc/hearth/") == text.count(installed), page


def test_completion_lies_where_the_shells_look(looked_at: Path) -> None:
    """Where Debian's shells look below the prefix, whichever it is."""
    names = (
        "share/bash-completion/completions/hearth.bash",
        "share/zsh/*/_hearth",
        "share/fish/vendor_completions.d/hearth.fish",
    )
    for name in names:
        (found,) = looked_at.rglob(name)
        folder = found.parent.name
        prefix = found.parents[3].relative_to(looked_at)
        if folder in ("vendor-completions", "site-functions"):
            assert (folder == "vendor-completions") == (str(prefix) == "usr")
