"""A module that is not there: the error says how its package is asked for."""

import json

import pytest
from test_kernel_packages import begin, folder  # noqa: F401


@pytest.fixture
def kernel(fork, folder):  # noqa: F811
    made = fork()
    begin(made, folder)
    return made


def error(kernel, code):
    """Return the lines after the error's own, with which the traceback ends."""
    reply = kernel.run(code)[-1].content
    assert reply["status"] == "error"
    _, *notes = reply["evalue"].split("\n")
    assert reply["traceback"][-len(notes) or len(reply["traceback"]) :] == notes
    return notes


def asks(name, package):
    return [f"{name} is not installed: `%pip install {package}` asks for it"]


@pytest.mark.parametrize(
    "code",
    [
        "import humane",
        "from humane.parts import one",
        "import importlib\nimportlib.import_module('humane.parts')",
        "try:\n    import humane\nexcept ImportError as error:\n"
        "    raise RuntimeError('needs humane') from error",
        "try:\n    import humane\nexcept ImportError:\n    1 / 0",
    ],
)
def test_a_missing_module_is_asked_for(kernel, code):
    assert error(kernel, code) == asks("humane", "humane")


def test_a_package_can_have_another_name(kernel):
    assert error(kernel, "import cv2") == asks("cv2", "opencv-python-headless")
    kernel.run(
        "import os, sys, importlib\nos.makedirs('google')\n"
        "importlib.invalidate_caches()"
    )
    assert error(kernel, "import google.protobuf") == asks(
        "google.protobuf", "protobuf"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import json.nothing",
        "import os.nothing",
        "import _private",
        "import google",
        "import urllib2",
        "import msvcrt",
        "import ldap",
        "import MySQLdb",
        "import hearth_downloads",
        "from json import nothing",
        "import sys\nsys.modules['humane'] = None\nimport humane",
        "from . import humane",
    ],
)
def test_other_errors_are_not_explained(kernel, code):
    assert error(kernel, code) == []


def test_a_module_of_the_workspace_has_another_reason(kernel, tmp_path):
    (tmp_path / "mine.py").write_text("")
    (tmp_path / "folder").mkdir()
    kernel.run(
        "from hearth_kernel.errors import missing\n"
        f"missing._WORKSPACE = {str(tmp_path)!r}"
    )
    assert error(kernel, "import mine") == []
    assert error(kernel, "import folder") == []
    assert error(kernel, "import yours") == asks("yours", "yours")


EVIL = "(\"No module named 'evil'\""


@pytest.mark.parametrize(
    "raised",
    [
        f"ModuleNotFoundError{EVIL})",
        "ModuleNotFoundError('evil', name='evil')",
        f"ModuleNotFoundError{EVIL}, 1, name='evil')",
        f"ModuleNotFoundError(Text{EVIL}), name='evil')",
        f"ModuleNotFoundError{EVIL}, name=Text('evil'))",
        f"Own{EVIL}, name='evil')",
        "named('x; rm')",
        "named('\\x1b[1m')",
        "named('h\\u043e')",
        "named('x' * 999)",
    ],
)
def test_an_error_of_the_codes_own_is_not_repeated(kernel, raised):
    code = (
        "done = []\n"
        "class Text(str):\n"
        "    def __eq__(self, other): done.append(1); return True\n"
        "    __hash__ = str.__hash__\n"
        "    def isidentifier(self): done.append(1); return True\n"
        "class Own(ModuleNotFoundError):\n"
        "    name = property(lambda self: done.append(1) or 'evil')\n"
        "def named(x):\n"
        "    text = f\"No module named '{x}'\"\n"
        "    return ModuleNotFoundError(text, name=x)\n"
    )
    assert (
        "good is not installed"
        in error(kernel, f"{code}raise named('good')")[0]
    )
    assert error(kernel, f"{code}raise {raised}") == []
    assert kernel.value("done") == "[]"


def test_a_client_can_add_it_where_cells_cannot(fork, folder):  # noqa: F811
    kernel = fork()
    kernel.run("import os; os.environ['HEARTH_PACKAGES_CELLS'] = 'no'")
    begin(kernel, folder)
    assert error(kernel, "import cv2") == [
        "cv2 is not installed; a client can add it: "
        "`hearth packages add SESSION opencv-python-headless`"
    ]


DENY = ["deny", "profile/x/packages/deny", ["Opencv_Python*", "humane"]]
ALLOW = ["allow", "this session's own packages/allow", ["numpy", "Cv.*"]]


@pytest.mark.parametrize("lists", [[DENY, ALLOW], [ALLOW, DENY]])
def test_the_lists_decide(fork, folder, lists):  # noqa: F811
    kernel = fork()
    text = json.dumps(lists)
    kernel.run(f"import os; os.environ['HEARTH_PACKAGES_LISTS'] = {text!r}")
    begin(kernel, folder)
    denied = "profile/x/packages/deny names it"
    other = "this session's own packages/allow permits numpy, Cv.*"
    rule = denied if lists[0] is DENY else other
    assert error(kernel, "import cv2") == [
        "cv2 is not installed, and opencv-python-headless is not permitted "
        f"here: {rule}"
    ]
    assert error(kernel, "import yours") == [
        f"yours is not installed, and yours is not permitted here: {other}"
    ]
    assert error(kernel, "import CV_x") == asks("CV_x", "CV_x")


def test_a_profile_without_packages_says_where_they_are(fork):
    assert error(fork(), "import humane") == [
        "humane is not installed, and packages are installed into the "
        "profile's Python, outside"
    ]
