"""What fake workers write down, a line of JSON a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_notes(log: Path) -> list[dict[str, Any]]:
    """Return the notes in the order in which they were made; none if there is
    no log yet. A line that is still being written is left for later."""
    try:
        text = log.read_text()
    except FileNotFoundError:
        return []
    whole, _, _ = text.rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]
