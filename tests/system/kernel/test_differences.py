"""Changes of variables and files in the reply."""

import pytest

from gateway import only


def figures(kernel, code, **options):
    return only(kernel.run(code, **options), "REPLY").metadata["hearth"]


def difference(kernel, code, **options):
    return figures(kernel, code, **options).get("namespace")


def names(items):
    return [item["name"] for item in items]


def test_names_that_appear_change_and_go(kernel):
    assert difference(kernel, "1 + 1") is None
    found = difference(kernel, "a = 1\nb = [1, 2]\n_hidden = 3")
    assert found == {
        "appeared": [
            {"name": "a", "type": "int"},
            {"name": "b", "type": "list", "size": 2},
        ]
    }
    assert difference(kernel, "a\nb") is None
    found = difference(kernel, "b.append(3)\na = 'text'")
    assert found == {
        "changed": [
            {
                "name": "a",
                "type": "str",
                "size": 4,
                "was": {"type": "int"},
            },
            {
                "name": "b",
                "type": "list",
                "size": 3,
                "was": {"type": "list", "size": 2},
            },
        ]
    }
    assert difference(kernel, "a = 'tex2'") == {
        "changed": [{"name": "a", "type": "str", "size": 4}]
    }
    assert difference(kernel, "del a\nc = 1") == {
        "appeared": [{"name": "c", "type": "int"}],
        "went": ["a"],
    }
    assert difference(kernel, "del c\nd = 1\nc = 1") == {
        "appeared": [{"name": "d", "type": "int"}]
    }


def test_shapes(kernel):
    found = difference(
        kernel,
        "import numpy as np, pandas as pd\n"
        "x = np.zeros((2, 3))\n"
        "df = pd.DataFrame({'a': [1, 2]})\n"
        "def f(): pass\n"
        "class C: pass",
    )
    reported = {item.pop("name"): item for item in found["appeared"]}
    assert reported == {
        "np": {"type": "module"},
        "pd": {"type": "module"},
        "x": {
            "type": "ndarray",
            "shape": [2, 3],
            "dtype": "float64",
            "bytes": 48,
        },
        "df": {"type": "DataFrame", "shape": [2, 1]},
        "f": {"type": "function"},
        "C": {"type": "type"},
    }
    found = difference(kernel, "df['b'] = 1\nx = np.ones((2, 3))")
    assert found["changed"][0]["name"] == "x"
    assert "was" not in found["changed"][0]
    assert found["changed"][1] == {
        "name": "df",
        "type": "DataFrame",
        "shape": [2, 2],
        "was": {"type": "DataFrame", "shape": [2, 1]},
    }


def test_no_method_of_the_user_is_called(kernel):
    code = """
called = []
class Meta(type):
    __name__ = property(lambda self: called.append('name'))
    def __eq__(self, other): called.append('meta eq')
    def __hash__(self): called.append('meta hash'); return 1
    def __instancecheck__(self, other): called.append('instance')
class Trap(metaclass=Meta):
    __module__ = 'pandas'
    def __getattribute__(self, name): called.append(name)
    def __eq__(self, other): called.append('eq')
    def __len__(self): called.append('len'); return 1
    def __repr__(self): called.append('repr'); return ''
    def __hash__(self): called.append('hash'); return 1
    def __bool__(self): called.append('bool'); return True
class List(list):
    def __len__(self): called.append('list len'); return 1
    def __eq__(self, other): called.append('list eq')
DataFrame = Meta('DataFrame', (), {'shape': property(
    lambda self: called.append('shape'))})
trap, frame, many = Trap(), DataFrame(), List()
called.clear()
"""
    found = difference(kernel, code)
    assert {"trap", "frame", "many"} < set(names(found["appeared"]))
    difference(kernel, "trap2 = trap\nmany = List()")
    difference(kernel, "del trap2, trap\nframe = 2")
    assert kernel.value("called") == "[]"


def test_a_variable_is_not_kept_alive(kernel):
    kernel.run("import weakref\nclass C: pass\nc = C()\nr = weakref.ref(c)")
    kernel.run("del c\ngone = r() is None")
    assert kernel.value("gone") == "True"


def test_cells_that_are_silent_or_fail(kernel):
    assert "namespace" not in figures(kernel, "a = 1", silent=True)
    # Reported by the next one that is stored.
    found = difference(kernel, "b = 2\n1 / 0", store_history=False)
    assert names(found["appeared"]) == ["a", "b"]
    assert difference(kernel, "%reset -f")["went"] == ["a", "b"]
    assert names(difference(kernel, "a = 1")["appeared"]) == ["a"]


def test_many_names_are_cut(kernel):
    found = difference(
        kernel, "for i in range(3000): globals()[f'x{i}'] = [i]\ndel i"
    )
    reported = len(found["appeared"])
    assert reported == 200 or found["partial"]
    # Each is listed or counted, though every look is bounded in time.
    seen = reported + found.get("more", 0)
    for _ in range(1000):
        found = difference(kernel, "1 + 1")
        if found is None:
            break
        assert len(found.get("appeared", [])) <= 200
        seen += len(found.get("appeared", [])) + found.get("more", 0)
    assert seen == 3000
    found = difference(kernel, "del x0")
    for _ in range(1000):
        if found and "went" in found:
            break
        found = difference(kernel, "1 + 1")
    assert found["went"] == ["x0"]


@pytest.mark.parametrize(
    "code",
    [
        "globals()[1] = 2",
        "globals()[''] = 2",
        "class S(str):\n    __eq__ = None\n    __hash__ = str.__hash__\n"
        "globals()[S('a')] = 1",
        "import sys\nsys.modules['numpy'] = None\nlist = dict = len = None",
        "import os, time\nos.stat = time.perf_counter_ns = None",
        "a = [1]; a.append(a); b = '\\ud800'; c = 'x' * (1 << 20)",
        "globals()['\\ud800'] = 1",
        "globals()['x' * 1000] = 1",
    ],
)
def test_strange_names_and_values(kernel, code):
    kernel.run("class ndarray: shape = None\nz = ndarray()")
    assert figures(kernel, code)["rss_kib"] > 0
    assert kernel.run("y = 1")[-1].content["status"] == "ok"


def test_files(kernel):
    def files(code):
        # Long enough for a look.
        return figures(kernel, f"{code}\nimport time; time.sleep(0.02)").get(
            "files"
        )

    assert files("1 + 1") is None
    assert files("open('a', 'w').write('1')") == {"written": ["a"]}
    assert figures(kernel, "open('b', 'w').write('1')")["files"] == {
        "written": ["b"]
    }
    found = files(
        "import os\nos.mkdir('sub'); os.mkdir('.hidden')\n"
        "open('sub/c', 'w').close(); open('.hidden/d', 'w').close()\n"
        "open('a', 'w').write('22')"
    )
    assert sorted(found.pop("written")) == ["a", "sub/c"]
    assert not found
    assert files("os.remove('a')") == {"removed": ["a"]}
    found = files("for i in range(90): open(f'f{i}', 'w').close()")
    assert len(found["written"]) == 50
    assert found["more"] == 40
    assert "files" not in figures(kernel, "x = 1", silent=True)


def test_a_workspace_that_goes(kernel):
    assert "files" in figures(kernel, "open('a', 'w').close()")
    figures(kernel, "import os, shutil; shutil.rmtree(os.getcwd())")
    assert "files" not in figures(kernel, "1 + 1")
    assert kernel.value("2") == "2"
