"""Which wall is for what, as a part of docs/design/THREATS.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Callable

from .case import IDS, Case
from .suite import CASES, Result
from .twins import Twins

BEGIN = "<!-- written by ./dev hostile --table -->"
END = "<!-- end of what is written -->"
# As in sandbox/policy/walls.h: name, what it is, can_be_left_out,
# can_be_missing.
ROW = re.compile(r'\{"(\w+)", "[^"]*", (true|false), (?:true|false)\}')
# What the gateway does with a kernel's words has nothing to do with walls.
BEHIND_THE_WALLS = ("link", "output")
# Takes the machine where no wall is left.
RECKLESS = ("fork-bomb",)
# run(mode, walls that are left out, cases)
Run = Callable[[str, tuple[str, ...], list[Case]], list[Result]]
Found = dict[str, set[str]]  # the id of a case: in which modes


def optional_walls() -> list[str]:
    """Return the walls that a profile can leave out, in the order of the table."""
    source = Path(__file__).parents[3] / "sandbox/policy/wall_table.c"
    rows = ROW.findall(source.read_text())
    assert len(rows) == source.read_text().count('{"'), "not a row of the table"
    return [name for name, can_be_left_out in rows if can_be_left_out == "true"]


def sets_of_walls(walls: list[str]) -> list[tuple[str, ...]]:
    """Return the sets of walls that hold a case together, by the tables."""
    found = {
        tuple(w for w in walls if w in case.walls.split()) for case in CASES
    }
    return sorted((s for s in found if len(s) > 1), key=lambda s: (len(s), s))


def through(
    run: Run,
    modes: tuple[str, ...],
    without: tuple[str, ...],
    cases: list[Case],
) -> Found:
    found: Found = {}
    for mode in modes:
        for result in run(mode, without, cases):
            if result.broken:
                print(f"{mode}: {result.surprise}", flush=True)
            if result.through:
                found.setdefault(result.case.id, set()).add(mode)
    print(f"without {', '.join(without)}: {len(found)}", flush=True)
    return found


def of_own_users() -> list[Case]:
    """Held where sessions have users of their own; an ordinary user's, without
    a range of numbers, have not."""
    return [
        replace(case, modes=("user",))
        for case in CASES
        if case.alone and case.walls == IDS
    ]


def reported(found: Found, modes: tuple[str, ...]) -> str:
    words = [
        name if seen == set(modes) else f"{name} ({', '.join(sorted(seen))})"
        for name, seen in found.items()
    ]
    return ", ".join(words) or "none"


def section(
    run: Run, control: list[Result], modes: tuple[str, ...], cases: list[Case]
) -> str:
    walls = optional_walls()
    shown: set[str] = set()
    lines = ["| without | gets through |", "|---|---|"]
    for wall in walls:
        found = through(run, modes, (wall,), cases)
        shown |= set(found)
        lines.append(f"| {wall} | {len(found)}: {reported(found, modes)} |")
    for walls_out in sets_of_walls(walls):
        wanted = [
            case
            for case in cases
            if case.id not in shown
            and set(case.walls.split()) & set(walls) <= set(walls_out)
        ]
        found = through(run, modes, walls_out, wanted)
        if found:
            shown |= set(found)
            lines.append(
                f"| {' and '.join(walls_out)} | {reported(found, modes)} |"
            )
    found = through(
        run,
        modes,
        tuple(walls),
        [c for c in cases if c.id not in shown and c.id not in RECKLESS],
    )
    shown |= set(found)
    lines.append(f"| all of these | {reported(found, modes)} |")
    found = through(run, ("user",), (), of_own_users())
    shown |= set(found)
    lines.append(f"| a user of its own for each session | {', '.join(found)} |")
    twins = Twins()
    alike = twins.same([c for c in cases if c.id not in shown])
    twins.close()
    shown |= set(alike)
    lines.append(
        "| a fork of one Python that renews nothing, no sandbox |"
        f" {', '.join(alike)} |"
    )
    beside = [
        r.case.id for r in control if r.through and r.case.id not in shown
    ]
    shown |= set(beside)
    lines.append(f"| any sandbox, as root | {', '.join(beside)} |")
    rest = [case.id for case in cases if case.id not in shown]
    others = [c for c in CASES if c not in cases and c.id not in shown]
    behind = [c for c in others if c.category in BEHIND_THE_WALLS]
    alone = [c.id for c in others if c.category not in BEHIND_THE_WALLS]
    lines += [
        "",
        f"{len(CASES)} cases. Not shown to fail by leaving out walls are the"
        f" {len(behind)} of the link and of output, {len(alone)} that have a"
        f" session of their own ({', '.join(alone)}), and {len(rest)} more:"
        f" {', '.join(rest)}.",
    ]
    return "\n".join(lines)


def write(path: Path, text: str) -> None:
    document = path.read_text()
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
