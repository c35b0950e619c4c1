"""Programs beside a session's kernel: hearth run, ps and kill."""

from __future__ import annotations

import array
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import tty
from pathlib import Path
from typing import Any

import pytest
from client import Client
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from processes import children


def run(
    session: Session, *words: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return session.gateway.run("run", session.id, *words, stdin=stdin)


def listed(session: Session) -> list[dict[str, Any]]:
    return session.gateway.json("ps", "--json", session.id)


def detach(session: Session, *words: str) -> int:
    done = run(session, "--detach", *words)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def wait_ended(session: Session, number: int) -> dict[str, Any]:
    def look() -> Any:
        for process in listed(session):
            if process["process"] == number and process["state"] == "ended":
                return process
        return None

    return wait_for(look, f"the end of process {number}")


def cpu_time(pid: int) -> float:
    """Return the seconds that it has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_inside(session: Session, name: str) -> int:
    script = (
        "n=0; for f in /proc/[0-9]*/comm; do read c < $f 2>/dev/null; "
        f'[ "$c" = {name} ] && n=$((n+1)); done; echo $n'
    )
    return int(run(session, "--", "sh", "-c", script).stdout)


def test_streams_and_exit_code(session: Session) -> None:
    done = run(
        session, "--", "sh", "-c", "cat; echo wrong >&2; exit 7", stdin="in\n"
    )

    assert done.returncode == 7
    assert done.stdout == "in\n"
    assert done.stderr == "wrong\n"


def test_folder_and_environment(session: Session) -> None:
    (session.workspace / "below").mkdir()
    done = run(
        session, "-C", "below", "-e", "COLOR=blue", "--",
        "sh", "-c", "pwd; echo $COLOR $HOME; id -u",
    )  # fmt: skip

    assert done.stdout == "/workspace/below\nblue /workspace\n1000\n"
    missing = run(session, "-C", "nowhere", "--", "true")
    assert missing.returncode == 126
    assert "the working folder: No such file" in missing.stderr


def test_what_cannot_be_started(session: Session) -> None:
    (session.workspace / "plain").write_text("no program")

    assert run(session, "--", "no-such-program").returncode == 127
    assert run(session, "--", "./plain").returncode == 126
    assert run(session).returncode == 2
    assert run(session, "--", "x" * 100_000).returncode == 1
    assert run(session, "-e", "=x", "--", "true").returncode == 2
    assert [p["state"] for p in listed(session)] == ["ended", "ended"]
    rows = session.gateway.run("ps", session.id).stdout.splitlines()[1:]
    assert [row[9:21] for row in rows] == ["not started "] * 2


def test_words_that_are_no_text(session: Session) -> None:
    done = subprocess.run(
        [HEARTH, "run", session.id, "--", "echo", b"\xff"],
        env=session.gateway.env,
        capture_output=True,
        timeout=DEADLINE,
        **session.gateway.identity,
    )

    assert done.returncode == 2
    assert b"is not UTF-8 text" in done.stderr


def test_it_has_the_walls_of_the_session(session: Session) -> None:
    done = run(
        session, "--", "sh", "-c",
        "grep -E '^(Seccomp|NoNewPrivs|CapEff)' /proc/self/status;"
        "touch /usr/mine 2>&1 || ls /root 2>&1; unshare -U true 2>&1",
    )  # fmt: skip

    assert "NoNewPrivs:\t1" in done.stdout
    assert "Seccomp:\t2" in done.stdout
    assert "CapEff:\t0000000000000000" in done.stdout
    assert "Read-only" in done.stdout or "denied" in done.stdout
    assert "not permitted" in done.stdout


def test_while_a_cell_computes(session: Session, client: Client) -> None:
    msg_id = client.kc.execute("print('go', flush=True)\nwhile True: pass")
    begun = client.stream_until(msg_id, "go")

    assert run(session, "--", "echo", "beside").stdout == "beside\n"
    client.send("control", "interrupt_request")
    assert client.finish(msg_id, begun=begun).status == "error"


def test_much_output_is_whole(session: Session) -> None:
    done = run(session, "--", "sh", "-c", "seq 300000; seq 5 >&2")

    assert done.stdout == "".join(f"{i}\n" for i in range(1, 300001))
    assert done.stderr == "1\n2\n3\n4\n5\n"


def test_much_input_is_whole(session: Session) -> None:
    text = "".join(f"{i}\n" for i in range(200000))

    assert run(session, "--", "cat", stdin=text).stdout == text


def test_a_slow_reader_slows_the_program_down(session: Session) -> None:
    """Nothing grows meanwhile, nothing is lost, and it goes on then."""
    lines = [f"{i}\n" for i in range(300000)]
    path = session.gateway.folder / "slow.in"
    path.write_text("".join(lines))
    with path.open("rb") as stdin:
        child = subprocess.Popen(
            [HEARTH, "run", session.id, "--", "sed", "p"],
            env=session.gateway.env, stdin=stdin, stdout=subprocess.PIPE,
            text=True, **session.gateway.identity,
        )  # fmt: skip

    def taken() -> int:
        fields = Path(f"/proc/{child.pid}/fdinfo/0").read_text().split()
        return int(fields[1])

    def stalls(seconds: float) -> bool:
        before = taken()
        time.sleep(seconds)
        return before > 0 and taken() == before

    wait_for(lambda: stalls(1), "no more input")
    # Longer than this side waits for a word of the session (ALIVE_MS).
    assert stalls(7)
    out = child.communicate(timeout=DEADLINE)[0]
    assert child.returncode == 0
    assert out == "".join(line * 2 for line in lines)


def test_input_that_is_not_read(session: Session) -> None:
    """It fills a window and no more, and the end is not held up by it."""
    done = run(
        session, "--", "sh", "-c", "sleep 1; exit 4", stdin="x" * 3_000_000
    )

    assert done.returncode == 4


def test_a_program_that_closes_its_streams(session: Session) -> None:
    done = run(
        session, "--", "sh", "-c", "exec <&- >&- 2>&-; sleep 0.3; exit 5"
    )

    assert done.returncode == 5


def test_time_limit_ends_all_of_it(session: Session) -> None:
    """Also what ignores SIGTERM, has left the group, and has forked twice."""
    begun = time.monotonic()
    done = run(
        session, "-t", "0.5", "--", "sh", "-c",
        "trap '' TERM; (setsid sh -c 'sleep 611 & sleep 611' &);"
        "(sleep 611 &); sleep 611; sleep 611",
    )  # fmt: skip

    assert done.returncode == 124
    assert "its time limit of 0.5 s was over" in done.stderr
    assert time.monotonic() - begun < DEADLINE / 2
    assert count_inside(session, "sleep") == 0


def test_its_end_is_the_end_of_what_it_started(session: Session) -> None:
    done = run(session, "--", "sh", "-c", "setsid sleep 612 & exit 0")

    assert done.returncode == 0
    assert count_inside(session, "sleep") == 0


def test_detach_list_and_kill(session: Session) -> None:
    number = detach(
        session, "--", "sh", "-c", "trap '' TERM; sleep 613; sleep 613"
    )

    (process,) = listed(session)
    assert process["process"] == number
    assert process["state"] == "running"
    assert session.gateway.run("kill", session.id, str(number)).returncode == 0
    ended = wait_ended(session, number)
    assert (ended["signal"], ended["cause"]) == (9, "request")
    text = session.gateway.run("ps", session.id).stdout
    assert "signal 9" in text
    assert "sleep 613" in text
    again = session.gateway.run("kill", session.id, str(number))
    assert again.returncode == 1
    assert "has ended" in again.stderr


def test_signals(session: Session) -> None:
    number = detach(session, "--", "sh", "-c", "trap 'exit 9' USR1; sleep 1; "
                    "while :; do sleep 0.1; done")  # fmt: skip

    def hit() -> bool:
        session.gateway.run("kill", "-s", "USR1", session.id, str(number))
        return listed(session)[0]["state"] == "ended"

    wait_for(hit, "the end by a signal")
    ended = wait_ended(session, number)
    assert ended.get("exit_code") == 9 or ended.get("signal") == signal.SIGUSR1
    for name in ("NOPE", "9x"):
        wrong = session.gateway.run("kill", "-s", name, session.id, "1")
        assert wrong.returncode == 1
        assert "a name like TERM" in wrong.stderr
    assert session.gateway.run("kill", session.id, "x").returncode == 2


def test_a_process_of_another_session(gateway: Gateway) -> None:
    one, other = gateway.create(), gateway.create()
    number = detach(one, "--", "sleep", "614")
    wrong = gateway.run("kill", other.id, str(number))

    assert wrong.returncode == 1
    assert "has no process 1" in wrong.stderr
    assert listed(one)[0]["state"] == "running"
    one.delete()
    other.delete()


def test_no_more_than_some_live(session: Session) -> None:
    code = [
        run(session, "--detach", "--", "sleep", "615").returncode
        for _ in range(64)
    ]
    more = run(session, "--", "true")

    assert code == [0] * 64
    assert more.returncode == 1
    assert "64 processes run in this session" in more.stderr


def test_fork_bomb_keeps_to_the_sessions_limits(gateway: Gateway) -> None:
    session = gateway.create("--limit", "processes=60")
    done = run(
        session, "-t", "1", "--", "sh", "-c", "b() { b | b & }; b; sleep 60"
    )

    assert done.returncode in (124, 2, 254)
    assert (
        wait_for(lambda: run(session, "--", "echo", "alive").stdout, "room")
        == "alive\n"
    )
    session.delete()


def test_output_past_the_bound_of_a_cell(gateway: Gateway) -> None:
    session = gateway.create("--limit", "cell_output=200K")
    number = detach(session, "--", "sh", "-c", "yes; sleep 600")
    ended = wait_ended(session, number)

    assert ended["cause"] == "cell_output"
    assert "past the limit of a cell" in ended["sentence"]
    session.delete()


def test_a_restart_of_the_kernel_ends_it(
    session: Session, gateway: Gateway
) -> None:
    number = detach(session, "--", "sleep", "616")
    assert gateway.run("session", "restart", session.id).returncode == 0
    ended = wait_ended(session, number)

    assert ended["cause"] == "kernel"
    assert (
        wait_for(
            lambda: run(session, "--", "echo", "new").stdout, "the fresh kernel"
        )
        == "new\n"
    )


def test_the_next_gateway_has_it(gateway: Gateway) -> None:
    session = gateway.create()
    (session.workspace / "go").write_text("")
    number = detach(
        session, "--", "sh", "-c",
        "echo before; while [ -e go ]; do sleep 0.05; done; seq 5000; exit 3",
    )  # fmt: skip
    attached = subprocess.Popen(
        [HEARTH, "run", session.id, "--", "sh", "-c",
         "echo one; while [ -e go ]; do sleep 0.05; done; seq 5000; exit 6"],
        env=gateway.env, stdout=subprocess.PIPE, text=True,
        stdin=subprocess.DEVNULL, **gateway.identity,
    )  # fmt: skip
    assert attached.stdout is not None
    assert attached.stdout.readline() == "one\n"
    gateway.kill()
    (session.workspace / "go").unlink()
    gateway.start()

    ended = wait_ended(session, number)
    assert ended["exit_code"] == 3
    assert ended["stdout_bytes"] == len("before\n") + 23893
    # The client that was attached has all of it, and the code.
    rest = attached.stdout.read()
    assert attached.wait(DEADLINE) == 6
    assert rest == "".join(f"{i}\n" for i in range(1, 5001))
    assert detach(session, "--", "true") == number + 2
    session.delete()


def test_the_next_gateway_knows_what_input_waits(gateway: Gateway) -> None:
    """It refuses what the keeper has no room for; nothing is dropped."""
    session = gateway.create()

    def ask(client: Client, verb: str, content: dict[str, Any]) -> Any:
        client.send("control", f"process_{verb}_request", content)
        return client.kc.get_control_msg(timeout=DEADLINE)["content"]

    with session.client() as client:
        wish = {"argv": ["sleep", "600"], "input": True}
        number = ask(client, "start", wish)["process"]["process"]
        much = {"process": number, "text": "a" * 200_000}
        assert ask(client, "input", much)["status"] == "ok"
    gateway.kill()
    gateway.start()
    with session.client() as client:
        wait_for(
            lambda: ask(client, "show", {"process": number})["input_taken"],
            "a word of the keeper",
        )
        assert ask(client, "input", much)["ename"] == "ProcessBusy"
    session.delete()


def test_output_of_an_ended_program_waits_for_a_gateway(
    gateway: Gateway,
) -> None:
    """The keeper is full, and the pipe has more than it: nothing is lost, and
    the keeper sleeps meanwhile."""
    session = gateway.create()
    (session.workspace / "go").write_text("")
    number = detach(
        session, "--", "sh", "-c",
        "while [ -e go ]; do sleep 0.05; done; head -c 300000 /dev/zero; "
        "touch done",
    )  # fmt: skip
    (keeper,) = [
        pid
        for pid in session.processes()
        if Path(f"/proc/{pid}/comm").read_text() == "hearth-keeper\n"
    ]
    gateway.kill()
    (session.workspace / "go").unlink()
    wait_for((session.workspace / "done").exists, "the end of the program")
    wait_for(lambda: not children(keeper), "an empty keeper")
    # Past FLUSH_MS of kernels/keeper.c.
    late = time.monotonic() + 2
    wait_for(lambda: time.monotonic() > late, "time")
    used = cpu_time(keeper)
    gateway.start()

    assert used < 0.5
    ended = wait_ended(session, number)
    assert ended["exit_code"] == 0
    assert ended["stdout_bytes"] == 300_000
    session.delete()


def test_output_that_the_kernel_holds_open_does_not_hold_the_end_up(
    session: Session,
) -> None:
    number = detach(
        session, "--", "sh", "-c",
        "until [ -e go ]; do sleep 0.05; done; exit 3",
    )  # fmt: skip
    pid = listed(session)[0]["pid"]
    held = session.exec(f"held = open('/proc/{pid}/fd/1', 'wb')")
    assert held.returncode == 0, held.stderr
    (session.workspace / "go").write_text("")

    assert wait_ended(session, number)["exit_code"] == 3


def test_the_end_of_the_session_ends_it(gateway: Gateway) -> None:
    session = gateway.create()
    detach(session, "--", "sh", "-c", "setsid sleep 617 & sleep 617")
    pids = session.processes()
    session.delete()

    wait_for(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
        "no process",
    )


def test_it_is_on_record(gateway: Gateway) -> None:
    session = gateway.create()
    run(session, "--", "sh", "-c", "echo recorded-secretly")
    records = [
        json.loads(line)
        for line in gateway.run(
            "audit", "show", "--session", session.id, "--json"
        ).stdout.splitlines()
    ]
    journal = b"".join(
        part.read_bytes()
        for part in sorted(Path(session.model["journal"]).glob("journal-*.log"))
    )

    (begun,) = [r for r in records if r["event"] == "process_start"]
    (ended,) = [r for r in records if r["event"] == "process_end"]
    assert begun["process"] == ended["process"] == 1
    assert ended["detail"] == "it exited with 0"
    assert ended["bytes"] == len("recorded-secretly\n")
    assert "recorded-secretly" not in json.dumps(records)
    assert b'"text":"recorded-secretly\\n"' in journal
    assert b"process_ended" in journal
    session.delete()


def test_control_sequences_do_not_reach_a_terminal(session: Session) -> None:
    """Without --tty a terminal gets colours alone."""
    reading, writing = os.openpty()
    child = subprocess.Popen(
        [HEARTH, "run", session.id, "--", "printf",
         "a\\033]0;title\\007\\033[6nb\\033[31mc\\n"],
        env=session.gateway.env, stdout=writing, stdin=subprocess.DEVNULL,
        **session.gateway.identity,
    )  # fmt: skip
    assert child.wait(DEADLINE) == 0
    os.close(writing)
    shown = os.read(reading, 1000)
    os.close(reading)

    assert b"title" not in shown
    assert b"[6n" not in shown
    assert b"ab" in shown.replace(b"\x1b[31m", b"")


@pytest.mark.parametrize("words", [["kill", "-s"], ["ps"], ["kill", "a"]])
def test_usage(gateway: Gateway, words: list[str]) -> None:
    assert gateway.run(*words).returncode == 2


def test_a_terminal(session: Session) -> None:
    """Keys go through, escape queries are answered, strings are left out."""
    pid, screen = pty.fork()
    if pid == 0:
        os.execve(HEARTH, [HEARTH, "terminal", session.id], session.gateway.env)
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 70, 0, 0))

    def until(text: bytes) -> bytes:
        found = b""
        while text not in found:
            assert select.select([screen], [], [], DEADLINE)[0], found
            found += os.read(screen, 4096)
        return found

    os.write(screen, b"PS1=; echo ready$((6*7))\n")
    until(b"ready42")
    os.kill(pid, signal.SIGWINCH)
    os.write(
        screen,
        b'until [ "$(stty size)" = "20 70" ]; do sleep 0.1; done; '
        b"echo sized$((1+1))\n",
    )
    until(b"sized2\r\n")
    # A program of the foreground, which is there when it says so.
    os.write(screen, b"sh -c 'echo begun$((7*7)); exec sleep 600'\n")
    until(b"begun49\r\n")
    os.write(screen, b"\x03")
    # What is typed at the moment of the signal is lost.
    found = b""
    while b"back9" not in found:
        os.write(screen, b"\necho back$((3*3))\n")
        if select.select([screen], [], [], 0.5)[0]:
            found += os.read(screen, 4096)
    os.write(screen, b"\nprintf 'a\\033]0;t\\007b\\n'; tty; exit 5\n")
    shown = until(b"/dev/pts/")
    assert b"ab\r\n" in shown
    assert b"\x1b]0" not in shown.replace(b"\\033]0", b"")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(screen)


def test_answers_of_a_terminal_do_not_stay(session: Session) -> None:
    """A program that asks the terminal something gets the answer, or none
    does: the shell after it would run it as a command. What the terminal could
    be made to say by a string, it is not asked."""
    terminal, seat = pty.openpty()
    program = (
        r"printf '\033]11;?\007\033P$q\042p\033\\asked\033[6n'; "
        "until test -e go; do sleep 0.1; done"
    )
    done = subprocess.Popen(
        [HEARTH, "run", "-T", session.id, "--", "sh", "-c", program],
        env=session.gateway.env,
        stdin=seat,
        stdout=seat,
        stderr=seat,
        start_new_session=True,
    )
    shown = b""
    while b"\x1b[6n" not in shown:
        assert select.select([terminal], [], [], DEADLINE)[0], shown
        shown += os.read(terminal, 4096)
    assert b"asked" in shown
    assert b"\x1b]" not in shown
    assert b"\x1bP" not in shown
    os.write(terminal, b"\x1b[24;80R\x1b[?62;c")
    session.gateway.run("files", "put", session.id, "/dev/null", "go")
    assert done.wait(DEADLINE) == 0
    tty.setraw(seat, termios.TCSANOW)  # so that half a line counts, too
    left = array.array("i", [0])
    fcntl.ioctl(seat, termios.FIONREAD, left)
    assert left[0] == 0
    os.close(terminal)
    os.close(seat)


def test_leaving_a_terminal(session: Session) -> None:
    pid, screen = pty.fork()
    if pid == 0:
        os.execve(
            HEARTH, [HEARTH, "run", "-T", session.id, "--", "cat"],
            session.gateway.env,
        )  # fmt: skip
    wait_for(lambda: listed(session), "the process")
    os.write(screen, b"\x1d")
    status = os.waitpid(pid, 0)[1]
    os.close(screen)

    assert os.waitstatus_to_exitcode(status) == 0
    assert listed(session)[0]["state"] == "running"


def test_no_terminal_here(session: Session) -> None:
    done = session.gateway.run("terminal", session.id)

    assert done.returncode == 2
    assert "must be a terminal" in done.stderr


def test_a_program_that_kills_its_keeper(session: Session) -> None:
    """It ends with it; the session goes on."""
    # What it reads comes when it is known to run.
    script = "read go; kill -9 $PPID; sleep 600; sleep 600"
    done = run(session, "--", "sh", "-c", script, stdin="go\n")

    assert done.returncode == 1
    assert "its keeper has ended" in done.stderr
    assert [p["cause"] for p in listed(session)] == ["lost"]
    assert run(session, "--", "echo", "on").stdout == "on\n"
