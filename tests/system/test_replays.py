"""A recording runs again, and what differs is found."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pexpect
import pytest
from client import Client, Turn
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from kinds import KINDS
from recordings import revive, run_all

pytestmark = pytest.mark.warm

CELLS = [
    "import random\nrandom.seed(1)\nx = [random.random() for _ in range(3)]",
    "print(x)\nx",
    "from IPython.display import display, HTML\n"
    "handle = display(HTML('<b>1</b>'), display_id=True)\n"
    "display(HTML('<b>1</b>'), display_id=handle.display_id)",
    "handle.update(HTML('<b>2</b>'))\nprint('a'); print('b')",
    "1 / 0",
    "len(x)",
]


def replays(gateway: Gateway) -> list[str]:
    """The sessions of replays that are alive."""
    return [
        model["id"]
        for model in gateway.sessions()
        if model["name"].startswith("replay of")
    ]


def test_a_session_replays_without_a_difference(
    gateway: Gateway, session: Session
) -> None:
    run_all(session, *CELLS)
    done = gateway.run("notebook", "replay", "--json", session.id)
    found = json.loads(done.stdout)

    assert done.returncode == 0, found
    assert found["same"] == len(CELLS)
    assert found["different"] == found["skipped"] == 0
    assert found["session"] is None
    wait_for(lambda: not replays(gateway), "the session is ended")


@pytest.mark.parametrize(
    "kind",
    [
        # Each of its replays trains the models again, which takes long.
        pytest.param(kind, marks=pytest.mark.deep)
        if kind == "training"
        else kind
        for kind in KINDS
    ],
)
def test_every_kind_replays_and_a_change_is_found(
    gateway: Gateway, session: Session, tmp_path: Path, kind: str
) -> None:
    run_all(session, *KINDS[kind])
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", session.id, "-o", str(path))
    same = gateway.run("notebook", "replay", str(path))
    assert same.returncode == 0, same.stdout

    notebook = json.loads(path.read_text())
    number = next(
        index
        for index, cell in enumerate(notebook["cells"], 1)
        if cell["outputs"]
    )
    notebook["cells"][number - 1]["source"] = "print('something else')"
    path.write_text(json.dumps(notebook))
    done = gateway.run("notebook", "replay", "--json", str(path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["first_different"] == number


@pytest.fixture
def recording(
    gateway: Gateway, session: Session, tmp_path: Path
) -> Callable[..., Path]:
    """Makes a notebook file of cells; each can be changed afterwards."""

    def make(cells: list[str], **changed: str) -> Path:
        run_all(session, *cells)
        path = tmp_path / "run.ipynb"
        gateway.run("notebook", "export", session.id, "-o", str(path))
        notebook = json.loads(path.read_text())
        for index, source in changed.items():
            notebook["cells"][int(index[1:])]["source"] = source
        path.write_text(json.dumps(notebook))
        return path

    return make


def test_a_change_is_found(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 1", "a + 1", "a + 2", "b = 1"], c0="a = 2")
    done = gateway.run("notebook", "replay", "--json", str(path))
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert [cell["verdict"] for cell in found["cells"]] == [
        "same",
        "different",
        "different",
        "same",
    ]
    assert found["first_different"] == 2
    early = gateway.run("notebook", "replay", "-s", str(path))
    assert early.returncode == 1
    assert "the first difference is at cell 2" in early.stdout
    assert "a + 2" not in early.stdout
    first = gateway.run("notebook", "replay", "--until", "1", str(path))
    assert first.returncode == 0
    assert "1 same, 0 different" in first.stdout


def test_a_replay_is_kept(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 41", "a", "del a"], c1="a + 1")
    done = gateway.run("notebook", "replay", "-s", "--keep", str(path))
    kept = re.search(r"hearth attach (\S+)", done.stdout)

    assert done.returncode == 1
    assert kept
    asked = gateway.run("exec", kept.group(1), "-c", "a")
    assert asked.stdout == "41\n"
    assert gateway.run("session", "delete", kept.group(1)).returncode == 0


def test_cells_with_effects_outside_are_left_out(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 1", "a = 2\n  # hearth: outside-effects\n", "a"])
    plain = gateway.run("notebook", "replay", str(path))
    assert plain.returncode == 1
    assert "effects outside" in plain.stdout
    assert gateway.run("notebook", "replay", "--all", str(path)).returncode == 0


def test_replays_that_cannot_be(gateway: Gateway, tmp_path: Path) -> None:
    def status(*arguments: str) -> int:
        return gateway.run("notebook", "replay", *arguments).returncode

    (tmp_path / "bad.ipynb").write_text("{")
    (tmp_path / "empty.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    assert status(str(tmp_path / "bad.ipynb")) == 1
    assert status(str(tmp_path / "none.ipynb")) == 1
    assert status("absent") == 3
    assert status(str(tmp_path / "empty.ipynb")) == 0
    assert status("-u", "1", str(tmp_path / "empty.ipynb")) == 2
    assert status("-w", "/none", str(tmp_path / "empty.ipynb")) == 2
    wait_for(lambda: not replays(gateway), "no session is left")


def verdicts(found: dict[str, Any]) -> list[str]:
    return [cell["verdict"] for cell in found["cells"]]


def test_a_restart_is_honoured(gateway: Gateway, session: Session) -> None:
    """Variables that were lost then are lost again, in replay and in bisect."""
    session.exec("x = 1")
    gateway.run("session", "restart", session.id)
    session.wait_state("idle")
    session.exec("x")
    session.exec("x = 3")
    done = gateway.run("notebook", "replay", "--json", session.id)
    found = json.loads(done.stdout)
    assert verdicts(found) == ["same", "same", "same"]
    done = gateway.run("notebook", "bisect", "-e", "x == 1", session.id)
    assert done.returncode == 1
    assert "fails first after cell 2" in done.stdout
    assert "NameError: name 'x' is not defined" in done.stdout


def test_a_revived_session_is_replayed_once(
    gateway: Gateway, session: Session
) -> None:
    run_all(session, "n = 0", "n += 1\nn")
    session.delete()
    session.wait_state("gone")
    assert gateway.run("session", "revive", session.id).returncode == 0
    session.exec("n += 1; n")
    done = gateway.run("notebook", "replay", "--json", session.id)
    found = json.loads(done.stdout)
    assert verdicts(found) == ["same", "same", "skipped", "skipped", "same"]
    assert "a revival had run it again" in done.stdout


def test_cells_that_ended_badly_are_left_out(
    gateway: Gateway, session: Session
) -> None:
    run_all(session, "x = 1")
    session.exec("while True: pass", "--timeout", "1s")
    run_all(session, "x")
    done = gateway.run("notebook", "replay", "--json", session.id)
    assert verdicts(json.loads(done.stdout)) == ["same", "skipped", "same"]


def test_a_cell_that_does_not_end(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["x = 1", "x", "x + 1"], c1="while True: pass")
    done = gateway.run(
        "notebook", "replay", "--json", "--timeout", "1s", str(path)
    )
    found = json.loads(done.stdout)
    assert verdicts(found) == ["same", "different", "same"]
    assert "raised TimeLimitExceeded" in found["cells"][1]["why"]


def test_errors_and_their_consequences(
    gateway: Gateway, recording: Callable[..., Path], tmp_path: Path
) -> None:
    """The folder is copied: what the cells write is not in it."""
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "sub" / "in.txt").write_text("42")
    path = recording(
        ["n = 42", "n", "m = 1"],
        c0="n = int(open('sub/in.txt').read()); open('made', 'w').close()",
    )
    done = gateway.run("notebook", "replay", "--json", str(path))
    first, second, third = json.loads(done.stdout)["cells"]
    assert first["why"].startswith("raised FileNotFoundError: ")
    assert first["why"].endswith(
        "; the recording has no error; the recorded session had this file: "
        "give a folder that has it with -w"
    )
    assert second["why"].endswith("; it follows from cell 1")
    assert third["verdict"] == "same"
    for _ in range(2):
        done = gateway.run("notebook", "replay", "-w", str(data), str(path))
        assert done.returncode == 0, done.stdout
        assert [one.name for one in data.iterdir()] == ["sub"]


def test_a_file_that_is_missing_has_its_cause(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    """A cell's that differed, the workspace that is not there, or none of
    hearth's business."""
    path = recording(
        ["1", "2", "3", "4"],
        c0="open('/tmp/there').close(); open('made.txt', 'w').close()",
        c1="open('made.txt').close()",
        c2="open('/workspace/data.csv').close()",
        c3="import shutil; shutil.copy('a', 'b')",
    )
    done = gateway.run("notebook", "replay", "--json", str(path))
    whys = [cell["why"] for cell in json.loads(done.stdout)["cells"]]
    assert whys[0].endswith("'/tmp/there'; the recording has no error")
    assert whys[1].endswith("; it follows from cell 1")
    assert whys[2].endswith("give a folder that has it with -w")
    assert whys[3].endswith("give a folder that has it with -w")


