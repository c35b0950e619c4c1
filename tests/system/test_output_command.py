"""`hearth exec --for-model`, and `hearth output`, which reads what it cuts, and
what programs beside the kernel have written."""

from __future__ import annotations

import base64
import json
import re
import shlex
from pathlib import Path

import pytest
from deadline import wait_for
from harness import Gateway, Session

LINES = "for i in range(1, 10001): print('line', i)"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = (
    "import base64\nfrom IPython.display import Image, display\n"
    f"display(Image(base64.b64decode('{PNG}')))"
)


def view(session: Session, code: str, status: int = 0) -> list[str]:
    done = session.exec(code, "--for-model")
    assert done.returncode == status, done.stderr
    assert done.stderr == ""
    return done.stdout.rstrip("\n").split("\n")


def hint(shown: list[str]) -> list[str]:
    """The words of the command that the marker names."""
    (marker,) = [line for line in shown if line.startswith("… ")]
    found = re.search(r" left out: (hearth output .*) …$", marker)
    assert found, marker
    return shlex.split(found[1])


def read(session: Session, *words: str, status: int = 0) -> str:
    done = session.gateway.run("output", session.id, *words)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def test_the_view_names_the_command_that_reads_the_rest(
    session: Session,
) -> None:
    shown = view(session, LINES)
    assert re.fullmatch(
        rf"\[1\] ok [\d.]+ (ms|s) · session {session.id[:8]} · \+i", shown[0]
    ), shown[0]
    words = hint(shown)
    assert words[:4] == ["hearth", "output", session.id[:8], "out:1.1"]
    line = int(words[4].partition("--from-line=")[2])
    assert f"line {line - 1}" in shown
    assert f"line {line}" not in shown
    done = session.gateway.run(*words[1:], "--lines", "2")
    assert done.stdout == (
        f"out:1.1 lines {line:,} to {line + 1:,} of 10,000; go on with "
        f"--from-line={line + 2}\nline {line}\nline {line + 1}\n"
    )


def test_by_a_pattern_and_to_a_file(session: Session, tmp_path: Path) -> None:
    view(session, LINES)
    expected = "out:1.1 1 line matches of 10,000\n777: line 777\n"
    assert read(session, "out:1.1", "--grep", " 777$") == expected
    path = tmp_path / "lines"
    assert read(session, "1.1", "--grep", " 777$", "-o", str(path)) == ""
    assert path.read_text() == expected
    document = json.loads(read(session, "out:1.1", "--lines", "1", "--json"))
    assert document == {
        "session": session.id,
        "ref": "out:1.1",
        "text": "out:1.1 lines 1 to 1 of 10,000; go on with --from-line=2\n"
        "line 1",
    }
    short = read(session, "out:1.1", "--max-tokens", "50")
    assert len(short) < 50 * 4


def test_a_traceback_in_full(session: Session) -> None:
    # Equal frames would be folded by IPython itself.
    long = "of_a_long_name" * 5
    code = "\n".join(
        f"def f{i}{long}():\n    f{i + 1}{long}()" for i in range(100)
    )
    code += f"\ndef f100{long}():\n    1 / 0\nf0{long}()"
    shown = view(session, code, status=1)
    assert f" · session {session.id[:8]} · state kept · +" in shown[0]
    words = hint(shown)
    assert words[3:] == ["out:1.1"]
    whole = read(session, "out:1.1", "--max-tokens", "100000")
    assert f"f1{long}()" in whole
    assert f"f99{long}()" in whole
    assert "\x1b" not in whole


def test_an_image_as_bytes_and_as_json(
    session: Session, tmp_path: Path
) -> None:
    assert view(session, IMAGE)[-1].endswith(", out:1.1]")
    path = tmp_path / "image.png"
    read(session, "out:1.1", "--output", str(path))
    assert path.read_bytes() == base64.b64decode(PNG)
    document = json.loads(read(session, "out:1.1", "--json"))
    assert base64.b64decode(document.pop("data")) == path.read_bytes()
    assert document == {
        "session": session.id,
        "ref": "out:1.1",
        "mime": "image/png",
        "bytes": path.stat().st_size,
        "width": 1,
        "height": 1,
    }


