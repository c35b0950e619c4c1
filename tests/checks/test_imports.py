"""Python modules import what their names say.

No modules of one package import each other in a loop, those of the kernel's
package import what comes before their folder, and no file of the tests has the
name of a package that something else imports.
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
        ("gateway/downloads", "hearth_downloads"),
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


def folders(source, package):
    """The folders of a package, as the lists of its build order them."""
    text = (ROOT / source / "Makemodule.am").read_text()
    listed = re.findall(rf"%D%/({package}(?:/\w+)?)/\w+\.(?:c|py)\b", text)
    return list(dict.fromkeys(listed))


def upward(source, order):
    """Imports of what is in a later folder: "FILE: MODULE" of each.

    An extension _x is in the folder of _x.c. The __init__ of the package runs
    before all modules, so it imports none of them.
    """
    package = order[0].partition("/")[0]
    rank, files = {}, {}
    for number, folder in enumerate(order):
        for path in sorted((source / folder).glob("_*.c")):
            rank[f"{package}.{path.stem}"] = number
        for path in sorted((source / folder).glob("*.py")):
            file = path.relative_to(source)
            name = ".".join(file.with_suffix("").parts)
            rank[name.removesuffix(".__init__")] = number
            files[file] = number
    del rank[package]
    files[pathlib.Path(package, "__init__.py")] = -1
    return [
        f"{file}: {name}"
        for file, number in files.items()
        for name in sorted(imports(source / file, set(rank)))
        if rank[name] > number
    ]


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("kernels", "hearth_kernel"),
        ("gateway/downloads", "hearth_downloads"),
    ],
)
def test_modules_import_what_comes_before_their_folder(source, package):
    order = folders(source, package)
    assert len(order) > 1
    assert upward(ROOT / source, order) == []


@pytest.mark.parametrize(
    ("folder", "other"),
    [
        ("packages", "fetch"),
        ("packages", "clone"),
        ("fetch", "packages"),
        ("fetch", "clone"),
        ("clone", "packages"),
    ],
)
def test_kinds_of_downloads_know_nothing_of_each_other(folder, other):
    source = ROOT / "gateway/downloads"
    names = (source / "hearth_downloads" / other).glob("*.py")
    modules = {f"hearth_downloads.{other}.{path.stem}" for path in names}
    modules.add(f"hearth_downloads.{other}")
    assert len(modules) > 5
    for path in (source / "hearth_downloads" / folder).glob("*.py"):
        assert imports(path, modules) == set(), path


def test_an_import_of_a_later_folder_is_found(tmp_path):
    files = {
        "p/__init__.py": "",
        "p/one/_ext.c": "",
        "p/two/__init__.py": "from p import _ext",
        "p/two/low.py": "from p.two import other\nfrom p import two, no_module",
        "p/two/other.py": "",
        "p/three/__init__.py": "",
        "p/three/high.py": "from p.two.low import x\nimport p.two.other",
        "p/top.py": "from p.three import high",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    order = ["p/one", "p/two", "p/three", "p"]
    assert upward(tmp_path, order) == []
    (tmp_path / "p/two/low.py").write_text("def f():\n    from p import top")
    (tmp_path / "p/__init__.py").write_text("from p.two.low import f")
    assert upward(tmp_path, order) == [
        "p/two/low.py: p.top",
        "p/__init__.py: p.two.low",
    ]
    assert "p/two/__init__.py: p._ext" in upward(
        tmp_path, order[1:] + order[:1]
    )


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
    """Return the files that an import of a known name would find first."""
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
