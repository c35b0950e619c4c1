"""Host tools: functions of the agent's process that code in a cell calls.

`from hearth import tools`. The names, descriptions and schemas are those that
the gateway has sent (TOOLS); results are JSON values, which are neither
evaluated nor unpickled.
"""

from __future__ import annotations

import asyncio
import json
import keyword
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Optional

from hearth_kernel import _link
from hearth_kernel.tools import calls
from hearth_kernel.tools.stubs import Binder, document

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

_seconds = 60.0  # in which the gateway answers


def _check_process() -> None:
    calls.check_process("call host tools", "call them")


def _wait(name: str, arguments: Content) -> Any:
    try:
        _check_process()
        return calls.wait(name, arguments, _seconds + _GRACE)
    except calls.CallError as error:
        raise ToolError(f"{name}: {error}", name, error.reason) from None


async def _await(name: str, arguments: Content) -> Any:
    try:
        _check_process()
        return await calls.wait_async(name, arguments, _seconds + _GRACE)
    except calls.CallError as error:
        raise ToolError(f"{name}: {error}", name, error.reason) from None


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
        global _seconds
        newest = _link.tools(self._count)
        if newest is not None:
            count, text = newest
            content = json.loads(text)
            _seconds = float(content.get("seconds", 60))
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
