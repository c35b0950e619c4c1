"""Changes one thing of a file at a time, and names changes that no test sees.

A test that guards a rule fails when the rule is inverted or left out. The file
is changed in a copy of the tree, and its tests are run there. A change that
they pass is named: the rule has no test, or no effect. Those without effect on
purpose are in FILE's list beside this program, each with the reason.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

from changes import Mutant, mutants
from measured import Row, record
from python_changes import python_mutants
from trial import ROOT, CCopy, Copy, PythonCopy, exit_on_signals


def is_python(file: Path) -> bool:
    return file.suffix == ".py"


def mutants_of(file: Path) -> Callable[[str], Iterator[Mutant]]:
    return python_mutants if is_python(file) else mutants


def list_of(file: Path) -> Path:
    """Return the list of the changes that may pass: of a.py, a.py.txt."""
    name = file.name if is_python(file) else file.stem
    return Path(__file__).parent / f"{name}.txt"


def known(path: Path) -> dict[str, str]:
    """Return the changes of a list, and why each may pass."""
    reasons: dict[str, str] = {}
    name = ""
    for row in path.read_text().splitlines() if path.exists() else []:
        if row.startswith("    "):
            reasons[name] = (reasons[name] + " " + row.strip()).strip()
        elif row.strip():
            name = row
            reasons[name] = ""
    return reasons


def find_tests(file: Path, root: Path = ROOT) -> list[str]:
    """Return the tests that have the file's name, as they are named here."""
    if is_python(file):
        found = (root / "tests").rglob(f"test_{file.name}")
        return sorted(str(path.relative_to(root)) for path in found)
    unit = root / "tests" / "unit"
    tests = [path.relative_to(unit) for path in unit.rglob(f"test_{file.name}")]
    # Of files that have the same name, each has its own folder.
    near = [test for test in tests if {*test.parent.parts} <= {*file.parts}]
    return sorted(str(test.with_suffix("")) for test in near or tests)


def measure(file: Path, copy: Copy) -> dict[str, int]:
    """Try each change; name those that no test sees."""
    reasons = known(list_of(file))
    original = (ROOT / file).read_text()
    counts = {"noticed": 0, "known": 0, "missed": 0, "no program": 0}
    for mutant in mutants_of(file)(original):
        copy.change(file, mutant.text)
        if not copy.is_built():
            kind = "no program"
        elif not copy.passes():
            kind = "noticed"
        else:
            kind = "known" if mutant.name in reasons else "missed"
        counts[kind] += 1
        if kind == "missed":
            print(f"{file}:{mutant.line}: {mutant.name}", flush=True)
    copy.change(file, original)
    return counts


def row_of(file: Path, tests: list[str], counts: dict[str, int]) -> Row:
    """Return the row of what was counted, with a reason if that is nothing."""
    tried = counts["noticed"] + counts["missed"]
    reason = ""
    if tried == 0 and counts["known"]:
        name = list_of(file).name
        reason = f"{counts['known']} changes, all without meaning: {name}"
    elif tried == 0:
        reason = "it has nothing to turn around"
    return Row(str(file), " ".join(tests), tried, counts["noticed"], reason)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev mutants", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "file", help="gateway/session/kernel/kernel_permissions.c"
    )
    parser.add_argument(
        "tests",
        nargs="*",
        metavar="TEST",
        help="of tests/unit: http/core/test_range; of a Python file, paths as "
        "pytest takes them (by default, the tests with the file's name)",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the figures in tests/mutants/measured.tsv",
    )
    parser.add_argument(
        "--copy",
        type=Path,
        metavar="FOLDER",
        help="keep the copy of the tree, which the next run then need not "
        "build anew",
    )
    options = parser.parse_args()
    options.file = Path(options.file)
    options.tests = options.tests or find_tests(options.file)
    if not (ROOT / options.file).exists():
        parser.error(f"there is no {options.file}; a path from the root is")
    if not options.tests:
        parser.error(f"no test has the name of {options.file}: name one")
    return options


def run(options: argparse.Namespace, folder: Path) -> int:
    file, tests = options.file, options.tests
    copy: Copy = (
        PythonCopy(folder, tests)
        if is_python(file)
        else CCopy(folder, tests, options.jobs)
    )
    copy.change(file, (ROOT / file).read_text())
    if not copy.is_built():
        raise SystemExit(f"{' '.join(tests)} cannot be built as it is")
    if not copy.passes():
        raise SystemExit(f"{' '.join(tests)} fails as it is")
    counts = measure(file, copy)
    total = sum(counts.values())
    print(
        f"{file}: {total} changes, {counts['noticed']} noticed, "
        f"{counts['known']} without meaning, {counts['no program']} "
        f"that no compiler takes, {counts['missed']} missed"
    )
    if options.record:
        record(row_of(file, tests, counts))
    return 1 if counts["missed"] else 0


def main() -> int:
    options = parse()
    exit_on_signals()
    if options.copy:
        return run(options, options.copy.resolve())
    with tempfile.TemporaryDirectory(prefix="hearth-mutants-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # tests also run as other users
        return run(options, folder)


if __name__ == "__main__":
    sys.exit(main())
