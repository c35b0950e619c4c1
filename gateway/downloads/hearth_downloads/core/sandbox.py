"""Runs one program in hearth's sandbox, with a listener that is handed out.

The sandbox is that of kernels, with a loopback of its own. Its first steps bind
the proxy's address there and send the socket to the worker, which lies outside:
so the program's only way out leads through the proxy. The worker is connected
to pid 1, to which the end of this connection is the end of all
(docs/design/PROTOCOL.init.md). So nothing in the sandbox outlives the worker.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Callable, NoReturn, Optional

import hearth_kernel
from hearth_kernel import _sandbox

from hearth_downloads.core.faults import Failed, clean
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.job import BaseJob

PROXY_PORT = 3128
OUTPUT_MAX = 1 << 20
LOOK_SECONDS = 0.25
_NETWORK_LOOPBACK = 1
_FAULT_BYTES = 256
_PROCESSES = 512
_OPEN_FILES = 1024
_ORPHAN_SECONDS = 60
_CPU_SECONDS = 600
# uv needs most: 0.25 GiB for 200 packages, of which it uses 55 MiB (0.13.9, 2
# CPUs, two arenas of malloc). Without the bound of arenas it needs 1.2 GiB.
_ADDRESS_SPACE = 2 << 30


@dataclass(frozen=True)
class Result:
    """How a program has ended: its exit status, -1 if it was killed."""

    code: int
    output: str


@dataclass(frozen=True)
class Program:
    """A program to run, and the function that takes the listener.

    The descriptors 1 and 2 of `main` are what `Result.output` collects.
    """

    main: Callable[[], None]  # in the sandbox, in a process of its own
    attach: Callable[[int], None]
    look: Callable[[], None]  # called now and then; may raise
    # Called at the end, whatever it is: no program is in the sandbox then.
    leave: Callable[[], None]


class Sandbox:
    """The description, made once for all programs of a job.

    `readonly` has the places of the host that the programs see, and `mounts`
    others, as SOURCE:TARGET. They can write to none of them.
    """

    def __init__(
        self,
        job: BaseJob,
        workspace: str,
        readonly: list[str],
        mounts: Sequence[str] = (),
    ) -> None:
        self.job = job
        self.workspace = workspace
        self.limits = {
            "file_size": max(job.max_bytes, 64 << 20),
            "processes": _PROCESSES,
            "open_files": _OPEN_FILES,
            "cpu_seconds": _CPU_SECONDS,
            "address_space": _ADDRESS_SPACE,
        }
        folder = os.path.dirname(os.path.abspath(hearth_kernel.__file__))
        try:
            _sandbox.describe(
                {
                    "init": os.path.join(folder, "hearth-init"),
                    "readonly": readonly,
                    "mounts": list(mounts),
                    "network": _NETWORK_LOOPBACK,
                    "accept": list(job.accept),
                    "without": list(job.without),
                }
            )
        except OSError as error:
            raise Failed(f"the sandbox: {_sentence(error)}") from None

    def run(self, gateway: Gateway, program: Program) -> Result:
        """Run the program to its end; whatever raises kills all of it."""
        try:
            with ExitStack() as stack:
                return _Run(self, stack).run(gateway, program)
        finally:
            program.leave()

    def fork(self, fds: dict[str, int]) -> tuple[int, int]:
        """Fork into the sandbox; (0, -1) in the payload."""
        spec: dict[str, object] = {
            **fds,
            "host_uid": self.job.uid,
            "host_gid": self.job.gid,
            "orphan_seconds": _ORPHAN_SECONDS,
            "limits": self.limits,
        }
        if self.job.mapper:
            spec["mapper_fd"] = self.job.mapper
        try:
            return _sandbox.fork(spec)
        except OSError as error:
            raise Failed(f"the sandbox: {_sentence(error)}") from None


class _Run:
    """One program in the sandbox, with what the worker holds of it."""

    def __init__(self, sandbox: Sandbox, stack: ExitStack) -> None:
        self.sandbox = sandbox
        self.stack = stack
        # A link in the place of either would not be followed.
        place = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.work = os.open(sandbox.job.work, place)
        stack.callback(os.close, self.work)
        self.workspace = os.open(sandbox.workspace, place)
        stack.callback(os.close, self.workspace)
        self.leash, self.listener = self._make_leash()
        self.link, self.theirs = socket.socketpair()
        stack.enter_context(self.link)
        self.status, self.their_status = os.pipe()
        stack.callback(os.close, self.status)
        self.pidfd = -1
        self.said = b""  # by pid 1
        self.output = bytearray()

    def _make_leash(self) -> tuple[socket.socket, socket.socket]:
        """Return a connection to pid 1 to be, and its listener.

        No name remains by which another process could connect.
        """
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stack.enter_context(listener)
        leash = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.stack.enter_context(leash)
        name = f"init-{os.getpid()}"
        # A socket's path has at most 107 bytes.
        path = f"/proc/self/fd/{self.work}/{name}"
        try:
            os.unlink(name, dir_fd=self.work)
        except FileNotFoundError:
            pass
        listener.bind(path)
        try:
            listener.listen(1)
            leash.connect(path)
        finally:
            os.unlink(name, dir_fd=self.work)
        leash.sendall(b"U")
        return leash, listener

    def run(self, gateway: Gateway, program: Program) -> Result:
        """Fork, wait for the walls, hand the listener out, collect output."""
        pid, self.pidfd = self.sandbox.fork(
            {
                "workspace_fd": self.workspace,
                "link_fd": self.theirs.fileno(),
                "init_fd": self.listener.fileno(),
                "status_fd": self.their_status,
            }
        )
        if pid == 0:
            _become(self.theirs, program)
        self.stack.callback(self._kill, pid)
        self.theirs.close()
        self.listener.close()
        os.close(self.their_status)
        self._await_walls(gateway)
        self._take_listener(gateway, program)
        self._await_end(gateway, program)
        return Result(self._code(), self.output.decode("utf-8", "replace"))

    def _kill(self, pid: int) -> None:
        """End whatever is left, and wait until it has gone."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass
        os.close(self.pidfd)

    def _wait(self, gateway: Gateway, *sources: int) -> list[int]:
        """Return those that are readable, after LOOK_SECONDS at most."""
        poll = select.poll()
        for source in sources:
            poll.register(source, select.POLLIN)
        # Its end interrupts the wait, and `check` sees it.
        poll.register(gateway.fileno(), select.POLLRDHUP)
        ready = [number for number, _ in poll.poll(int(LOOK_SECONDS * 1000))]
        gateway.check()
        return ready

    def _await_walls(self, gateway: Gateway) -> None:
        while self.status not in self._wait(gateway, self.status):
            pass
        fault = os.read(self.status, _FAULT_BYTES)
        if fault:
            (text,) = struct.unpack_from("252s", fault.ljust(_FAULT_BYTES), 4)
            sentence = text.partition(b"\0")[0].decode("utf-8", "replace")
            raise Failed(f"the sandbox was not made: {sentence}")

    def _take_listener(self, gateway: Gateway, program: Program) -> None:
        while self.link.fileno() not in self._wait(gateway, self.link.fileno()):
            pass
        _, numbers, _, _ = socket.recv_fds(self.link, 1, 1)
        try:
            if not numbers:
                raise Failed("the sandbox ended before its program was started")
            program.attach(numbers[0])
        finally:
            for number in numbers:
                os.close(number)

    def _await_end(self, gateway: Gateway, program: Program) -> None:
        """Read output and pid 1's line until both have ended."""
        sources = {self.link.fileno(), self.leash.fileno()}
        while sources:
            ready = self._wait(gateway, *sources)
            program.look()
            for source in sources.intersection(ready):
                if not self._read(source):
                    sources.discard(source)

    def _read(self, source: int) -> bool:
        """Read from one of the two; return false at its end."""
        if source == self.leash.fileno():
            try:
                piece = self.leash.recv(256)
            except ConnectionResetError:
                return False
            self.said = (self.said + piece)[-1024:]
            return bool(piece)
        try:
            piece = self.link.recv(64 * 1024)
        except ConnectionResetError:
            return False
        # The end of what it says has the reason; the beginning has none.
        self.output += piece
        del self.output[: max(0, len(self.output) - OUTPUT_MAX)]
        return bool(piece)

    def _code(self) -> int:
        for line in self.said.split(b"\n"):
            words = line.split()
            if len(words) >= 2 and words[0] == b"exit":
                return int(words[1])
        return -1


def _become(link: socket.socket, program: Program) -> NoReturn:
    """Be the program, in the payload."""
    try:
        os.umask(0o022)
        listener = socket.socket()
        listener.bind(("127.0.0.1", PROXY_PORT))
        listener.listen(64)
        socket.send_fds(link, [b"x"], [listener.fileno()])
        listener.close()
        os.dup2(link.fileno(), 1)
        os.dup2(link.fileno(), 2)
        program.main()
    except BaseException as error:
        os.write(2, f"error: {error}\n".encode())
    finally:
        os._exit(127)


def _sentence(error: OSError) -> str:
    text: Optional[str] = error.strerror
    return clean(text or str(error))
