"""A person attaches JupyterLab, each way that docs/JUPYTERLAB.md names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import Gateway
from lab import JUPYTER_LAB, Lab, LabServer, browser, write_config
from playwright.sync_api import Page, expect


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as found:
        yield found


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
    cell = lab.run(
        "import matplotlib.pyplot as plt\nplt.plot([1, 4, 2, 8]);"
    )
    expect(cell.locator("img")).to_be_visible()
    cell = lab.run("from ipywidgets import IntSlider\nIntSlider(7)")
    expect(cell.locator(".widget-readout")).to_have_text("7")
    lab.shot("gateway-url")
