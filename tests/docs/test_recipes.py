"""The recipes of HACKING.md: what they name is there, and two are followed.

The limit of a session, and the object of a REST endpoint, are added to a copy
of the tree, step by step. What the step changes is compiled as the build does,
and the rest is the build's.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import HEARTH, ROOT

BUILD = HEARTH.parent
LIBRARIES = BUILD / ".libs"
needs_libraries = pytest.mark.skipif(
    not (LIBRARIES / "libbase.a").exists(), reason="no libraries of a build"
)
FLAGS = (
    "$(DEFS) $(VERSION_CPPFLAGS) $(PATHS_CPPFLAGS) $(AM_CPPFLAGS)"
    " $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS)"
)
PACKAGES = ("ZMQ", "JANSSON", "SODIUM", "CRYPTO", "TLS", "SECCOMP", "CMOCKA")
LIBS = " ".join(f"$({name}_LIBS)" for name in (*PACKAGES, "WEBSOCKETS"))
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


def expand(text: str) -> list[str]:
    """Words of the build's makefile, as a file of the unit tests has them."""
    target = "tests/unit/recipe.o"
    said = subprocess.run(
        [
            *("make", "-s", "--no-print-directory", "-C", str(BUILD)),
            *("-f", "-", target),
        ],
        input=f"include Makefile\n{target}: ; $(info {text})@:\n",
        check=True,
        capture_output=True,
        text=True,
    )
    return shlex.split(said.stdout)


def compile_copy(tree: Path, program: Path, *sources: str | Path) -> None:
    """A header that the tree has not is the checkout's."""
    subprocess.run(
        [
            *(*expand("$(CC)"), f"-I{tree}", *expand(FLAGS)),
            *(str(tree / source) for source in sources),
            *("-o", str(program), "-Wl,--start-group"),
            *(
                str(LIBRARIES / name.replace(".la", ".a"))
                for name in expand("$(noinst_LTLIBRARIES)")
            ),
            *("-Wl,--end-group", *expand(LIBS)),
        ],
        cwd=BUILD,
        check=True,
    )


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert text.count(before) == 1, (path, before)
    path.write_text(text.replace(before, after))


@needs_libraries
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
    compile_copy(tree, tmp_path / "program", *SOURCES, "main.c")
    subprocess.run([str(tmp_path / "program")], check=True)

    # The tests ask for the next two steps, then they are content.
    compile_copy(
        tree,
        check,
        *SOURCES,
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


RESOURCE = """
#include "gateway/http/api/route.h"

static void show(exchange_t *exchange)
{
    exchange_json(exchange, 200, json_pack("{s:i}", "sun", 1));
}

const route_t weather_routes[] = {
    {METHOD_GET, "/hearth/weather", SCOPE_OBSERVE, show},
    {0},
};
"""
DESCRIPTION = """{
 "paths": {"/hearth/weather": {"get": {
  "summary": "The weather",
  "responses": {"200": {
   "description": "As it is now",
   "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Weather"}}}
  }}
 }}},
 "components": {"schemas": {"Weather": {
  "type": "object", "required": ["sun"], "properties": {"sun": {"type": "integer"}}
 }}}
}
"""  # noqa: E501


@needs_libraries
def test_a_rest_endpoint_by_its_recipe(tmp_path: Path) -> None:
    """The noun and its object are new: there is no longer way."""
    tree, check = tmp_path / "tree", tmp_path / "check"
    shutil.copytree(ROOT / "gateway/http", tree / "gateway/http")
    makefile = tree / "gateway/http/Makemodule.am"

    def make(script: str, suffix: str) -> str:
        """Does as the build with the files that the makefile names."""
        named = re.findall(
            rf"^\t%D%/(\S+\{suffix})(?: \\)?$", makefile.read_text(), re.M
        )
        return subprocess.run(
            ["sh", str(ROOT / "build-aux" / script)]
            + [f"gateway/http/{name}" for name in dict.fromkeys(named)],
            cwd=tree,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def run_checks() -> str:
        (tree / "routes.c").write_text(make("route-tables.sh", ".c"))
        (tree / "parts.json").write_text(make("json-list.sh", ".json"))
        (tree / "parts.c").write_text(
            subprocess.run(
                [
                    *("sh", ROOT / "build-aux/embed.sh"),
                    *("gateway/http/api/openapi.h", "openapi_parts"),
                    tree / "parts.json",
                ],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        compile_copy(
            tree,
            check,
            *("routes.c", "parts.c", "gateway/http/api/api_weather.c"),
            ROOT / "tests/unit/http/api/test_openapi.c",
        )
        return subprocess.run(
            [str(check)], env={}, capture_output=True, text=True
        ).stderr

    # The table of routes, and its row of the makefile. A test asks for more.
    (tree / "gateway/http/api/api_weather.c").write_text(RESOURCE)
    row = "\t%D%/api/api_status.c \\\n"
    replace(makefile, row, row + row.replace("status", "weather"))
    assert "get /hearth/weather is not described" in run_checks()

    # The description, and its row. The test is content.
    (tree / "gateway/http/api/openapi/weather.json").write_text(DESCRIPTION)
    row = "\t%D%/api/openapi/tools.json \\\n"
    replace(makefile, row, row + row.replace("tools", "weather"))
    said = run_checks()
    assert "[  FAILED  ]" not in said, said
    assert "[  PASSED  ] 4 test(s)." in said, said
