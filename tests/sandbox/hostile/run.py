"""`./dev hostile`: the cases of the suite outside of pytest.

Without options all walls stand, and what gets through is a hole. With walls
left out, lists what gets through without them. With --table writes into
docs/design/THREATS.md what each wall is for.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "tests" / "sandbox")]

from hostile import threats  # noqa: E402
from hostile.case import MODES, TABLE_MODES, Case  # noqa: E402
from hostile.suite import CASES, Outside, Result, Suite, fits  # noqa: E402


def modes() -> tuple[str, ...]:
    return MODES if os.getuid() == 0 else ("user",)


def run_all(
    mode: str, without: tuple[str, ...], wanted: list[Case]
) -> list[Result]:
    suite = Suite(mode, without)
    results = []
    try:
        suite.start()
        for case in wanted:
            if not fits(case, mode):
                continue
            try:
                results.append(suite.run(case))
            except AssertionError as error:
                results.append(Result(case, "", broken=str(error)[:200]))
    finally:
        suite.close()
    return results


def run_outside() -> list[Result]:
    outside = Outside()
    try:
        return [
            outside.run(case)
            for case in CASES
            if case.outside and fits(case, case.modes[0])
        ]
    finally:
        outside.close()


def report(results: list[Result]) -> None:
    for result in results:
        how = f"through {result.through}" if result.through else result.stopped
        print(f"  {result.case.category}/{result.case.id}: {how}")


def about_walls(cases: list[Case]) -> list[Case]:
    return [
        case
        for case in cases
        if case.category not in threats.BEHIND_THE_WALLS and not case.alone
    ]


def run_mode(mode: str, walls: tuple[str, ...], wanted: list[Case]) -> int:
    """How many cases are not as their tables say."""
    begun = time.monotonic()
    results = run_all(mode, walls, wanted)
    through = [result for result in results if result.through]
    print(
        f"{mode}: {len(results)} cases, {len(through)} got through"
        + (f" without {', '.join(walls)}" if walls else "")
        + f", {time.monotonic() - begun:.1f} s",
        flush=True,
    )
    report(through)
    if walls:
        for result in results:
            if result.broken:
                print("  " + result.surprise)
        return 0
    surprises = [result.surprise for result in results if result.surprise]
    for surprise in surprises:
        print("  " + surprise)
    return len(surprises)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev hostile")
    parser.add_argument(
        "--without",
        metavar="WALL[,WALL]",
        default="",
        help="leave out walls, and list what gets through then",
    )
    parser.add_argument(
        "--outside",
        action="store_true",
        help="run what is harmless without a sandbox, to see it succeed",
    )
    parser.add_argument(
        "--table",
        action="store_true",
        help="leave out each wall in turn, and write docs/design/THREATS.md",
    )
    parser.add_argument("case", nargs="*", help="these alone, by their ids")
    return parser.parse_args()


def main() -> int:
    options = parse()
    wanted = [c for c in CASES if not options.case or c.id in options.case]
    walls = tuple(filter(None, options.without.split(",")))
    if options.table:
        text = threats.section(
            run_all,
            run_outside(),
            TABLE_MODES if os.getuid() == 0 else modes(),
            about_walls(wanted),
        )
        threats.write(ROOT / "docs" / "design" / "THREATS.md", text)
        return 0
    if options.outside:
        report(run_outside())
        return 0
    if walls:
        wanted = about_walls(wanted)
    return 1 if sum(run_mode(m, walls, wanted) for m in modes()) else 0


if __name__ == "__main__":
    sys.exit(main())
