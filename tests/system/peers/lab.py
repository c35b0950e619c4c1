"""The real JupyterLab, and a person's browser that looks at it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from client import Client
from deadline import DEADLINE, wait_for
from harness import ROOT, Session
from playwright.sync_api import (
    Browser,
    Locator,
    Page,
    expect,
    sync_playwright,
)

JUPYTER_LAB = Path(sys.executable).parent / "jupyter-lab"
CHROMIUM = "/usr/bin/chromium"
SCREENSHOTS = ROOT / "build" / "screenshots"
# Lab's start takes a small machine half a minute and more.
PATIENCE = 3 * DEADLINE
# Others' extensions, which the environment has for other tests.
EXTRAS = (
    "jupyter_lsp",
    "jupyter_mcp_server",
    "jupyter_server_fileid",
    "jupyter_server_nbmodel",
    "jupyter_server_terminals",
    "jupyter_server_ydoc",
    "notebook_shim",
)
WIDGETS = "@jupyter-widgets/jupyterlab-manager"


def write_config(
    folder: Path, allow_root: bool = True, terminals: bool = False
) -> dict[str, str]:
    """JupyterLab as it is published, with ipywidgets and nothing else, and
    without asking the network for news. Returns its environment."""
    config = folder / "config"
    config.mkdir(parents=True)
    extensions = folder / "labextensions"
    widgets = extensions / WIDGETS
    widgets.parent.mkdir(parents=True)
    widgets.symlink_to(
        Path(sys.prefix) / "share" / "jupyter" / "labextensions" / WIDGETS
    )
    settings = {
        "ServerApp": {
            "jpserver_extensions": {
                **dict.fromkeys(EXTRAS, False),
                "jupyter_server_terminals": terminals,
            },
            "allow_root": allow_root,
            "open_browser": False,
            "port": 0,
        },
        "LabApp": {
            "labextensions_path": [str(extensions)],
            "news_url": None,
            "check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
            "expose_app_in_browser": True,
        },
    }
    (config / "jupyter_server_config.json").write_text(json.dumps(settings))
    notices = folder / "settings" / "@jupyterlab" / "apputils-extension"
    notices.mkdir(parents=True)
    (notices / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false"})
    )
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "0",
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "PYTHONFAULTHANDLER": "1",
    }


class LabServer:
    """One JupyterLab's server, started by whichever command."""

    def __init__(
        self, command: list[str], env: dict[str, str], folder: Path
    ) -> None:
        self.log = folder / "lab.log"
        self.runtime = Path(env["JUPYTER_RUNTIME_DIR"])
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=env,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self.info = wait_for(self.find, "JupyterLab's server", PATIENCE)
        except BaseException:
            self.stop()
            sys.stderr.write(self.log.read_text()[-8000:])
            raise

    def find(self) -> Optional[dict[str, Any]]:
        assert self.process.poll() is None, self.log.read_text()[-4000:]
        for path in self.runtime.glob("jpserver-*.json"):
            try:
                info: dict[str, Any] = json.loads(path.read_text())
                self.get(info, "api/status")
            except (ValueError, OSError):
                return None
            return info
        return None

    def get(self, info: dict[str, Any], path: str) -> Any:
        request = urllib.request.Request(
            f"{info['url']}{path}",
            headers={"Authorization": f"token {info['token']}"},
        )
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return json.load(answer)

    def ask(self, path: str) -> Any:
        return self.get(self.info, path)

    def url(self, path: str) -> str:
        return f"{self.info['url']}{path}?token={self.info['token']}&reset"

    @property
    def opened(self) -> str:
        """Return the address that it would have opened in the browser."""
        pattern = re.escape(self.info["url"]) + r"\S*token=\w+"
        found = wait_for(
            lambda: re.search(pattern, self.log.read_text()), "its URL"
        )
        return found.group(0)

    def kill(self) -> None:
        """End a server that is Jupyter's alone. It may hang in its end, where
        it waits for a thread of aiosqlite that nothing has stopped."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            # Its log then has where each thread is (PYTHONFAULTHANDLER).
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            sys.stderr.write(self.log.read_text()[-8000:])
            raise


@contextmanager
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=CHROMIUM,
            timeout=PATIENCE * 1000,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        try:
            yield running
        finally:
            running.close()


@contextmanager
def page_of(browser: Browser) -> Iterator[Page]:
    """Open a page with cookies and storage of its own."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    context.set_default_timeout(PATIENCE * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


