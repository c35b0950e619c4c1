"""A gateway and its sessions, as tests need them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Optional, TypeVar

from client import Client
from deadline import DEADLINE, wait_for
from processes import (
    children,
    connected,
    kill,
    members,
    pid_namespace,
    start_time,
)

ROOT = Path(__file__).resolve().parents[2]
HEARTH = os.environ.get("HEARTH", str(ROOT / "build" / "hearth"))


def endpoint(connection_file: str, channel: str) -> str:
    """Where that channel of a session listens."""
    about = json.loads(Path(connection_file).read_text())
    separator = "-" if about["transport"] == "ipc" else ":"
    port = about[f"{channel}_port"]
    return f"{about['transport']}://{about['ip']}{separator}{port}"


class Session:
    """One session of a gateway, from the output of `hearth session create`."""

    def __init__(self, gateway: Gateway, model: dict[str, Any]) -> None:
        self.gateway = gateway
        self.model = model
        self.id: str = model["id"]
        self.connection_file: str = model["connection_file"]
        self.workspace = Path(model["workspace"])

    def client(self, ready: bool = True) -> Client:
        client = Client(self.connection_file)
        if not ready:
            return client
        try:
            return client.wait_ready()
        except BaseException:
            client.close()
            raise

    def show(self) -> dict[str, Any]:
        return self.gateway.json("session", "show", "--json", self.id)

    def wait_journaled(self, msg_ids: list[str]) -> None:
        """Until the gateway has read and journaled these requests; what it
        answers on control says nothing of what waits on shell."""
        folder = Path(self.model["journal"])

        def look() -> bool:
            text = b"".join(
                path.read_bytes() for path in folder.glob("journal-*.log")
            )
            return all(msg_id.encode() in text for msg_id in msg_ids)

        wait_for(look, "all requests in the journal")

    def wait_state(self, state: str) -> dict[str, Any]:
        def look() -> Optional[dict[str, Any]]:
            model = self.show()
            return model if model["state"] == state else None

        return wait_for(look, f"session in state {state}")

    def delete(self) -> None:
        self.gateway.run("session", "delete", self.id)

    def processes(self) -> list[int]:
        return members(self.namespace())

    def namespace(self) -> str:
        namespace = self.gateway.note_namespace(self.show()["pid"])
        assert namespace, "the kernel's pid 1 is not there"
        return namespace

    def exec(
        self, code: str, *options: str, timeout: float = DEADLINE
    ) -> subprocess.CompletedProcess[str]:
        return self.gateway.run(
            "exec", *options, self.id, "-c", code, timeout=timeout
        )

    def notebook(self) -> dict[str, Any]:
        return self.gateway.json("notebook", "export", self.id)


# As etc/hearth.service has it.
SERVICE_CAPABILITIES = (
    "setuid",
    "setgid",
    "chown",
    "kill",
    "dac_override",
    "fowner",
    "sys_ptrace",
)


def service(user: int) -> list[str]:
    """The beginning of a command that root starts as the service runs: a user
    of its own with the unit's capabilities, and no more."""
    kept = "-all," + ",".join(f"+{name}" for name in SERVICE_CAPABILITIES)
    return [
        "setpriv", "--reuid", str(user), "--regid", str(user),
        "--clear-groups", f"--inh-caps={kept}", f"--ambient-caps={kept}",
        f"--bounding-set={kept}", "--no-new-privs",
    ]  # fmt: skip


