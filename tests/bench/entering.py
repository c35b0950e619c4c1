"""What the sandbox costs: to enter it, and to compute in it.

Run with a Python that has the packages, and the folders of built packages:

    .venv/bin/python tests/bench/entering.py build/python/hearth_kernel

Plain forks of a warm interpreter and launches take turns, so that both meet
the same machine, and a turn's launch is compared with the same turn's fork; a
child has begun when it has written a byte. Then both compute the same with
numpy and pandas, by turns. With the folders of two builds, both are compared.
`chrt -f 10` before it keeps others of a busy machine out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any, Callable

Body = Callable[[], float]

SESSION_USER = 100000
INIT_USER = 100001
PLACES = ("/usr", "/bin", "/lib", "/lib64", sys.prefix, sys.base_prefix)


def nothing() -> float:
    """Do what the shortest child does."""
    return 0.0


def compute() -> float:
    """Seconds of processor time for what sessions do with tables."""
    import numpy as np
    import pandas as pd

    begin = time.process_time()
    draw = np.random.default_rng(1)
    matrix = draw.standard_normal((300, 300))
    for _ in range(4):
        np.linalg.svd(matrix @ matrix.T)
        np.sort(draw.standard_normal(300_000))
    table = pd.DataFrame(
        {
            "key": draw.integers(0, 500, 100_000),
            "value": draw.standard_normal(100_000),
            "word": draw.choice(["one", "two", "three"], 100_000),
        }
    )
    grouped = table.groupby(["key", "word"])["value"].agg(["mean", "std"])
    table.merge(grouped.reset_index(), on=["key", "word"]).sort_values("mean")
    table["word"].str.upper().value_counts()
    path = "/tmp/entering.csv"
    table.head(20_000).to_csv(path)
    pd.read_csv(path)
    os.unlink(path)
    return time.process_time() - begin


def plain_fork(body: Body) -> tuple[float, float]:
    """Milliseconds until a forked child has written, and what it wrote."""
    ours, theirs = os.pipe()
    begin = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, struct.pack("d", body()))
        os._exit(0)
    os.close(theirs)
    said = os.read(ours, 8)
    took = time.perf_counter() - begin
    os.close(ours)
    os.waitpid(pid, 0)
    return took * 1000, struct.unpack("d", said)[0]


@dataclass
class Launcher:
    """One build's sandbox, described, and sessions without a gateway."""

    package: str
    scratch: str
    begun: list[float] = field(default_factory=list)
    computed: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        spec = importlib.util.spec_from_file_location(
            "_sandbox", os.path.join(self.package, "_sandbox.abi3.so")
        )
        assert spec is not None
        assert spec.loader is not None
        self.sandbox: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.sandbox)
        self.sandbox.describe(
            {
                "init": os.path.join(self.package, "hearth-init"),
                "readonly": [p for p in PLACES if os.path.exists(p)],
            }
        )
        self.workspace = tempfile.mkdtemp(dir=self.scratch)
        os.chmod(self.workspace, 0o777)
        self.init = socket.socket(socket.AF_UNIX)
        self.init.bind(os.path.join(self.workspace, "init.sock"))
        self.init.listen()
        self.ids: dict[str, int] = {
            "host_uid": os.getuid(),
            "host_gid": os.getgid(),
        }
        if os.geteuid() == 0:
            self.ids = {
                "host_uid": SESSION_USER,
                "host_gid": SESSION_USER,
                "init_uid": INIT_USER,
                "init_gid": INIT_USER,
            }

    def launch(self, body: Body) -> tuple[float, float]:
        """As plain_fork, of a payload."""
        ours, link = socket.socketpair()
        status, status_in = os.pipe()
        workspace = os.open(self.workspace, os.O_RDONLY)
        begin = time.perf_counter()
        pid, pidfd = self.sandbox.fork(
            {
                "workspace_fd": workspace,
                "link_fd": link.fileno(),
                "init_fd": self.init.fileno(),
                "status_fd": status_in,
                **self.ids,
            }
        )
        if pid == 0:
            link.sendall(struct.pack("d", body()))
            os._exit(0)
        os.close(status_in)
        link.close()
        said = ours.recv(8)
        took = time.perf_counter() - begin
        fault = os.read(status, 256)
        for fd in (status, workspace, pidfd):
            os.close(fd)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        ours.close()
        if fault or len(said) != 8:
            sys.exit(fault[4:].split(b"\0")[0].decode() or "it has ended")
        return took * 1000, struct.unpack("d", said)[0]


def quartile(values: list[float]) -> float:
    """The lowest one: what another's load of the machine leaves alone."""
    return statistics.quantiles(values, n=4)[0]


def in_turn(launchers: list[Launcher], turn: int) -> list[Launcher]:
    """Not always in one order: the first finds colder caches."""
    return [
        launchers[(i + turn) % len(launchers)] for i in range(len(launchers))
    ]


def measure(launchers: list[Launcher], turns: int) -> list[dict[str, Any]]:
    """One row of figures a build."""
    forks: list[float] = []
    outside: list[float] = []
    for turn in range(turns):
        forks.append(plain_fork(nothing)[0])
        for launcher in in_turn(launchers, turn):
            launcher.begun.append(launcher.launch(nothing)[0])
    for turn in range(turns // 10):
        outside.append(plain_fork(compute)[1])
        for launcher in in_turn(launchers, turn):
            launcher.computed.append(launcher.launch(compute)[1])
    return [
        {
            "package": one.package,
            "fork": statistics.median(forks),
            "launch": statistics.median(one.begun),
            "added": statistics.median(
                launch - fork for launch, fork in zip(one.begun, forks)
            ),
            "added_quartile": quartile(one.begun) - quartile(forks),
            "added_least": min(one.begun) - min(forks),
            "speed": statistics.median(
                there / here for there, here in zip(outside, one.computed)
            ),
            "speed_quartile": quartile(outside) / quartile(one.computed),
            "speed_best": min(outside) / min(one.computed),
            "seconds": statistics.median(outside),
        }
        for one in launchers
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", nargs="+")
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # The same in each child, whatever else the processors do.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"

    import IPython  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401

    compute()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        launchers = [Launcher(path, scratch) for path in options.package]
        rows = measure(launchers, options.turns)
    if options.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(
            "{package}: fork {fork:.2f} ms, launch {launch:.2f} ms; entering"
            " adds {added:.2f} ms (by quartiles {added_quartile:.2f}, by the"
            " least {added_least:.2f}); numpy and pandas at {speed:.3f} of"
            " their speed outside ({speed_quartile:.3f}, {speed_best:.3f}; of"
            " {seconds:.2f} s)".format(**row)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
