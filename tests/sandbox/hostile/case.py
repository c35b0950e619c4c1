"""One hostile snippet: what it tries, and how it is to end.

`code` is the body of a function in the kernel. What it returns is what it
managed, unless that is false; an OSError is how it was stopped, and so is the
signal that a child of it died of. It prints one line,

    hostile: through WHAT       it managed something
    hostile: stopped HOW        HOW is EPERM, SIGSYS, nothing, ...

and HOW must be one of `stops`: a snippet that stumbles over itself does not
count as stopped. Probes are harmless where nothing stops them: the control run
executes them as root beside the sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass

# The gateway as root, with a user of its own as the unit starts it, and as an
# ordinary user. A case about the service runs in the first two.
MODES = ("service", "unit", "user")
TABLE_MODES = ("service", "user")
# What holds where the table of walls has no name for it.
GATEWAY = "gateway"  # the gateway's own checks of what a kernel says
KERNEL = "kernel"  # what the kernel's Python does for itself
IDS = "ids"  # the session's user on the host is not the files' owner
GROUPS = "groups"  # the session's control group, or the watchdog


@dataclass(frozen=True)
class Case:
    id: str
    code: str
    stops: str  # names of outcomes, with blanks between
    walls: str  # which hold it; without all of them it gets through
    before: str = ""  # runs in another session; its value is VICTIM here
    after: str = ""  # then runs there; a true value is a success of ours
    modes: tuple[str, ...] = MODES
    machine: str = ""  # only there, as platform.machine() says
    scoped: bool = False  # nothing but Landlock's scopes holds it for a user
    alone: bool = False  # in a session of its own
    ends: str = ""  # the reason for which the session ends
    judge: str = ""  # a function of judges.py looks at what came out
    outside: bool = True  # may run in the control run
    category: str = ""


def table(category: str, *cases: Case) -> list[Case]:
    return [Case(**{**case.__dict__, "category": category}) for case in cases]
