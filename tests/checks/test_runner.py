"""What ./dev test makes of failures that a make of the test prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runner import run as runner
from tests.runner import since
from tests.runner.layers import BY_NAME, LAYERS, Depth, Layer, of_depth
from tests.runner.results import Outcome, Result

ROOT = Path(__file__).resolve().parents[2]
LAYER = Layer("system", Depth.FIRST)
TAP = "tests/layers/system.tap"
PROGRAM = "tests/unit/test_it"


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """Run a layer with a make that leaves the lines of each run in the logs of
    a program; return the verdict and the output."""

    def write(folder: Path, program: str, lines: list[str]) -> None:
        log = folder / Path(program).with_suffix(".log")
        log.parent.mkdir(parents=True)
        log.write_text("".join(f"{line}\n" for line in lines))
        words = (line.split(":")[0] for line in lines)
        log.with_suffix(".trs").write_text(
            "".join(f":test-result: {word}\n" for word in words)
        )

    def judge(
        *runs: list[str],
        layer: Layer = LAYER,
        program: str = TAP,
        summary: str = "# TOTAL: $(cat tests/*/*.log | wc -l)",
    ):
        for number, lines in enumerate(runs):
            write(
                tmp_path / f"run{number}",
                program,
                [line.replace(" ", f" {program} ", 1) for line in lines],
            )
        (tmp_path / TAP).parent.mkdir(parents=True)
        (tmp_path / TAP).touch()
        (tmp_path / "build/logs").mkdir(parents=True)
        script = tmp_path / "bin/make"
        script.parent.mkdir()
        script.write_text(
            "#!/bin/sh\n"
            f"cd {tmp_path}/build && rm -rf tests\n"
            "cp -r ../run${HEARTH_TEST_AGAIN:-0}/. .\n"
            f'echo "{summary}"\n'
        )
        script.chmod(0o755)
        monkeypatch.setattr(runner, "ROOT", tmp_path)
        monkeypatch.setattr(runner, "LOGS", tmp_path / "build/logs")
        monkeypatch.setattr(runner, "AGAIN", tmp_path / "build/logs/again")
        monkeypatch.setattr(runner.LayerRun, "prepare", lambda *_: None)
        monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
        good = runner.run_layers([layer])
        return good, capsys.readouterr().out

    return judge


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (Layer("system", Depth.FIRST), ""),
        (Layer("unit", Depth.FIRST, programs=("check",)), "build gcc check\n"),
        (
            Layer("asan", Depth.SECOND, configuration="asan", groups=("x",)),
            "deps x\nbuild asan all\n",
        ),
    ],
    ids=["built", "programs", "configuration"],
)
def test_a_layer_builds_what_is_not_built_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: Layer, said: str
) -> None:
    done = tmp_path / "done"
    done.touch()
    for name in ("build", "deps"):
        script = tmp_path / f"{name}.sh"
        script.write_text(f'#!/bin/sh\necho "{name} $*" >>{done}\n')
        script.chmod(0o755)
    monkeypatch.setattr(runner, "DEV", str(tmp_path))
    assert runner.LayerRun(layer).prepare(tmp_path / "log") is None
    assert done.read_text() == said


def test_what_passes_is_counted(make):
    good, output = make(["PASS: 1 - a::one", "SKIP: 2 - a::two # SKIP no"])
    assert good
    assert output.endswith("\n1 passed, 0 failed, 1 skipped\n")


def test_a_stumble_is_unsteady(make):
    good, output = make(
        ["PASS: 1 - a::one", "FAIL: 2 - a::two (setup)"],
        ["PASS: 1 - a::two"],
    )
    assert good
    assert "\nUNSTEADY: a::two " in output
    assert output.endswith("\n2 passed, 0 failed, 0 skipped\n")


def test_a_failure_is_tried_twice(make):
    bad = ["FAIL: 1 - a::two"]
    good, output = make(bad, bad, ["PASS: 1 - a::two"])
    assert good
    assert "UNSTEADY" in output


def test_a_failure_stays_one(make):
    bad = ["FAIL: 1 - a::two"]
    good, output = make(bad, bad, bad)
    assert not good
    assert "\nFAILED: system: a::two\n" in output
    assert output.endswith("\n0 passed, 1 failed, 0 skipped\n")


def test_what_does_not_run_again_has_failed(make):
    good, _ = make(["FAIL: 1 - a::two"], ["SKIP:"], ["SKIP:"])
    assert not good


def test_six_unsteady_tests_are_too_many(make):
    good, output = make(
        [f"FAIL: 1 - {name}::x" for name in "abcdef"],
        [f"PASS: 1 - {name}::x" for name in "abcdef"],
    )
    assert not good
    assert "more than 5 tests are unsteady" in output
    assert output.endswith("\n6 passed, 0 failed, 0 skipped\n")


def test_a_pytest_that_ended_badly_does_not_run_again(make):
    good, output = make(
        ["PASS: 1 - a::one", "ERROR: - exited with status 3"],
        ["PASS: 1 - a::one"],
    )
    assert not good
    assert "FAILED: system: exited with status 3" in output


def test_a_program_runs_again_as_a_whole(make):
    good, output = make(
        ["PASS: 1 - one", "ERROR: - exited with status 139"],
        ["PASS: 1 - one", "PASS: 2 - two"],
        layer=Layer("unit", Depth.FIRST),
        program=PROGRAM,
    )
    assert good
    assert f"UNSTEADY: {PROGRAM}" in output


def test_a_sanitizers_report_is_no_stumble(make):
    good, _ = make(
        ["FAIL: 1 - one"],
        ["PASS: 1 - one"],
        layer=Layer("asan", Depth.SECOND, configuration="gcc"),
        program=PROGRAM,
    )
    assert not good


def test_a_make_that_ends_early_has_failed(make):
    good, output = make(["PASS: 1 - a::one"], summary="")
    assert not good
    assert "FAILED: layer system: make ended with status 0" in output


def test_a_result_that_is_missing_is_a_failure(make):
    good, output = make(["PASS: 1 - a::one"], summary="# TOTAL: 2")
    assert not good
    assert "FAILED: layer system: 1 results of 2 tests" in output


def test_a_layer_without_tests_has_failed(make):
    good, output = make([])
    assert not good
    assert "FAILED: layer system: no test ran" in output


def test_a_test_whose_end_fails_has_not_passed():
    outcome = Outcome(
        [
            Result.make("PASS", TAP, "- a::one"),
            Result.make("FAIL", TAP, "- a::one (teardown)"),
        ]
    )
    assert outcome.passed(["a::one"]) == set()


def test_cmockas_skipped_tests_have_a_name():
    assert Result.make("SKIP", PROGRAM, "# SKIP its_name").word == "SKIP"


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("README.md", ["checks", "docs", "examples"]),
        ("tests/unit/base/test_base64.c", ["checks", "unit", "docs"]),
        ("tests/system/jc7/test_old_client.py", ["checks", "docs", "jc7"]),
        ("base/fd.c", [layer.name for layer in of_depth(Depth.FIRST)]),
        ("configure.ac", [layer.name for layer in of_depth(Depth.FIRST)]),
    ],
)
def test_a_change_touches_layers(file: str, names: list[str]):
    assert [layer.name for layer in since.touched([file])] == names


def test_every_row_of_what_is_touched_is_true():
    for beginning, names in since.TOUCHED:
        assert (ROOT / beginning).exists() or beginning.endswith("_")
        assert set(names.split()) <= set(BY_NAME)


def test_every_layer_has_its_name_once():
    names = [layer.name for layer in LAYERS]
    assert len(names) == len(set(names))
