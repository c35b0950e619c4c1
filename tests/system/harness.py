"""A gateway, its sessions and their clients, as tests need them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import Any, Callable, Iterator, Optional, TypeVar

from jupyter_client import BlockingKernelClient

ROOT = Path(__file__).resolve().parents[2]
HEARTH = os.environ.get("HEARTH", str(ROOT / "build" / "hearth"))
# Generous: it only says that nothing will come any more.
DEADLINE = float(os.environ.get("HEARTH_DEADLINE", "120"))

Message = dict[str, Any]
T = TypeVar("T")


def wait_for(
    condition: Callable[[], Optional[T]],
    what: str,
    deadline: float = DEADLINE,
) -> T:
    """The condition's first true value."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline:g} s: {what}")
        time.sleep(0.02)


def processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def start_time(pid: int) -> Optional[str]:
    """None when there is no such process, or only what is left of one."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def kill(pid: int) -> None:
    """SIGKILL; a process that has gone by itself is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def children(pid: int) -> dict[int, str]:
    found = {}
    for child in processes():
        try:
            text = Path(f"/proc/{child}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text.rpartition(")")[2].split()
        if int(fields[1]) == pid:
            found[child] = fields[19]
    return found


def pid_namespace(pid: int) -> Optional[str]:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def members(namespace: str) -> list[int]:
    """The processes of a session: those in its pid namespace."""
    return [
        pid
        for pid in processes()
        if pid_namespace(pid) == namespace and start_time(pid)
    ]


def connected(ports: set[int]) -> bool:
    """Whether a client here still has a connection to one of these ports,
    perhaps one whose other end is closed."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state = line.split()[:4]
        is_open = state in ("01", "08")  # established, close-wait
        if is_open and int(remote.rpartition(":")[2], 16) in ports:
            return True
    return False


class Turn:
    """One request, with all that belongs to it."""

    def __init__(self, reply: Message, messages: list[Message]) -> None:
        self.reply = reply
        self.content: dict[str, Any] = reply["content"]
        self.messages = messages

    @property
    def status(self) -> str:
        return self.content["status"]

    @property
    def types(self) -> list[str]:
        """In their order; output of one stream that came in pieces, as it
        may on a machine with much to do, counts once."""
        found: list[tuple[str, Optional[str]]] = []
        for message in self.messages:
            name = message["content"].get("name")
            kind = (message["msg_type"], name)
            if kind[0] != "stream" or found[-1:] != [kind]:
                found.append(kind)
        return [msg_type for msg_type, _ in found]

    def contents(self, msg_type: str) -> list[dict[str, Any]]:
        return [
            message["content"]
            for message in self.messages
            if message["msg_type"] == msg_type
        ]

    def stream(self, name: str = "stdout") -> str:
        return "".join(
            content["text"]
            for content in self.contents("stream")
            if content["name"] == name
        )

    @property
    def result(self) -> Optional[str]:
        results = self.contents("execute_result")
        return results[-1]["data"]["text/plain"] if results else None


class Client:
    """jupyter_client's own client, and a way to wait for whole turns."""

    def __init__(self, connection_file: str) -> None:
        self.kc = BlockingKernelClient(connection_file=connection_file)
        self.kc.load_connection_file()
        self.kc.start_channels()
        self.others: list[Message] = []

    def close(self) -> None:
        self.kc.stop_channels()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_ready(self) -> Client:
        """Until the kernel answers and iopub reaches this client, with nothing
        of that left to be read. (wait_for_ready asks again when an answer
        takes long, and leaves the answers to all but one in the test's way.)
        """
        self.subscribed()
        self.finish(self.kc.kernel_info())
        self.others.clear()
        return self

    def subscribed(self) -> Client:
        """Until iopub surely reaches this client; no kernel needed."""
        self.iopub(DEADLINE, lambda message: True)
        return self

    def iopub(
        self, timeout: float, wanted: Callable[[Message], bool]
    ) -> Message:
        end = time.monotonic() + timeout
        while True:
            message = self.kc.get_iopub_msg(
                timeout=max(0.0, end - time.monotonic())
            )
            if wanted(message):
                return message
            self.others.append(message)

    def stream_until(self, msg_id: str, text: str) -> list[Message]:
        """The iopub messages of a request until its output has the text."""
        messages: list[Message] = []
        seen = ""
        while text not in seen:
            message = self.iopub(DEADLINE, lambda m: parent_of(m) == msg_id)
            messages.append(message)
            if message["msg_type"] == "stream":
                seen += message["content"]["text"]
        return messages

    def finish(
        self,
        msg_id: str,
        timeout: float = DEADLINE,
        channel: str = "shell",
        begun: Optional[list[Message]] = None,
    ) -> Turn:
        """The reply and all messages until idle, in any order."""
        end = time.monotonic() + timeout
        messages = self.until_idle(msg_id, timeout, begun)
        left = max(0.0, end - time.monotonic())
        return Turn(self.reply(msg_id, left + 1, channel), messages)

    def until_idle(
        self,
        msg_id: str,
        timeout: float,
        begun: Optional[list[Message]] = None,
    ) -> list[Message]:
        """The iopub messages of a request up to its idle."""
        end = time.monotonic() + timeout
        messages = list(begun or [])

        def left() -> float:
            return max(0.0, end - time.monotonic())

        try:
            while not is_idle(messages, msg_id):
                message = self.kc.get_iopub_msg(timeout=left())
                if parent_of(message) == msg_id:
                    messages.append(message)
                else:
                    self.others.append(message)
        except Empty:
            types = [message["msg_type"] for message in messages]
            raise AssertionError(
                f"no idle within {timeout:g} s after {types[-20:]}"
            ) from None
        return messages

    def reply(
        self, msg_id: str, timeout: float = DEADLINE, channel: str = "shell"
    ) -> Message:
        end = time.monotonic() + timeout
        get = getattr(self.kc, f"get_{channel}_msg")
        while True:
            try:
                message = get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                raise AssertionError(
                    f"no reply on {channel} within {timeout:g} s"
                ) from None
            if parent_of(message) == msg_id:
                return message

    def run(self, code: str, timeout: float = DEADLINE, **options: Any) -> Turn:
        options.setdefault("allow_stdin", False)
        return self.finish(self.kc.execute(code, **options), timeout)

    def value(self, expression: str) -> Any:
        """An expression's value, by way of its repr."""
        import ast

        turn = self.run(expression)
        assert turn.status == "ok", turn.content
        assert turn.result is not None
        return ast.literal_eval(turn.result)

    def send(
        self,
        channel: str,
        msg_type: str,
        content: Optional[dict[str, Any]] = None,
        metadata: Optional[dict[str, Any]] = None,
    ) -> str:
        message = self.kc.session.msg(
            msg_type, content or {}, metadata=metadata
        )
        getattr(self.kc, f"{channel}_channel").send(message)
        return message["header"]["msg_id"]

    def ask(
        self,
        channel: str,
        msg_type: str,
        content: Optional[dict[str, Any]] = None,
        metadata: Optional[dict[str, Any]] = None,
    ) -> Turn:
        msg_id = self.send(channel, msg_type, content, metadata)
        return self.finish(msg_id, channel=channel)

    def ask_comm(self, comm_id: str, data: dict[str, Any]) -> Turn:
        """A comm message as a front end's widget sends it; it has no reply."""
        msg_id = self.send(
            "shell", "comm_msg", {"comm_id": comm_id, "data": data}
        )
        return Turn({"content": {}}, self.until_idle(msg_id, DEADLINE))

    def is_silent(self, seconds: float = 0.3) -> bool:
        """Nothing at all comes on iopub."""
        try:
            self.others.append(self.kc.get_iopub_msg(timeout=seconds))
        except Empty:
            return True
        return False