class Gateway:
    """`hearth serve` with folders of its own, as root or as `user`.

    It imports nothing in advance unless it is to be `warm`, as it is by
    default: numpy, pandas and matplotlib take more of a processor than most
    tests.
    """

    command: tuple[str, ...] = (HEARTH, "serve")

    def __init__(
        self,
        *options: str,
        user: Optional[int] = None,
        warm: bool = False,
    ) -> None:
        # Short: the paths of sockets have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="ht-", dir="/tmp"))
        self.identity: dict[str, Any] = {}
        if user is not None:
            self.identity = {"user": user, "group": user, "extra_groups": []}
        self.runtime = self.folder / "r"
        self.state = self.folder / "s"
        self.log = self.folder / "log"
        cold = [] if warm else ["--set", "profile/python3/preload="]
        self.options = [*cold, *options]
        self.prefix: list[str] = []  # of a command that becomes the gateway
        self.process: Optional[subprocess.Popen[bytes]] = None
        # Held open, so that no other namespace gets the same number.
        self.namespaces: dict[str, int] = {}
        self.helpers: dict[int, str] = {}
        keep = {"PATH", "LANG", "TERM", "HEARTH_PYTHON"}
        keep |= {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}
        self.env = {k: v for k, v in os.environ.items() if k in keep}
        self.env.update(
            HOME=str(self.folder / "h"),
            HEARTH_RUNTIME_DIR=str(self.runtime),
            HEARTH_STATE_DIR=str(self.state),
        )
        (self.folder / "h").mkdir()
        if os.geteuid() != 0:
            self.share_user()
        if user is not None:
            for path in (self.folder, self.folder / "h"):
                os.chown(path, user, user)

    def share_user(self) -> None:
        """Tests look into workspaces as the user who runs them, to whom
        /etc/subuid may lend a range; test_session_users.py is about that."""
        self.configure("gateway\n    session_users = gateway\n")

    def be_cold(self) -> None:
        """Import nothing in advance, also where a command starts it."""
        self.configure('profile\n    python3\n        preload = ""\n')

    def configure(self, lines: str) -> None:
        """Add lines to its user's configuration."""
        folder = self.folder / "h/.config/hearth"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "hearth.cfg").open("a") as file:
            file.write(lines)

    # -- life --

    def be_service(self, user: int) -> None:
        """From now on it is started so."""
        for path in (self.folder, self.folder / "h"):
            os.chown(path, user, user)
        self.prefix = service(user)

    def start(self, *options: str) -> Gateway:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.command, *self.options, *options],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self.identity,
            )
        wait_for(self.is_up, "a gateway that answers")
        return self

    def refused(self, *options: str) -> str:
        """Return the message of a gateway that does not start."""
        done = subprocess.run(
            [*self.prefix, *self.command, *self.options, *options],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            **self.identity,
        )
        assert done.returncode != 0
        return done.stderr

    def is_up(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(
                f"gateway ended with {self.process.returncode}:\n"
                + self.log.read_text()
            )
        if not (self.runtime / "management.sock").exists():
            return False
        info = self.run("gateway", "info", "--json")
        if info.returncode != 0:
            return False
        if json.loads(info.stdout)["pid"] != self.process.pid:
            return False
        self.helpers.update(children(self.process.pid))
        return True

    def info(self) -> dict[str, Any]:
        return self.json("gateway", "info", "--json")

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        assert self.process is not None
        self.helpers.update(children(self.process.pid))
        places = self.places()
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process = None
        wait_for(lambda: not connected(places), "clients that notice the end")

    def terminate(self) -> None:
        assert self.process is not None
        self.helpers.update(children(self.process.pid))
        places = self.places()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE)
        self.process = None
        assert code == 0, f"exit code {code}\n" + self.log.read_text()
        wait_for(lambda: not connected(places), "clients that notice the end")

    def places(self) -> set[str]:
        """Return the places where clients send to. Messages to a gateway that
        has gone are lost until clients notice."""
        found = set()
        for path in self.runtime.glob("sessions/*/connection.json"):
            try:
                for channel in ("shell", "control", "stdin"):
                    found.add(endpoint(str(path), channel))
            except FileNotFoundError:  # one that goes, or never was handed out
                continue
        return found

    def end(self) -> None:
        """Sessions and gateway end; nothing is left of them."""
        try:
            if self.process is None or self.process.poll() is not None:
                self.start()
            for model in self.sessions():
                self.note_namespace(model["pid"])
            assert self.process is not None
            self.helpers.update(children(self.process.pid))
            self.run("gateway", "stop", "--end-sessions")
            code = self.process.wait(DEADLINE)
            assert code == 0, f"exit code {code}\n" + self.log.read_text()
            wait_for(lambda: not self.left_over(), "nothing left over")
        except BaseException:
            sys.stderr.write(self.log.read_text()[-8000:])
            left = self.left_over()
            if left:
                sys.stderr.write("left over: " + "; ".join(left) + "\n")
            raise
        finally:
            self.sweep()

    def note_namespace(self, pid: int) -> Optional[str]:
        if not pid:
            return None
        try:
            held = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        namespace = f"pid:[{os.fstat(held).st_ino}]"
        if namespace == pid_namespace(os.getpid()):
            os.close(held)
            raise AssertionError("a session in the namespace of this test")
        if namespace in self.namespaces:
            os.close(held)
        else:
            self.namespaces[namespace] = held
        return namespace

    def has_sessions(self) -> bool:
        """Whether a session runs that is known here, with a gateway or not."""
        return any(map(members, self.namespaces))

    def left_over(self) -> list[str]:
        left = [
            f"process {pid} of a session"
            for namespace in self.namespaces
            for pid in members(namespace)
        ]
        left += [
            f"process {pid} of the gateway"
            for pid, born in self.helpers.items()
            if start_time(pid) == born
        ]
        left += [
            f"socket {path}"
            for path in self.runtime.rglob("*")
            if path.is_socket()
        ]
        if self.state.exists():
            with (self.state / "hearth.lock").open() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    left.append("the lock")
        return left

    def sweep(self) -> None:
        """Remove the remains of a failed test, which must not disturb the next
        one."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
        for namespace in self.namespaces:
            for pid in members(namespace):
                kill(pid)
        for held in self.namespaces.values():
            os.close(held)
        self.namespaces.clear()
        # Not by Python, which goes down by recursion.
        subprocess.run(["rm", "-rf", str(self.folder)])

    # -- the command line --

    def run(
        self,
        *arguments: str,
        timeout: float = DEADLINE,
        stdin: Optional[str] = None,
        env: Optional[dict[str, str]] = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HEARTH, *arguments],
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            input=stdin if stdin is not None else "",
            **self.identity,
        )

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command and do not wait for its end."""
        return subprocess.Popen(
            [HEARTH, *arguments],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def json_of(
        self,
        status: int,
        *arguments: str,
        env: Optional[dict[str, str]] = None,
    ) -> Any:
        """Return what a command prints that ends with the status."""
        done = self.run(*arguments, env=env)
        assert done.returncode == status, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    def create(self, *options: str) -> Session:
        session = Session(
            self,
            self.json("session", "create", "--no-start", "--json", *options),
        )
        self.note_namespace(session.model["pid"])
        return session

    def sessions(self, *options: str) -> list[dict[str, Any]]:
        return self.json("session", "list", "--json", *options)


Kind = TypeVar("Kind", bound=Gateway)


def end(client: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a command; return its status and what it wrote."""
    out, err = client.communicate(timeout=60)
    return client.returncode, out, err


@contextlib.contextmanager
def started(gateway: Kind) -> Iterator[Kind]:
    """Let the gateway run meanwhile."""
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()