def test_a_display_has_its_last_form_and_its_number(session: Session) -> None:
    code = (
        "h = display('one', display_id=True)\nprint('between')\n"
        "h.update('two')\nprint('after')\n" + LINES
    )
    shown = view(session, code)
    assert shown[1:4] == ["'two'", "between", "after"]
    assert hint(shown)[3] == "out:1.2"
    assert read(session, "out:1.1").endswith("\n'two'\n")
    assert read(session, "out:1.2", "--lines", "1").endswith("\nbetween\n")


def test_help_is_part_of_the_view(session: Session) -> None:
    shown = view(session, "print('first')\nprint?")
    assert shown[1] == "first"
    assert any("Prints the values to a stream" in line for line in shown)
    read_alone = read(session, "out:1.2", "--grep", "^Docstring")
    assert "1 line matches" in read_alone


def test_the_newest_cell_of_a_number_also_when_the_session_is_gone(
    gateway: Gateway, tmp_path: Path
) -> None:
    session = gateway.create()
    session.exec("print('first')")
    assert gateway.run("session", "restart", session.id).returncode == 0
    session.exec("print('second')")
    expected = "out:1.1 lines 1 to 1 of 1\nsecond\n"
    assert read(session, "out:1.1") == expected
    assert gateway.run("session", "delete", session.id).returncode == 0
    # A folder in which no gateway runs.
    env = {"HEARTH_RUNTIME_DIR": str(tmp_path)}
    done = gateway.run("output", session.id, "out:1.1", env=env)
    assert done.stdout == expected, done.stderr


def test_what_is_wrong(session: Session) -> None:
    session.exec("print(1)")
    for words, status, sentence in (
        (("out",), 2, "out is not a reference; one looks like out:7.2"),
        (("\x1b[31mred\n",), 2, "?[31mred? is not a reference"),
        (("out:9.1",), 1, "the session has no cell 9"),
        (("out:1.2",), 1, "there is no out:1.2: cell 1 has 1 outputs"),
        (("out:1.1", "--grep", "("), 2, "grep is not a regular expression"),
        (("out:1.1", "--from-line", "x"), 2, "a whole number"),
        (("out:1.1", "--max-tokens", "0"), 2, "must be 1 to 100000"),
        (("process:1",), 1, "no process 1, or its output is no longer kept"),
        (("1",), 1, "no process 1, or its output is no longer kept"),
        (("process:2",), 1, "; there is none"),
    ):
        assert sentence in read(session, *words, status=status), words
    done = session.gateway.run("output", "nowhere", "out:1.1")
    assert done.returncode == 3
    assert "there is no session nowhere" in done.stderr


