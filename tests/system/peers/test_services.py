"""@jupyterlab/services, from Node: what JupyterLab, Notebook 7 and VS Code
speak with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TOKEN
from deadline import DEADLINE
from kernelgateway import KernelGateway

NODE = Path(__file__).resolve().parent / "node"


@pytest.mark.skipif(
    not (NODE / "node_modules").is_dir() or not shutil.which("node"),
    reason="no Node, or its packages are not installed (npm ci)",
)
def test_services(kernel_gateway: KernelGateway) -> None:  # A-LB1 to A-LB7
    """The script asserts; what it says in the end is looked at here."""
    done = subprocess.run(
        ["node", "services.js", kernel_gateway.address + "/", TOKEN],
        cwd=NODE,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["default"] == "python3"
    assert report["dying"] == "KernelDied"
    assert report["status"] in ("restarting", "autorestarting")
    assert report["files"] == 3
