"""E2B's own SDK for Python, unmodified, in both of its forms: what is written
for E2B's cloud runs here by environment variables alone."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from typing import Any

import pytest
from deadline import wait_for
from e2b import (
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    SandboxException,
    SandboxNotRunningException,
    SandboxQuery,
    TimeoutException,
)
from e2b_code_interpreter import AsyncSandbox, Sandbox
from harness import Gateway

PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 2]);"
SLEEP = "import time; time.sleep(600)"


@pytest.fixture(autouse=True)
def pointed_here(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables that docs/reference/e2b.md names, and nothing else."""
    http = gateway.info()["http"]
    for name in ("E2B_API_URL", "E2B_SANDBOX_URL"):
        monkeypatch.setenv(name, f"{http['url']}e2b")
    monkeypatch.setenv("E2B_API_KEY", http["token"])


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox.create(timeout=3600) as made:
        yield made


def test_life() -> None:
    made = Sandbox.create(timeout=600, metadata={"of": "a life"})
    info = made.get_info()
    assert info.sandbox_id == made.sandbox_id
    assert info.metadata == {"of": "a life"}
    assert made.is_running()
    query = SandboxQuery(metadata={"of": "a life"})
    (listed,) = Sandbox.list(query=query).next_items()
    assert listed.sandbox_id == made.sandbox_id
    made.run_code("kept = 41")
    again = Sandbox.connect(made.sandbox_id)
    assert again.run_code("kept + 1").text == "42"
    made.set_timeout(30)
    assert made.get_info().end_at < info.end_at
    assert made.kill() is True
    assert made.kill() is False
    assert not made.is_running()
    with pytest.raises(TimeoutException, match="was not found"):
        made.run_code("1")


def test_a_timeout_ends_it() -> None:
    made = Sandbox.create(timeout=600)
    made.set_timeout(0)
    wait_for(lambda: not made.is_running(), "its end")


def test_code(sandbox: Sandbox) -> None:
    seen: list[Any] = []
    code = "import sys; print('a'); print('b', file=sys.stderr); 6 * 7"
    done = sandbox.run_code(
        code,
        on_stdout=seen.append,
        on_stderr=seen.append,
        on_result=seen.append,
    )
    assert len(seen) == 3
    assert done.text == "42"
    assert done.logs.stdout == ["a\n"]
    assert done.logs.stderr == ["b\n"]
    assert done.error is None
    assert done.execution_count == 1
    (result,) = sandbox.run_code(PLOT).results
    assert result.png
    assert result.is_main_result is False
    (result,) = sandbox.run_code(
        "from IPython.display import HTML, display; display(HTML('<b>'))"
    ).results
    assert result.html == "<b>"


def test_errors(sandbox: Sandbox) -> None:
    errors: list[Any] = []
    done = sandbox.run_code("1 / 0", on_error=errors.append)
    assert done.error
    assert errors == [done.error]
    assert done.error.name == "ZeroDivisionError"
    sandbox.run_code("kept = 41")
    with pytest.raises(TimeoutException):
        sandbox.run_code(SLEEP, timeout=1)
    assert sandbox.run_code("kept + 1").text == "42"


def test_variables() -> None:
    with Sandbox.create(envs={"OF_ALL": "1"}) as sandbox:
        code = "import os; os.environ['OF_ALL'] + os.environ.get('ONE', '')"
        assert sandbox.run_code(code).text == "1"
        assert sandbox.run_code(code, envs={"ONE": "2"}).text == "12"
        assert sandbox.run_code(code).text == "1"


def test_contexts(sandbox: Sandbox) -> None:
    (context,) = sandbox.list_code_contexts()
    assert context.language == "python"
    sandbox.run_code("kept = 41", context=context)
    assert sandbox.run_code("kept + 1", context=context).text == "42"
    sandbox.restart_code_context(context)
    error = sandbox.run_code("kept").error
    assert error
    assert error.name == "NameError"
    with pytest.raises(SandboxException, match="one kernel"):
        sandbox.create_code_context()
    with pytest.raises(SandboxException, match="stays as long"):
        sandbox.remove_code_context(context)
    with pytest.raises(SandboxException, match="Python alone"):
        sandbox.run_code("1", language="r")


def test_files(sandbox: Sandbox) -> None:
    files = sandbox.files
    written = files.write("/home/user/a/b.txt", "text \u00fc")
    assert written.path == "/workspace/a/b.txt"
    assert files.read("a/b.txt") == "text \u00fc"
    assert sandbox.run_code("open('a/b.txt').read()").text == "text \u00fc"
    big = bytes(range(256)) * 8192
    files.write("big", io.BytesIO(big))
    assert files.read("big", format="bytes") == big
    assert b"".join(files.read("big", format="stream")) == big
    several: list[Any] = [
        {"path": f's/{i} "q"', "data": f"{i}"} for i in range(3)
    ]
    assert len(files.write_files(several)) == 3
    assert [entry.name for entry in files.list("s")] == [
        '0 "q"',
        '1 "q"',
        '2 "q"',
    ]
    assert "/workspace/a/b.txt" in [e.path for e in files.list("", depth=2)]
    info = files.get_info("a/b.txt")
    assert (info.size, info.permissions) == (7, "-rw-r--r--")
    assert files.make_dir("new/er") is True
    assert files.make_dir("new/er") is False
    assert files.rename("a/b.txt", "c/d.txt").path == "/workspace/c/d.txt"
    assert files.exists("c/d.txt")
    files.remove("c")
    assert not files.exists("c/d.txt")
    with pytest.raises(NotFoundException):
        files.read("c/d.txt")
    with pytest.raises(InvalidArgumentException, match="in the workspace"):
        files.read("/etc/passwd")
    with pytest.raises(SandboxException, match="not watched"):
        files.watch_dir("new")


