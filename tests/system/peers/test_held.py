"""What JupyterLab's server keeps for a gateway that is away has a bound."""

from __future__ import annotations

import asyncio
import importlib
import logging
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "gateway/jupyter"
AWAY = "the gateway is unreachable"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("hearth_channels")


def hold(
    module: ModuleType, messages: list[Any], is_given_up: bool = False
) -> tuple[list[Any], list[Any]]:
    """Return the held messages, and the text that the page shows."""
    shown: list[Any] = []

    async def show(text: str) -> None:
        shown.append(text)

    channels: Any = SimpleNamespace(
        _held=[],
        _is_given_up=is_given_up,
        _show=show,
        _refusal=lambda reason: reason,
        log=logging.getLogger(__name__),
    )

    async def run() -> None:
        for message in messages:
            module.Channels._hold(channels, message)
        while len(shown) + len(channels._held) < len(messages):
            await asyncio.sleep(0)

    asyncio.run(run())
    return channels._held, shown


def test_held_messages_are_bounded(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_MAX", 3)
    assert hold(module, list("abcde")) == (list("abc"), [AWAY, AWAY])


def test_held_bytes_are_bounded(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 10)
    kept = hold(module, [b"12345", b"123456", b"12345", b"1"])
    assert kept == ([b"12345", b"12345"], [AWAY, AWAY])


def test_no_message_is_held_after_giving_up(module: ModuleType) -> None:
    assert hold(module, ["a"], is_given_up=True) == ([], [AWAY])


@pytest.mark.parametrize("held", [["a", "b"], []])
def test_a_person_is_warned_when_attempts_end(
    module: ModuleType, held: list[str]
) -> None:
    shown: list[Any] = []

    async def show(text: str) -> None:
        shown.append(text)

    # Without the page and the server that its own __init__ wants.
    channels = module.Channels.__new__(module.Channels)
    channels.retry = module.GatewayClient.instance().gateway_retry_max
    channels._held, channels._is_given_up = list(held), False
    channels._show, channels._refusal = show, lambda reason: reason
    asyncio.run(channels._read_messages())
    assert shown == ([AWAY] if held else [])
    assert channels._held == []
    assert channels._is_given_up
