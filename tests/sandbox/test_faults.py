"""Each step of a launch made to fail in turn.

strace lets a system call of the launch answer with an error, the nth time
that it is made. Whatever fails: a sentence that begins with the step, no
payload, and nothing left, neither a process nor a mount.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from faults import MAPPED_STEPS, STEPS, name, strace

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = (
    Path(os.environ.get("HEARTH_PYTHON_DIR", ROOT / "build" / "python"))
    / "hearth_kernel"
)
SESSION_USER = 100000
CALLER = 100002  # of a launch whose maps the mapper writes
# As whom, with which group; the range: its first number, and how many.
MAPPER = [
    str(PACKAGE / "hearth-mapper"),
    *map(str, (CALLER, CALLER, SESSION_USER, 3)),
]

# Launches once; prints the fault, or what the payload said.
LAUNCH = """
import os, select, socket, sys
sys.path.insert(0, {package!r})
import _sandbox
_sandbox.describe({{
    "init": {package!r} + "/hearth-init",
    "readonly": [p for p in ("/usr", "/bin", "/lib", "/lib64")
                 if os.path.exists(p)]}})
folder = {folder!r}
user = {user!r}
init = socket.socket(socket.AF_UNIX)
init.bind(folder + "/init.sock")
init.listen()
init.setblocking(False)
ours, link = socket.socketpair()
status, status_in = os.pipe()
workspace = {workspace!r}
os.sched_yield()
try:
    pid, pidfd = _sandbox.fork({{
        "workspace_fd": workspace, "link_fd": link.fileno(),
        "init_fd": init.fileno(), "status_fd": status_in,
        "host_uid": user or os.getuid(), "host_gid": user or os.getgid(),
        "init_uid": user and user + 1, "init_gid": user and user + 1,
        "mapper_fd": {mapper!r},
        "cgroup_fds": [os.open(group, os.O_RDONLY) for group in {groups!r}],
        "cgroup_folder": bool({groups!r}),
        "orphan_seconds": 60}})
except OSError as error:
    print("refused:", error.strerror)
    try:
        print("left:", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        pass
    sys.exit()
if pid == 0:
    link.sendall(b"entered")
    os._exit(0)
os.close(status_in)
link.close()
fault = os.read(status, 256)[4:].split(b"\\0")[0].decode()
print("fault:", fault)
print("payload:", ours.recv(64).decode())
# Without the gateway's word pid 1 of a failed launch goes by itself.
if not fault:
    os.kill(pid, 9)
if not select.select([pidfd], [], [], 20)[0]:
    print("left:", pid)
    os.kill(pid, 9)
os.waitpid(pid, 0)
"""


def launch(folder, *before, mapped=False, group=None):
    """The lines that the launch printed, from a group beside that one."""
    user = SESSION_USER if os.geteuid() == 0 else 0
    # As a service's: who launches cannot find it by its path.
    above = folder / "closed"
    workspace = above / "workspace"
    above.mkdir(mode=0o700)
    workspace.mkdir(mode=0o700)
    if user:
        os.chown(workspace, user, user)
    opened = os.open(workspace, os.O_PATH)
    source = LAUNCH.format(
        package=str(PACKAGE),
        folder=str(folder),
        user=user,
        workspace=opened,
        mapper=4 if mapped else 0,
        groups=[str(group)] if group else [],
    )

    def join():
        if group:
            (group.parent / "gateway/cgroup.procs").write_text("0")

    program = [*(MAPPER if mapped else []), sys.executable]
    done = subprocess.run(
        [*before, *program, "-I", "-S", "-c", source],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
        preexec_fn=join,
        pass_fds=[opened],
    )
    os.close(opened)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path_factory):
    """A folder whose socket paths are short enough."""
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(autouse=True)
def possible(tmp_path_factory):
    """Skip where there is no sandbox to be had, or no strace."""
    if not shutil.which("strace") or not list(PACKAGE.glob("_sandbox*.so")):
        pytest.skip("no strace, or nothing is built")


def test_enters_when_nothing_fails(folder):
    lines = launch(folder)
    assert lines[:2] == ["fault: ", "payload: entered"]


@pytest.mark.parametrize(
    ("call", "turn", "error", "said"),
    STEPS,
    ids=[name(step) for step in STEPS],
)
def test_says_which_step_failed(folder, call, turn, error, said):
    fail_step(folder, call, turn, error, said)


@pytest.fixture
def callers_folder():
    """Return a folder of the caller, who is unknown in the session."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a mapper")
    with tempfile.TemporaryDirectory(prefix="hearth-", dir="/tmp") as name:
        os.chown(name, CALLER, CALLER)
        yield Path(name)


def test_enters_by_a_mapper(callers_folder):
    lines = launch(callers_folder, mapped=True)
    assert lines[:2] == ["fault: ", "payload: entered"]


@pytest.fixture
def groups():
    """Control groups of version 2, as a gateway has them: it, and a session."""
    with tempfile.TemporaryDirectory(prefix="hearth-", dir="/tmp") as name:
        made = subprocess.run(
            ["mount", "-t", "cgroup2", "none", name],
            capture_output=True,
            check=False,
        )
        if made.returncode != 0:
            pytest.skip("no control group of version 2 is available")
        top = Path(name) / f"hearth-test-{os.getpid()}"
        folders = [top, top / "gateway", top / "session"]
        try:
            for folder in folders:
                folder.mkdir()
            yield folders
        finally:
            for folder in reversed(folders):
                remove_group(folder)
            subprocess.run(["umount", "-l", name], check=True)


def remove_group(folder):
    """Remove a group; the system removes ended processes in a moment."""
    end = time.monotonic() + 60
    while folder.exists():
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def test_an_admitted_process_is_born_in_a_group(callers_folder, groups):
    """As cgroups_admit does it: the leaf, and what is above it and the
    caller's."""
    top, _, session = groups
    lines = launch(callers_folder, mapped=True, group=session)
    assert "Permission denied" in lines[0], lines
    (callers_folder / "closed/workspace").rmdir()
    (callers_folder / "closed").rmdir()
    (callers_folder / "init.sock").unlink()
    for folder in (top, session):
        os.chown(folder / "cgroup.procs", -1, CALLER)
        (folder / "cgroup.procs").chmod(0o664)
    lines = launch(callers_folder, mapped=True, group=session)
    assert lines[:2] == ["fault: ", "payload: entered"]


@pytest.mark.parametrize(
    ("call", "turn", "error", "said"),
    MAPPED_STEPS,
    ids=[name(step) for step in MAPPED_STEPS],
)
def test_says_which_mapped_step_failed(callers_folder, call, turn, error, said):
    fail_step(callers_folder, call, turn, error, said, mapped=True)


def fail_step(folder, call, turn, error, said, mapped=False):
    """One call of the launch answers with an error."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    lines = launch(
        folder, *strace(call, turn, f"error={error}"), "-qq", mapped=mapped
    )
    assert said in lines[0], lines
    assert "entered" not in "".join(lines[1:])
    assert not any(line.startswith("left:") for line in lines)
    assert mounts == Path("/proc/self/mountinfo").read_text(encoding="utf-8")
