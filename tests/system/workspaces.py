"""`hearth files` on a session's workspace."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deadline import DEADLINE, wait_for
from harness import HEARTH, Session


def files(
    session: Session, *arguments: str, code: int = 0, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    verb, *rest = arguments
    done = session.gateway.run("files", verb, session.id, *rest, stdin=stdin)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done


def ls(session: Session, *arguments: str) -> dict[str, dict[str, Any]]:
    listing = json.loads(files(session, "ls", "--json", *arguments).stdout)
    return {entry["path"]: entry for entry in listing}


@contextmanager
def putting(session: Session, name: str, size: int) -> Iterator[None]:
    """Upload this many bytes of a longer file; then the client ends."""
    gateway = session.gateway
    assert gateway.process
    folder = Path(f"/proc/{gateway.process.pid}/fd")

    def has_come() -> bool:
        for link in folder.iterdir():
            with suppress(OSError):
                status = link.stat()
                if status.st_nlink == 0 and status.st_size >= size:
                    return True
        return False

    putter = subprocess.Popen(
        [HEARTH, "files", "put", session.id, "-", name],
        env=gateway.env,
        stdin=subprocess.PIPE,
    )
    assert putter.stdin
    try:
        # What it has not sent yet is at most a piece.
        putter.stdin.write(b"x" * (size + (2 << 20)))
        putter.stdin.flush()
        wait_for(has_come, "the beginning of a file in the gateway")
        yield
    finally:
        putter.stdin.close()
        assert putter.wait(DEADLINE) == 0
