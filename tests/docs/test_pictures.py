"""The pictures of the architecture are those that lie beside the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "design" / "ARCHITECTURE.md"
PICTURE = re.compile(r"^<!-- (\S+) -->\n\n```text\n(.*?)```$", re.M | re.S)
SETS = {
    "AT_WORK": ["IDLE", "BUSY"],
    "ALIVE": ["STARTING", "IDLE", "BUSY", "STOPPING"],
    "ANY": ["any"],
}


def test_pictures_are_those_beside_the_code() -> None:
    shown = PICTURE.findall(PAGE.read_text())
    assert len(shown) == 3
    for name, text in shown:
        assert (ROOT / name).read_text() == text, name


def phases(written: str) -> list[str]:
    """`IN(PHASE_IDLE) | AT_WORK` as names."""
    found: list[str] = []
    for part in written.split("|"):
        name = part.strip()
        inner = re.fullmatch(r"IN\(PHASE_(\w+)\)", name)
        found += [inner[1]] if inner else SETS[name]
    return found


def test_the_phases_of_a_session_are_those_of_the_table() -> None:
    source = (ROOT / "gateway/session/lifecycle/state.c").read_text()
    table = [
        [event, *phases(before), after]
        for event, before, after in re.findall(
            r"\{STATE_ON_(\w+), PHASE,\s*([^,]+),\s*PHASE_(\w+)\}", source
        )
    ]
    text = (ROOT / "gateway/session/lifecycle/state.txt").read_text()
    head, *rows = text.split("\n\n")[-1].strip().splitlines()
    assert head.split() == ["event", "from", "to"]
    assert [row.split() for row in rows] == table
