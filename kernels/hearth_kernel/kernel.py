"""A kernel: serves the requests of one session, one after the other.

The thread of the link (_link) receives, sends and remembers; this loop is
woken by a descriptor, takes a request, runs it on IPython's shell and ends it
by exactly one REPLY. User code shares the interpreter with it and may break
anything: whatever happens, a request is answered or the process ends.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own makes enums
import asyncio
import atexit
import builtins
import contextvars
import getpass
import json
import os
import platform
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from time import perf_counter_ns, time_ns
from types import CodeType, FrameType
from typing import Any, Callable, Optional

from IPython.core.error import StdinNotImplementedError

from hearth_kernel import (
    __version__,
    _link,
    comms,
    debugging,
    introspection,
    outlet,
    policy,
    rehearsal,
    streams,
)
from hearth_kernel.namespace import Namespace
from hearth_kernel.parents import Parents
from hearth_kernel.shell import ZMQInteractiveShell, describe_error
from hearth_kernel.workspace import Workspace

Content = dict[str, Any]
Rest = Coroutine[Any, Any, Any]
Handler = Callable[[Any, Content], Content]

_decode = json.JSONDecoder().decode  # loads() guesses the encoding first
_SIGINT = int(signal.SIGINT)
_SIGPIPE = int(signal.SIGPIPE)
_NO_LOOP: Any = None
_SENT_SECONDS = 2.0  # how long the last reply may take to leave

# Seconds behind READY: who is in haste has asked for something by then.
_LATER = 0.02

_ANSWERS: dict[int, Handler] = {
    _link.COMPLETE: introspection.complete,
    _link.INSPECT: introspection.inspect,
    _link.IS_COMPLETE: introspection.is_complete,
    _link.HISTORY: introspection.history,
}


def _iso_now() -> str:
    now = datetime.now(timezone.utc)
    return now.isoformat(timespec="microseconds")[:-6] + "Z"


def _cpu_of(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def info(banner: str) -> Content:
    """The content of a kernel_info_reply."""
    version = platform.python_version()
    return {
        "status": "ok",
        "protocol_version": "5.5",
        "implementation": "hearth",
        "implementation_version": __version__,
        "language_info": {
            "name": "python",
            "version": version,
            "mimetype": "text/x-python",
            "codemirror_mode": {
                "name": "ipython",
                "version": sys.version_info[0],
            },
            "pygments_lexer": "ipython3",
            "nbconvert_exporter": "python",
            "file_extension": ".py",
        },
        "banner": banner,
        "help_links": [
            {
                "text": "Python Reference",
                "url": f"https://docs.python.org/{version.rpartition('.')[0]}",
            },
            {
                "text": "IPython Reference",
                "url": "https://ipython.org/documentation.html",
            },
        ],
        "supported_features": [],
    }


def _is_below(frame: Optional[FrameType], code: CodeType) -> bool:
    """Whether that code has called what runs."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _wake() -> None:
    """What a loop that sleeps is woken for."""