SCREEN = """() => {
    const widget = window.jupyterapp.shell.currentWidget;
    const buffer = widget?.content?._term?.buffer;
    const lines = [];
    for (let at = 0; buffer && at < buffer.active.length; at++)
        lines.push(buffer.active.getLine(at).translateToString(true));
    return lines.join('\\n');
}"""


class Lab:
    """JupyterLab in a browser, as a person uses it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.asked = 0
        self.open(url)

    def open(self, url: str) -> None:
        page = self.page
        page.goto(url, timeout=PATIENCE * 1000)
        page.wait_for_function("() => window.jupyterapp !== undefined")
        page.evaluate("async () => { await window.jupyterapp.restored; }")

    def command(
        self, name: str, arguments: Optional[dict[str, Any]] = None
    ) -> None:
        self.page.evaluate(
            "async ([name, args]) => {"
            " await window.jupyterapp.commands.execute(name, args); }",
            [name, arguments or {}],
        )

    @property
    def notebook(self) -> Locator:
        return self.page.locator(
            ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook"
        )

    def wait_kernel(self, state: str = "idle") -> None:
        """Wait until the kernel of the visible notebook is connected and in the
        state."""
        self.page.wait_for_function(
            """state => {
                const panel = window.jupyterapp.shell.currentWidget;
                const kernel = panel?.sessionContext?.session?.kernel;
                return kernel && kernel.connectionStatus === 'connected'
                    && kernel.status === state;
            }""",
            arg=state,
        )

    def kernel_id(self) -> str:
        found: str = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget"
            ".sessionContext.session.kernel.id"
        )
        return found

    def run(self, code: str) -> Locator:
        """Types a new cell at the end and runs it."""
        self.asked += 1
        self.page.evaluate(
            """async asked => {
                const app = window.jupyterapp;
                const notebook = app.shell.currentWidget.content;
                notebook.activeCellIndex = notebook.widgets.length - 1;
                await app.commands.execute('notebook:insert-cell-below');
                await notebook.scrollToCell(notebook.activeCell);
                await app.commands.execute('notebook:enter-edit-mode');
                notebook.activeCell.node.dataset.asked = asked;
            }""",
            str(self.asked),
        )
        cell = self.page.locator(f'[data-asked="{self.asked}"]')
        cell.locator(".cm-content").click()
        self.page.keyboard.insert_text(code)
        self.page.keyboard.press("Control+Enter")
        return cell

    def screen(self) -> str:
        """Return the text of the visible terminal."""
        found: str = self.page.evaluate(SCREEN)
        return found

    def type(self, line: str, shown: str) -> None:
        """Types a line into the visible terminal, and waits for a text."""
        area = self.page.locator(
            ".jp-Terminal:not(.lm-mod-hidden) .xterm-helper-textarea"
        )
        # Before its prompt is there the page may give others the focus.
        wait_for(lambda: self.screen().strip(), "a prompt", PATIENCE)
        area.press_sequentially(line)
        area.press("Enter")
        wait_for(lambda: shown in self.screen(), shown, PATIENCE)

    def sources(self) -> list[str]:
        """Return the sources of the notebook's cells."""
        found: list[str] = self.page.evaluate(
            "() => Array.from(window.jupyterapp.shell.currentWidget"
            ".content.model.cells).map(cell => cell.sharedModel.getSource())"
        )
        return found

    def trust(self) -> None:
        """So that widgets are shown and scripts run."""
        self.page.evaluate(
            "() => { void window.jupyterapp.commands.execute('notebook:trust')"
            "; }"
        )
        self.page.locator(".jp-Dialog .jp-mod-accept").click()

    def shot(self, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=str(path))
        return path


# What an agent has done when a person comes.
AGENT = (
    "import pandas as pd\n"
    "sales = pd.DataFrame({'month': ['May', 'June'], 'sold': [11, 31]})\n"
    "sales",
    "import matplotlib.pyplot as plt\nplt.bar(sales['month'], sales['sold']);",
    "from ipywidgets import IntSlider\nlimit = IntSlider(23)\nlimit",
)


@contextmanager
def agent_of(session: Session) -> Iterator[Client]:
    with session.client() as client:
        for code in AGENT:
            assert client.run(code).status == "ok"
        yield client
