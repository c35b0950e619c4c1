"""Python modules import what their names say.

No modules of one package import each other in a loop, and no file of the tests
stands in the place of a package that something else imports.
"""

import ast
import graphlib
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def imports(path, modules):
    """Which of these modules that file names, at its head or in a function."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            named |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.add(node.module)
            named |= {f"{node.module}.{each.name}" for each in node.names}
    return named & modules


def loop_of(source, package):
    """The modules of a loop, each of which imports the one after it."""
    paths = {
        ".".join(path.relative_to(source).with_suffix("").parts): path
        for path in (source / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    known = set(paths)
    graph = {name: imports(path, known) for name, path in paths.items()}
    assert any(graph.values()), f"no modules below {source / package}"
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("kernels", "hearth_kernel"),
        ("clients/python/src", "hearth"),
    ],
)
def test_no_modules_import_each_other(source, package):
    assert loop_of(ROOT / source, package) == []


def test_a_loop_is_found(tmp_path):
    files = {
        "one": "from p import two",
        "two": "def f():\n    import p.three",
        "three": (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from p.one import One"
        ),
    }
    (tmp_path / "p").mkdir()
    for name, text in files.items():
        (tmp_path / "p" / f"{name}.py").write_text(text)
    loop = loop_of(tmp_path, "p")
    assert set(loop) == {"p.one", "p.two", "p.three"}
    at = loop.index("p.one")
    assert loop[at + 1 if at < 3 else 1] == "p.two"
    (tmp_path / "p" / "three.py").write_text("import json")
    assert loop_of(tmp_path, "p") == []


def packages():
    """The names under which what the locks pin is probably imported."""
    text = "".join(
        path.read_text()
        for path in (ROOT / "tests/requirements").glob("*.lock")
    )
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)
    assert "pytest" in pinned
    return {name.lower().replace("-", "_") for name in pinned}


def hiding(paths, known):
    """Those of these files that an import of a known name would find first."""
    return [str(path) for path in paths if path.stem in known]


def test_no_file_of_the_tests_hides_a_package():
    known = packages() | sys.stdlib_module_names
    assert hiding((ROOT / "tests").rglob("*.py"), known) == []


def test_a_file_that_hides_a_package_is_found():
    paths = [
        pathlib.Path("peers/rich.py"),
        pathlib.Path("peers/window_cells.py"),
    ]
    assert hiding(paths, packages()) == ["peers/rich.py"]
