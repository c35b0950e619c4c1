"""Kernels for tests, forked from one warm interpreter."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from gateway import LONG, Gateway  # noqa: E402

ROOT = HERE.parents[2]
PACKAGE = os.environ.get("HEARTH_PYTHON_PATH", str(ROOT / "build" / "python"))
PRELOAD = ["numpy", "pandas", "matplotlib.pyplot"]
RETAIN = 64 << 20


def run_python(code, package=PACKAGE, python=sys.executable):
    """Return the output of a Python that runs this code on the package."""
    done = subprocess.run(
        [python, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=LONG,
        check=True,
    )
    return done.stdout


class Nursery:
    """A warm interpreter that forks kernels."""

    def __init__(self):
        environment = {
            **os.environ,
            "PYTHONPATH": PACKAGE,
            "OPENBLAS_NUM_THREADS": "1",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        }
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "nursery.py"), *PRELOAD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stdout.readline() == "ready\n"

    def fork(self, folder, retain=RETAIN):
        """A kernel; its gateway is connected and has seen READY."""
        path = folder / "link.sock"
        self.process.stdin.write(f"{path}\t{retain}\t{folder}\n")
        self.process.stdin.flush()
        gateway = Gateway(path, int(self.process.stdout.readline()))
        gateway.connect()
        gateway.ready = gateway.event()
        assert gateway.ready.kind == "READY"
        return gateway

    def close(self):
        self.process.stdin.close()
        self.process.wait(LONG)


@pytest.fixture(scope="session")
def nursery():
    made = Nursery()
    yield made
    made.close()


@pytest.fixture
def fork(nursery, tmp_path_factory):
    """A function that makes kernels, which end with the test."""
    made = []

    def make(retain=RETAIN):
        gateway = nursery.fork(tmp_path_factory.mktemp("k"), retain)
        made.append(gateway)
        return gateway

    yield make
    for gateway in made:
        gateway.close()
        try:
            os.killpg(gateway.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        assert gateway.is_gone()


@pytest.fixture
def kernel(fork):
    return fork()
