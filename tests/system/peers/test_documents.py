"""Notebooks that hearth wrote, in the hands of nbformat, nbconvert, nbclient
and papermill."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbclient
import nbformat
import papermill
import pytest
from deadline import DEADLINE
from harness import Gateway, Session
from jupyterpath import with_kernelspec
from kinds import KINDS

CELLS = (
    "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2, 3]})\nframe",
    "import matplotlib.pyplot as plt\nplt.plot(frame['a']);",
    "total = int(frame['a'].sum())\nprint('total', total)",
)


@pytest.fixture
def recorded(session: Session) -> Session:
    with session.client() as client:
        for cell in CELLS:
            assert client.run(cell).status == "ok"
    return session


@pytest.fixture(autouse=True)
def jupyter(gateway: Gateway, tmp_path: Path) -> Iterator[None]:
    """Jupyter's programs find the kernelspec "hearth"."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in with_kernelspec(gateway, tmp_path).items():
            patch.setenv(name, value)
        patch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jr"))
        yield


def export(
    gateway: Gateway, session: Session, path: Path, *options: str
) -> None:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    made = gateway.run(
        "notebook", "export", session.id, "-o", str(path), *options,
        env={"PATH": programs},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


def test_nbconvert_makes_html_of_a_recording(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    export(gateway, recorded, tmp_path / "page.html", "--with-scripts")
    page = (tmp_path / "page.html").read_text()
    assert "<table" in page
    assert "data:image/png;base64," in page
    assert "total 6" in page


EVIL = """\
from IPython.display import HTML, Javascript, Markdown, display
display(HTML('<b>bold</b><script>evil1()</script><img src=x onerror=evil2()>'))
display(Javascript('evil3()'))
display(Markdown('*text* <script>evil4()</script>'))
display({'image/png': 'aGk='}, raw=True,
        metadata={'image/png': {'width': '1 onerror=evil5()', 'height': 7}})
display({'text/vnd.mermaid': '</pre><script>evil6()</script>'}, raw=True)
display({'application/vnd.jupyter.widget-view+json': {'model_id': 'evil7'}},
        raw=True)
display({'text/latex': '</div><script>evil8()</script>'}, raw=True)
display({'image/svg+xml': '<svg onload="evil9()"></svg>'}, raw=True)
"""


class Elements(HTMLParser):
    """What a browser would make of the page's notebook."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page.read_text().split("<main", 1)[1])

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_html_has_no_script_of_an_output(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    with session.client() as client:
        assert client.run(EVIL).status == "ok"
    path = tmp_path / "page.html"
    export(gateway, session, path)
    cleaned = Elements(path)
    assert {"b", "img"} <= set(cleaned.tags)
    assert "script" not in cleaned.tags
    assert not [name for name, _ in cleaned.attributes if name[:2] == "on"]

    export(gateway, session, path, "--with-scripts")
    assert "script" in Elements(path).tags


def test_nbclient_runs_a_recording_again(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    export(gateway, recorded, tmp_path / "run.ipynb")
    notebook = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    nbformat.validate(notebook)
    before = [cell.outputs for cell in notebook.cells]
    nbclient.NotebookClient(
        notebook, timeout=DEADLINE, kernel_name="hearth"
    ).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code] == list(CELLS)
    for old, cell in zip(before, code):
        assert [output.output_type for output in old] == [
            output.output_type for output in cell.outputs
        ]
    assert code[2].outputs[0].text == "total 6\n"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_the_same_by_nbclient(
    gateway: Gateway, session: Session, tmp_path: Path, kind: str
) -> None:
    with session.client() as client:
        for code in KINDS[kind]:
            client.run(code)
    before, after = tmp_path / "run.ipynb", tmp_path / "again.ipynb"
    export(gateway, session, before)
    notebook = nbformat.read(before, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(
        notebook, timeout=DEADLINE, kernel_name="hearth", allow_errors=True
    ).execute()
    nbformat.write(notebook, after)
    same = gateway.run("notebook", "diff", str(before), str(after))
    assert (same.returncode, same.stdout) == (0, "")


def test_papermill_runs_a_recording_with_parameters(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    export(gateway, recorded, tmp_path / "run.ipynb")
    result = papermill.execute_notebook(
        str(tmp_path / "run.ipynb"),
        str(tmp_path / "done.ipynb"),
        parameters={"factor": 7},
        kernel_name="hearth",
        progress_bar=False,
    )
    code = [cell for cell in result.cells if cell.cell_type == "code"]
    assert "factor = 7" in code[0].source
    assert code[-1].outputs[0].text == "total 6\n"
    nbformat.validate(nbformat.read(tmp_path / "done.ipynb", as_version=4))
