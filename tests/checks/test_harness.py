"""The results that build-aux/pytest-tap.sh reports to automake, and those that
./dev refuses."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def tap(tmp_path):
    """Runs tests from a file as automake does; gives status and TAP."""

    def run(text, *options, python=sys.executable, again=""):
        (tmp_path / "test_it.py").write_text(text)
        script = ROOT / "build-aux/pytest-tap.sh"
        environment = {
            **{k: v for k, v in os.environ.items() if "PYTEST" not in k},
            "srcdir": ROOT,
            "HEARTH_TEST_PYTHON": python,
            "HEARTH_TEST_AGAIN": again,
            "TEST_WORKERS": "2",
        }
        done = subprocess.run(
            [script, *options, "it", ".venv", tmp_path],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def results(output):
    """The lines that are no diagnostics, without the file's name."""
    lines = [line for line in output.splitlines() if not line.startswith("#")]
    return [re.sub(r"- \S*::", "", line) for line in lines]


def test_each_test_has_a_line(tap):
    status, output = tap(
        "import pytest\n"
        "def test_one(): print('not ok 1 - of its own')\n"
        "def test_two(): assert 1 == 2\n"
        "def test_three(): pytest.skip('no such machine')\n"
        "@pytest.fixture\n"
        "def broken(): yield; raise OSError('left behind')\n"
        "def test_four(broken): pass\n"
    )
    assert status == 0
    lines = results(output)
    assert lines[0] == "ok 1 test_one"
    assert lines[1] == "not ok 2 test_two"
    assert lines[2].startswith("ok 3 test_three # SKIP")
    assert lines[2].endswith("no such machine")
    assert lines[3] == "ok 4 test_four"
    assert lines[4] == "not ok 5 test_four (teardown)"
    assert lines[5:] == ["1..5"]
    assert "assert 1 == 2" in output


def test_a_test_that_would_pass_the_second_time_has_failed(tap):
    _, output = tap(
        "import pathlib\n"
        "def test_it():\n"
        "    seen = pathlib.Path(__file__).parent / 'seen'\n"
        "    was_seen = seen.exists()\n"
        "    seen.touch()\n"
        "    assert was_seen\n"
    )
    assert results(output) == ["not ok 1 test_it", "1..1"]


def test_again_runs_what_failed_alone(tap):
    text = (
        "import os\n"
        "def test_good(): pass\n"
        "def test_bad(): assert os.environ.get('HEARTH_TEST_AGAIN') == '2'\n"
    )
    assert results(tap(text)[1]) == [
        "ok 1 test_good", "not ok 2 test_bad", "1..2"
    ]  # fmt: skip
    assert results(tap(text, again="1")[1]) == ["not ok 1 test_bad", "1..1"]
    assert results(tap(text, again="2")[1]) == ["ok 1 test_bad", "1..1"]
    assert tap(text, again="3")[1].startswith("1..0 # SKIP")


def test_a_worker_that_dies_is_a_failure_of_its_test(tap):
    _, output = tap(
        "import os\ndef test_good(): pass\ndef test_bad(): os.abort()\n",
        "--beside",
    )
    # xdist gives it to other workers too, which die of it.
    found = {re.sub(r"\d+ ", "", line) for line in results(output)}
    assert {"ok test_good", "not ok test_bad (???)"} < found


def test_a_file_runs_in_one_process(tap, tmp_path):
    """Its tests may share what a module makes once."""
    _, output = tap(
        "import os, pathlib, pytest\n"
        "@pytest.mark.parametrize('n', range(6))\n"
        "def test_it(n):\n"
        "    name = os.environ['PYTEST_XDIST_WORKER']\n"
        "    (pathlib.Path(__file__).parent / name).touch()\n",
        "--beside",
    )
    assert results(output)[-1] == "1..6"
    assert len(list(tmp_path.glob("gw*"))) == 1


def test_a_file_that_does_not_load_has_failed(tap):
    status, output = tap("import no_such_module\n")
    assert (status, results(output)[-1]) == (2, "1..1")
    assert output.startswith("not ok 1 - ")


def test_no_tests_are_skipped(tap):
    assert tap("") == (0, "1..0 # SKIP there is nothing to run\n")


def test_a_missing_pytest_is_reported(tap):
    status, output = tap("def test_it(): pass\n", python="/nonexistent/python")
    assert status == 0
    assert output.startswith("1..0 # SKIP no pytest in /nonexistent/python")


def test_a_cmocka_program_is_mended_and_timed():
    done = subprocess.run(
        [
            ROOT / "build-aux/cmocka-tap.sh", "sh", "-c",
            "echo 'ok 1 - one'; echo 'not ok 2 # SKIP two'; exit 3",
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["ok 1 - one", "ok 2 # SKIP two"]
    assert re.fullmatch(r"# took \d+ ms", lines[2])


def dev(*arguments):
    return subprocess.run(
        [ROOT / "dev", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def layers():
    """The layers of each depth."""
    lines = dev("test", "--layers").stdout.splitlines()
    return {
        depth: names.split()
        for depth, _, names in (line.partition(": ") for line in lines)
    }


def test_a_layer_that_is_not_there_is_refused():
    done = dev("test", "checks", "nothing")
    assert done.returncode == 1
    assert "no layer nothing; there are: all checks unit" in done.stderr


def test_every_layer_is_documented_and_has_its_target():
    table = (ROOT / "HACKING.md").read_text()
    targets = (ROOT / "tests" / "Makemodule.am").read_text()
    of_their_own = ("clang", "asan", "tsan")
    found = layers()
    assert list(found) == ["./dev test", "./dev test all"]
    for names in found.values():
        assert len(names) > 5
        for layer in names:
            assert f"\n| {layer} | " in table
            assert layer in of_their_own or f"\ncheck-{layer}:" in targets


def test_a_command_that_is_not_there_is_refused():
    done = dev("nothing")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./dev COMMAND")


def test_every_command_of_the_usage_has_its_script():
    commands = re.findall(r"^  ([\w-]+) ", dev("help").stdout, re.M)
    assert len(commands) > 10
    for name in commands:
        script = {"install-deps": "deps"}.get(name, name)
        path = ROOT / "build-aux" / "dev" / f"{script}.sh"
        assert os.access(path, os.X_OK), name


@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="./dev works in a checkout"
)
def test_a_layer_that_counts_nothing_has_failed(tmp_path):
    """make ends badly before a test was run."""
    make = tmp_path / "make"
    make.write_text(
        "#!/bin/sh\n"
        'case "$*" in *check-docs*) exit 2 ;; esac\n'
        f'PATH=${{PATH#{tmp_path}:}} exec make "$@"\n'
    )
    make.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k[:4] != "MAKE"}
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / "build-aux/dev/test.sh", "docs"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: layer docs: make ended with status 2\n" in done.stdout
    assert done.stdout.endswith("\n0 passed, 1 failed, 0 skipped\n")
