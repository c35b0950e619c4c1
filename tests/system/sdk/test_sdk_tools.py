"""Functions of the client's process that code in the session calls."""

from __future__ import annotations

import asyncio
import threading
from typing import Literal, Optional

import hearth
import pytest
from deadline import wait_for
from harness import Gateway
from hearth._schemas import schema_of


def price(item: str, count: int = 1) -> int:
    """Return the price of some of them."""
    return {"apple": 3, "pear": 4}[item] * count


def test_a_function_is_called(sync_session: hearth.Session) -> None:
    assert sync_session.tools.add(price) is price
    result = sync_session.run(
        "from hearth import tools\n"
        "sum(tools.price(item) for item in ['apple', 'pear'])"
    )
    assert result.text == "7", result.error
    assert sync_session.run("tools.price('pear', count=3)").text == "12"
    help_text = sync_session.run("tools.price.__doc__").text
    assert help_text is not None
    assert "Return the price of some of them." in help_text


def test_another_client_removes_it(
    sync_session: hearth.Session, caplog: pytest.LogCaptureFixture
) -> None:
    """An operator's DELETE: it is not offered again."""
    tools = sync_session.tools
    tools.add(price)
    path = f"/hearth/sessions/{sync_session.id}/tools"
    listed = sync_session.ask("GET", path).json()["tools"]
    [provider] = {one["provider"] for one in listed}
    sync_session.ask(
        "DELETE", path, accepted=(204,), params={"provider": provider}
    )
    wait_for(lambda: "was removed" in caplog.text, "the error")
    with pytest.raises(hearth.ToolsRemoved, match=provider):
        tools.add(odd)
    assert sync_session.ask("GET", path).json()["tools"] == []


def odd() -> object:
    return object()


def test_its_errors_are_the_codes(sync_session: hearth.Session) -> None:
    sync_session.tools.add(price)
    sync_session.tools.add(odd)
    result = sync_session.run("from hearth import tools\ntools.price('plum')")
    assert result.error is not None
    assert result.error.name == "ToolError"
    assert "KeyError: 'plum'" in result.error.value
    result = sync_session.run("tools.odd()")
    assert result.error is not None
    assert "not JSON serializable" in result.error.value


def test_calls_at_the_same_time(sync_session: hearth.Session) -> None:
    """Each waits until the other was called, too."""
    barrier = threading.Barrier(2, timeout=60)

    def meet(number: int) -> int:
        barrier.wait()
        return number

    sync_session.tools.add(meet)
    result = sync_session.run(
        "from hearth import tools\nimport asyncio\n"
        "await asyncio.gather(*[tools.meet.aio(number=n) for n in (1, 2)])"
    )
    assert result.text == "[1, 2]", result.error


def test_one_that_is_removed(sync_session: hearth.Session) -> None:
    sync_session.tools.add(price)
    sync_session.tools.add(price, name="cost")
    sync_session.tools.remove("price")
    code = "from hearth import tools\nlist(tools)"
    assert sync_session.run(code).text == "['cost']"
    sync_session.close()
    assert sync_session.run("list(tools)").text == "[]"


def test_names_that_are_not_possible(sync_session: hearth.Session) -> None:
    with pytest.raises(hearth.BadRequest):
        sync_session.tools.add(price, name="no name")
    sync_session.tools.add(price)
    other = hearth.connect().attach(sync_session.id)
    with pytest.raises(hearth.HearthError, match="price"):
        other.tools.add(price)


def test_calls_outlive_the_gateway(alone: Gateway) -> None:
    """The gateway is killed while the function works. The next gateway gives
    the call again, to the same process."""
    runs = []

    def restart() -> str:
        runs.append("restart")
        alone.kill()
        alone.start()
        return "done"

    with hearth.session() as session:
        session.tools.add(restart)
        result = session.run("from hearth import tools\ntools.restart()")
        assert result.text == "'done'", result.error
    assert runs == ["restart"]


def test_awaited(user: Gateway) -> None:
    async def work() -> None:
        async def search(text: str) -> list[str]:
            await asyncio.sleep(0)
            return [text.upper()]

        async with hearth.aio.session() as session:
            await session.tools.add(search)
            await session.tools.add(price)
            result = await session.run(
                "from hearth import tools\n"
                "[tools.search(text='a'), tools.price(item='pear')]"
            )
            assert result.text == "[['A'], 4]", result.error

    asyncio.run(work())


def test_schemas() -> None:
    def tool(
        a: int,
        b: Optional[list[str]] = None,
        *,
        c: Literal["x", "y"],
        d: dict[str, float],
        **more: object,
    ) -> None: ...

    assert schema_of(tool) == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "null"},
                ]
            },
            "c": {"enum": ["x", "y"]},
            "d": {"type": "object"},
        },
        "required": ["a", "c", "d"],
        "additionalProperties": True,
    }