def parent_of(message: Message) -> Optional[str]:
    return message["parent_header"].get("msg_id")


def is_idle(messages: list[Message], msg_id: str) -> bool:
    return any(
        message["msg_type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and parent_of(message) == msg_id
        for message in messages[-1:]
    )


class Session:
    """One session of a gateway, as `hearth session create` told of it."""

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
    """`hearth serve` with folders of its own, as root or as `user`."""

    command = (HEARTH, "serve")

    def __init__(self, *options: str, user: Optional[int] = None) -> None:
        # Short: the paths of sockets have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="ht-", dir="/tmp"))
        self.identity: dict[str, Any] = {}
        if user is not None:
            self.identity = {"user": user, "group": user, "extra_groups": []}
        self.runtime = self.folder / "r"
        self.state = self.folder / "s"
        self.log = self.folder / "log"
        self.options = list(options)
        self.prefix: list[str] = []  # of a command that becomes the gateway
        self.process: Optional[subprocess.Popen[bytes]] = None
        # Held open, so that no other namespace gets the same number.
        self.namespaces: dict[str, int] = {}
        self.helpers: dict[int, str] = {}
        keep = ("PATH", "LANG", "TERM", "HEARTH_PYTHON")
        keep += ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
        self.env = {k: v for k, v in os.environ.items() if k in keep}
        self.env.update(
            HOME=str(self.folder / "h"),
            HEARTH_RUNTIME_DIR=str(self.runtime),
            HEARTH_STATE_DIR=str(self.state),
        )
        (self.folder / "h").mkdir()
        if user is not None:
            for path in (self.folder, self.folder / "h"):
                os.chown(path, user, user)

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
        ports = self.ports()
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process = None
        wait_for(lambda: not connected(ports), "clients that notice the end")

    def terminate(self) -> None:
        assert self.process is not None
        self.helpers.update(children(self.process.pid))
        ports = self.ports()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE)
        self.process = None
        assert code == 0, f"exit code {code}\n" + self.log.read_text()
        wait_for(lambda: not connected(ports), "clients that notice the end")

    def ports(self) -> set[int]:
        """Where clients send to. What they write to a gateway that has gone,
        before they notice, is lost: TCP tells nobody."""
        found = set()
        for path in self.runtime.glob("sessions/*/connection.json"):
            try:
                about = json.loads(path.read_text())
            except FileNotFoundError:  # one that goes, or never was handed out
                continue
            for channel in ("shell", "control", "stdin"):
                found.add(int(about[f"{channel}_port"]))
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
        """What a failed test leaves must not disturb the next one."""
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
        """What a command that ends with the status prints."""
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
