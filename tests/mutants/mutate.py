"""Changes one thing of a C file at a time, and names changes that no test sees.

A test that guards a rule fails when the rule is inverted. For each comparison,
each `&&`, `||` and `!`, and each `return` of true or false the file is changed
in a copy of the tree. The unit test is built and run. A change that it passes
is named: the rule has no test, or no effect. Those without effect on purpose
are in FILE's list beside this program, each with the reason.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator, NamedTuple

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", "node_modules", "__pycache__", "build"),
    *(f"build-{kind}" for kind in ("asan", "clang", "fuzz", "tsan")),
)
SECONDS = 60  # a test that takes longer was stopped by the change
# Comments, texts and characters hold nothing to be changed; nor does an arrow.
SKIPPED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    r"|->|<<|>>|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M,
)
CHANGES = [
    (re.compile(r"=="), "!="),
    (re.compile(r"!="), "=="),
    (re.compile(r"<="), "<"),
    (re.compile(r">="), ">"),
    (re.compile(r"<(?!=)"), "<="),
    (re.compile(r">(?!=)"), ">="),
    (re.compile(r"&&"), "||"),
    (re.compile(r"\|\|"), "&&"),
    (re.compile(r"!(?!=)"), ""),
    (re.compile(r"(?<=return )true(?=;)"), "false"),
    (re.compile(r"(?<=return )false(?=;)"), "true"),
]


class Mutant(NamedTuple):
    line: int
    row: str  # the line as it is
    change: str  # "|| -> &&", the second one in its line: "|| -> && 2"
    text: str  # of the whole file

    @property
    def name(self) -> str:
        return f"{self.row}  [{self.change}]"


def blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def mutants(text: str) -> Iterator[Mutant]:
    bare = SKIPPED.sub(blank, text)
    rows = text.split("\n")
    for pattern, new in CHANGES:
        seen: dict[tuple[int, str], int] = {}
        for found in pattern.finditer(bare):
            line = bare.count("\n", 0, found.start())
            key = (line, found[0])
            seen[key] = seen.get(key, 0) + 1
            change = f"{found[0]} -> {new or 'nothing'}"
            if seen[key] > 1:
                change += f" {seen[key]}"
            yield Mutant(
                line + 1,
                rows[line].strip(),
                change,
                text[: found.start()] + new + text[found.end() :],
            )


class Copy:
    """Of the tree, with a build of its own."""

    def __init__(self, folder: Path, test: str, jobs: int) -> None:
        self.tree = folder / "hearth"
        self.build = self.tree / "build"
        self.test = f"tests/unit/{test}"
        self.jobs = jobs
        shutil.copytree(ROOT, self.tree, ignore=LEFT_OUT, symlinks=True)
        self.build.mkdir()
        self.run("../configure", "--quiet", check=True)
        if not self.is_built():
            raise SystemExit(f"{self.test} cannot be built as it is")

    def run(
        self, *command: str, check: bool = False
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.build,
            capture_output=True,
            text=True,
            timeout=SECONDS * 30 if check else None,
            check=check,
        )

    def is_built(self) -> bool:
        return (
            self.run("make", f"-j{self.jobs}", "CFLAGS=-O0", self.test)
        ).returncode == 0

    def passes(self) -> bool:
        try:
            done = subprocess.run(
                [f"./{self.test}"],
                cwd=self.build,
                env={"srcdir": str(self.tree), "PATH": "/usr/bin:/bin"},
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def known(file: Path) -> dict[str, str]:
    """Changes that may pass, and why."""
    path = Path(__file__).parent / f"{file.stem}.txt"
    reasons: dict[str, str] = {}
    name = ""
    for row in path.read_text().splitlines() if path.exists() else []:
        if row.startswith("    "):
            reasons[name] = (reasons[name] + " " + row.strip()).strip()
        elif row.strip():
            name = row
            reasons[name] = ""
    return reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "file", help="gateway/session/kernel/kernel_permissions.c"
    )
    parser.add_argument("test", help="of tests/unit: http/core/test_range")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    file = Path(options.file)
    original = (ROOT / file).read_text()
    reasons = known(file)
    counts = {"noticed": 0, "known": 0, "missed": 0, "no program": 0}
    with tempfile.TemporaryDirectory(prefix="hearth-mutants-") as folder:
        copy = Copy(Path(folder), options.test, options.jobs)
        if not copy.passes():
            raise SystemExit(f"{options.test} fails as it is")
        for mutant in mutants(original):
            (copy.tree / file).write_text(mutant.text)
            if not copy.is_built():
                kind = "no program"
            elif not copy.passes():
                kind = "noticed"
            else:
                kind = "known" if mutant.name in reasons else "missed"
            counts[kind] += 1
            if kind == "missed":
                print(f"{file}:{mutant.line}: {mutant.name}", flush=True)
    total = sum(counts.values())
    print(
        f"{file}: {total} changes, {counts['noticed']} noticed, "
        f"{counts['known']} without meaning, {counts['no program']} "
        f"that no compiler takes, {counts['missed']} missed"
    )
    return 1 if counts["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