class Kernel:
    """The loop and what it knows of the request that it serves."""

    def __init__(self, shell: ZMQInteractiveShell) -> None:
        self.shell = shell
        self.comm_manager = comms.manager
        self.loop: asyncio.AbstractEventLoop = _NO_LOOP
        self.context = contextvars.copy_context()
        self.left_over: Optional[contextvars.Context] = None  # of a task
        self.requests_fd = -1
        self.request = 0  # the one that is served, or 0
        self.last_cell = 0  # the most recent EXECUTE
        self.metadata: Content = {}  # of the last request
        self.parents = Parents()
        self.allow_stdin = False
        self.is_interruptible = False  # user code runs
        self.interrupts = 0  # of the request that is served
        # No frame of ours is in a traceback that an agent reads.
        self.on_sigint = _link.interrupter(self.is_to_raise)
        self.is_rehearsing = False  # nobody's code runs
        self.task: Optional[asyncio.Task[Any]] = None  # a cell that awaits
        self.content: Content = {}  # of the running cell
        self.result: Any = None  # IPython's, of the running cell
        self.stray: Optional[BaseException] = None  # passed IPython by
        self.started = ""
        self.cpu = self.cpu_of_children = 0.0  # seconds, before the cell
        self.began_ns = 0  # the cell; no time of day
        self.namespace = Namespace()
        self.workspace = Workspace()
        self.is_ending = False

    # What libraries ask a kernel for

    def get_parent(self, channel: Optional[str] = None) -> Content:
        """The request that the running code belongs to."""
        return self.parents.get()

    # Input

    def ask(self, prompt: object, password: bool) -> str:
        """Ask the client that sent the running cell for a line."""
        request = _link.cause()
        if not self.allow_stdin or request != self.request or _link.is_child():
            raise StdinNotImplementedError(
                "input() was called, but this request does not allow input."
            )
        _link.input_clear()
        outlet.emit(
            _link.INPUT_REQUEST,
            {"prompt": str(prompt), "password": password},
            request=request,
        )
        value = str(json.loads(_link.input_wait(request)).get("value", ""))
        if value == "\x04":
            raise EOFError
        return value

    def input(self, prompt: object = "", /) -> str:
        """Stand in for builtins.input."""
        return self.ask(prompt, password=False)

    def getpass(self, prompt: str = "Password: ", stream: Any = None) -> str:
        """Stand in for getpass.getpass."""
        return self.ask(prompt, password=True)

    # Interrupts

    def is_to_raise(self, _: int, frame: Optional[FrameType]) -> bool:
        """Whether SIGINT is a KeyboardInterrupt where the code is now.

        Between cells there is nothing to interrupt.
        """
        if not self.is_interruptible or self.is_rehearsing:
            return False
        self.interrupts += 1
        if self.task is None:
            return True
        # The cell's own code is stopped where it is; a cell that waits is
        # cancelled, and so is one whose thread another task has, or asyncio
        # itself: what is raised while it sets the task aside loses the task.
        if asyncio.current_task(self.loop) is self.task and _is_below(
            frame, self.finish_cell.__code__
        ):
            return True
        self.shell.is_cancelled = True
        # At once: its next step may be due already, and take long.
        self.task.cancel()
        self.loop.call_soon_threadsafe(_wake)
        return False

    @contextmanager
    def yielding(self) -> Iterator[None]:
        """Let nothing disturb the traceback of a cell that was interrupted.

        Another interrupt would take its place, and the gateway sends one when
        the reply does not come soon: it is told.
        """
        was_interruptible = self.is_interruptible
        try:
            if self.interrupts and self.request:
                self.is_interruptible = False
                outlet.emit(_link.YIELDED, {}, request=self.request)
            yield
        finally:
            self.is_interruptible = was_interruptible

    # Cells

    def start_cell(
        self, content: Content
    ) -> Optional[Coroutine[Any, Any, Any]]:
        """Run the cell, or return what is left of it when it awaits."""
        shell = self.shell
        code = str(content["code"])
        silent = bool(content.get("silent", False))
        store = not silent and bool(content.get("store_history", True))
        shell.is_storing = store
        failure = None
        try:
            cell = shell.transform_cell(code)
            if policy.current is not None:
                policy.current.check(cell, shell.user_ns, shell.transform_cell)
        except Exception:
            cell, failure = code, sys.exc_info()
        coroutine: Rest = shell.run_cell_async(
            code,
            store_history=store,
            silent=silent,
            transformed_cell=cell,
            preprocessing_exc_tuple=failure,
        )
        if (
            failure is None
            and ("await" in cell or "async" in cell)
            and shell.should_run_async(code, transformed_cell=cell)
        ):
            return coroutine
        try:
            coroutine.send(None)
        except StopIteration as stop:
            self.end_code(stop.value, silent)
        return None

    def end_code(self, result: Any, silent: bool) -> None:
        """Run the hooks behind a cell, which show its figures."""
        self.result = result
        self.shell.events.trigger("post_execute")
        if not silent:
            self.shell.events.trigger("post_run_cell", result)

    def begin_cell(self, content: Content) -> None:
        shell = self.shell
        self.started = _iso_now()
        self.cpu = _cpu_of(resource.getrusage(resource.RUSAGE_SELF))
        self.began_ns = perf_counter_ns()
        self.content = content
        self.result = None
        self.last_cell = self.request
        self.allow_stdin = bool(content.get("allow_stdin", False))
        shell.shown = shell.display_fault = None
        shell.is_cancelled = False
        shell.is_executing = True
        # User code may have put its own handler there, or IPython's magics.
        if _signal.getsignal(_SIGINT) is not self.on_sigint:
            signal.signal(signal.SIGINT, self.on_sigint)

    def execute(self, content: Content) -> None:
        """Serve EXECUTE up to its reply, or leave a task that will."""
        self.begin_cell(content)
        rest = None
        try:
            self.is_interruptible = True
            rest = self.start_cell(content)
            self.is_interruptible = rest is not None
        except BaseException as error:
            self.is_interruptible = False
            self.on_stray(error)
        if rest is None:
            self.end_cell()
        else:
            self.task = self.loop.create_task(self.finish_cell(rest))
            self.task.add_done_callback(self.on_task_done)

    async def finish_cell(self, rest: Rest) -> None:
        """Run a cell with top-level await."""
        try:
            result = await rest
            self.end_code(result, bool(self.content.get("silent", False)))
        finally:
            self.left_over = contextvars.copy_context()

    def on_task_done(self, task: asyncio.Task[Any]) -> None:
        self.is_interruptible = False
        self.task = None
        self.keep_variables()
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            error = KeyboardInterrupt()
        if error is not None:
            self.on_stray(error)
        self.end_cell()
        self.request = 0
        self.wake()

    def keep_variables(self) -> None:
        """A task has context variables of its own; a cell's are for all."""
        for variable, value in (self.left_over or {}).items():
            if self.context.get(variable, self) is not value:
                self.context.run(variable.set, value)
        self.left_over = None

    def on_stray(self, error: BaseException) -> None:
        """An exception, mostly an interrupt, that passed IPython by."""
        self.shell.showtraceback((type(error), error, error.__traceback__))
        self.stray = error

    def fault(self) -> Optional[Content]:
        """What went wrong in the cell, if anything."""
        result, shell = self.result, self.shell
        error = self.stray
        if result is not None and error is None:
            error = result.error_before_exec or result.error_in_exec
        if error is None:
            return shell.display_fault
        if shell.shown is not None:
            return shell.shown
        name, value = describe_error(type(error), error)
        return {"ename": name, "evalue": value, "traceback": []}

    def end_cell(self) -> None:
        """Reply."""
        shell = self.shell
        shell.is_executing = False
        fault = self.fault()
        self.stray = None
        reply: Content = {"status": "error" if fault else "ok"}
        if fault:
            reply.update(fault, user_expressions={})
        else:
            reply["user_expressions"] = self.evaluate()
        reply["payload"] = shell.payload_manager.read_payload()
        if reply["payload"]:
            shell.payload_manager.clear_payload()
        reply["execution_count"] = shell.execution_count - 1
        figures = self.usage()
        if not self.content.get("silent", False):
            figures.update(self.difference())
        metadata = {
            "started": self.started,
            "next_count": shell.execution_count,
            "hearth": figures,
        }
        self.reply(reply, metadata)

    def usage(self) -> Content:
        """What the cell took, and what programs took that ended since the
        last one."""
        mine = resource.getrusage(resource.RUSAGE_SELF)
        theirs = _cpu_of(resource.getrusage(resource.RUSAGE_CHILDREN))
        seconds = _cpu_of(mine) - self.cpu + theirs - self.cpu_of_children
        self.cpu_of_children = theirs
        return {"cpu_us": int(seconds * 1e6), "rss_kib": mine.ru_maxrss}

    def difference(self) -> Content:
        """What the cell did to variables and files, where it did anything."""
        took_ns = perf_counter_ns() - self.began_ns
        found = {
            "namespace": self.namespace.difference(self.shell.user_ns),
            "files": self.workspace.difference(time_ns() - took_ns, took_ns),
        }
        return {key: value for key, value in found.items() if value}

    def evaluate(self) -> Content:
        """Evaluate the user expressions of the request."""
        expressions = self.content.get("user_expressions")
        if not expressions or not isinstance(expressions, dict):
            return {}
        self.is_interruptible = True
        try:
            if policy.current is not None:
                for expression in expressions.values():
                    policy.current.check(
                        str(expression),
                        self.shell.user_ns,
                        self.shell.transform_cell,
                    )
            found: Content = self.shell.user_expressions(expressions)
        except BaseException as error:
            name, value = describe_error(type(error), error)
            fault = {"ename": name, "evalue": value, "traceback": []}
            found = {key: {"status": "error", **fault} for key in expressions}
        finally:
            self.is_interruptible = False
        return found

    # Requests

    def reply(
        self, content: Content, metadata: Optional[Content] = None
    ) -> None:
        """End the request."""
        try:
            outlet.emit(_link.REPLY, content, metadata, request=self.request)
        except (TypeError, ValueError) as error:
            # Only what user code put there can be unfit: payloads, values.
            name, value = describe_error(type(error), error)
            outlet.emit(
                _link.REPLY,
                {
                    "status": "error",
                    "ename": name,
                    "evalue": value,
                    "traceback": [f"{name}: {value}"],
                    "execution_count": self.shell.execution_count - 1,
                },
                metadata,
                request=self.request,
            )

    def answer(self, kind: int, content: Content, buffers: list[bytes]) -> None:
        """Serve a request that runs no cell."""
        self.is_interruptible = True
        try:
            if kind in _ANSWERS:
                reply = _ANSWERS[kind](self.shell, content)
            elif kind == _link.COMM_INFO:
                found = comms.describe(content.get("target_name"))
                reply = {"status": "ok", "comms": found}
            else:
                comms.serve(kind, content, self.metadata, buffers)
                reply = {}
            self.is_interruptible = False
        except BaseException as error:
            self.is_interruptible = False
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
        self.reply(reply)

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
        self.interrupts = 0
        outlet.cause.set(request)
        fields: Content = _decode(content.decode()) if content else {}
        self.metadata = _decode(metadata.decode()) if metadata else {}
        self.parents.note(request, self.metadata)
        if kind == _link.EXECUTE:
            _link.attribute(request)
            self.execute(fields)
        elif kind == _link.SHUTDOWN:
            self.shut_down(fields)
        elif kind in (_link.COMM_OPEN_IN, _link.COMM_MSG_IN):
            _link.attribute(request)
            self.answer(kind, fields, buffers)
            _link.attribute(self.last_cell)
        else:
            self.answer(kind, fields, buffers)
        if self.task is None:
            self.request = 0

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
        """Take a request, unless one is being served."""
        if self.request or self.is_ending:
            return
        item = _link.next()
        if item is None:
            return
        try:
            self.context.run(self.serve, *item)
        except BaseException:
            # Not even a reply could be made: better no kernel than a mute one.
            traceback.print_exc()
            _link.flush()
            os.abort()
        if self.task is None:
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
        deadline = time.monotonic() + _SENT_SECONDS
        while not _link.is_sent() and time.monotonic() < deadline:
            time.sleep(0.002)

    def rehearse(self, code: str) -> None:
        """Run a cell that nobody sees, unless the session has its first."""
        if self.request or self.last_cell or self.is_ending:
            return
        self.is_rehearsing = True
        try:
            rehearsal.rehearse(self, code)
        finally:
            self.is_rehearsing = False

    def practise(self) -> None:
        """Rehearse in the zygote what its kernels will do."""
        self.is_rehearsing = True
        try:
            rehearsal.practise(self)
        finally:
            self.is_rehearsing = False

    def prepare(self) -> None:
        """Do what needs no link: a zygote does it once for all its kernels.

        What is done here is not done after the fork, where each page that is
        written to is copied.
        """
        # The session's own modules, and none of ours by accident.
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.path = ["", *(path for path in sys.path if path != package)]
        self.streams = streams.stdout(), streams.stderr()
        self.ready = outlet.pack(info(self.shell.banner))
        streams.flush_at_exit()
        debugging.install()
        builtins.input = self.input
        getpass.getpass = self.getpass
        # The link's thread never holds a lock of Python's.
        warnings.filterwarnings("ignore", message=".*use of fork.*")
        self.shell.kernel = self
        self.namespace.begin(self.shell.user_ns)

    def start(self, listener: int, retain: int) -> None:
        """Take over the process: streams, input, signals, the loop."""
        self.requests_fd = outlet.start(listener, retain)
        sys.path[:] = self.path
        sys.stdout, sys.stderr = self.streams  # type: ignore[assignment]
        sys.__stdout__, sys.__stderr__ = self.streams  # type: ignore
        _signal.signal(_SIGINT, self.on_sigint)
        _signal.signal(_SIGPIPE, _signal.SIG_IGN)
        self.workspace.begin(os.getcwd())
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.add_reader(self.requests_fd, self.on_requests)
        _link.join(self.loop._selector.fileno())  # type: ignore[attr-defined]
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
    when_begun: Optional[Callable[[], None]] = None,
) -> None:
    """Serve the session whose gateway comes to this listening socket.

    After prepare(). From `when_begun` on the gateway hears of everything by
    the link; no code of the session's runs before.
    """
    kernel = _prepared
    if kernel is None:
        raise RuntimeError("no kernel was prepared")
    kernel.start(listener, retain)
    if when_begun is not None:
        when_begun()
    kernel.run()
    _link.flush()
    os._exit(0)
