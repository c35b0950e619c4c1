"""Why a job has failed: a name for programs and a sentence for people.

The text may quote a server or a program. So it is made harmless here, where it
is kept: one line without control characters, of at most TEXT_MAX.
"""

from __future__ import annotations

import re
import unicodedata

TEXT_MAX = 1000
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*\x07?|.)")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def clean(text: str, limit: int = TEXT_MAX) -> str:
    """Return the text as one harmless line."""
    text = _ESCAPES.sub("", text[: 64 * 1024])
    seen = "".join(
        " " if unicodedata.category(letter) in _UNSEEN else letter
        for letter in text
    )
    line = " ".join(seen.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class Fault(Exception):
    """A failure; the classes below are what programs can distinguish."""

    ename = "Failed"

    def __init__(self, text: str) -> None:
        super().__init__(clean(text))

    @property
    def text(self) -> str:
        """Return the sentence."""
        return str(self.args[0])


class Failed(Fault):
    """Anything that has no class of its own."""


class Invalid(Fault):
    """A request that cannot be read."""

    ename = "Invalid"


class Refused(Fault):
    """The configuration or a wall forbids it.

    `rule` is the setting or the wall, as the audit log names it; "" if it has
    no name there.
    """

    ename = "Refused"

    def __init__(self, text: str, rule: str = "") -> None:
        super().__init__(text)
        self.rule = rule


class Conflict(Fault):
    """There is no such thing, or none that fits."""

    ename = "Conflict"


class Unreachable(Fault):
    """A server does not answer as it should."""

    ename = "Unreachable"


class Gone(Exception):
    """The gateway has closed its end: the job is to leave no trace."""
