"""Recordings as notebooks: exported, validated, opened, compared, verified."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from deadline import wait_for
from harness import HEARTH, Gateway, Session
from kinds import KINDS, WIDGET_STATE

pytestmark = pytest.mark.warm

DOCUMENT = (
    Path(__file__).resolve().parents[2] / "docs" / "reference" / "notebooks.md"
)


@pytest.fixture
def recorded(session: Session) -> Session:
    session.exec("print('hello')")
    session.exec("1 + 1")
    session.exec("1 / 0")
    return session


def read(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    return notebook


def export(gateway: Gateway, session: str, path: Path) -> Any:
    done = gateway.run("notebook", "export", session, "-o", str(path))
    assert done.returncode == 0, done.stderr
    return read(path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_and_the_same_again(
    gateway: Gateway, tmp_path: Path, kind: str
) -> None:
    paths = []
    for name in ("first", "second"):
        session = gateway.create()
        for code in KINDS[kind]:
            session.exec(code)
        paths.append(tmp_path / f"{name}.ipynb")
        notebook = export(gateway, session.id, paths[-1])
        assert [cell.source for cell in notebook.cells] == KINDS[kind]
        assert len({cell.id for cell in notebook.cells}) == len(KINDS[kind])
        session.delete()
    first, second = map(str, paths)
    verified = gateway.run("notebook", "verify", first)
    assert verified.returncode == 0, verified.stdout
    same = gateway.run("notebook", "diff", first, second)
    assert (same.returncode, same.stdout) == (0, "")

    changed = read(paths[1])
    cell = next(cell for cell in changed.cells if cell.outputs)
    output = cell.outputs[0]
    if output.output_type == "stream":
        output.text = "another text\n"
    elif output.output_type == "error":
        output.ename = "OtherError"
    else:
        output.data["text/plain"] = "another text"
    nbformat.write(changed, paths[1])
    found = gateway.json_of(1, "notebook", "diff", first, second, "--json")
    changes = [step for step in found["cells"] if step["change"] != "same"]
    assert [step["right"]["id"] for step in changes] == [cell.id]
    assert gateway.run("notebook", "verify", second).returncode == 1


def test_widgets_have_their_state_in_the_notebook(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    for code in KINDS["widgets"]:
        session.exec(code)
    session.exec("gone = widgets.Text()\ngone.close()")
    notebook = export(gateway, session.id, tmp_path / "run.ipynb")
    held = notebook.metadata.widgets[WIDGET_STATE]
    assert (held.version_major, held.version_minor) == (2, 0)
    models = {model.model_name: model for model in held.state.values()}
    assert models["IntSliderModel"].state.value == 9
    assert models["IntSliderModel"].model_module == "@jupyter-widgets/controls"
    assert models["IntProgressModel"].state.value == 3
    (buffer,) = models["ImageModel"].buffers
    assert (buffer.path, buffer.encoding) == (["value"], "base64")
    assert buffer.data.startswith("iVBORw0KGgo")
    assert "TextModel" not in models
    shown = [
        output.data["application/vnd.jupyter.widget-view+json"].model_id
        for cell in notebook.cells
        for output in cell.outputs
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    assert len(shown) == 3
    assert set(shown) <= set(held.state)


def test_metadata_of_a_cell(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    with session.client() as client:
        client.run("import time; time.sleep(0.01)")
    session.exec("1 / 0", "--timeout", "30")
    notebook = export(gateway, session.id, tmp_path / "a.ipynb")
    first, second = notebook.cells
    own = first.metadata.hearth
    assert own.status == "ok"
    assert own.who.channel == "shell"
    assert own.who.client
    assert own.duration_ms >= 10
    assert own.cpu_us >= 0
    assert own.rss_kib > 1000
    assert second.metadata.hearth.status == "error"
    assert second.metadata.hearth.time_limit == 30
    timing = first.metadata.execution
    assert (
        timing["iopub.execute_input"]
        <= timing["shell.execute_reply"]
        <= timing["iopub.status.idle"]
    )
    assert notebook.metadata.hearth.session == session.id


def test_a_recording_outlives_session_and_gateway(tmp_path: Path) -> None:
    gateway = Gateway()
    try:
        gateway.start()
        session = gateway.create()
        session.exec("x = 6 * 7\nx")
        alive = export(gateway, session.id, tmp_path / "alive.ipynb")
        gateway.kill()
        crashed = export(gateway, session.id[:8], tmp_path / "crashed.ipynb")
        assert crashed.cells[0].outputs == alive.cells[0].outputs
        gateway.start()
        session.wait_state("idle")
        session.delete()
        wait_for(
            lambda: session.id not in [s["id"] for s in gateway.sessions()],
            "the session to be gone",
        )
        gone = export(gateway, session.id, tmp_path / "gone.ipynb")
        assert gone.cells[0].outputs == alive.cells[0].outputs
        assert gone.metadata.hearth.reason == "deleted"
        listed = gateway.json("notebook", "list", "--json")
        assert [
            (row["id"], row["name"], row["profile"], row["cells"])
            for row in listed
        ] == [(session.id, session.id[:8], "python3", 1)]
    finally:
        gateway.end()


def on_a_terminal(gateway: Gateway, *command: str) -> str:
    """Return the output of a command on a terminal."""
    outside, inside = pty.openpty()
    with subprocess.Popen(
        [HEARTH, *command], env=gateway.env, stdout=inside
    ) as process:
        os.close(inside)
        text = b""
        with contextlib.suppress(OSError):  # EIO is the end
            while piece := os.read(outside, 65536):
                text += piece
    os.close(outside)
    assert process.returncode == 0
    return text.decode()


def test_other_formats(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    script = gateway.run("notebook", "export", recorded.id, "--format", "py")
    compile(script.stdout, "exported.py", "exec")
    assert "1 + 1" in script.stdout
    lines = gateway.run(
        "notebook", "export", recorded.id, "--format", "jsonl"
    ).stdout.splitlines()
    assert [json.loads(line).get("source") for line in lines] == [
        "print('hello')",
        "1 + 1",
        "1 / 0",
        None,
    ]
    text = gateway.run("notebook", "export", recorded.id, "--format", "md")
    assert "```text\nhello\n```" in text.stdout
    bad = gateway.run("notebook", "export", recorded.id, "--format", "pdf")
    assert bad.returncode == 2
    assert "ipynb|html|md|py|jsonl" in bad.stderr


def test_a_name_with_another_ending_is_refused(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.pdf"
    command = ["notebook", "export", recorded.id, "-o", str(path)]
    bad = gateway.run(*command)
    assert bad.returncode == 2
    assert "run.pdf does not end with .ipynb, .html, .md, .py" in bad.stderr
    assert not path.exists()
    assert gateway.run(*command, "--format", "py").returncode == 0
    assert path.read_text().startswith("# Written by hearth")
    missing = tmp_path / "none" / "run.md"
    bad = gateway.run("notebook", "export", recorded.id, "-o", str(missing))
    assert bad.returncode == 1
    assert f"there is no folder {missing.parent}" in bad.stderr
    bad = gateway.run("notebook", "export", recorded.id, "--with-scripts")
    assert bad.returncode == 2
    assert "HTML alone" in bad.stderr


def test_a_page_is_named_and_not_printed(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    code = "display({'text/html': '<b>' + 'x' * 2997}, raw=True)"
    named = "[text/html, 3.0 kB; --output-dir saves it]"
    assert named in session.exec(code).stdout
    shown = gateway.run("notebook", "show", session.id).stdout
    assert named in shown
    assert "xxx" not in shown.replace(code, "")
    folder = tmp_path / "pages"
    gateway.run("notebook", "show", session.id, "--output-dir", str(folder))
    assert (folder / "1.html").read_text() == "<b>" + "x" * 2997


def test_a_notebook_names_its_profile(
    gateway: Gateway, recorded: Session
) -> None:
    metadata = recorded.notebook()["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert metadata["hearth"]["profile"] == "python3"


def test_html_is_one_file_in_which_nothing_acts(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    session.exec(
        "from IPython.display import HTML, display\n"
        "display(HTML('<b onclick=a()>bold</b><script>evil()</script>'))\n"
        "print('<i>hello</i>')"
    )
    page = tmp_path / "page.html"
    made = gateway.run(
        "notebook", "export", session.id, "-o", str(page),
        env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text()
    assert "default-src 'none'; img-src data:; style-src 'sha256-" in text
    assert "&lt;i&gt;hello&lt;/i&gt;" in text
    assert '<section class="html"><b>bold</b></section>' in text
    assert "<script" not in text
    assert f"<p>Session {session.id}</p>" in text
    assert "<p>1 cell. Written by hearth" in text
    printed = gateway.run("notebook", "export", session.id, "--format", "html")
    assert printed.stdout == text


def test_a_terminal_shows_an_export_without_controls(
    gateway: Gateway, session: Session
) -> None:
    session.exec("print('a\\x9b31mb\\x7f\\u202ec')  # \x9b2J\u2066")
    for name, shown in {
        "ipynb": r"a\u009b31mb\u007f\u202ec",
        "jsonl": r"a\u009b31mb\u007f\u202ec",
        "md": "b",
        "py": "print(",
    }.items():
        text = on_a_terminal(
            gateway, "notebook", "export", session.id, "--format", name
        )
        assert shown in text
        assert not set("\x9b\x7f\u202e\u2066") & set(text), text
    json.loads(on_a_terminal(gateway, "notebook", "export", session.id))


def test_html_with_scripts_goes_through_nbconvert(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    without = gateway.run(
        "notebook",
        "export",
        recorded.id,
        "--format",
        "html",
        "--with-scripts",
        env={"PATH": str(tools)},
    )
    assert without.returncode == 5
    assert "pip install nbconvert" in without.stderr

    real = shutil.which(
        "jupyter-nbconvert", path=str(Path(sys.executable).parent)
    )
    program = tools / "jupyter-nbconvert"
    if real:
        program.symlink_to(real)
    else:  # it gets the arguments of nbconvert
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, sys\n"
            "to, dir, name = (sys.argv[sys.argv.index(flag) + 1] for flag in"
            " ('--to', '--output-dir', '--output'))\n"
            "cells = json.load(open(sys.argv[-1]))['cells']\n"
            "open(f'{dir}/{name}.{to}', 'w').write('<html>' + ''.join("
            "''.join(cell['source']) for cell in cells))\n"
        )
        program.chmod(0o755)
    page = tmp_path / "page.html"
    path = f"{tools}:{os.environ['PATH']}"
    made = gateway.run(
        "notebook", "export", recorded.id, "-o", str(page), "--with-scripts",
        env={"PATH": path},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "<html" in page.read_text()
    assert "hello" in page.read_text()
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_secrets_are_masked(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    session.exec("key = 'sk-abcdef'; print(key, 'open sesame')")
    config = tmp_path / "hearth.cfg"
    state = gateway.env["HEARTH_STATE_DIR"]
    config.write_text("sessions\n    mask = sk-[a-z]+ $PASSWORD\n")
    env = {
        "HEARTH_CONFIG": str(config),
        "HEARTH_STATE_DIR": state,
        "PASSWORD": "open sesame",
    }
    for command in (["export"], ["show"], ["export", "--format", "md"]):
        done = gateway.run("notebook", *command, session.id, env=env)
        assert done.returncode == 0, done.stderr
        assert "[masked]" in done.stdout
        assert "abcdef" not in done.stdout
        assert "sesame" not in done.stdout
    config.write_text("sessions\n    mask = sk-[a-z\n")
    bad = gateway.run("notebook", "show", session.id, env=env)
    assert bad.returncode == 5
    assert "sessions/mask: the pattern 'sk-[a-z' is not valid" in bad.stderr


def test_a_cut_recording_is_reported(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    """On a copy of its state: the session itself goes on."""
    copy = tmp_path / "state"
    own = Path("sessions") / recorded.id
    shutil.copytree(gateway.state / own, copy / own)
    for key in gateway.state.glob("*.key"):
        shutil.copy(key, copy)
    env = {"HEARTH_STATE_DIR": str(copy)}
    path = tmp_path / "a.ipynb"
    export(gateway, recorded.id, path)
    whole = gateway.run("notebook", "verify", recorded.id, env=env)
    assert whole.returncode == 0, whole.stdout
    log = copy / "sessions" / recorded.id / "journal" / "journal-000001.log"
    content = log.read_bytes()

    log.write_bytes(content[: len(content) * 2 // 3])
    for command in ("verify", "export"):
        cut = gateway.run("notebook", command, recorded.id, env=env)
        assert cut.returncode == 1
        assert "cut off" in cut.stdout
    notebook = nbformat.reads(cut.stdout, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source == "print('hello')"
    of_file = gateway.run("notebook", "verify", str(path), env=env)
    assert of_file.returncode == 1
    assert "its journal was cut off" in of_file.stdout

    middle = len(content) // 2
    log.write_bytes(
        content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    )
    changed = gateway.json_of(
        1, "notebook", "verify", recorded.id, "--json", env=env
    )
    assert not changed["whole"]
    assert "damaged" in changed["problems"][0]


def test_invalid_notebooks(gateway: Gateway, tmp_path: Path) -> None:
    old = nbformat.v3.new_notebook(
        worksheets=[
            nbformat.v3.new_worksheet(
                cells=[nbformat.v3.new_code_cell(input="print(3)")]
            )
        ]
    )
    path = tmp_path / "old.ipynb"
    path.write_text(nbformat.v3.writes_json(old))
    shown = gateway.run("notebook", "show", str(path))
    assert shown.returncode == 0, shown.stderr
    assert "print(3)" in shown.stdout
    for text, says in (
        ("{", "not JSON: it ends in the middle, at line 1"),
        ("{}", "`nbformat` is missing"),
        ('{"nbformat": 2}', "nbformat 2 is older"),
        ('{"nbformat": 4, "cells": [{"cell_type": "x"}]}', "cell 1"),
    ):
        path.write_text(text)
        for command in (["show", str(path)], ["diff", str(path), str(path)]):
            done = gateway.run("notebook", *command)
            assert done.returncode != 0
            assert says in done.stderr
    with open(path, "wb") as file:
        file.truncate(500 << 20)
    big = gateway.run("notebook", "show", str(path))
    assert big.returncode == 1
    assert "notebooks of up to 256 MiB are read" in big.stderr


def git(folder: Path, *arguments: str, **env: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def commands(section: str) -> list[str]:
    """The commands that the document shows below a heading."""
    text = DOCUMENT.read_text()
    below = re.split(r"^##+ ", text, flags=re.MULTILINE)
    (found,) = [part for part in below if part.startswith(section + "\n")]
    return re.findall(r"^    \$ (.*)$", found, re.MULTILINE)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_git_diffs_notebooks(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    for command in commands("In git"):
        line = command.replace("'hearth ", f"'{HEARTH} ")
        subprocess.run(line, shell=True, cwd=tree, check=True)
    path = tree / "run.ipynb"
    export(gateway, recorded.id, path)
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "first")
    changed = read(path)
    changed.cells[0].source = "print('changed')"
    nbformat.write(changed, path)
    shown = git(tree, "diff", **gateway.env)
    assert shown.startswith("notebook run.ipynb\n")
    assert "-print('hello')\n+print('changed')\n" in shown
    path.unlink()
    assert "removed" in git(tree, "diff", **gateway.env)
    path.write_text("{")
    assert git(tree, "diff", **gateway.env) == "notebook run.ipynb\n"


def test_every_command_of_the_document(
    gateway: Gateway, recorded: Session, tmp_path: Path
) -> None:
    for name in ("run", "again"):
        export(gateway, recorded.id, tmp_path / f"{name}.ipynb")
    sections = (
        "Looking",
        "Exporting",
        "Comparing",
        "Verifying",
    )
    for section in sections:
        shown = commands(section)
        assert shown
        for command in shown:
            words = shlex.split(command.replace("SESSION", recorded.id))
            assert words[0] == "hearth"
            done = subprocess.run(
                [HEARTH, *words[1:]],
                cwd=tmp_path,
                env=gateway.env,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            assert not done.stderr


def test_list_where_no_gateway_ever_ran(
    gateway: Gateway, tmp_path: Path
) -> None:
    nowhere = {"HEARTH_STATE_DIR": str(tmp_path / "state")}
    done = gateway.run("notebook", "list", "--json", env=nowhere)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
