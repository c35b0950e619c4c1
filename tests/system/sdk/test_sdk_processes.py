"""Programs beside the kernel, by the client."""

from __future__ import annotations

import asyncio

import hearth
import pytest
from deadline import DEADLINE
from harness import Gateway


def test_a_program(sync_session: hearth.Session) -> None:
    done = sync_session.exec(
        ["sh", "-c", "echo $A; pwd; echo bad >&2; exit 3"],
        env={"A": "b"},
        cwd=".",
    )
    assert done.text.startswith("b\n/")
    assert done.stderr == b"bad\n"
    assert (done.ok, done.exit_code, done.left_out) == (False, 3, 0)
    assert done.process.cause == "itself"
    assert sync_session.exec(["true"]).ok


def test_input(sync_session: hearth.Session) -> None:
    data = bytes(range(256)) * 400  # 100 KiB
    done = sync_session.exec(["cat"], input=data)
    assert done.ok
    assert len(done.stdout) + done.left_out == len(data)
    assert sync_session.exec(["wc", "-c"], input=data).text == "102400\n"
    # It ends before it has read all.
    assert sync_session.exec(["true"], input=data).ok


def test_output_that_was_not_read(sync_session: hearth.Session) -> None:
    """Output that is no longer kept is counted, from any offset on."""
    process = sync_session.processes.start(["head", "-c200000", "/dev/zero"])
    process.wait(DEADLINE)
    for since in (0, 4096, 190_000, 200_000):
        piece = process.output(since)
        assert len(piece.stdout) + piece.left_out == 200_000 - since
        assert piece.next == 200_000
    assert process.output().left_out >= 200_000 - (64 << 10)


def test_a_time_limit(sync_session: hearth.Session) -> None:
    done = sync_session.exec(["sleep", "600"], timeout=0.2)
    assert done.exit_code is None
    assert done.process.cause == "timeout"


def test_one_that_is_followed_and_killed(
    sync_session: hearth.Session,
) -> None:
    process = sync_session.processes.start(["cat"], takes_input=True)
    process.write("one\n")
    found = b""
    for piece in process.stream():
        found += piece.stdout
        if found == b"one\n":
            process.write("two\n")
        if found == b"one\ntwo\n":
            break
    assert process.wait(0.05) is None
    assert [p.number for p in sync_session.processes.list()] == [process.number]
    process.kill()
    ended = sync_session.processes.get(process.number).wait(60)
    assert ended is not None
    assert (ended.cause, ended.signal) == ("request", 15)
    process.kill()
    with pytest.raises(hearth.ProcessEnded):
        process.write("late")
    with pytest.raises(hearth.ProcessEnded):
        process.signal("INT")


def test_offsets_outlive_the_gateway(alone: Gateway) -> None:
    with hearth.session() as session:
        process = session.processes.start(["cat"], takes_input=True)
        process.write("one\n")
        first = next(iter(process.stream()))
        assert first.stdout == b"one\n"
        alone.kill()
        alone.start()
        process.write("two\n")
        process.close_input()
        rest = b"".join(piece.stdout for piece in process.stream(first.next))
        assert rest == b"two\n"
        assert process.info().exit_code == 0


def test_awaited(user: Gateway) -> None:
    async def work() -> None:
        async with hearth.aio.session() as session:
            done = await asyncio.gather(
                *[session.exec(["echo", str(n)]) for n in range(4)]
            )
            assert [d.text for d in done] == ["0\n", "1\n", "2\n", "3\n"]

    asyncio.run(work())
