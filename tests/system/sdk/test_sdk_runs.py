"""Code that the client runs, and what it says of it."""

from __future__ import annotations

import base64
import re
import threading
from pathlib import Path

import hearth
import pytest
from harness import Gateway

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_a_result(sync_session: hearth.Session) -> None:
    result = sync_session.run(
        "import sys\nx = 1\nprint('out')\nprint('err', file=sys.stderr)\nx + 1"
    )
    assert result.ok
    assert result.status == "ok"
    assert result.text == "2"
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert result.error is None
    assert result.state == hearth.Kept()
    assert set(result.changes.appeared) == {"sys", "x"}
    assert result.cell == 1
    assert result.seconds is not None
    assert result.check() is result
    assert result.for_model.text.startswith("[1] ok ")
    assert result.for_model.text.endswith("out\nerr\n2")
    assert sync_session.run("del x").changes.went == ("x",)


def test_rich_outputs(sync_session: hearth.Session) -> None:
    result = sync_session.run(
        "import base64, pandas\n"
        "from IPython.display import display, Image\n"
        f"display(Image(base64.b64decode('{PNG}')))\n"
        "pandas.DataFrame({'a': [1, 2]})"
    )
    png = base64.b64decode(PNG)
    assert [output.png for output in result.images] == [png]
    assert result.outputs[-1].html is not None
    assert "<table" in result.outputs[-1].html
    assert result.tables[0].startswith("DataFrame 2 \u00d7 1")
    (image,) = result.for_model.images
    assert (image.width, image.height, image.data) == (1, 1, png)
    assert sync_session.read_image(image.ref) == png


def test_what_a_view_has_cut_is_read_by_the_method_it_names(
    sync_session: hearth.Session,
) -> None:
    result = sync_session.run(
        "for i in range(1, 10001): print('line', i)", max_tokens=200
    )
    found = re.search(
        r' left out: session\.read_output\("(.*)", from_line=(\d+)\) …',
        result.for_model.text,
    )
    assert found, result.for_model.text
    ref, line = found[1], int(found[2])
    assert sync_session.read_output(ref, from_line=line, lines=1) == (
        f"{ref} lines {line} to {line} of 10,000; go on with "
        f"from_line={line + 1}\nline {line}"
    )
    assert sync_session.read_output(ref, grep=" 777$") == (
        f"{ref} 1 line matches of 10,000\n777: line 777"
    )
    assert len(sync_session.read_output(ref, max_tokens=50)) < 50 * 4


def test_outputs_that_are_not_there(sync_session: hearth.Session) -> None:
    sync_session.run(
        "import base64\nfrom IPython.display import display, Image\n"
        f"display(Image(base64.b64decode('{PNG}')))"
    )
    with pytest.raises(hearth.OutputUnknown, match=r"there is no out:1\.2"):
        sync_session.read_output("out:1.2")
    with pytest.raises(hearth.OutputUnknown, match="no cell 9"):
        sync_session.read_image("out:9.1")
    with pytest.raises(hearth.BadRequest, match=r"one looks like out:7\.2"):
        sync_session.read_output("out")
    with pytest.raises(hearth.BadRequest, match=r"read_image\(\) reads it"):
        sync_session.read_output("out:1.1")


def test_code_that_raises_is_a_result(sync_session: hearth.Session) -> None:
    result = sync_session.run("kept = 1\n1/0")
    assert not result.ok
    assert result.status == "error"
    assert result.error is not None
    assert result.error.name == "ZeroDivisionError"
    assert result.error.value == "division by zero"
    assert "\x1b" not in result.error.traceback
    assert "1/0" in result.error.traceback
    assert result.for_model.is_error
    with pytest.raises(hearth.CodeFailed, match="division by zero") as raised:
        result.check()
    assert raised.value.name == "ZeroDivisionError"
    assert sync_session.run("kept").text == "1"


def test_a_timeout_keeps_the_variables(sync_session: hearth.Session) -> None:
    result = sync_session.run("kept = 2\nwhile True: pass", timeout=0.2)
    assert result.status == "timeout"
    assert result.state == hearth.Kept()
    with pytest.raises(hearth.CodeTimedOut, match=r"0\.2 s"):
        result.check()
    assert sync_session.run("kept").text == "2"


def test_an_interrupt(sync_session: hearth.Session) -> None:
    run = sync_session.start("print('go', flush=True)\nwhile True: pass")
    assert run.wait(0.1) is None
    events = run.events()
    assert any(event.output for event in events)
    assert run.status() == "running"
    run.interrupt()
    result = run.result()
    assert result.error is not None
    assert result.error.name == "KeyboardInterrupt"
    assert run.status() == "finished"


def test_the_end_of_the_kernel_is_a_value(user: Gateway) -> None:
    with hearth.session(restart="never") as session:
        session.run("df = [1]")
        result = session.run("import os\nos._exit(3)")
        assert result.status == "lost"
        assert isinstance(result.state, hearth.Lost)
        assert "exited with code 3" in result.state.cause
        assert "df" in result.state.variables
        assert result.state.at is not None
        with pytest.raises(hearth.StateLost, match="exited with code 3"):
            result.check()
        with pytest.raises(hearth.SessionGone) as raised:
            session.run("1")
        assert raised.value.reason == "exit"
        assert raised.value.at is not None
        session.restart()
        assert session.run("1").state == hearth.Kept()


