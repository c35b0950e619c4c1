"""The recipes of HACKING.md: what they name is there, and one is followed.

The limit of a session is added to a copy of the tree, step by step. What the
step changes is compiled, and the rest is the build's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import HEARTH, ROOT

LIBRARIES = HEARTH.parent / ".libs"
PACKAGES = ["libczmq", "jansson", "libsodium", "libcrypto"]
ROW = (
    '    X(threads, NUMBER, 4, 1000, false, 64, "64", SESSION_LIMIT_COUNTED, '
    '"threads of a process") \\\n'
)
SOURCES = [
    *("gateway/config/option_table.c", "gateway/config/options.c"),
    "gateway/config/option_profile_table.c",
    *("gateway/config/lowering.c", "gateway/config/lowered_value.c"),
    "gateway/config/config_file.c",
    *("gateway/config/fd_limits.c", "kernels/profile.c"),
    "protocol/session_limits.c",
]
PROGRAM = """
#include "gateway/config/options.h"
#include <assert.h>
#include <string.h>

int main(void)
{
    options_t *options = options_new();
    const char *key = "profile/python3/limits/threads";
    fault_t fault;

    assert(options->profiles[0]->limits.threads == 64);
    assert(options_set(options, key, "77", &fault) == 0);
    assert(options->profiles[0]->limits.threads == 77);
    assert(options_set(options, key, "2", &fault) < 0);
    assert(strcmp(session_limits[0].name, "threads") == 0);
    assert(session_limits[0].reached == SESSION_LIMIT_COUNTED);
    options_destroy(&options);
    return 0;
}
"""


def recipes() -> dict[str, list[str]]:
    """Each recipe with the text of its steps."""
    text = (ROOT / "HACKING.md").read_text()
    part = text[text.index("## Recipes") : text.index("### Other additions")]
    found = {}
    for section in part.split("\n### ")[1:]:
        title, rest = section.split("\n", 1)
        found[title] = re.split(r"^\d+\. ", rest, flags=re.M)[1:]
    return found


def test_each_recipe_has_at_most_six_steps() -> None:
    found = recipes()
    assert list(found) == [
        "A REST endpoint",
        "A limit of a session",
        "A message of the kernel link",
    ]
    for title, steps in found.items():
        assert 3 <= len(steps) <= 6, title


def flags(kind: str) -> list[str]:
    return subprocess.run(
        ["pkg-config", kind, *PACKAGES],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()


def compile_copy(tree: Path, program: Path, *mains: str) -> None:
    subprocess.run(
        [
            *("cc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{tree}", "-w"),
            *('-DHEARTH_VERSION="0"', '-DHEARTH_PYTHONDIR="/nowhere"'),
            '-DHEARTH_SYSCONFDIR="/nowhere"',
            *flags("--cflags"),
            *(str(tree / source) for source in (*SOURCES, *mains)),
            *("-o", str(program), "-Wl,--start-group"),
            *(str(path) for path in sorted(LIBRARIES.glob("lib*.a"))),
            "-Wl,--end-group",
            *(*flags("--libs"), "-lcmocka", "-lseccomp", "-lwebsockets"),
        ],
        check=True,
    )


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after))


@pytest.mark.skipif(
    not (LIBRARIES / "libbase.a").exists(), reason="no libraries of a build"
)
def test_a_limit_of_a_session_by_its_recipe(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for folder in ("base", "protocol", "sandbox", "kernels", "notebooks"):
        shutil.copytree(ROOT / folder, tree / folder)
    for folder in ("gateway/config", "tests/unit", "tests/lib", "etc", "man"):
        shutil.copytree(ROOT / folder, tree / folder)
    check = tmp_path / "check"

    def run_checks() -> str:
        return subprocess.run(
            [str(check)],
            env={"srcdir": str(tree), "PATH": "/usr/bin:/bin"},
            cwd=tree,
            capture_output=True,
            text=True,
        ).stderr

    # The row, and what it makes.
    header = tree / "protocol" / "session_limits.h"
    head = re.search(r"#define SESSION_LIMITS\(X\) +", header.read_text())
    assert head
    replace(header, head[0] + "\\\n", head[0] + ROW)
    (tree / "main.c").write_text(PROGRAM)
    compile_copy(tree, tmp_path / "program", "main.c")
    subprocess.run([str(tmp_path / "program")], check=True)

    # The tests ask for the next two steps, then they are content.
    compile_copy(
        tree,
        check,
        "tests/unit/config/test_option_table.c",
        "tests/lib/options_folder.c",
    )
    said = run_checks()
    assert "the_installed_file_shows_every_key" in said
    assert "the_manual_has_every_key" in said
    replace(
        tree / "etc" / "hearth.cfg",
        "            #processes = 512\n",
        "            #processes = 512\n            #threads = 64\n",
    )
    replace(
        tree / "man" / "hearth.cfg.5",
        ".It Va profile/<name>/limits/cpu_seconds\n",
        ".It Va profile/<name>/limits/threads\nThreads of a process, from 4 to"
        " 1000.\nDefault: 64.\n.It Va profile/<name>/limits/cpu_seconds\n",
    )
    said = run_checks()
    assert "[  FAILED  ]" not in said, said
