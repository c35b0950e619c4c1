"""What a zygote practises before it forks: seen in code, and nowhere else."""

import json
import os
import subprocess
import sys

from conftest import PACKAGE

from gateway import LONG

WARMED = """
import asyncio, json, os, signal, sys
def descriptors():
    return sorted(os.listdir("/proc/self/fd"))
signal.signal(signal.SIGINT, signal.SIG_IGN)
before = descriptors()
from hearth_kernel import kernel
from hearth_kernel.warm import warm
shell, _, _ = warm([])
code = kernel.Kernel.serve.__code__
print(json.dumps({
    "names": sorted(name for name in shell.user_ns if name[0] != "_"),
    "inputs": shell.user_ns["In"],
    "count": shell.execution_count,
    "request": kernel._prepared.cells.last,
    "ignored": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
    "opened": len(descriptors()) - len(before),
    "threads": len(os.listdir("/proc/self/task")),
    "adapted": getattr(code, "_co_code_adaptive", b"") != code.co_code,
}))
"""


def test_is_seen_in_code_alone():
    told = subprocess.run(
        [sys.executable, "-c", WARMED],
        env={**os.environ, "PYTHONPATH": PACKAGE},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONG,
        check=True,
    )
    assert json.loads(told.stdout.splitlines()[-1]) == {
        "names": ["In", "Out", "exit", "get_ipython", "open", "quit"],
        "inputs": [""],
        "count": 1,
        "request": 0,
        "ignored": True,
        "opened": 0,
        "threads": 1,
        "adapted": sys.version_info >= (3, 11),
    }
