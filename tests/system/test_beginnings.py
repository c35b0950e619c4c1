"""Kernels that do not start: the reason is reported, and nothing is left. Also
the traces of a kernel in its zygote, and requests during the start.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import ContextManager, Iterator

from deadline import DEADLINE
from harness import HEARTH, Gateway
from injected import injected
from processes import children

# Imported by the zygote, which calls it too while it warms up.
SPOILS = """
import os, time
from hearth_kernel.forking import reseed

ZYGOTE, whole = os.getpid(), reseed.reseed

def spoilt():
    if os.getpid() == ZYGOTE:
        return whole()
    {what}

reseed.reseed = spoilt
"""


@contextmanager
def spoilt(environment: Path, what: str, *settings: str) -> Iterator[Gateway]:
    """A gateway whose kernels do that before they begin."""
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "spoils.py").write_text(SPOILS.format(what=what))
    for folder in [*environment.parents[:-2], environment]:
        os.chmod(folder, 0o755)
    options = [
        f"profile/python3/python={environment / 'bin' / 'python3'}",
        "profile/python3/preload=spoils",
        *settings,
    ]
    gateway = Gateway(*(word for text in options for word in ("--set", text)))
    try:
        yield gateway.start()
    finally:
        gateway.end()


def refusal(gateway: Gateway) -> str:
    done = gateway.run("session", "create", timeout=DEADLINE)
    assert done.returncode != 0
    (model,) = gateway.sessions("--all")
    assert model["state"] == "gone"
    assert model["reason"] == "launch"
    return done.stderr


def test_an_exception_before_the_link_is_reported(environment: Path) -> None:
    what = "raise OSError(122, 'Disk quota exceeded')"
    with spoilt(environment, what) as gateway:
        shown = refusal(gateway)
    assert "did not start: OSError: [Errno 122] Disk quota exceeded" in shown


def test_the_text_of_an_exception_is_cut_and_cleaned(
    environment: Path,
) -> None:
    what = "raise ValueError('\\x1b[31m\\u20ac\\n' + 'x' * 5000)"
    with spoilt(environment, what) as gateway:
        shown = refusal(gateway)
    assert "did not start: ValueError: \\x1b[31m\\u20ac\\nxxx" in shown
    assert "\x1b[31m\u20ac" not in shown
    assert len(shown) < 1000


def test_a_kernel_that_is_never_ready_is_ended(environment: Path) -> None:
    what = "time.sleep(600)"
    with spoilt(environment, what, "sessions/ready_timeout=1s") as gateway:
        shown = refusal(gateway)
    assert "was not ready in time (1 s from its fork" in shown


RELEASE = """
import sys
sys.modules["hearth_kernel.zygote"].PROTOCOL = 99
"""


def test_a_package_of_another_release_is_reported(environment: Path) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "release.py").write_text(RELEASE)
    gateway = Gateway(
        "--set", f"profile/python3/python={environment / 'bin' / 'python3'}",
        "--set", "profile/python3/preload=release",
    )  # fmt: skip
    try:
        gateway.start()
        shown = refusal(gateway)
    finally:
        gateway.end()
    assert "speaks version 99, the gateway" in shown
    assert "different releases" in shown


def faults(pid: int) -> int:
    """How many pages it has been given so far."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[7])


def test_a_launch_writes_to_few_of_the_zygotes_pages() -> None:
    """Each one leaves its old copy to every kernel that was forked before."""
    gateway = Gateway("--set", "profile/python3/pool/max=0")
    try:
        gateway.start()
        gateway.create()
        (zygote,) = children(gateway.pid)
        before = faults(zygote)
        for _ in range(3):
            gateway.create()
        # 210 by a loop in Python; 16 are the builder's stack.
        assert (faults(zygote) - before) / 3 < 40
    finally:
        gateway.end()


def late_answers(zygote: int) -> ContextManager[None]:
    """Delay the zygote's reply until long after the kernel's READY."""
    return injected(zygote, "sendmsg", "delay_enter=3000000")


def test_reason_of_a_launch_that_has_failed_before_it_is_connected_to() -> None:
    """It refuses connections by then, which is not why."""
    gateway = Gateway("--set", "profile/python3/pool/max=0")
    try:
        gateway.start()
        gateway.create()
        (zygote,) = children(gateway.pid)
        with (
            injected(zygote, "clone,clone3", "error=ENOSPC"),
            injected(gateway.pid, "connect", "delay_enter=1000000", "-f"),
        ):
            done = gateway.run("session", "create")
        assert done.returncode != 0
        assert "new namespaces: No space left" in done.stderr, done.stderr
    finally:
        gateway.end()


def test_requests_before_the_launch_is_known() -> None:
    """They wait until the fresh kernel has been looked at, and then run."""
    gateway = Gateway("--set", "profile/python3/pool/max=0")
    try:
        gateway.start()
        session = gateway.create()
        (zygote,) = children(gateway.pid)
        with session.client() as client:
            client.run("x = 1")
            with late_answers(zygote):
                client.send("control", "shutdown_request", {"restart": True})
                session.wait_state("starting")
                asked = client.kc.execute("'x' in globals()")
                assert client.finish(asked).result == "False"
    finally:
        gateway.end()


# Imported by the zygote: what takes its time.
SLOW = """
import os, time
while not os.path.exists({go!r}):
    time.sleep(0.02)
"""


def test_a_waiting_person_sees_what_is_loaded(environment: Path) -> None:
    (packages,) = environment.glob("lib/python*/site-packages")
    go = environment / "go"
    (packages / "takes_time.py").write_text(SLOW.format(go=str(go)))
    for folder in [*environment.parents[:-2], environment]:
        os.chmod(folder, 0o755)
    python = environment / "bin" / "python3"
    gateway = Gateway(
        "--set", f"profile/python3/python={python}",
        "--set", "profile/python3/preload=takes_time",
    )  # fmt: skip
    try:
        gateway.start()
        program = subprocess.Popen(
            [HEARTH, "session", "create"],
            env=gateway.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        master, terminal = pty.openpty()
        person = subprocess.Popen(
            [HEARTH, "session", "create"],
            env=gateway.env,
            stdout=subprocess.PIPE,
            stderr=terminal,
        )
        os.close(terminal)
        seen = b""
        while b"\n" not in seen:
            assert select.select([master], [], [], DEADLINE)[0], seen
            seen += os.read(master, 4096)
        go.touch()
        line = (
            f"hearth: warming the profile python3: {python} starts and imports "
            "takes_time; the next sessions do not wait for that\r\n"
        )
        assert seen.decode() == line
        assert person.wait(DEADLINE) == 0
        os.close(master)
        assert program.communicate(timeout=DEADLINE)[1] == ""
        assert program.returncode == 0
    finally:
        gateway.end()
