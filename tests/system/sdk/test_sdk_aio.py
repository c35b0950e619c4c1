"""The asynchronous client: what it does at once, and what it leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import hearth
import pytest
from harness import Gateway


def test_many_at_once(user: Gateway) -> None:
    async def work() -> None:
        async with hearth.aio.connect() as gateway:
            sessions = await asyncio.gather(
                *[gateway.session() for _ in range(3)]
            )
            results = await asyncio.gather(
                *[
                    session.run(f"{number} + {place}")
                    for place, session in enumerate(sessions)
                    for number in range(4)
                ]
            )
            for session in sessions:
                await session.end()
        assert [result.text for result in results] == [
            str(number + place) for place in range(3) for number in range(4)
        ]

    asyncio.run(work())


def test_events_and_an_interrupt(user: Gateway) -> None:
    async def work() -> None:
        async with hearth.aio.session() as session:
            run = await session.start(
                "print('go', flush=True)\nwhile True: pass"
            )
            kinds = []
            async for event in run.events():
                kinds.append(event.kind)
                if event.output and event.output.text == "go\n":
                    await run.interrupt()
            assert kinds[0] == "request"
            assert kinds[-1] == "reply"
            result = await run.result()
            assert result.error is not None
            assert result.error.name == "KeyboardInterrupt"

    asyncio.run(work())


def test_a_task_that_is_cancelled_leaves_the_run(user: Gateway) -> None:
    async def work() -> None:
        async with hearth.aio.session() as session:
            folder = Path((await session.info()).workspace)
            code = "import os\nwhile not os.path.exists('go'): pass\n'done'"
            task = asyncio.create_task(session.run(code, key="k"))
            while not await _runs(session, code):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (folder / "go").touch()
            assert (await session.run(code, key="k")).text == "'done'"

    async def _runs(session: hearth.aio.AsyncSession, code: str) -> bool:
        run = await session.start(code, key="k")
        return await run.status() == "running"

    asyncio.run(work())


def test_the_errors_are_the_same(user: Gateway) -> None:
    async def work() -> None:
        async with hearth.aio.connect() as gateway:
            with pytest.raises(hearth.SessionUnknown):
                await gateway.attach("00000000-0000-4000-8000-000000000000")
            with pytest.raises(hearth.BadRequest):
                await gateway.session("nope")

    asyncio.run(work())
