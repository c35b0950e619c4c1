"""What installing and uninstalling do to an operator's configuration."""

from __future__ import annotations

import json
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


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that change nothing in it."""
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def root(tmp_path: Path, looked_at: Path) -> Path:
    """For tests that change it: a copy, as a package has it."""
    subprocess.run(["cp", "-a", f"{looked_at}/.", str(tmp_path)], check=True)
    return tmp_path


def python_folder(root: Path) -> Path:
    (found,) = root.rglob("hearth_kernel/kernel.py")
    return found.parents[1]


def files_of(folder: Path) -> set[Path]:
    """Without compiled code, and without the notes of the build."""
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.suffix not in (".pyc", ".stamp") and path.name != "__pycache__"
    }


# What older versions had: flat modules, and packages that have moved.
STALE = (
    "hearth_gone.py",
    "hearth_kernel/calls.py",
    "hearth_kernel/__pycache__/calls.cpython-311.pyc",
    "hearth_packages/__init__.py",
    "hearth_packages/deep/er.py",
)


def leave_stale_files(folder: Path) -> None:
    for name in (*STALE, "sitecustomize.py", "mine/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n")


def test_an_install_over_an_older_version(root: Path) -> None:
    """A changed configuration stays. Hearth's Python is that of this version
    alone; what another program has put beside it stays."""
    file = configuration(root)
    default = file.read_text()
    file.write_text(default + "# mine\n")
    folder = python_folder(root)
    leave_stale_files(folder)
    make("install", root)
    assert file.read_text() == default + "# mine\n"
    assert not [name for name in STALE if (folder / name).exists()]
    assert files_of(folder) == files_of(BUILD / "python") | {
        Path("sitecustomize.py"),
        Path("mine"),
        Path("mine/__init__.py"),
    }
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


PYTHON = Path("/usr/bin/python3")
# Names the source of each module's compiled code, if it is the source's.
SEES = """
import importlib.util, json, marshal, os, sys
sys.path.insert(0, sys.argv[1])
found = []
for name in sys.argv[2:]:
    spec = importlib.util.find_spec(name)
    if os.path.exists(spec.cached):
        with open(spec.cached, "rb") as file:
            data = file.read()
        compiled = int.from_bytes(data[8:12], "little")
        if compiled == int(os.stat(spec.origin).st_mtime):
            found.append(marshal.loads(data[16:]).co_filename)
print(json.dumps(found))
"""


def test_the_python_packages_are_compiled(root: Path) -> None:
    """For the default Python; the paths are those of the installed files."""
    if not PYTHON.exists():
        pytest.skip(f"there is no {PYTHON}")
    (worker,) = root.rglob("hearth_downloads/packages/worker.py")
    folder = worker.parents[2]
    names = ["hearth_downloads.packages.worker", "hearth_kernel.kernel"]
    done = subprocess.run(
        [str(PYTHON), "-I", "-B", "-c", SEES, str(folder), *names],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )
    inside = "/" + str(folder.relative_to(root))
    assert json.loads(done.stdout) == [
        f"{inside}/{name.replace('.', '/')}.py" for name in names
    ]
    make("uninstall", root)
    assert not list(root.rglob("*.pyc"))
    assert not list(root.rglob("__pycache__"))


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
