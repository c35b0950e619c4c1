"""Cells: runs the code of an EXECUTE on IPython's shell, up to its reply.

One at a time. A cell that awaits is a task of the kernel's loop, beside which
the kernel serves comm messages; every other has ended when execute() returns.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal's own makes enums
import asyncio
import contextlib
import contextvars
import resource
import signal
import sys
from collections.abc import Coroutine
from datetime import datetime, timezone
from time import perf_counter_ns, time_ns
from typing import Any, Callable, Optional

from hearth_kernel import _link
from hearth_kernel.errors import limits
from hearth_kernel.execution import children
from hearth_kernel.execution.interrupts import Interrupts
from hearth_kernel.execution.state import Content, State
from hearth_kernel.execution.tidying import Tidying
from hearth_kernel.messaging import outlet
from hearth_kernel.packages import added
from hearth_kernel.shell import compact, exits, policy
from hearth_kernel.shell.interactive import describe_error

Rest = Coroutine[Any, Any, Any]

_SIGINT = int(signal.SIGINT)


def _iso_now() -> str:
    now = datetime.now(timezone.utc)
    return now.isoformat(timespec="microseconds")[:-6] + "Z"


def _cpu_of(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


class Cells:
    """Runs a kernel's cells; knows of the one that runs and of the last."""

    def __init__(
        self,
        state: State,
        interrupts: Interrupts,
        tidying: Tidying,
        wake: Callable[[], None],
    ) -> None:
        """`wake` is called after a cell that awaited: requests may wait."""
        self.state = state
        self.shell = state.shell
        self.interrupts = interrupts
        self.interrupts.awaiting = self.finish.__code__
        self.tidying = tidying
        self.wake = wake
        self.allow_stdin = False
        self.allow_secrets = True  # whether getpass() may ask
        self.left_over: Optional[contextvars.Context] = None  # of a task
        self.content: Content = {}
        self.result: Any = None  # IPython's
        self.stray: Optional[BaseException] = None  # passed IPython by
        self.started = ""
        self.cpu = self.cpu_of_children = 0.0  # seconds, before the cell
        self.began_ns = 0  # no time of day

    def start(self, content: Content) -> Optional[Coroutine[Any, Any, Any]]:
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
        """Run the hooks after a cell, which show its figures."""
        self.result = result
        self.shell.events.trigger("post_execute")
        if not silent:
            self.shell.events.trigger("post_run_cell", result)

    def begin(self, content: Content) -> None:
        shell = self.shell
        self.started = _iso_now()
        self.cpu = _cpu_of(resource.getrusage(resource.RUSAGE_SELF))
        self.began_ns = perf_counter_ns()
        self.content = content
        self.result = None
        self.state.last = self.state.request
        self.allow_stdin = bool(content.get("allow_stdin", False))
        own = self.state.metadata.get("hearth")
        self.allow_secrets = not isinstance(own, dict) or (
            own.get("secrets") is not False
        )
        shell.shown = shell.display_fault = None
        limits.forget()
        # No interrupt can come yet: it is the session's code that raises it.
        with contextlib.suppress(KeyboardInterrupt):
            added.look()
        compact.enable(shell, compact.is_wanted(self.state.metadata))
        shell.is_cancelled = False
        shell.is_executing = True
        # User code may have put its own handler there, or IPython's magics.
        if _signal.getsignal(_SIGINT) is not self.interrupts.handler:
            _signal.signal(_SIGINT, self.interrupts.handler)

    def execute(self, content: Content) -> None:
        """Serve EXECUTE up to its reply, or leave a task that will."""
        self.begin(content)
        rest = None
        try:
            self.interrupts.are_open = True
            if not self.interrupts.is_rehearsing:
                added.enter()
            rest = self.start(content)
            self.interrupts.are_open = rest is not None
        except BaseException as error:
            self.interrupts.are_open = False
            self.on_stray(error)
        if rest is None:
            self.end()
        else:
            self.state.task = self.state.loop.create_task(self.finish(rest))
            self.state.task.add_done_callback(self.on_task_done)
            outlet.emit(_link.AWAITING, {}, request=self.state.request)

    async def finish(self, rest: Rest) -> None:
        """Run a cell with top-level await."""
        try:
            result = await rest
            self.end_code(result, bool(self.content.get("silent", False)))
        finally:
            self.left_over = contextvars.copy_context()

    def on_task_done(self, task: asyncio.Task[Any]) -> None:
        self.interrupts.are_open = False
        self.state.task = None
        self.keep_variables()
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            error = KeyboardInterrupt()
        if error is not None:
            self.on_stray(error)
        self.end()
        self.state.request = 0
        self.wake()

    def keep_variables(self) -> None:
        """A task has context variables of its own; a cell's are for all."""
        for variable, value in (self.left_over or {}).items():
            if self.state.context.get(variable, self) is not value:
                self.state.context.run(variable.set, value)
        self.left_over = None

    def on_stray(self, error: BaseException) -> None:
        """An exception, mostly an interrupt, that passed IPython by."""
        self.shell.showtraceback((type(error), error, error.__traceback__))
        self.stray = error

    def error(self) -> Optional[BaseException]:
        """Return what has ended the cell's code early, None without one."""
        result, error = self.result, self.stray
        if result is not None and error is None:
            error = result.error_before_exec or result.error_in_exec
        return error

    def fault(self) -> Optional[Content]:
        """Return the error of the cell, None without one."""
        shell, error = self.shell, self.error()
        if error is None or type(error) is exits.Exited:
            return shell.display_fault
        if shell.shown is not None:
            return shell.shown
        name, value = describe_error(type(error), error)
        return {"ename": name, "evalue": value, "traceback": []}

    def end(self) -> None:
        """Reply."""
        shell = self.shell
        if _link.is_child():
            children.end(self.error())
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
        reached = limits.take()
        if reached:
            figures["limits"] = reached
        metadata = {
            "started": self.started,
            "next_count": shell.execution_count,
            "hearth": figures,
        }
        self.state.reply(reply, metadata)

    def usage(self) -> Content:
        """Return the cost of the cell and of the programs that ended since the
        last one."""
        mine = resource.getrusage(resource.RUSAGE_SELF)
        theirs = _cpu_of(resource.getrusage(resource.RUSAGE_CHILDREN))
        seconds = _cpu_of(mine) - self.cpu + theirs - self.cpu_of_children
        self.cpu_of_children = theirs
        self.tidying.note(mine)
        return {"cpu_us": int(seconds * 1e6), "rss_kib": mine.ru_maxrss}

    def difference(self) -> Content:
        """Return the changes of variables and files, if there are any."""
        took_ns = perf_counter_ns() - self.began_ns
        found = {
            "namespace": self.state.namespace.difference(self.shell.user_ns),
            "files": self.state.workspace.difference(
                time_ns() - took_ns, took_ns
            ),
        }
        return {key: value for key, value in found.items() if value}

    def evaluate(self) -> Content:
        """Evaluate the user expressions of the request."""
        expressions = self.content.get("user_expressions")
        if not expressions or not isinstance(expressions, dict):
            return {}
        self.interrupts.are_open = True
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
            self.interrupts.are_open = False
        return found
