"""What entering the sandbox adds to a fork of a warm interpreter.

Run with a Python that has the packages, and the folder of a built package:

    .venv/bin/python tests/bench/entering.py build/python/hearth_kernel

A plain fork and a launch take turns, so that both meet the same machine; a
child has begun when it has written a byte.
"""

import os
import socket
import statistics
import sys
import tempfile
import time

SESSION_USER = 100000
TURNS = 200


def plain_fork():
    """Milliseconds until a forked child has written."""
    ours, theirs = os.pipe()
    begin = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.write(theirs, b"x")
        os._exit(0)
    os.close(theirs)
    os.read(ours, 1)
    took = time.perf_counter() - begin
    os.close(ours)
    os.waitpid(pid, 0)
    return took * 1000


def launch(sandbox, folder, init):
    """Milliseconds until the payload has written, and of the call alone."""
    ours, link = socket.socketpair()
    status, status_in = os.pipe()
    workspace = os.open(folder, os.O_RDONLY)
    root = os.geteuid() == 0
    begin = time.perf_counter()
    pid, pidfd = sandbox.fork(
        {
            "workspace_fd": workspace,
            "link_fd": link.fileno(),
            "init_fd": init.fileno(),
            "status_fd": status_in,
            "host_uid": SESSION_USER if root else os.getuid(),
            "host_gid": SESSION_USER if root else os.getgid(),
        }
    )
    if pid == 0:
        link.sendall(b"x")
        os._exit(0)
    call = time.perf_counter() - begin
    os.close(status_in)
    link.close()
    said = ours.recv(1)
    fault = os.read(status, 256)
    took = time.perf_counter() - begin
    for fd in (status, workspace, pidfd):
        os.close(fd)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    if fault or not said:
        sys.exit(fault[4:].split(b"\0")[0].decode())
    return took * 1000, call * 1000


def main():
    """Print medians and the difference."""
    sys.path.insert(0, sys.argv[1])
    import _sandbox
    import IPython  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401

    places = ["/usr", "/bin", "/lib", "/lib64", sys.prefix, sys.base_prefix]
    _sandbox.describe(
        {
            "init": sys.argv[1] + "/hearth-init",
            "readonly": [p for p in places if os.path.exists(p)],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        init = socket.socket(socket.AF_UNIX)
        init.bind(folder + "/init.sock")
        init.listen()
        rows = [
            (plain_fork(), *launch(_sandbox, folder, init))
            for _ in range(TURNS)
        ]
    fork, took, call = (statistics.median(column) for column in zip(*rows))
    print(f"fork {fork:.2f} ms, launch {took:.2f} ms, of it the call")
    print(f"{call:.2f} ms; entering adds {took - fork:.2f} ms")


if __name__ == "__main__":
    main()
