"""What the gateway answers about programs beside the kernel."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class ProcessInfo:
    """A program beside the kernel."""

    number: int
    argv: tuple[str, ...]
    #: `starting`, `running`, `ended`.
    state: str
    #: Of one that exited; None if it runs, or was ended by a signal.
    exit_code: Optional[int]
    #: The signal that ended it.
    signal: Optional[int]
    #: Why it ended: `itself`, `timeout`, `request`, `cell_output`, `memory`,
    #: `kernel`, `lost`.
    cause: Optional[str]
    #: How it ended, as a sentence.
    sentence: Optional[str]

    @property
    def has_ended(self) -> bool:
        return self.state == "ended"


@dataclass(frozen=True)
class ProcessOutput:
    """A piece of a program's output."""

    stdout: bytes
    stderr: bytes
    #: The offset of what comes next.
    next: int
    #: Bytes that are not in this piece.
    left_out: int
    process: ProcessInfo


@dataclass(frozen=True)
class Finished:
    """A program that has ended, with its output."""

    process: ProcessInfo
    stdout: bytes
    stderr: bytes
    #: Bytes of output that are not here.
    left_out: int

    @property
    def ok(self) -> bool:
        return self.process.exit_code == 0

    @property
    def exit_code(self) -> Optional[int]:
        return self.process.exit_code

    @property
    def text(self) -> str:
        """The standard output, as UTF-8."""
        return self.stdout.decode(errors="replace")


def process_info(model: Mapping[str, Any]) -> ProcessInfo:
    return ProcessInfo(
        number=model["process"],
        argv=tuple(model["argv"]),
        state=model["state"],
        exit_code=model.get("exit_code"),
        signal=model.get("signal"),
        cause=model.get("cause"),
        sentence=model.get("sentence"),
    )


def process_output(model: Mapping[str, Any], since: int = 0) -> ProcessOutput:
    """Read a piece that was asked for from an offset on. It begins later if
    what is between is no longer kept."""
    overtaken = max(model["from"] - since, 0)
    return ProcessOutput(
        stdout=base64.b64decode(model["stdout"]),
        stderr=base64.b64decode(model["stderr"]),
        next=model["next"],
        left_out=overtaken
        + model["stdout_left_out"]
        + model["stderr_left_out"],
        process=process_info(model["process"]),
    )


def finished(process: ProcessInfo, pieces: list[ProcessOutput]) -> Finished:
    return Finished(
        process=process,
        stdout=b"".join(piece.stdout for piece in pieces),
        stderr=b"".join(piece.stderr for piece in pieces),
        left_out=sum(piece.left_out for piece in pieces),
    )