def test_commands(sandbox: Sandbox) -> None:
    commands = sandbox.commands
    said: list[str] = []
    code = "echo a; echo b >&2; pwd; echo $ONE"
    done = commands.run(
        code,
        cwd="/home/user",
        envs={"ONE": "1"},
        user="root",
        on_stdout=said.append,
        on_stderr=said.append,
    )
    assert (done.exit_code, done.error) == (0, None)
    assert done.stdout == "a\n/workspace\n1\n"
    assert done.stderr == "b\n"
    assert sorted("".join(said)) == sorted(done.stdout + done.stderr)
    with pytest.raises(CommandExitException) as failed:
        commands.run("echo so far; exit 3")
    assert failed.value.exit_code == 3
    assert failed.value.stdout == "so far\n"
    with pytest.raises(TimeoutException):
        commands.run("sleep 600", timeout=1)
    with pytest.raises(InvalidArgumentException, match="working folder"):
        commands.run("true", cwd="/no/such/folder")


def test_commands_in_the_background(sandbox: Sandbox) -> None:
    commands = sandbox.commands
    started = commands.run("cat; echo end", background=True, stdin=True)
    (listed,) = commands.list()
    assert listed.pid == started.pid
    assert (listed.cmd, listed.args[-1]) == ("/bin/bash", "cat; echo end")
    commands.send_stdin(started.pid, "one\n")
    started.disconnect()  # and it goes on
    again = commands.connect(started.pid)
    commands.stream_input(started.pid, ["two ", b"three\n"])
    again.send_stdin("\u00fc\n")
    again.close_stdin()
    assert again.wait().stdout == "one\ntwo three\n\u00fc\nend\n"
    sleeper = commands.run("sleep 600", background=True, timeout=0)
    assert sleeper.kill() is True
    with pytest.raises(CommandExitException) as killed:
        sleeper.wait()
    assert killed.value.error == "signal: killed"
    assert commands.kill(sleeper.pid) is False
    with pytest.raises(NotFoundException):
        commands.connect(10**6)
    left = commands.run("sleep 600", background=True, timeout=0)
    sandbox.kill()
    with pytest.raises(SandboxNotRunningException):
        left.wait()


def test_terminals(sandbox: Sandbox) -> None:
    said: list[bytes] = []
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=0)
    sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    other = sandbox.pty.connect(terminal.pid)
    sandbox.pty.send_stdin(terminal.pid, b"stty size; echo $TERM; exit 5\n")
    with pytest.raises(CommandExitException) as ended:
        terminal.wait(on_pty=said.append)
    assert ended.value.exit_code == 5
    assert b"30 100\r\nxterm-256color\r\n" in b"".join(said)
    with pytest.raises(CommandExitException):
        other.wait(on_pty=said.append)
    assert b"".join(said).count(b"30 100") == 2
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    assert sandbox.pty.kill(terminal.pid) is True


def test_what_hearth_has_not(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxException, match="cannot be paused"):
        sandbox.pause()
    with pytest.raises(SandboxException, match="There is no template"):
        Sandbox.create("my-template")
    with pytest.raises(SandboxException, match="reaches no network"):
        Sandbox.create(network={"allow_out": ["1.1.1.1"]})


def test_async() -> None:
    async def use() -> None:
        async with await AsyncSandbox.create(timeout=3600) as sandbox:
            assert await sandbox.is_running()
            seen: list[Any] = []
            done = await sandbox.run_code(
                "print('a'); 6 * 7", on_stdout=seen.append
            )
            assert done.text == "42"
            assert len(seen) == 1
            await sandbox.run_code("kept = 41")
            with pytest.raises(TimeoutException):
                await sandbox.run_code(SLEEP, timeout=1)
            again = await AsyncSandbox.connect(sandbox.sandbox_id)
            assert (await again.run_code("kept + 1")).text == "42"
            await sandbox.files.write("a", "text")
            assert await sandbox.files.read("a") == "text"
            assert [e.name for e in await sandbox.files.list("")] == ["a"]
            ran = await sandbox.commands.run("cat a; exit 0")
            assert ran.stdout == "text"
            started = await sandbox.commands.run(
                "cat", background=True, stdin=True
            )
            await started.send_stdin("in")
            await started.close_stdin()
            assert (await started.wait()).stdout == "in"
            (context,) = await sandbox.list_code_contexts()
            assert context.id == "default"
            runs = [
                AsyncSandbox.create(),
                AsyncSandbox.create(),
            ]
            others = await asyncio.gather(*runs)
            values = await asyncio.gather(
                *(other.run_code(f"{i}") for i, other in enumerate(others))
            )
            assert [value.text for value in values] == ["0", "1"]
            await asyncio.gather(*(other.kill() for other in others))
        assert not await sandbox.is_running()

    asyncio.run(use())