def test_unrecorded_values_are_no_difference(
    gateway: Gateway, tmp_path: Path
) -> None:
    def cell(source: str, **rest: Any) -> dict[str, Any]:
        return {
            "cell_type": "code", "source": source, "outputs": [],
            "metadata": {}, "execution_count": None, **rest,
        }  # fmt: skip

    path = tmp_path / "clean.ipynb"
    cells = [
        cell("1 + 1"),
        cell("1 / 0", metadata={"tags": ["skip-execution"]}),
        cell("2", execution_count=3),
    ]
    path.write_text(
        json.dumps(
            {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        )
    )
    done = gateway.run("notebook", "replay", "--json", str(path))
    found = json.loads(done.stdout)
    assert verdicts(found) == ["not recorded", "skipped", "different"]
    assert found["not_recorded"] == 1
    assert "skip-execution" in found["cells"][1]["why"]


def test_the_profile_of_the_recording() -> None:
    """The profile is the recording's, unless another is requested or it does
    not exist."""
    gateway = Gateway(
        "--set", "profile/python3/limits/open_files=900",
        "--set", "profile/other/limits/open_files=800",
    )  # fmt: skip
    code = "import resource; resource.getrlimit(resource.RLIMIT_NOFILE)[0]"
    try:
        session = gateway.start().create("--profile", "other")
        assert session.exec(code).stdout == "800\n"
        ran = gateway.run("notebook", "replay", session.id)
        assert ran.returncode == 0, ran.stdout
        ran = gateway.run("notebook", "replay", "-p", "python3", session.id)
        assert ran.returncode == 1
        assert "900, recorded is 800" in ran.stdout
        path = gateway.folder / "run.ipynb"
        gateway.run("notebook", "export", session.id, "-o", str(path))
        path.write_text(path.read_text().replace('"other"', '"elsewhere"'))
        ran = gateway.run("notebook", "replay", str(path))
        assert "the profile elsewhere, which this gateway" in ran.stderr
        assert ran.returncode == 1
    finally:
        gateway.end()


def test_invalid_expressions(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    """Reported before any cell is run, without our own file's name."""
    path = recording(["1", "2"])
    ran = gateway.run("notebook", "bisect", str(path), "-e", "len(df) = 3")
    assert ran.returncode == 2
    assert "--expr: SyntaxError: " in ran.stderr
    assert "line" not in ran.stderr
    assert ran.stdout == ""
    wait_for(lambda: not replays(gateway), "no session is left")


# -- what input() was answered --


def run_answering(client: Client, code: str, *answers: str) -> Turn:
    msg_id = client.kc.execute(code, allow_stdin=True)
    for answer in answers:
        client.kc.get_stdin_msg(timeout=DEADLINE)
        client.kc.input(answer)
    return client.finish(msg_id)


ASKS = "name = input('who? ')\nprint('hello', name, input('and? '))"
ASKS_SECRET = "import getpass\nword = getpass.getpass('word? ')\nlen(word)"


@pytest.fixture
def answered(session: Session) -> Session:
    with session.client() as client:
        reported = run_answering(client, ASKS, "Ada", "čaj 🫖")
        assert reported.stream() == "hello Ada čaj 🫖\n"
        assert run_answering(client, ASKS_SECRET, "open sesame").result == "11"
        assert client.run("after = len(name)\nafter").result == "3"
    return session


def test_answers_are_recorded_and_passwords_are_not(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", answered.id, "-o", str(path))
    first, second, _ = json.loads(path.read_text())["cells"]
    assert first["metadata"]["hearth"]["inputs"] == [
        {"prompt": "who? ", "answered": True, "value": "Ada"},
        {"prompt": "and? ", "answered": True, "value": "čaj 🫖"},
    ]
    assert second["metadata"]["hearth"]["inputs"] == [
        {"prompt": "word? ", "password": True, "answered": True}
    ]
    folder = gateway.state / "sessions" / answered.id / "journal"
    assert not any(
        b"open sesame" in file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    )
    rows = gateway.json("notebook", "trace", "--json", answered.id)
    assert "input_reply" not in [row["what"] for row in rows]


def test_recorded_answers_are_given_again(
    gateway: Gateway, answered: Session
) -> None:
    found = gateway.json("notebook", "replay", "--json", answered.id)
    assert verdicts(found) == ["same", "skipped", "same"]
    assert "a password" in found["cells"][1]["why"]
    answered.delete()
    answered.wait_state("gone")
    report = revive(gateway, answered)
    assert report["variables"]["back"] == ["after", "name"]
    assert report["variables"]["missing"] == ["getpass", "word"]
    assert [cell["number"] for cell in report["cells"]] == [2]


def test_a_person_is_asked_for_a_password(
    gateway: Gateway, answered: Session
) -> None:
    """In a terminal; what is typed is not shown, and runs the cell."""
    running = pexpect.spawn(
        HEARTH,
        ["notebook", "replay", answered.id],
        env={**gateway.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=DEADLINE,
    )
    running.expect_exact("the cell asks: word? ")
    running.waitnoecho(DEADLINE)
    running.sendline("new sesame!")
    running.expect(pexpect.EOF)
    running.close()
    assert "sesame" not in running.before
    assert "3 same, 0 different, 0 skipped" in running.before
    assert running.exitstatus == 0


def test_a_redacted_answer_is_not_given(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    config = tmp_path / "hearth.cfg"
    config.write_text("sessions\n    mask = Ada\n")
    path = tmp_path / "run.ipynb"
    env = {"HEARTH_CONFIG": str(config)}
    gateway.run("notebook", "export", answered.id, "-o", str(path), env=env)
    found = gateway.json_of(1, "notebook", "replay", "--json", str(path))
    assert verdicts(found) == ["skipped", "skipped", "different"]
    assert "redacted" in found["cells"][0]["why"]


def test_a_cell_that_asks_for_more_finds_the_end(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", answered.id, "-o", str(path))
    notebook = json.loads(path.read_text())
    notebook["cells"][0]["source"] = ASKS + "\ninput('more? ')"
    path.write_text(json.dumps(notebook))
    found = gateway.json_of(
        1, "notebook", "replay", "--json", "--until", "1", str(path)
    )
    assert found["cells"][0]["verdict"] == "different"
    assert (
        "raised EOFError: the input has ended; the recording has no error"
        in found["cells"][0]["why"]
    )
    notebook["cells"][0]["source"] = (
        "try:\n    names = [input(), input(), input()]\n"
        "except EOFError:\n    print('hello Ada čaj 🫖')"
    )
    path.write_text(json.dumps(notebook))
    same = gateway.json("notebook", "replay", "--json", "-u", "1", str(path))
    assert same["same"] == 1


def test_answers_outlive_the_gateway(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        assert run_answering(client, "a = input('a? ')\na", "1").result == "'1'"
    gateway.kill()
    gateway.start()
    try:
        found = gateway.json("notebook", "replay", "--json", session.id)
        assert found["same"] == 1
    finally:
        session.delete()


# -- the first cell after which something fails --


def test_bisect(gateway: Gateway, recording: Callable[..., Path]) -> None:
    path = recording(["a = [1]", "a.append(2)", "a.clear()", "b = 1"])

    def ask(expression: str) -> tuple[int, dict[str, Any]]:
        done = gateway.run(
            "notebook", "bisect", "--json", "-e", expression, str(path)
        )
        return done.returncode, json.loads(done.stdout)

    status, found = ask("len(a) > 0")
    assert (status, found["failed_at"], found["error"]) == (1, 3, None)
    assert len(found["cells"]) == 3
    status, found = ask("len(a) >= 0")
    assert (status, found["failed_at"]) == (0, None)
    status, found = ask("1 / len(a)")
    assert (status, found["failed_at"]) == (1, 3)
    assert found["error"] == "ZeroDivisionError: division by zero"
    status, found = ask("nowhere")
    assert (status, found["held"]) == (2, False)
    assert "NameError" in found["error"]
    text = gateway.run("notebook", "bisect", str(path), "-e", "len(a) > 0")
    assert "fails first after cell 3" in text.stdout
    assert gateway.run("notebook", "bisect", str(path)).returncode == 2


def test_bisect_with_effects_outside(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    """The expression is not evaluated after an omitted cell: the state is
    unchanged."""
    path = recording(
        ["a = [1]", "a.clear() # hm\n# hearth: outside-effects", "a += [2]"]
    )

    def ask(expression: str, *flags: str) -> tuple[int, dict[str, Any]]:
        done = gateway.run(
            "notebook", "bisect", "--json", "-e", expression, *flags, str(path)
        )
        return done.returncode, json.loads(done.stdout)

    status, found = ask("1 in a")
    assert (status, found["failed_at"]) == (0, None)
    assert verdicts(found) == ["ran", "skipped", "ran"]
    status, found = ask("1 in a", "--all")
    assert (status, found["failed_at"]) == (1, 2)
    # It raises after the third cell; it was true after the first.
    status, found = ask("1 / (2 - len(a))", "--all")
    assert (status, found["failed_at"], found["error"]) == (0, None, None)
    status, found = ask("1 / (2 - len(a))")
    assert (status, found["failed_at"]) == (1, 3)
    assert found["error"] == "ZeroDivisionError: division by zero"