def test_the_first_run_after_a_restart_says_so(
    sync_session: hearth.Session,
) -> None:
    sync_session.run("df = [1]\nmodel = 2")
    sync_session.restart()
    state = sync_session.run("1").state
    assert isinstance(state, hearth.Lost)
    assert state.variables == ("df", "model")
    assert state.cause == "restarted on request"
    assert sync_session.run("1").state == hearth.Kept()


def test_a_key_runs_once(sync_session: hearth.Session) -> None:
    code = "n = globals().get('n', 0) + 1\nn"
    first = sync_session.run(code, key="turn-1")
    again = sync_session.run(code, key="turn-1")
    assert again.id == first.id
    assert again.text == "1"
    other = hearth.connect().attach(sync_session.id)
    assert other.run(code, key="turn-1").text == "1"
    assert sync_session.run(code, key="turn-2").text == "2"
    with pytest.raises(hearth.KeyConflict):
        sync_session.run("other code", key="turn-1")


def test_questions(sync_session: hearth.Session) -> None:
    asked = []

    def answer(question: str) -> str:
        asked.append(question)
        return "blue"

    result = sync_session.run("input('colour? ')", on_input=answer)
    assert result.text == "'blue'"
    assert asked == ["colour? "]
    refused = sync_session.run("input('colour? ')")
    assert refused.error is not None
    assert refused.error.name == "StdinNotImplementedError"
    assert "`on_input` of the Python client" in refused.error.traceback


def test_outputs_as_they_come(sync_session: hearth.Session) -> None:
    """The code waits for a file that is made when its first line is seen."""
    workspace = Path(sync_session.info().workspace)
    seen: list[str] = []

    def take(output: hearth.Output) -> None:
        seen.append(output.text)
        (workspace / "go").touch()

    result = sync_session.run(
        "import os\n"
        "print('first', flush=True)\n"
        "while not os.path.exists('go'): pass\n"
        "print('second')",
        on_output=take,
    )
    assert "".join(seen) == "first\nsecond\n" == result.stdout


def test_a_run_that_has_ended_shows_its_outputs_too(
    sync_session: hearth.Session,
) -> None:
    sync_session.run("print('a')", key="k")
    seen: list[str] = []
    sync_session.run(
        "print('a')", key="k", on_output=lambda output: seen.append(output.text)
    )
    assert seen == ["a\n"]


def test_cursors_continue(sync_session: hearth.Session) -> None:
    run = sync_session.start("for i in range(3): print(i, flush=True)\n'end'")
    events = list(run.events())
    assert events[0].kind == "request"
    assert events[-1].kind == "reply"
    text = "".join(event.output.text for event in events if event.output)
    assert text == "0\n1\n2\n"
    middle = events[2].cursor
    assert list(run.events(since=middle)) == events[3:]
    # Another client, which has seen nothing of the session, finds the run.
    other = hearth.connect().attach(sync_session.id)
    same = other.start(
        "for i in range(3): print(i, flush=True)\n'end'", key=run.key
    )
    assert list(same.events(since=middle)) == events[3:]
    # This one is past the run.
    sync_session.run("1")
    late = sync_session.start(
        "for i in range(3): print(i, flush=True)\n'end'", key=run.key
    )
    assert list(late.events()) == events


def test_runs_of_several_threads(sync_session: hearth.Session) -> None:
    found: dict[int, str | None] = {}

    def work(number: int) -> None:
        found[number] = sync_session.run(f"{number} * 10").text

    threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: str(n * 10) for n in range(8)}


def test_a_view_of_another_size(sync_session: hearth.Session) -> None:
    run = sync_session.start("for i in range(5000): print('line', i)")
    whole = run.result().for_model.text
    small = run.view(max_tokens=100).text
    assert len(small) < len(whole)
    assert "left out" in small


def test_sessions_are_listed_and_end(user: Gateway) -> None:
    with hearth.connect() as gateway:
        session = gateway.session(title="sdk", idle_timeout=600)
        (info,) = [s for s in gateway.sessions() if s.id == session.id]
        assert info.name == "sdk"
        assert not info.is_gone
        assert info.expires_at is not None
        kept = session.keepalive()
        assert kept.expires_at is not None
        assert kept.expires_at >= info.expires_at
        session.note("why", by="test")
        session.end()
        session.end()
        assert session.id not in [s.id for s in gateway.sessions()]
        (gone,) = [s for s in gateway.sessions(gone=True) if s.id == session.id]
        assert (gone.is_gone, gone.reason) == (True, "deleted")
        with pytest.raises(hearth.SessionGone, match="ended on request"):
            gateway.attach(session.id)
        with pytest.raises(hearth.SessionUnknown):
            gateway.attach("00000000-0000-4000-8000-000000000000")


def test_attach_leaves_the_session(sync_session: hearth.Session) -> None:
    with hearth.attach(sync_session.id) as same:
        same.run("x = 5")
    assert sync_session.run("x").text == "5"


def test_what_is_not_possible(user: Gateway) -> None:
    with hearth.connect() as gateway:
        with pytest.raises(hearth.BadRequest, match="nope"):
            gateway.session("nope")
        with pytest.raises(hearth.BadRequest, match="limits/memory"):
            gateway.session(limits={"memory": "900G"})