def test_secrets_that_the_configuration_names(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    session.exec("print('the sk-abcdef is here')")
    config = tmp_path / "hearth.cfg"
    config.write_text("sessions\n    mask = sk-[a-z]+\n")
    env = {
        "HEARTH_CONFIG": str(config),
        "HEARTH_STATE_DIR": gateway.env["HEARTH_STATE_DIR"],
    }
    done = gateway.run("output", session.id, "out:1.1", env=env)
    assert done.stdout.endswith("\nthe [masked] is here\n"), done.stderr
    ref = program(session, "echo", "one sk-abcdef")
    done = gateway.run("output", session.id, ref, env=env)
    assert done.stdout.endswith("\none [masked]\n"), done.stderr


def program(session: Session, *words: str) -> str:
    """Runs it to its end; its reference."""
    session.gateway.run("run", session.id, "--", *words)
    listed = session.gateway.run("ps", session.id, "--json")
    return f"process:{json.loads(listed.stdout)[-1]['process']}"


def test_a_program_beside_the_kernel(session: Session, tmp_path: Path) -> None:
    ref = program(session, "seq", "-f", "line %.0f", "10000")
    assert ref == "process:1"
    words = ("--from-line", "5000", "--lines", "2")
    expected = (
        f"{ref} lines 5,000 to 5,001 of 10,000; go on with "
        "--from-line=5002\nline 5000\nline 5001"
    )
    assert read(session, ref, *words) == expected + "\n"
    document = json.loads(read(session, ref, *words, "--json"))
    assert document == {"session": session.id, "ref": ref, "text": expected}
    path = tmp_path / "lines"
    found = ("--grep", " 777$", "--output", str(path))
    assert read(session, ref, *found) == ""
    assert path.read_text() == (
        f"{ref} 1 line matches of 10,000\n777: line 777\n"
    )
    short = read(session, ref, "--max-tokens", "50")
    assert len(short) < 50 * 4
    wrong = read(session, ref, "--grep", "(", status=2)
    assert wrong.startswith("hearth: grep is not a regular expression")
    assert program(session, "echo") == "process:2"
    assert read(session, "process:3", status=1) == (
        "hearth: the session has no process 3, or its output is no longer "
        "kept; the first is process:1, the last process:2\n"
    )


def wait_for_text(session: Session, ref: str, expected: str) -> None:
    wait_for(lambda: read(session, ref) == expected, "what it has written")


def wait_for_end(session: Session, number: int) -> None:
    def is_ended() -> bool:
        listed = session.gateway.json("ps", session.id, "--json")
        return {p["process"]: p["state"] for p in listed}[number] == "ended"

    wait_for(is_ended, f"the end of process {number}")


def test_each_command_takes_the_number_and_the_reference(
    session: Session,
) -> None:
    gateway = session.gateway
    started = ("run", "--detach", session.id, "--", "sh", "-c")
    script = "echo begun; exec sleep 600"
    for form in ("{}", "process:{}"):
        number = gateway.run(*started, script).stdout.strip()
        word = form.format(number)
        wait_for_text(
            session, word, f"process:{number} lines 1 to 1 of 1\nbegun\n"
        )
        document = json.loads(read(session, word, "--json"))
        assert document["ref"] == f"process:{number}"
        done = gateway.run("kill", session.id, word)
        assert done.returncode == 0, done.stderr
        wait_for_end(session, int(number))


@pytest.mark.parametrize("command", ["output", "kill"])
@pytest.mark.parametrize(
    "word",
    [
        "process:0",
        "process:x",
        "process:",
        "process:-1",
        "process: 1",
        "process:1.1",
        "process:99999999999999999999",
        "process:9223372036854775808",
        "0",
        "99999999999999999999",
    ],
)
def test_a_word_that_is_no_program(
    gateway: Gateway, command: str, word: str
) -> None:
    """Before a session is looked for."""
    wrong = gateway.run(command, "nowhere", word)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith(
        f"hearth: '{word}' is not a program: give its number, which "
        "'hearth ps' lists, as 3 or process:3\nusage: "
    )


def test_bytes_of_a_program_that_are_gone_are_counted(
    session: Session,
) -> None:
    size = (1 << 20) + 4096
    ref = program(session, "sh", "-c", f"yes 1234567 | head -c {size}")
    gone, head, line = read(session, ref, "--from-line", "131072").splitlines()
    assert gone.startswith(
        "these are the first 1048576 bytes that it wrote; 4096 more are not "
        "in the journal; "
    )
    assert head == f"{ref} lines 131,072 to 131,072 of 131,072"
    assert line == "1234567"
    wrong = read(session, ref, "--grep", "(", status=2)
    assert wrong.startswith("hearth: grep is not a regular expression")


def test_a_program_while_it_runs_and_when_its_session_is_gone(
    gateway: Gateway, tmp_path: Path
) -> None:
    session = gateway.create()
    script = "echo out; echo err >&2; exec sleep 600"
    started = gateway.run(
        "run", "--detach", session.id, "--", "sh", "-c", script
    )
    ref = f"process:{started.stdout.strip()}"
    wait_for(lambda: "err" in read(session, ref), "what it has written")
    shown = read(session, ref)
    assert set(shown.splitlines()[1:]) == {"out", "err"}
    assert gateway.run("session", "delete", session.id).returncode == 0
    # A folder in which no gateway runs.
    env = {"HEARTH_RUNTIME_DIR": str(tmp_path)}
    done = gateway.run("output", session.id, ref, env=env)
    assert done.stdout == shown, done.stderr
    other = gateway.run("output", session.id, "process:9", env=env)
    assert other.returncode == 1
    assert other.stderr.endswith(f"; the only one is {ref}\n")
