"""A program on a terminal of its own, which is shown and cannot be typed at."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
import termios
from typing import Any

_SHOWN_S = 0.05  # between two looks at what it has written
_END_S = 0.2  # for its last words after an interrupt
_INTERRUPT = chr(3)  # Ctrl-C


def _end_input() -> None:
    """End the input of the program that begins in this process.

    No client types what a program reads, also at /dev/tty, which asks for
    passwords. An interrupt still comes there.
    """
    with contextlib.suppress(termios.error):
        modes = termios.tcgetattr(0)
        modes[3] &= ~termios.ICANON
        modes[6][termios.VMIN] = modes[6][termios.VTIME] = 0
        termios.tcsetattr(0, termios.TCSANOW, modes)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


def _prepare() -> None:
    """Make the process that begins one as others start it.

    Python ignores SIGPIPE, and what it starts would, too: `yes | head` then
    reports an error, and a loop of the shell before `| head` never ends.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _end_input()


def _start(words: str) -> Any:
    import pexpect

    name = os.environ.get("SHELL", "sh")
    shell = pexpect.which(name)
    if shell is None:
        raise OSError(f'"{name}" shell not found')
    return pexpect.spawn(shell, ["-c", words], preexec_fn=_prepare)


class _Display:
    """Prints what a program has written, each byte of it once."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._shown = 0  # bytes

    def show(self, child: Any, seconds: float) -> bool:
        """Print what it has written since, and wait for it.

        Return true if that was the end. A character that is not complete waits
        in the decoder.
        """
        import pexpect

        found = child.expect_list([pexpect.TIMEOUT, pexpect.EOF], seconds)
        fresh = child.before[self._shown :]
        self._shown += len(fresh)
        print(self._decoder.decode(fresh, bool(found)), end="")
        sys.stdout.flush()
        return bool(found)


def _code(child: Any) -> int:
    """Return its exit code, or the number of its signal below zero."""
    child.isalive()  # learns it
    if child.exitstatus is None:
        return -int(child.signalstatus or 0)
    code = int(child.exitstatus)
    return 128 - code if code > 128 else code


def run(words: str) -> int:
    """Run a line of the shell, as IPython's `system` does, until it ends.

    An interrupt is the program's, which ends; the caller has to learn of it by
    itself.
    """
    child = _start(words)
    display = _Display()
    try:
        while not display.show(child, _SHOWN_S):
            pass
    except KeyboardInterrupt:
        child.sendline(_INTERRUPT)
        try:
            display.show(child, _END_S)
        except KeyboardInterrupt:
            pass
        finally:
            child.terminate(force=True)
    return _code(child)
