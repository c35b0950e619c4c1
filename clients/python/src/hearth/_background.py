"""What the two halves do differently: sleeping, blocking calls, and work beside
the program's own."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Callable, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


async def async_sleep(seconds: float) -> None:
    await anyio.sleep(seconds)


def sync_sleep(seconds: float) -> None:
    time.sleep(seconds)


async def async_call(function: Callable[[], T]) -> T:
    """Call what blocks, in a thread."""
    return await anyio.to_thread.run_sync(function)


def sync_call(function: Callable[[], T]) -> T:
    return function()


# ---- host tools ----


async def async_invoke(
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> Any:
    """Call a function of the program's; one that blocks, in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    return await async_call(lambda: function(**arguments))


def sync_invoke(
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> Any:
    return function(**arguments)


class AsyncBackground:
    """Tasks beside those of the program."""

    def __init__(self) -> None:
        self.is_over = False
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(
        self, function: Callable[..., Coroutine[Any, Any, None]], *values: Any
    ) -> None:
        task = asyncio.get_running_loop().create_task(function(*values))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Background:
    """Threads beside those of the program, which need not wait for them."""

    def __init__(self) -> None:
        self.is_over = False

    def spawn(self, function: Callable[..., None], *values: Any) -> None:
        threading.Thread(
            target=function, args=values, name="hearth-tools", daemon=True
        ).start()

    def close(self) -> None:
        """A thread that waits for calls ends when its request is answered."""
