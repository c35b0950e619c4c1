"""Host tools: functions of the agent's process that code in a cell calls.

`from hearth import tools`. A call is an event of the link (CALL), and its
answer comes beside the requests (CALLED), so that many can be under way. The
names, descriptions and schemas are those that the gateway has sent (TOOLS);
results are JSON values, which are neither evaluated nor unpickled.
"""

from __future__ import annotations

import asyncio
import json
import keyword
import sys
import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import Future
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Optional

from hearth_kernel import _link, outlet
from hearth_kernel.toolstubs import Binder, document

Tool = Callable[..., Any]
Content = dict[str, Any]

MODULE = "hearth"


class ToolError(RuntimeError):
    """A host tool did not give a result; `reason` says in a word why."""

    def __init__(self, text: str, tool: str, reason: str) -> None:
        super().__init__(text)
        self.tool = tool
        self.reason = reason


# Past the time in which the gateway answers each call, in seconds: an answer
# that has not come by then never will.
_GRACE = 30.0


# ---- calls ----


class _Calls:
    """The calls that wait for their answers, and the thread that takes them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: dict[int, Future[bytes]] = {}
        self.count = 0
        self.seconds = 60.0  # in which the gateway answers
        self.thread: Optional[threading.Thread] = None

    def take_answers(self) -> None:
        while (answer := _link.answer_wait()) is not None:
            number, content = answer
            with self.lock:
                future = self.waiting.pop(number, None)
            if future is not None:
                future.set_result(content)

    def begin(self, name: str, arguments: Content) -> tuple[int, Future[bytes]]:
        if _link.is_child():
            raise ToolError(
                f"{name}: a forked process cannot call host tools; call them "
                "in the kernel's own process, from any thread",
                name,
                "child",
            )
        future: Future[bytes] = Future()
        future.set_running_or_notify_cancel()
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self.take_answers, name="hearth-tools", daemon=True
                )
                self.thread.start()
            self.count += 1
            number = self.count
            self.waiting[number] = future
        try:
            outlet.emit(
                _link.CALL,
                {"call": number, "name": name, "arguments": arguments},
            )
        except (TypeError, ValueError):  # it was not sent
            self.waiting.pop(number, None)
            raise
        except BaseException:
            self.drop(number)
            raise
        return number, future

    def drop(self, number: int) -> None:
        """Say that no code waits for the answer any more."""
        with self.lock:
            is_waiting = self.waiting.pop(number, None) is not None
        if is_waiting:
            outlet.emit(_link.UNCALL, {"call": number})


_calls = _Calls()


def _value(name: str, answer: bytes) -> Any:
    content = json.loads(answer)
    error = content.get("error")
    if error is None:
        return content.get("result")
    raise ToolError(f"{name}: {error['text']}", name, error["reason"])


def _lose(name: str, number: int) -> ToolError:
    _calls.drop(number)
    return ToolError(f"{name}: its answer was lost", name, "lost")


def _wait(name: str, arguments: Content) -> Any:
    number, future = _calls.begin(name, arguments)
    try:
        answer = future.result(_calls.seconds + _GRACE)
    except futures.TimeoutError:
        raise _lose(name, number) from None
    except BaseException:
        _calls.drop(number)
        raise
    return _value(name, answer)


async def _await(name: str, arguments: Content) -> Any:
    number, future = _calls.begin(name, arguments)
    try:
        answer = await asyncio.wait_for(
            asyncio.wrap_future(future), _calls.seconds + _GRACE
        )
    except asyncio.TimeoutError:
        raise _lose(name, number) from None
    except BaseException:
        _calls.drop(number)
        raise
    return _value(name, answer)


def _is_in_task() -> bool:
    """Whether the caller can await; a cell without `await` is no task."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _make(name: str, description: object, schema: Content) -> Tool:
    """Make the function that calls a tool."""
    binder = Binder(name, schema)

    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = binder.bind(args, kwargs)
        if _is_in_task():
            return _await(name, arguments)
        return _wait(name, arguments)

    def sync(*args: Any, **kwargs: Any) -> Any:
        return _wait(name, binder.bind(args, kwargs))

    async def aio(*args: Any, **kwargs: Any) -> Any:
        return await _await(name, binder.bind(args, kwargs))

    for function, suffix in ((call, ""), (sync, ".sync"), (aio, ".aio")):
        function.__name__ = name + suffix
        function.__qualname__ = f"tools.{name}{suffix}"
        function.__module__ = MODULE
        function.__doc__ = document(name, description, schema)
        vars(function)["__signature__"] = binder.signature
    vars(call).update(sync=sync, aio=aio)
    return call


def _is_attribute(name: str) -> bool:
    return (
        name.isidentifier()
        and not name.startswith("_")
        and not keyword.iskeyword(name)
    )


class Tools:
    """The host tools of this session: `tools.name(…)` or `tools["name"](…)`.

    dir(tools) lists them, help(tools.name) says what one does.
    """

    __slots__ = ("_count", "_made", "_withheld")

    def __init__(self) -> None:
        self._count = 0
        self._made: dict[str, Tool] = {}
        self._withheld: dict[str, Tool] = {}

    def _all(self) -> dict[str, Tool]:
        newest = _link.tools(self._count)
        if newest is not None:
            count, text = newest
            content = json.loads(text)
            _calls.seconds = float(content.get("seconds", 60))
            made: tuple[dict[str, Tool], dict[str, Tool]] = ({}, {})
            for tool in content["tools"]:
                made[tool.get("permitted") is False][tool["name"]] = _make(
                    tool["name"],
                    tool.get("description"),
                    tool.get("inputSchema") or {},
                )
            self._made, self._withheld = made
            # Last: until then, other threads read the content themselves.
            self._count = count
        return self._made

    def _find(self, name: str) -> Optional[Tool]:
        # The gateway refuses those that the session may not call: its answer
        # says which it may.
        return self._all().get(name) or self._withheld.get(name)

    def _missing(self, name: str) -> str:
        names = sorted(self._all())
        if names:
            return f"no host tool is called {name!r}; there are: " + ", ".join(
                names
            )
        return (
            "no host tools are registered in this session: the agent's "
            "process registers them, by PUT /hearth/sessions/ID/tools"
        )

    def __getattr__(self, name: str) -> Tool:
        found = self._find(name) if _is_attribute(name) else None
        if found is None:
            raise AttributeError(self._missing(name))
        return found

    def __getitem__(self, name: str) -> Tool:
        found = self._find(name)
        if found is None:
            raise KeyError(self._missing(name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __dir__(self) -> list[str]:
        return sorted(filter(_is_attribute, self._all()))

    def __reduce__(self) -> str:
        return "tools"  # a copy is the same object, also in another kernel

    def _ipython_key_completions_(self) -> list[str]:
        return sorted(self._all())

    def __repr__(self) -> str:
        return f"<host tools: {', '.join(self) or 'none'}>"


tools = Tools()


# ---- the module ----


class _Finder(MetaPathFinder, Loader):
    """Finds `hearth` where the session has no module of its own called so."""

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> Optional[ModuleSpec]:
        return ModuleSpec(MODULE, self) if fullname == MODULE else None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "What a hearth session offers to the code in it."
        module.__dict__.update(
            tools=tools, ToolError=ToolError, __all__=["ToolError", "tools"]
        )


def install() -> None:
    """Make `hearth` importable, after everything else that is."""
    sys.meta_path.append(_Finder())
