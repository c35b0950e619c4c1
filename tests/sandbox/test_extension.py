"""What Python code must be able to do inside, through the extension.

Each snippet runs in a kernel of its own, forked from a child of the tests
that plays the zygote, and prints one line that is compared.
"""

import importlib
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import means
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = (
    Path(os.environ.get("HEARTH_PYTHON_DIR", ROOT / "build" / "python"))
    / "hearth_kernel"
)
INIT = str(PACKAGE / "hearth-init")
SESSION_USER = 100000
LOOPBACK = 1  # sandbox_network_t

# Imports what is named first, describes, forks, and runs the snippet inside.
ZYGOTE = """
import importlib, json, os, socket, struct, sys
sys.path.insert(0, {package!r})
import _sandbox
for name in {preload!r}:
    importlib.import_module(name)
folder = {folder!r}
user = {user!r}
places = ["/usr", "/bin", "/sbin", "/lib", "/lib64", sys.prefix,
          sys.base_prefix]
_sandbox.describe({{
    "init": {package!r} + "/hearth-init",
    "readonly": [place for place in places if os.path.exists(place)],
    "network": {network!r}}})
init = socket.socket(socket.AF_UNIX)
init.bind(folder + "/init.sock")
init.listen()
init.setblocking(False)
for turn in range({turns!r}):
    ours, link = socket.socketpair()
    status, status_in = os.pipe()
    workspace = os.open(folder + "/workspace", os.O_RDONLY)
    pid, pidfd = _sandbox.fork({{
        "workspace_fd": workspace, "link_fd": link.fileno(),
        "init_fd": init.fileno(), "status_fd": status_in,
        "host_uid": user or os.getuid(), "host_gid": user or os.getgid(),
        "orphan_seconds": 60, "hostname": "hearth", "limits": {{}}}})
    if pid == 0:
        os.environ.clear()
        os.environ.update(PATH="/usr/bin:/bin", HOME="/workspace")
        try:
            scope = {{"__name__": "snippet"}}
            exec(compile({snippet!r}, "snippet", "exec"), scope)
            said = repr(scope["result"])
        except BaseException as error:
            said = "raised " + repr(error)
        link.sendall(said.encode())
        os._exit(0)
    os.close(status_in)
    link.close()
    fault = os.read(status, 256)
    if fault:
        print("fault", fault[4:].split(b"\\0")[0].decode())
    print(b"".join(iter(lambda: ours.recv(65536), b"")).decode())
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(pidfd)
"""


