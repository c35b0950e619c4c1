"""The zygote's loop, by the gateway's end of its socket.

A child of the tests plays the zygote; each of its kernels says what it was
given and ends.
"""

import array
import contextlib
import errno
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import means
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = (
    Path(os.environ.get("HEARTH_PYTHON_DIR", ROOT / "build" / "python"))
    / "hearth_kernel"
)
SESSION_USER = 100000
PROTOCOL = 5
REQUEST = "IIQ6IQ7Q"
REPLY = "IiQiIi252s"
DEADLINE = 60

ZYGOTE = """
import json, os, signal, socket, sys
sys.path.insert(0, {package!r})
import _sandbox
said = []
os.register_at_fork(before=lambda: said.append("before"),
                    after_in_parent=lambda: said.append("parent"),
                    after_in_child=lambda: said.append("child"))
_sandbox.describe({{
    "init": {package!r} + "/hearth-init",
    "readonly": [p for p in ("/usr", "/bin", "/lib", "/lib64")
                 if os.path.exists(p)]}})
print("ready", flush=True)
try:
    request = _sandbox.serve({gateway}, 0)
except OSError as error:
    print("fault:", error.strerror)
    sys.exit(3)
if request is None:
    print("ended", *said)
    sys.exit()
with open("/proc/self/status") as status:
    (ignored,) = (line for line in status if line.startswith("SigIgn:"))
request["sigchld"] = int(ignored.split()[1], 16) >> (signal.SIGCHLD - 1) & 1
request["said"] = said
link = socket.socket(fileno=request.pop("link_fd"))
os.close(request.pop("status_fd"))
pid_1 = request.pop("init_fd")
_sandbox.await_init(pid_1)
try:
    _sandbox.await_init(pid_1)
except OSError as error:
    request["again"] = error.strerror
try:
    os.readlink("/proc/1/exe")
except OSError as error:
    request["hidden"] = error.errno
request["processors"] = len(os.sched_getaffinity(0))
request["processors_of_pid_1"] = len(os.sched_getaffinity(1))
link.sendall(json.dumps(request).encode())
os._exit(0)
"""


class Zygote:
    """A running one; `send` and `answer` are the gateway's half."""

    def __init__(self, folder: Path) -> None:
        self.gateway, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        self.gateway.settimeout(DEADLINE)
        self.user = SESSION_USER if os.geteuid() == 0 else 0
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        if self.user:
            os.chown(self.workspace, self.user, self.user)
        self.init = socket.socket(socket.AF_UNIX)
        self.init.bind(str(folder / "init.sock"))
        self.init.listen()
        source = ZYGOTE.format(package=str(PACKAGE), gateway=theirs.fileno())
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", source],
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[theirs.fileno()],
            env={"PATH": "/usr/bin:/bin"},
        )
        theirs.close()
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def request(self, number: int, *texts: str, **changed: int) -> bytes:
        user = changed.get("user", self.user or os.getuid())
        group = changed.get("user", self.user or os.getgid())
        head = struct.pack(
            REQUEST, PROTOCOL, 0, number, user, group, 0, 0, 60, 0, 12345,
            *[0] * 7,
        )  # fmt: skip
        return head + b"".join(text.encode() + b"\0" for text in texts)

    def send(self, datagram: bytes, descriptors: int = 4) -> socket.socket:
        """The kernel's link; with that many of the descriptors."""
        ours, link = socket.socketpair()
        ours.settimeout(DEADLINE)
        workspace = os.open(self.workspace, os.O_PATH)
        self.status, status = os.pipe()
        fds = [workspace, link.fileno(), self.init.fileno(), status]
        try:
            socket.send_fds(self.gateway, [datagram], fds[:descriptors])
        finally:
            os.close(workspace)
            os.close(status)
            link.close()
        return ours

    def answer(self) -> tuple[int, int, str]:
        """The request's number, the pid, and why not."""
        room = socket.CMSG_SPACE(4)
        data, control, _, _ = self.gateway.recvmsg(65536, room)
        protocol, pid, number, processor, reserved, _, text = struct.unpack(
            REPLY, data
        )
        assert (protocol, reserved) == (PROTOCOL, 0)
        if pid:
            assert processor in os.sched_getaffinity(0)
        assert len(control) == (1 if pid else 0)
        for _, _, bytes_ in control:
            (pidfd,) = array.array("i", bytes_)
            os.close(pidfd)
        return number, pid, text.split(b"\0")[0].decode()

    def launch(self, number: int, *texts: str) -> tuple[int, dict]:
        """The pid of pid 1, and what the kernel was given."""
        with self.send(self.request(number, *texts)) as link:
            answered, pid, text = self.answer()
            assert (answered, text) == (number, "")
            fault = os.read(self.status, 256)[4:].split(b"\0")[0].decode()
            os.close(self.status)
            assert fault == ""
            said = json.loads(link.recv(65536))
        os.kill(pid, 9)
        return pid, said

    def end(self) -> tuple[int, str]:
        """Its exit code and its last words."""
        self.gateway.close()
        out, _ = self.process.communicate(timeout=DEADLINE)
        self.init.close()
        return self.process.returncode, out.strip()


@pytest.fixture
def zygote(tmp_path_factory):
    """Start a zygote that waits for requests."""
    if not list(PACKAGE.glob("_sandbox*.so")):
        pytest.skip(f"no extension in {PACKAGE}: build first")
    means.require()
    running = Zygote(tmp_path_factory.mktemp("requests"))
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def test_ends_with_the_gateway(zygote):
    assert zygote.end() == (0, "ended before parent")


def test_kernels_get_the_requested_sandbox(zygote):
    """The hooks of a fork have run in each, once; it can have children."""
    for number in (1, 2):
        _, said = zygote.launch(number, "host", "A", "ä\n", "B", "")
        assert said == {
            "retain": 12345,
            "env": {"A": "ä\n", "B": ""},
            "said": ["before", "child"],
            "sigchld": 0,
            "again": "sandbox: pid 1 could not take its steps",
            "hidden": errno.EACCES,
            "processors": len(os.sched_getaffinity(0)),
            "processors_of_pid_1": len(os.sched_getaffinity(0)),
        }
    assert zygote.end()[0] == 0


def test_kernels_are_reaped(zygote):
    pids = [zygote.launch(number, "host")[0] for number in range(3)]
    # The loop waits again when it has answered, so all but the last are.
    with zygote.send(zygote.request(9, "host", user=0)):
        zygote.answer()
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            assert "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()


def test_goes_on_when_a_launch_fails(zygote):
    for number in (5, 6):
        with zygote.send(zygote.request(number, "host", user=0)):
            answered, pid, text = zygote.answer()
        assert (answered, pid) == (number, 0)
        assert "sandbox: " in text
    assert zygote.launch(7, "host")[1]["env"] == {}


@pytest.mark.parametrize(
    ("datagram", "descriptors", "said"),
    [
        (b'{"launch":1}', 4, "different releases"),
        (b"\5\0\0\0", 4, "a zygote request of 4 bytes"),
        (None, 3, "request with 3 descriptors instead of 4"),
        (b"\5\0\0\0" + bytes(100_000), 4, "a datagram of more than 65536"),
    ],
)
def test_ends_on_an_unreadable_request(zygote, datagram, descriptors, said):
    """A fault of ours, or of an upgrade: it says so and can be replaced."""
    whole = datagram or zygote.request(1, "host")
    with zygote.send(whole, descriptors):
        code, text = zygote.end()
    assert code == 3
    assert text.startswith("fault: ")
    assert said in text
