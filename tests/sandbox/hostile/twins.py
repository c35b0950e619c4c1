"""The control of the cases that compare two sessions' random streams: two forks
of one Python that renew no stream.

The fork is the C library's, without Python: Python's own renews some streams by
itself. As root all three have the same number, each in a pid namespace of its
own, like kernels have and a zygote could: some libraries notice a fork by it. A
difference here comes from the system (os.urandom), and hearth's kernels need
not do anything for it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO

from .case import Case
from .neighbours import RANDOM

_PARENT = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None)
NEW_PID = 0x20000000
def alone():
    return os.getuid() == 0 and libc.unshare(NEW_PID) == 0
if alone() and libc.fork() != 0:
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
for expression in json.loads(sys.argv[1]):
    eval(expression)
here = os.open('/proc/thread-self/ns/pid', os.O_RDONLY)
for asked, reported in json.loads(sys.argv[2]):
    alone()
    if libc.fork() == 0:
        with os.fdopen(asked) as lines, os.fdopen(reported, 'w') as answers:
            for line in lines:
                answers.write(json.dumps(eval(json.loads(line))) + '\\n')
                answers.flush()
        os._exit(0)
    if os.getuid() == 0:
        libc.setns(here, NEW_PID)
    os.close(asked)
    os.close(reported)
while True:
    try:
        os.wait()
    except ChildProcessError:
        os._exit(0)
"""


class Twins:
    """Two processes that were one, and have drawn before."""

    def __init__(self) -> None:
        asked = [os.pipe() for _ in range(2)]
        reported = [os.pipe() for _ in range(2)]
        theirs = [(a[0], b[1]) for a, b in zip(asked, reported)]
        for pair in theirs:
            for fd in pair:
                os.set_inheritable(fd, True)
        self.parent = os.posix_spawn(
            sys.executable,
            [
                sys.executable,
                "-c",
                _PARENT,
                json.dumps(list(RANDOM.values())),
                json.dumps(theirs),
            ],
            os.environ,
        )
        for pair in theirs:
            for fd in pair:
                os.close(fd)
        self.ways: list[tuple[IO[str], IO[str]]] = [
            (os.fdopen(a[1], "w"), os.fdopen(b[0]))
            for a, b in zip(asked, reported)
        ]

    def ask(self, twin: int, expression: str) -> str:
        ask, answer = self.ways[twin]
        ask.write(json.dumps(expression) + "\n")
        ask.flush()
        line = answer.readline()
        assert line, f"{expression}: a twin has ended"
        return line

    def same(self, cases: list[Case]) -> list[str]:
        """The ids of the cases whose streams are the same in both."""
        return [
            case.id
            for name, expression in RANDOM.items()
            for case in cases
            if case.id == f"same-{name}"
            and self.ask(0, expression) == self.ask(1, expression)
        ]

    def close(self) -> None:
        for ask, answer in self.ways:
            ask.close()
            answer.close()
        os.waitpid(self.parent, 0)
