"""A kernel: serves the requests of one session, one after the other.

The thread of the link (_link) receives, sends and remembers. This loop is
woken by a descriptor, takes a request, runs it on IPython's shell and ends it
by exactly one REPLY. User code shares the interpreter with it and may break
anything: whatever happens, a request is answered or the process ends.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own makes enums
import asyncio
import atexit
import builtins
import getpass
import json
import os
import signal
import sys
import traceback
import warnings
from typing import Any, Callable, Optional

from hearth_kernel import _link
from hearth_kernel.errors import limits, questions
from hearth_kernel.execution import rehearsal
from hearth_kernel.execution.cells import Cells
from hearth_kernel.execution.interrupts import Interrupts
from hearth_kernel.execution.state import Content, State
from hearth_kernel.execution.tidying import Tidying
from hearth_kernel.messaging import comms, outlet, streams
from hearth_kernel.packages import added, preinstalled
from hearth_kernel.shell import debugging, introspection
from hearth_kernel.shell.interactive import ZMQInteractiveShell, describe_error
from hearth_kernel.tools import host

Handler = Callable[[Any, Content], Content]

_decode = json.JSONDecoder().decode  # loads() guesses the encoding first
_SIGINT = int(signal.SIGINT)
_SIGPIPE = int(signal.SIGPIPE)
_SENT_SECONDS = 2  # how long the last reply may take to leave

# Seconds after READY: a client in a hurry has sent a request by then.
_LATER = 0.02

_ANSWERS: dict[int, Handler] = {
    _link.COMPLETE: introspection.complete,
    _link.INSPECT: introspection.inspect,
    _link.IS_COMPLETE: introspection.is_complete,
    _link.HISTORY: introspection.history,
}


class Kernel(State):
    """The loop: takes requests, and has its parts serve them."""

    def __init__(self, shell: ZMQInteractiveShell) -> None:
        super().__init__(shell)
        self.comm_manager = comms.manager
        self.requests_fd = -1
        self.interrupts = Interrupts(self)
        self.tidying = Tidying(self, self.interrupts)
        self.cells = Cells(self, self.interrupts, self.tidying, self.wake)
        self.is_ending = False

    # Members that libraries expect of a kernel

    def get_parent(self, channel: Optional[str] = None) -> Content:
        """The request that the running code belongs to."""
        return self.parents.get()

    # Input

    def ask(self, prompt: object, password: bool) -> str:
        """Ask the client that sent the running cell for a line."""
        request = _link.cause()
        is_in_cell = request == self.request and not _link.is_child()
        may_ask = self.cells.allow_secrets or not password
        if not (self.cells.allow_stdin and is_in_cell and may_ask):
            raise questions.refusal(
                is_in_cell, password, self.cells.allow_secrets
            )
        _link.input_clear()
        outlet.emit(
            _link.INPUT_REQUEST,
            {"prompt": str(prompt), "password": password},
            request=request,
        )
        value = str(json.loads(_link.input_wait(request)).get("value", ""))
        if value == "\x04":
            raise EOFError("the input has ended")
        return value

    def input(self, prompt: object = "", /) -> str:
        """Stand in for builtins.input."""
        return self.ask(prompt, password=False)

    def getpass(self, prompt: str = "Password: ", stream: Any = None) -> str:
        """Stand in for getpass.getpass."""
        return self.ask(prompt, password=True)

    # Requests

    def answer(
        self,
        kind: int,
        request: int,
        content: Content,
        metadata: Content,
        buffers: list[bytes],
    ) -> None:
        """Serve a request that runs no cell."""
        self.interrupts.are_open = True
        try:
            if kind in _ANSWERS:
                reply = _ANSWERS[kind](self.shell, content)
            elif kind == _link.COMM_INFO:
                found = comms.describe(content.get("target_name"))
                reply = {"status": "ok", "comms": found}
            else:
                comms.serve(kind, content, metadata, buffers)
                reply = {}
            self.interrupts.are_open = False
        except BaseException as error:
            self.interrupts.are_open = False
            name, value = describe_error(type(error), error)
            lines = traceback.format_exception(
                type(error), error, error.__traceback__
            )
            reply = {
                "status": "error",
                "ename": name,
                "evalue": value,
                "traceback": lines,
            }
        self.reply(reply, request=request)

    def shut_down(self, content: Content) -> None:
        """End in order: exit handlers, the reply, the process."""
        try:
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
        self.reply({"status": "ok", "restart": bool(content.get("restart"))})
        self.is_ending = True
        self.loop.stop()

    def serve(
        self,
        kind: int,
        request: int,
        content: bytes,
        metadata: bytes,
        buffers: list[bytes],
    ) -> None:
        """Serve one request."""
        self.request = request
        self.interrupts.count = 0
        outlet.cause.set(request)
        fields: Content = _decode(content.decode()) if content else {}
        self.metadata = _decode(metadata.decode()) if metadata else {}
        self.parents.note(request, self.metadata)
        if kind == _link.EXECUTE:
            _link.attribute(request)
            self.cells.execute(fields)
        elif kind == _link.SHUTDOWN:
            self.shut_down(fields)
        elif kind in (_link.COMM_OPEN_IN, _link.COMM_MSG_IN):
            _link.attribute(request)
            self.answer(kind, request, fields, self.metadata, buffers)
            _link.attribute(self.last)
        else:
            self.answer(kind, request, fields, self.metadata, buffers)
        if self.task is None:
            self.request = 0

    def serve_beside(
        self,
        kind: int,
        request: int,
        content: bytes,
        metadata: bytes,
        buffers: list[bytes],
    ) -> None:
        """Serve a comm message while the cell awaits: it may wait for it."""
        outlet.cause.set(request)
        fields: Content = _decode(content.decode())
        extra: Content = _decode(metadata.decode()) if metadata else {}
        self.parents.note(request, extra)
        _link.attribute(request)
        self.interrupts.are_beside = True
        try:
            self.answer(kind, request, fields, extra, buffers)
        finally:
            self.interrupts.are_beside = False
            self.interrupts.are_open = self.task is not None
            _link.attribute(self.last)

    # The loop

    def wake(self) -> None:
        """Take what waits soon, after what else waits in the loop."""
        if _link.has_next():
            self.loop.call_soon(self.take)

    def on_requests(self) -> None:
        """Read what came."""
        _link.poll()
        self.take()

    def take(self) -> None:
        """Take a request; of those that come while a cell awaits, a comm
        message."""
        if self.is_ending or (self.request and self.task is None):
            return
        is_beside = bool(self.request)
        item = _link.next_comm() if is_beside else _link.next()
        if item is None:
            return
        if item[0] == _link.REHEARSE:
            self.on_rehearse()
            return
        if item[0] == _link.LOOK:
            self.on_look(item[2])
            return
        try:
            if is_beside:
                self.context.copy().run(self.serve_beside, *item)
            else:
                self.context.run(self.serve, *item)
        except BaseException:
            # Not even a reply could be made: better no kernel than a mute one.
            traceback.print_exc()
            _link.flush()
            os.abort()
        if is_beside or self.task is None:
            self.wake()

    def check_loop(self) -> None:
        """End the process when user code took the loop's descriptors away."""
        try:
            os.fstat(self.requests_fd)
            self.loop._selector.select(0)  # type: ignore[attr-defined]
        except (OSError, ValueError):
            os.abort()

    def run(self) -> None:
        """Serve until the session ends."""
        while not self.is_ending:
            try:
                self.loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                continue
            except BaseException:
                traceback.print_exc()
                self.check_loop()
        _link.await_sent(_SENT_SECONDS)

    def rehearse(self, code: str) -> None:
        """Run an invisible cell, unless the session has its first one."""
        if self.request or self.last or self.is_ending:
            return
        self.interrupts.is_rehearsing = True
        try:
            rehearsal.rehearse(self, code)
        finally:
            self.interrupts.is_rehearsing = False

    def on_rehearse(self) -> None:
        """Rehearse once more, while a client connects."""
        try:
            if not _link.has_next():
                self.rehearse(rehearsal.imports())
        finally:
            self.wake()

    def on_look(self, content: bytes) -> None:
        """Say which packages are imported in another version."""
        asked: Content = _decode(content.decode())
        try:
            found = added.find_old(asked["names"])
        except BaseException:  # of the session's own code
            found = None
        try:
            outlet.emit(
                _link.LOOKED,
                {"look": asked["look"], "imported": found},
                request=0,
            )
        finally:
            self.wake()

    def rehearse_in_zygote(self, times: int = rehearsal.TIMES) -> None:
        """Rehearse in the zygote what its kernels will do."""
        self.interrupts.is_rehearsing = True
        try:
            rehearsal.rehearse_in_zygote(self, times)
        finally:
            self.interrupts.is_rehearsing = False

    def prepare(self) -> None:
        """Do what needs no link: a zygote does it once for all its kernels.

        After the fork each page that is written to is copied; work that is
        done here writes to none.
        """
        # The session's own modules, and none of ours by accident.
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.path = ["", *(path for path in sys.path if path != package)]
        self.streams = streams.stdout(), streams.stderr()
        self.ready = outlet.pack(introspection.info(self.shell.banner))
        streams.flush_at_exit()
        debugging.install()
        host.install()
        self.interrupts.install()
        builtins.input = self.input
        getpass.getpass = self.getpass
        # The link's thread never holds a lock of Python's.
        warnings.filterwarnings("ignore", message=".*use of fork.*")
        self.shell.kernel = self
        self.namespace.begin(self.shell.user_ns)

    def start(
        self,
        listener: int,
        retain: int,
        before_ready: Optional[Callable[[], None]],
    ) -> None:
        """Take over the process: streams, input, signals, the loop."""
        self.requests_fd = outlet.start(listener, retain)
        sys.path[:] = self.path
        preinstalled.add_place()
        added.add_place()
        sys.stdout, sys.stderr = self.streams  # type: ignore[assignment]
        sys.__stdout__, sys.__stderr__ = self.streams  # type: ignore
        _signal.signal(_SIGINT, self.interrupts.handler)
        _signal.signal(_SIGPIPE, _signal.SIG_IGN)
        self.workspace.begin(os.getcwd())
        limits.begin()
        self.tidying.start()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(self.requests_fd, self.on_requests)
        _link.join(self.loop._selector.fileno())  # type: ignore[attr-defined]
        if before_ready is not None:
            before_ready()
        _link.emit(_link.READY, 0, self.ready, b'{"next_count":1}')
        self.wake()
        # While the gateway looks at the sandbox and a client connects.
        self.loop.call_soon(self.rehearse, rehearsal.imports())
        self.loop.call_later(_LATER, self.rehearse, rehearsal.CELL)


_prepared: Optional[Kernel] = None


def prepare(shell: ZMQInteractiveShell) -> Kernel:
    """Make the kernel that main() starts, in this process or a fork of it."""
    global _prepared
    kernel = Kernel(shell)
    kernel.prepare()
    _prepared = kernel
    return kernel


def main(
    listener: int,
    retain: int,
    before_ready: Optional[Callable[[], None]] = None,
    when_begun: Optional[Callable[[], None]] = None,
) -> None:
    """Serve the session whose gateway connects to this listening socket.

    After prepare(). After `before_ready` there may be foreign code. From
    `when_begun` on, all errors reach the gateway by the link; no code of the
    session runs before.
    """
    kernel = _prepared
    if kernel is None:
        raise RuntimeError("no kernel was prepared")
    kernel.start(listener, retain, before_ready)
    if when_begun is not None:
        when_begun()
    kernel.run()
    _link.flush()
    os._exit(0)
