"""The other ways of JupyterLab and hearth in docs/guide/for-people.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from client import Client
from deadline import wait_for
from harness import Gateway, Session
from jupyterpath import with_kernelspec
from kinds import KINDS
from lab import JUPYTER_LAB, PATIENCE, Lab, LabServer, write_config
from playwright.sync_api import Page, expect
from proxy import hosted

pytestmark = pytest.mark.timeout(10 * PATIENCE)


@pytest.fixture(scope="module")
def session(agents_session: Session) -> Session:
    """All of these tests look into one, which an agent uses."""
    return agents_session


@pytest.fixture(scope="module")
def gateway_url(
    gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """`jupyter lab --gateway-url=…`"""
    folder = tmp_path_factory.mktemp("url")
    env = write_config(folder)
    http = gateway.info()["http"]
    env["JUPYTER_GATEWAY_AUTH_TOKEN"] = http["token"]
    server = LabServer(
        [str(JUPYTER_LAB), f"--gateway-url={http['url']}"], env, folder
    )
    yield server
    server.stop()


def test_new_notebooks_run_on_hearth(
    gateway: Gateway, gateway_url: LabServer, page: Page, tmp_path: Path
) -> None:
    lab = Lab(page, gateway_url.url("lab"))
    lab.command("notebook:create-new", {"kernelName": "python3"})
    lab.wait_kernel()
    shown = gateway.json("session", "show", "--json", lab.kernel_id())
    gateway.note_namespace(shown["pid"])
    cell = lab.run("import pandas as pd\npd.DataFrame({'answer': [42]})")
    expect(cell.locator("table td")).to_have_text("42")
    cell = lab.run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 2, 8]);")
    expect(cell.locator("img")).to_be_visible()
    cell = lab.run("from ipywidgets import IntSlider\nIntSlider(7)")
    expect(cell.locator(".widget-readout")).to_have_text("7")
    lab.shot("gateway-url")


def test_external_kernels(
    gateway: Gateway,
    session: Session,
    agent: Client,
    page: Page,
    tmp_path: Path,
) -> None:
    """A Jupyter Server that knows nothing of hearth."""
    env = write_config(tmp_path)
    runtime = {"JUPYTER_RUNTIME_DIR": env["JUPYTER_RUNTIME_DIR"]}
    links = tmp_path / "runtime" / "external_kernels"
    links.mkdir(parents=True)
    (links / "hearth-gone.json").symlink_to(tmp_path / "gone")
    done = gateway.run("attach", "--external", session.id, env=runtime)
    assert done.returncode == 0, done.stderr
    assert [str(link) for link in links.iterdir()] == done.stdout.split()
    command = [str(JUPYTER_LAB), "--ServerApp.allow_external_kernels=True"]
    server = LabServer(command, env, tmp_path)
    try:
        kernels = server.ask("api/kernels")
        assert len(kernels) == 1
        kernel = kernels[0]["id"]
        lab = Lab(page, server.url("lab"))
        lab.command("notebook:create-new", {"kernelId": kernel})
        lab.wait_kernel()
        cell = lab.run("sales")
        expect(cell.locator("table")).to_contain_text("June")
        cell = lab.run("limit.value = 60\nlimit")
        expect(cell.locator(".widget-readout")).to_have_text("60")
        assert agent.value("limit.value") == 60
        lab.shot("external")
        # Its key is its own, and can be taken back.
        viewers = gateway.json("viewer", "list", "--json")
        assert [viewer["session"] for viewer in viewers] == [session.id]
        own = json.loads(Path(session.connection_file).read_text())
        assert json.loads(next(links.iterdir()).read_text())["key"] not in (
            "",
            own["key"],
        )
        gateway.run("viewer", "revoke", viewers[0]["name"])
        wait_for(
            lambda: not server.ask("api/kernels"), "it is in the list no more"
        )
    finally:
        server.kill()
    assert agent.value("limit.value") == 60  # it did not end with that


def test_the_front_end_on_hearths_own_rest(
    gateway: Gateway,
    session: Session,
    agent: Client,
    page: Page,
    tmp_path: Path,
) -> None:
    """No Jupyter Server between the page and the kernels."""
    http = gateway.info()["http"]
    command = [str(JUPYTER_LAB), "--ServerApp.allow_origin=*"]
    server = LabServer(command, write_config(tmp_path), tmp_path)
    try:
        rest = server.info["url"]
        with hosted(http["url"], http["token"], rest) as proxy:
            address = f"http://127.0.0.1:{proxy.port}/"
            lab = Lab(page, server.url("lab").replace(rest, address))
            # The agent's session is in the list of what runs.
            lab.command("notebook:create-new", {"kernelId": session.id})
            lab.wait_kernel()
            cell = lab.run("sales")
            expect(cell.locator("table")).to_contain_text("June")
            cell = lab.run("limit.value = 70\nlimit")
            expect(cell.locator(".widget-readout")).to_have_text("70")
            # A widget that needs binary buffers, both in v1 frames.
            cell = lab.run(
                "from ipywidgets import Image\n"
                "import io, matplotlib.pyplot as plt\n"
                "file = io.BytesIO(); plt.figure(); plt.plot([3, 1, 2])\n"
                "plt.savefig(file, format='png'); plt.close()\n"
                "Image(value=file.getvalue())"
            )
            image = cell.locator("img.widget-image")
            expect(image).to_be_visible()
            expect(image).to_have_js_property("naturalWidth", 640)
            lab.shot("front-end")
            assert agent.value("limit.value") == 70
            assert any("/channels" in line for line in proxy.asked)
        assert server.ask("api/kernels") == []  # it has none itself
    finally:
        server.kill()


def test_terminals_of_the_front_end(
    gateway: Gateway,
    session: Session,
    agent: Client,
    page: Page,
    tmp_path: Path,
) -> None:
    """File, New, Terminal: a shell in the session of the notebook beside it."""
    http = gateway.info()["http"]
    command = [str(JUPYTER_LAB), "--ServerApp.allow_origin=*"]
    server = LabServer(
        command, write_config(tmp_path, terminals=True), tmp_path
    )
    try:
        rest = server.info["url"]
        with hosted(http["url"], http["token"], rest) as proxy:
            address = f"http://127.0.0.1:{proxy.port}/"
            lab = Lab(page, server.url("lab").replace(rest, address))
            lab.command("notebook:create-new", {"kernelId": session.id})
            lab.wait_kernel()
            agent.run("open('by-the-agent.txt', 'w').close()")
            lab.command("terminal:create-new", {"cwd": ""})
            lab.type("pwd; ls", "by-the-agent.txt")
            assert "/workspace\n" in lab.screen()
            lab.type("A=kept; echo ${A}1", "kept1")
            lab.shot("terminal")
            # The page is loaded anew, and finds its terminal.
            lab.open(server.url("lab").replace(rest, address))
            (model,) = json.loads(
                page.evaluate(
                    "async () => (await fetch('/api/terminals')).text()"
                )
            )
            assert model["session"] == session.id
            lab.command("terminal:create-new", {"name": model["name"]})
            lab.type("echo ${A}2", "kept2")
            lab.type("exit", "")
            page.wait_for_function(
                "async () => (await (await fetch('/api/terminals')).json())"
                ".length === 0"
            )
        assert server.ask("api/terminals") == []  # it has none itself
    finally:
        server.kill()


# What a person sees of each type, and where.
SEEN = {
    "pandas": ("table", "count"),
    "matplotlib": ("img", ""),
    "training": (".jp-OutputArea", "weighted avg"),
    "widgets": (".widget-readout", "9"),
    "errors": (".jp-OutputArea", "ZeroDivisionError"),
    "displays": (".jp-OutputArea", "two"),
    "long": (".jp-OutputArea", "4999"),
    "words": (".jp-OutputArea", "Grüße, 世界 🌍"),
}


@pytest.fixture(scope="module")
def library(
    gateway: Gateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """JupyterLab as it is, in a folder of notebooks that hearth exported."""
    folder = tmp_path_factory.mktemp("library")
    for kind, cells in KINDS.items():
        session = gateway.create()
        with session.client() as client:
            for code in cells:
                client.run(code)
        path = str(folder / f"{kind}.ipynb")
        done = gateway.run("notebook", "export", session.id, "-o", path)
        assert done.returncode == 0, done.stderr
        session.delete()
    env = {**write_config(folder), **with_kernelspec(gateway, folder)}
    server = LabServer([str(JUPYTER_LAB)], env, folder)
    yield server
    server.kill()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_opens_in_jupyterlab(
    library: LabServer, page: Page, kind: str
) -> None:
    lab = Lab(page, library.url(f"lab/tree/{kind}.ipynb"))
    lab.wait_kernel()
    lab.trust()
    assert lab.sources() == KINDS[kind]
    where, what = SEEN[kind]
    found = lab.notebook.locator(where).filter(has_text=what).first
    found.scroll_into_view_if_needed()
    expect(found).to_be_visible()
    lab.shot(f"kind-{kind}")


def test_the_file_browser_shows_workspaces_and_recordings(
    gateway: Gateway,
    session: Session,
    agent: Client,
    page: Page,
    tmp_path: Path,
) -> None:
    """Contents are hearth's, too: what an agent wrote is read, changed and
    saved in JupyterLab's own file browser and editor."""
    agent.value("open('report.txt', 'w').write('by the agent')")
    http = gateway.info()["http"]
    server = LabServer([str(JUPYTER_LAB)], write_config(tmp_path), tmp_path)
    try:
        rest = server.info["url"]
        with hosted(http["url"], http["token"], rest, True) as proxy:
            address = f"http://127.0.0.1:{proxy.port}/"
            lab = Lab(page, server.url("lab").replace(rest, address))

            def go(path: str, name: str) -> None:
                lab.command("filebrowser:go-to-path", {"path": path})
                items = page.locator(".jp-DirListing-item")
                expect(items.filter(has_text=name)).to_be_visible()

            here = f"workspaces/{session.id}"
            go("recordings", f"{session.id}.ipynb")
            go(here, "report.txt")
            file = {"path": f"{here}/report.txt", "factory": "Editor"}
            lab.command("docmanager:open", file)
            editor = page.locator(".jp-FileEditor .cm-content")
            expect(editor).to_contain_text("by the agent")
            editor.click()
            page.keyboard.press("Control+End")
            page.keyboard.insert_text(", and by a person")
            lab.command("docmanager:save")
            wait_for(
                lambda: (
                    agent.value("open('report.txt').read()")
                    == "by the agent, and by a person"
                ),
                "what was saved",
            )
            new = {"path": here, "type": "notebook"}
            lab.command("docmanager:new-untitled", new)
            go(here, "Untitled.ipynb")
            lab.shot("files")
            assert agent.value("open('Untitled.ipynb').read(1)") == "{"
            asked = "\n".join(proxy.asked)
            assert "PUT /api/contents/" in asked
            assert "/checkpoints" in asked
    finally:
        server.kill()
