"""What build-aux/compile-commands.py reads from the output of `make -n`."""

import json
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parents[2] / "build-aux/compile-commands.py"
DEPENDENCIES = "-MD -MP -MF $depbase.Tpo -c"
OUTPUT = f"""
make[1]: Entering directory '/build'
/bin/bash ./libtool --tag=CC --mode=compile gcc -DV='"1 0"' -I.. -O2 \
-MT a/la-b.lo {DEPENDENCIES} -o a/la-b.lo \
`test -f 'a/b.c' || echo '../'`a/b.c &&
mv -f $depbase.Tpo $depbase.Plo
gcc -I.. -MT main.o {DEPENDENCIES} -o main.o ../main.c &&
gcc -c -o made.o made.c
gcc -o program main.o
"""


def test_each_file_that_is_compiled_has_its_row(tmp_path):
    sources, build = tmp_path, tmp_path / "build"
    (sources / "a").mkdir()
    build.mkdir()
    (sources / "a" / "b.c").touch()
    (sources / "main.c").touch()
    done = subprocess.run(
        [sys.executable, PROGRAM, sources],
        cwd=build,
        input=OUTPUT,
        capture_output=True,
        text=True,
        check=True,
    )
    library, program = json.loads(done.stdout)
    assert library["directory"] == str(build)
    assert library["file"] == str(sources / "a" / "b.c")
    assert library["arguments"] == [
        *("gcc", '-DV="1 0"', "-I..", "-O2"),
        *("-c", "-o", "a/la-b.lo", library["file"]),
    ]
    assert program["file"] == str(sources / "main.c")
    assert program["arguments"][:2] == ["gcc", "-I.."]
