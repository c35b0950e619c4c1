"""Let outsiders judge: the ecosystem's own suites and programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Iterator

import jupyter_kernel_test
import pexpect
import pytest
from deadline import DEADLINE
from harness import ROOT, Gateway, Session
from jupyterpath import write_kernelspec

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module", autouse=True)
def jupyter(gateway: Gateway) -> Iterator[None]:
    """The environment in which Jupyter finds the kernelspec."""
    folder = gateway.folder / "jupyter"
    write_kernelspec(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in gateway.env.items():
            if name != "PATH":
                patch.setenv(name, value)
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(gateway.folder / "jr"))
        yield


class TestKernel(jupyter_kernel_test.KernelTests):
    kernel_name = "hearth"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = (
        {"text": "zi", "matches": {"zip"}},
        {"text": "from collections import UserD", "matches": {"UserDict"}},
    )
    complete_code_samples = ("1", "print('hello')", "def f(x):\n  return x\n\n")
    incomplete_code_samples = ("print('''hello", "def f(x):\n  x*2")
    invalid_code_samples = ("import = 7q",)
    code_page_something = "zip?"
    code_generate_error = "raise ValueError('hello')"
    code_execute_result = (
        {"code": "6*7", "result": "42"},
        {"code": "'a' * 3", "result": "'aaa'"},
    )
    code_display_data = (
        {
            "code": "from IPython.display import HTML, display;"
            " display(HTML('<b>test</b>'))",
            "mime": "text/html",
        },
        {
            "code": "import matplotlib.pyplot as p; p.plot([1, 2]);",
            "mime": "image/png",
        },
    )
    code_history_pattern = "6?7*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "open"
    code_clear_output = (
        "from IPython.display import clear_output; clear_output()"
    )


class TestIopubWelcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "hearth"
    support_iopub_welcome = True


def test_kernelspec_of_the_build() -> None:
    import json

    spec = json.loads((ROOT / "etc/kernelspec/kernel.json.in").read_text())
    assert spec["display_name"] == "Python (hearth)"
    assert spec["interrupt_mode"] == "message"
    assert spec["argv"][1:] == ["kernel", "-f", "{connection_file}"]


def test_nbclient(gateway: Gateway) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    v4 = nbformat.v4
    notebook = v4.new_notebook(
        cells=[
            v4.new_code_cell("x = 20\nprint('begun')"),
            v4.new_markdown_cell("# Text"),
            v4.new_code_cell("x + 22"),
            v4.new_code_cell(
                "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
            ),
            v4.new_code_cell("import pandas\npandas.DataFrame({'a': [1]})"),
        ]
    )
    NotebookClient(
        notebook, kernel_name="hearth", timeout=int(DEADLINE)
    ).execute()
    nbformat.validate(notebook)
    cells = notebook.cells
    assert cells[0].outputs[0].text == "begun\n"
    assert cells[2].outputs[0].data["text/plain"] == "42"
    assert "image/png" in cells[3].outputs[0].data
    assert "text/html" in cells[4].outputs[0].data
    assert [cell.execution_count for cell in (cells[0], cells[4])] == [1, 4]
    failing = v4.new_notebook(cells=[v4.new_code_cell("1/0")])
    with pytest.raises(CellExecutionError):
        NotebookClient(
            failing, kernel_name="hearth", timeout=int(DEADLINE)
        ).execute()


def spawn_console(
    gateway: Gateway, command: str, arguments: list[str]
) -> pexpect.spawn:
    return pexpect.spawn(
        command,
        arguments,
        env={**os.environ, **gateway.env, "TERM": "dumb", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=DEADLINE,
        dimensions=(40, 120),
    )


def drive(console: pexpect.spawn) -> None:
    """A person at the prompt: sees what is there, adds to it, goes."""
    console.expect(r"In \[\d+\]")
    console.send("shared + 1\r")
    console.expect(r"Out\[\d+\].*42")
    console.expect(r"In \[\d+\]")
    console.send("added = 'by hand'\r")
    console.expect(r"In \[\d+\]")
    # End of input, twice: leaves the kernel alive.
    console.sendeof()
    found = console.expect([r"\[y\]/n|y/\[n\]|\(y|Keep|exit", pexpect.EOF])
    if found == 0:
        console.send("y\r")
        console.expect(pexpect.EOF)
    console.close()


def test_jupyter_console(gateway: Gateway, session: Session) -> None:
    session.exec("shared = 41")
    console = spawn_console(
        gateway,
        str(Path(sys.executable).parent / "jupyter-console"),
        ["--existing", session.connection_file, "--simple-prompt"],
    )
    drive(console)
    assert session.exec("added").stdout == "'by hand'\n"
    assert session.show()["state"] == "idle"


def test_exit_in_a_console_ends_no_session(
    gateway: Gateway, session: Session
) -> None:
    session.exec("shared = 41")
    console = spawn_console(
        gateway,
        str(Path(sys.executable).parent / "jupyter-console"),
        ["--existing", session.connection_file, "--simple-prompt"],
    )
    console.expect(r"In \[\d+\]")
    console.send("exit\r")
    console.expect("keeping kernel alive")
    console.expect(pexpect.EOF)
    console.close()
    assert session.exec("shared").stdout == "41\n"


def test_attach(gateway: Gateway, session: Session) -> None:
    from harness import HEARTH

    session.exec("shared = 41")
    console = spawn_console(gateway, HEARTH, ["attach", session.id])
    console.expect(r"In \[\d+\]")
    console.send("shared + 1\r")
    console.expect("42")
    console.close(force=True)
    assert session.exec("shared").stdout == "41\n"
