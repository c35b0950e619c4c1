"""The Python client as a package: its wheel, its types, its two halves."""

import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/python"


def run(*command, cwd=ROOT):
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    made = tmp_path / "clients" / "python"
    shutil.copytree(CLIENT, made, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "configure.ac", tmp_path)
    return made


def test_the_wheel_has_everything(copy, tmp_path):
    done = run(
        "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=copy
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    version = re.search(
        r"AC_INIT\(\[hearth\], \[(.+?)\]", (ROOT / "configure.ac").read_text()
    )[1]
    assert wheel.name == f"hearth_client-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if n.startswith("hearth/")}
        (metadata,) = [n for n in archive.namelist() if n.endswith("METADATA")]
        described = archive.read(metadata).decode()
        archive.extractall(tmp_path / "installed")
    sources = {
        str(path.relative_to(copy / "src"))
        for path in (copy / "src/hearth").rglob("*")
        if path.is_file()
    }
    assert names == sources
    assert "hearth/py.typed" in names
    needed = re.findall(r"Requires-Dist: (\w+)", described)
    assert needed == ["anyio", "httpx"]
    done = run(
        "-c",
        "import sys; sys.path.insert(0, 'installed');"
        "import hearth; print(hearth.__version__)",
        cwd=tmp_path,
    )
    assert done.stdout == version + "\n", done.stderr


def test_its_types_are_strict():
    done = run(
        *("-m", "mypy", "--config-file", CLIENT / "pyproject.toml"),
        CLIENT / "src/hearth",
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "changed",
    ["configure.ac", "src/hearth/_async/run.py", "src/hearth/_sync/run.py"],
)
def test_a_stale_half_is_found(copy, changed):
    assert run(copy / "generate.py", "--check").returncode == 0
    path = copy / changed
    if changed == "configure.ac":
        path = copy.parents[1] / changed
        path.write_text(path.read_text().replace("[hearth], [", "[hearth], [9"))
    else:
        path.write_text(path.read_text() + "# more\n")
    done = run(copy / "generate.py", "--check")
    assert done.returncode == 1
    assert "is out of date: run generate.py" in done.stdout
    assert run(copy / "generate.py").returncode == 0
    assert run(copy / "generate.py", "--check").returncode == 0


def test_the_halves_have_the_same_methods():
    done = run(
        "-c",
        "import sys, inspect; sys.path.insert(0, sys.argv[1]); import hearth\n"
        "for name in ('Gateway', 'Session', 'Run', 'Files', 'Tools',\n"
        "    'Process', 'Processes'):\n"
        "    a = getattr(hearth.aio, 'Async' + name)\n"
        "    b = getattr(hearth, name)\n"
        "    for key in dir(b):\n"
        "        if key.startswith('_'): continue\n"
        "        twin = getattr(a, 'aclose' if key == 'close' else key)\n"
        "        if not callable(twin): continue\n"
        "        names = [*inspect.signature(twin).parameters]\n"
        "        own = [*inspect.signature(getattr(b, key)).parameters]\n"
        "        assert names == own, (name, key)\n"
        "        assert inspect.getdoc(getattr(b, key)), (name, key)\n",
        CLIENT / "src",
    )
    assert done.returncode == 0, done.stderr


def test_in_a_kernel_the_host_tools_come_first():
    """Where the client is installed for a kernel, too."""
    done = run(
        "-c",
        "import sys, types; sys.path.insert(0, sys.argv[1])\n"
        "kernel = types.ModuleType('hearth_kernel.tools')\n"
        "kernel.tools, kernel.ToolError = 'tools', 'error'\n"
        "sys.modules['hearth_kernel.tools'] = kernel\n"
        "from hearth import ToolError, tools\n"
        "assert (tools, ToolError) == ('tools', 'error')\n"
        "del sys.modules['hearth_kernel.tools']\n"
        "import hearth\n"
        "assert not hasattr(hearth, 'ToolError')\n",
        CLIENT / "src",
    )
    assert done.returncode == 0, done.stderr
