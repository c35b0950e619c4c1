"""Which tables of routes build-aux/route-tables.sh finds in a source."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "build-aux" / "route-tables.sh"


def run(*files: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *files], capture_output=True, text=True, check=False
    )


def test_lists_the_tables_in_the_order_of_the_files(tmp_path):
    first, second, header = (tmp_path / name for name in ("b.c", "a.c", "a.h"))
    first.write_text("const route_t lamp_routes[] = {\n    {0},\n};\n")
    second.write_text(
        "static const route_t none_routes[] = {\n    {0},\n};\n"
        "const route_t door_routes[] = {\n    {0},\n};\n"
    )
    header.write_text("extern const route_t other_routes[];\n")
    done = run(first, second, header)
    assert done.returncode == 0
    assert re.findall(r"^extern const route_t (\w+)", done.stdout, re.M) == [
        "lamp_routes",
        "door_routes",
    ]
    assert done.stdout.endswith(
        "const route_t *const routes_tables[] = {\n"
        "    lamp_routes,\n    door_routes,\n    NULL,\n};\n"
    )


def test_sources_without_a_table_are_an_error(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int a;\n")
    done = run(source)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"no table of routes in {source}\n"


def test_finds_every_table_of_the_gateway():
    """Compares it with what looks like a table: a missed one is not served."""
    sources = sorted((ROOT / "gateway" / "http").rglob("*.c"))
    text = "".join(path.read_text() for path in sources)
    tables = re.findall(r"^[^\n#/*]*\broute_t\s+(\w+)\s*\[", text, re.M)
    done = run(*sources)
    assert tables
    for table in tables:
        assert f"    {table},\n" in done.stdout, table