def run_inside(folder, snippet, preload=(), turns=1, network=0):
    """The lines that the snippet's result gave, one a turn."""
    if not list(PACKAGE.glob("_sandbox*.so")):
        pytest.skip(f"no extension in {PACKAGE}: build first")
    means.require()
    for name in preload:
        pytest.importorskip(name)
    user = SESSION_USER if os.geteuid() == 0 else 0
    workspace = folder / "workspace"
    workspace.mkdir()
    if user:
        os.chown(workspace, user, user)
    source = ZYGOTE.format(
        package=str(PACKAGE),
        preload=list(preload),
        folder=str(folder),
        user=user,
        turns=turns,
        network=network,
        snippet=textwrap.dedent(snippet),
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", source],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path_factory):
    """A folder whose socket paths are short enough."""
    return tmp_path_factory.mktemp("inside")


SNIPPETS = {
    "who it is": (
        (),
        """
        import getpass, os
        result = (getpass.getuser(), os.getcwd(), os.getpid(), os.getuid(),
                  os.path.expanduser("~"), os.uname().nodename)
        """,
        ("kernel", "/workspace", 3, 1000, "/workspace", "hearth"),
    ),
    "child processes": (
        (),
        """
        import subprocess
        result = subprocess.check_output("echo hi | tr a-z A-Z", shell=True)
        """,
        b"HI\n",
    ),
    "multiprocessing by fork": (
        (),
        """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            result = pool.map(abs, [-1, 2])
        """,
        [1, 2],
    ),
    "multiprocessing by spawn": (
        (),
        """
        import multiprocessing
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            result = pool.map(abs, [-1, 2])
        """,
        [1, 2],
    ),
    "shared memory": (
        (),
        """
        from multiprocessing import shared_memory
        block = shared_memory.SharedMemory(create=True, size=1000)
        result = len(block.buf) >= 1000
        block.close()
        block.unlink()
        """,
        True,
    ),
    "futures": (
        (),
        """
        from concurrent import futures
        result = []
        for kind in futures.ThreadPoolExecutor, futures.ProcessPoolExecutor:
            with kind(2) as pool:
                result += pool.map(abs, [-1, 2])
        """,
        [1, 2, 1, 2],
    ),
    "asyncio, and its child processes": (
        (),
        """
        import asyncio
        async def main():
            async def echo(reader, writer):
                writer.write(await reader.readline())
                await writer.drain()
                writer.close()
            await asyncio.start_unix_server(echo, "/tmp/echo")
            reader, writer = await asyncio.open_unix_connection("/tmp/echo")
            writer.write(b"x\\n")
            child = await asyncio.create_subprocess_exec("echo", "y", stdout=-1)
            return await reader.readline(), (await child.communicate())[0]
        result = asyncio.run(main())
        """,
        (b"x\n", b"y\n"),
    ),
    "sqlite with a write-ahead log": (
        (),
        """
        import sqlite3
        base = sqlite3.connect("a.db")
        result = base.execute("pragma journal_mode=wal").fetchall()
        base.execute("create table t(a)")
        base.commit()
        """,
        [("wal",)],
    ),
    "memory maps and temporary files": (
        (),
        """
        import mmap, tempfile
        file = tempfile.TemporaryFile()
        file.truncate(4096)
        with mmap.mmap(file.fileno(), 4096) as memory:
            memory[0] = 7
        result = file.read(1)
        """,
        b"\x07",
    ),
    "ctypes callbacks": (
        (),
        """
        import ctypes
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
        result = kind(lambda x: x + 1)(4)
        """,
        5,
    ),
    "timers": (
        (),
        """
        import signal
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        result = signal.sigtimedwait({signal.SIGALRM}, 5) if \\
            signal.pthread_sigmask(0, {signal.SIGALRM}) is not None else None
        result = result.si_signo == signal.SIGALRM
        """,
        True,
    ),
    "certificates": (
        (),
        """
        import os, ssl
        result = bool(ssl.create_default_context()) and \\
            os.path.exists("/etc/passwd")
        """,
        True,
    ),
    "copies and archives": (
        (),
        """
        import shutil, os
        shutil.copy("/usr/bin/env", "/tmp/env")
        shutil.make_archive("/tmp/all", "zip", "/etc/fonts"
                            if os.path.isdir("/etc/fonts") else "/workspace")
        result = os.access("/tmp/env", os.X_OK)
        """,
        True,
    ),
    "terminals": (
        ("pexpect",),
        """
        import pexpect
        child = pexpect.spawn("sh", ["-c", "read x; echo got $x; cat"])
        child.sendline("abc")
        child.expect("got abc")
        # Until cat is there: dash takes an interrupt for itself, and loses it
        # when it becomes cat.
        child.sendline("def")
        child.expect("def\\r\\ndef")
        child.sendintr()
        child.expect(pexpect.EOF)
        child.close()
        result = child.signalstatus or child.exitstatus
        """,
        2,
    ),
    "IPython's commands": (
        ("IPython",),
        """
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_cell("x = !echo bang")
        shell.run_cell_magic("bash", "", "echo foo > foo")
        result = shell.user_ns["x"], open("foo").read()
        """,
        (["bang"], "foo\n"),
    ),
    "numpy with threads": (
        (),
        """
        import os
        os.environ["OPENBLAS_NUM_THREADS"] = "2"
        import numpy
        a = numpy.ones((1000, 1000))
        value = float((a @ a)[0, 0])
        result = value, len(os.listdir("/proc/self/task")) > 1
        """,
        (1000.0, (os.cpu_count() or 1) > 1),
    ),
    "pandas": (
        ("pandas",),
        """
        import pandas
        pandas.DataFrame({"a": [1, 2]}).to_csv("a.csv", index=False)
        result = int(pandas.read_csv("a.csv").a.sum())
        """,
        3,
    ),
    "a plot": (
        ("matplotlib",),
        """
        import matplotlib
        matplotlib.use("agg")
        import io
        import matplotlib.pyplot as plot
        plot.plot([1, 2])
        file = io.BytesIO()
        plot.savefig(file)
        result = file.getvalue()[:4]
        """,
        b"\x89PNG",
    ),
    "a forest grown in parallel": (
        ("sklearn",),
        """
        from sklearn.ensemble import RandomForestClassifier
        forest = RandomForestClassifier(10, n_jobs=2)
        forest.fit([[0], [1]] * 20, [0, 1] * 20)
        result = forest.predict([[0], [1]]).tolist()
        """,
        [0, 1],
    ),
}


OVER_LOOPBACK = {
    "nothing beyond": (
        (),
        """
        import errno, socket
        try:
            socket.create_connection(("192.0.2.1", 80), 2)
        except OSError as error:
            result = errno.errorcode[error.errno]
        """,
        "ENETUNREACH",
    ),
    "ZeroMQ": (
        ("zmq",),
        """
        import zmq
        context = zmq.Context()
        a, b = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
        b.connect("tcp://127.0.0.1:%d" % a.bind_to_random_port("tcp://127.0.0.1"))
        b.send(b"k")
        result = a.recv()
        """,
        b"k",
    ),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_works_inside(folder, name):
    preload, snippet, expected = SNIPPETS[name]
    assert run_inside(folder, snippet, preload) == [repr(expected)]


@pytest.mark.parametrize("name", OVER_LOOPBACK)
def test_works_over_loopback(folder, name):
    preload, snippet, expected = OVER_LOOPBACK[name]
    lines = run_inside(folder, snippet, preload, network=LOOPBACK)
    assert lines == [repr(expected)]


def test_has_no_network_unless_asked(folder):
    said = run_inside(
        folder,
        """
        import errno, socket
        result = []
        for family in (socket.AF_INET, socket.AF_INET6):
            try:
                socket.socket(family)
            except OSError as error:
                result.append(errno.errorcode[error.errno])
        with open("/proc/net/dev") as devices:
            result.append([line.split()[0] for line in devices][2:])
        """,
    )
    assert said == [repr(["EAFNOSUPPORT", "EAFNOSUPPORT", ["lo:"]])]


def test_runs_pythons_own_hooks(folder):
    """Two kernels of one zygote do not share a random stream."""
    lines = run_inside(
        folder, "import random; result = random.random()", ["random"], turns=2
    )
    assert len(lines) == 2
    assert lines[0] != lines[1]


@pytest.fixture
def module(monkeypatch):
    """The module, in this process."""
    if not list(PACKAGE.glob("_sandbox*.so")):
        pytest.skip(f"no extension in {PACKAGE}: build first")
    monkeypatch.syspath_prepend(str(PACKAGE))
    return importlib.import_module("_sandbox")


def test_refuses_a_bad_spec(module):
    with pytest.raises(RuntimeError):
        module.fork({})
    with pytest.raises(OSError, match="/none"):
        module.describe({"init": INIT, "readonly": ["/none"]})
    with pytest.raises(OSError, match="no wall"):
        module.describe({"init": INIT, "accept": ["moat"]})
    with pytest.raises(OSError, match="no sandbox"):
        module.describe({"init": INIT, "accept": ["user"]})
    with pytest.raises(OSError, match="not accepted"):
        module.describe({"init": INIT, "without": ["landlock"]})
    with pytest.raises(ValueError, match="network"):
        module.describe({"init": INIT, "network": 2})
    assert module.describe({"init": INIT, "readonly": ["/usr"]}) == 1
    mount = "/usr/lib:/data"
    assert module.describe({"init": INIT, "mounts": [mount]}) == 0
    with pytest.raises(KeyError):
        module.fork({})
    with pytest.raises(OSError, match="descriptors"):
        module.fork(
            dict.fromkeys(
                ["workspace_fd", "link_fd", "init_fd", "status_fd"], 0
            )
            | {"host_uid": 1, "host_gid": 1}
        )


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("/srv", "SOURCE:TARGET"),
        ("srv:/data", "a source is absolute"),
        ("/:/data", "and not /"),
        ("/usr/../etc:/data", "without //, . and .."),
        ("/proc/sys:/data", "nothing of the host's /proc is shown"),
        ("/dev/null:/data", "nothing of the host's /dev is shown"),
        ("/sys:/data", "nothing of the host's /sys is shown"),
        ("/none/such:/data", "/none/such: No such file or directory"),
        ("/usr/bin/none/..:/data", "without //, . and .."),
        ("{folder}/link:/data", "leads through a symbolic link"),
        ("{folder}/link/below:/data", "leads through a symbolic link"),
        ("{folder}/fifo:/data", "is neither a folder nor a file"),
        ("{folder}:data", "must be absolute"),
        ("{folder}:/data/../proc", "without //, . and .."),
        ("{folder}:/", "must be absolute"),
        ("{folder}:/proc", "/proc is there"),
        ("{folder}:/proc/self", "/proc is there"),
        ("{folder}:/etc/ssl", "/etc is there"),
        ("{folder}:/tmp/data", "/tmp is there"),
        ("{folder}:/workspace/data", "/workspace is there"),
        ("{folder}:/var", "/var/tmp is there"),
        ("{folder}:/usr", "/usr is there"),
        ("{folder}:/usr/share/data", "/usr is there"),
        ("{folder}:/data/deep", "/data is there"),
    ],
)
def test_refuses_a_mount(module, mount, said, tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    plan = {
        "init": INIT,
        "readonly": ["/usr"],
        "mounts": [f"{tmp_path}/below:/data", mount.format(folder=tmp_path)],
    }
    if said != "/data is there":
        del plan["mounts"][0]
    with pytest.raises(OSError, match=re.escape(said)):
        module.describe(plan)
