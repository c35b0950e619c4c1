"""Cells are checked against the profile's policy before they run."""

import pytest

from gateway import only


@pytest.fixture
def checked(fork):
    """A kernel, and a function that gives it rules."""
    kernel = fork()

    def rule(**rules):
        # That it can be done from within shows what the policy is: advice.
        kernel.run(
            "from hearth_kernel.shell import policy as hearth_policy\n"
            f"hearth_policy.configure({rules!r})\n"
            "del hearth_policy"
        )
        return kernel

    return rule


def refusal(kernel, code):
    """Return the text of the error; no part of the cell was run."""
    events = kernel.run("marker = 'ran'\n" + code)
    reply = events[-1].content
    assert reply["status"] == "error", code
    assert reply["ename"] == "PolicyError", (code, reply)
    error = only(events, "ERROR").content
    assert error["traceback"] == [f"PolicyError: {reply['evalue']}"]
    assert kernel.value("'marker' in globals()") == "False"
    return reply["evalue"]


def accepts(kernel, code):
    reply = kernel.run(code)[-1].content
    assert reply["status"] == "ok", (code, reply)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import socket", 2),
        ("import json, socket", 2),
        ("x = 1\nimport socket as s", 3),
        ("from socket import socket", 2),
        ("import xml.dom.minidom", 2),
        ("import xml.dom as d", 2),
        ("from xml import dom", 2),
        ("from xml.dom.minidom import parse", 2),
        ("def f():\n    import socket", 3),
        ("if False:\n    from socket import *", 3),
        ("__import__('socket')", 2),
        ("import importlib\nimportlib.import_module('socket')", 3),
        ("from importlib import import_module as i\ni('xml.dom')", 3),
        ("import builtins\nbuiltins.__import__('socket')", 3),
        ("exec('import socket')", 2),
        ("exec('x = 1\\nimport socket')", 3),
        ("%time import socket", 2),
    ],
)
def test_imports_that_are_refused(checked, code, line):
    kernel = checked(refuse_imports=["socket", "xml.dom"])
    text = refusal(kernel, code)
    assert text.startswith(f"line {line}: import of ")
    assert "policy/refuse_imports" in text
    assert "these: socket, xml.dom" in text


@pytest.mark.parametrize(
    "code",
    [
        "import json",
        "import xml",
        "from xml import sax",
        "import struct",
        "socket = 1; socket + 1",
        "'import socket'",
        "__import__('json')",
        "import json.decoder",
    ],
)
def test_imports_that_are_not(checked, code):
    accepts(checked(refuse_imports=["socket", "xml.dom"]), code)


def test_only_some_imports(checked):
    kernel = checked(allow_imports=["json", "xml.dom"])
    for code in (
        "import json",
        "import json.decoder",
        "from json import loads",
        "import xml.dom.minidom",
        "from xml import dom",
    ):
        accepts(kernel, code)
    for code in (
        "import os",
        "import jsonx",
        "from xml import sax",
        "from xml import dom, sax",
        "import xml",
    ):
        text = refusal(kernel, code)
        assert "policy/allow_imports; allowed are json, xml.dom" in text


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.system('id')",
        "import os as o\no.system('id')",
        "from os import system",
        "from os import system as s",
        "from os import *",
        "import os\nrun = os.system",
        "import os\nx = os\nx.system('id')",
        "import os\ngetattr(os, 'system')('id')",
        "__import__('os').system('id')",
        "import importlib\nimportlib.import_module('os').system('id')",
        "import os.path\nos.system('id')",
        "import subprocess as s\ns.Popen(['id'])",
        "eval('1 + 1')",
        "f = eval",
        "list(map(eval, ['1']))",
    ],
)
def test_calls_that_are_refused(checked, code):
    kernel = checked(refuse_calls=["os.system", "subprocess.Popen", "eval"])
    text = refusal(kernel, code)
    assert ": use of " in text
    assert "policy/refuse_calls" in text
    assert "eval, os.system, subprocess.Popen" in text


def test_names_of_earlier_cells_count(checked):
    kernel = checked(refuse_calls=["os.system"])
    accepts(kernel, "import os as harmless")
    accepts(kernel, "harmless.getcwd()")
    assert refusal(kernel, "harmless.system('id')").startswith("line 2: ")


def test_calls_that_are_not(checked):
    kernel = checked(refuse_calls=["os.system", "eval"])
    for code in (
        "import os\nos.getcwd()",
        "class C:\n    system = 1\nC().system",
        "'os.system'",
        "import pandas as pd\npd.DataFrame({'a': [1]}).eval('a + 1')",
    ):
        accepts(kernel, code)


def test_magics_and_shell_commands(checked):
    kernel = checked(refuse_magics=["system", "writefile"])
    for code in ("!id", "x = !id", "%system id", "!!id"):
        text = refusal(kernel, code)
        assert "a shell command is refused by policy/refuse_magics" in text
    events = kernel.run("%%writefile x\nabc")
    assert "%writefile is refused" in events[-1].content["evalue"]
    events = kernel.run("%%bash\nid")
    assert events[-1].content["ename"] == "PolicyError"
    accepts(kernel, "%time 1 + 1")


def test_code_that_a_cell_magic_runs(checked):
    kernel = checked(refuse_imports=["socket"])
    events = kernel.run("%%time\nx = 1\nimport socket")
    assert events[-1].content["evalue"].startswith("line 3: import of socket")
    accepts(kernel, "%%time\nx = 1")


def test_a_syntax_error_is_the_interpreters(checked):
    kernel = checked(refuse_imports=["socket"])
    reply = kernel.run("import socket socket")[-1].content
    assert reply["ename"] == "SyntaxError"


def test_user_expressions(checked):
    kernel = checked(refuse_calls=["eval"])
    reply = kernel.run("1", user_expressions={"a": "eval('1')"})[-1].content
    assert reply["user_expressions"]["a"]["ename"] == "PolicyError"


def test_no_rules_no_check(checked):
    accepts(checked(), "import socket\neval('1')")
