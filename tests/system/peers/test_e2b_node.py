"""E2B's own SDK for JavaScript, unmodified: what is written for E2B's cloud
runs here by environment variables alone."""

from __future__ import annotations

import json
import subprocess

from deadline import DEADLINE
from harness import Gateway
from test_mcp_conformance import HERE, NODE


def test_a_program(gateway: Gateway) -> None:
    http = gateway.info()["http"]
    done = subprocess.run(
        [NODE, str(HERE / "node" / "e2b_client.mjs")],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
        env={
            **gateway.env,
            "HOME": str(gateway.folder),
            "E2B_API_URL": f"{http['url']}e2b",
            "E2B_SANDBOX_URL": f"{http['url']}e2b",
            "E2B_API_KEY": http["token"],
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert "not watched" in found.pop("watched")
    assert found == {
        "code": {"text": "1", "lines": ["a\n"], "count": 1},
        "error": "ZeroDivisionError",
        "kept": "42",
        "files": {"text": "text ü", "names": ["a.txt"], "missing": False},
        "command": {
            "code": 0,
            "stdout": "a\ntext ü1\n",
            "stderr": "b\n",
            "said": "a\ntext ü1\n",
        },
        "exit": ["CommandExitError", 3],
        "late": "TimeoutError",
        "listed": True,
        "followed": "one\ntwo\nend\n",
        "killed": True,
        "signal": "signal: killed",
        "unknown": False,
        "terminal": True,
        "ended": [True, False],
    }
