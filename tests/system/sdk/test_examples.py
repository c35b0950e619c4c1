"""The programs in examples/, as a newcomer runs them, and what they do when
things go wrong."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import hearth
import pytest
from deadline import DEADLINE
from harness import ROOT, Gateway

AGENT = ROOT / "examples" / "codeact" / "agent.py"


@pytest.fixture(scope="module")
def codeact() -> ModuleType:
    spec = importlib.util.spec_from_file_location("codeact", AGENT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["codeact"] = module
    spec.loader.exec_module(module)
    return module


def test_the_agent_answers(
    user: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "clients" / "python" / "src"))
    done = subprocess.run(
        [sys.executable, AGENT, tmp_path],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("--- {'region': 'north', 'total': 1746}\n")
    assert "KeyError: 'Column not found: sum'" in done.stdout
    assert "total must be an integer, not '1746'" in done.stdout
    picture = (tmp_path / "codeact-1.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(AGENT.read_text().splitlines()) < 150


def code(text: str) -> str:
    return f"```python\n{text}\n```"


def test_a_model_without_an_answer(
    codeact: ModuleType, sync_session: hearth.Session
) -> None:
    outcome = codeact.solve("t", lambda messages: code("1 + 1"), sync_session)
    assert outcome.answer is None
    assert outcome.stopped == "no answer after 8 turns"
    assert "[8] ok" in outcome.messages[-1]["content"]


def test_a_model_without_code(
    codeact: ModuleType, sync_session: hearth.Session
) -> None:
    outcome = codeact.solve("t", lambda messages: "42", sync_session)
    assert outcome.stopped == "no answer after 8 turns"
    assert "no ```python block" in outcome.messages[-1]["content"]


def test_the_variables_are_lost(
    codeact: ModuleType, sync_session: hearth.Session
) -> None:
    outcome = codeact.solve(
        "t", lambda messages: code("import os; os._exit(1)"), sync_session
    )
    assert outcome.answer is None
    assert "exited with code 1" in outcome.stopped


def test_an_unknown_region(
    codeact: ModuleType, sync_session: hearth.Session
) -> None:
    ask = "from hearth import tools\ntools.sales(region='west')"
    outcome = codeact.solve("t", lambda messages: code(ask), sync_session)
    assert "no region 'west'" in outcome.messages[-1]["content"]
