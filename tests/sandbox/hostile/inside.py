"""What snippets have at hand; runs in the kernel before the first of them."""

# ruff: noqa: F401

import contextlib
import ctypes
import errno
import fcntl
import gc
import glob
import hashlib
import mmap
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import textwrap
import threading
import time
import traceback

HOST: dict = {}
VICTIM = None
BAD = 1  # an address where nothing is
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
# The errors by which the kernel, or a filter before it, refuses. Any other
# error for a bad pointer shows that the kernel has read the arguments.
REFUSALS = {
    errno.EPERM,
    errno.EACCES,
    errno.ENOSYS,
    errno.EAFNOSUPPORT,
    errno.EOPNOTSUPP,
}


class Stopped(Exception):
    """By something that is no errno."""


def number(name):
    numbers = ctypes.CDLL("libseccomp.so.2")
    found = numbers.seccomp_syscall_resolve_name(name.encode())
    if found < 0:
        raise Stopped("unknown")
    return found


def call(which, *arguments):
    if isinstance(which, str):
        which = number(which)
    words = [
        ctypes.c_long(word) if isinstance(word, int) else word
        for word in arguments
    ]
    words += [ctypes.c_long(0)] * (6 - len(words))
    result = libc.syscall(ctypes.c_long(which), *words)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def reached(which, *arguments):
    """Whether the call came to the kernel: its answer, else as refused."""
    try:
        return f"returned {call(which, *arguments)}"
    except OSError as error:
        if error.errno in REFUSALS:
            raise
        return errno.errorcode[error.errno]


def in_child(body):
    """The body's value, or its exception, or the signal that ended it."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(into, outcome(body).encode()[:4000])
        finally:
            os._exit(0)
    os.close(into)
    said = b""
    while chunk := os.read(out, 4096):
        said += chunk
    os.close(out)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        raise Stopped(signal.Signals(os.WTERMSIG(status)).name)
    how, _, rest = said.decode().partition(" ")
    if how == "through":
        return rest
    raise Stopped(rest)


def run_machine_code(code):
    page = mmap.mmap(
        -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    )
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()


def outcome(body):
    try:
        value = body()
    except Stopped as stopped:
        return f"stopped {stopped}"
    except socket.gaierror:
        return "stopped gaierror"
    except OSError as error:
        return "stopped " + errno.errorcode.get(error.errno, repr(error))
    except BaseException as error:
        return f"stopped {type(error).__name__} ({error})"
    return f"through {value!r}"[:200] if value else "stopped nothing"


def attempt(code):
    scope = dict(globals())
    exec("def attack():\n" + textwrap.indent(code, "    "), scope)
    print("\nhostile: " + outcome(scope["attack"]), flush=True)


def find_link():
    """The connection to the gateway, among the descriptors."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found = socket.socket(fileno=os.dup(int(name)))
            if (
                found.family == socket.AF_UNIX
                and not found.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ACCEPTCONN
                )
                and str(found.getsockname()).endswith("link.sock")
            ):
                found.setblocking(True)
                return found
    raise Stopped("without a link")


def frame(kind, seq, request=0, content=b"{}", version=1, size=None, more=0):
    return (
        struct.pack(
            "<IHHQQII",
            len(content) if size is None else size,
            version,
            kind,
            seq,
            request,
            0,
            more,
        )
        + content
    )


def numbered(kind, **rest):
    """One of them is the next one, those before it are repetitions."""
    return b"".join(frame(kind, seq, **rest) for seq in range(1, 200))


def memory():
    """All that this process can read of itself, region by region."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as mem:
        for line in maps:
            area, rights = line.split()[:2]
            if "[v" in line or not rights.startswith("rw"):
                continue
            begin, end = (int(part, 16) for part in area.split("-"))
            with contextlib.suppress(OSError, ValueError, OverflowError):
                mem.seek(begin)
                yield mem.read(min(end - begin, 64 << 20))


def holds(pattern, digests):
    """Find memory that has the pattern and one of the digests."""
    for region in memory():
        for found in re.finditer(pattern, region):
            if hashlib.sha256(found[0]).hexdigest() in digests:
                return found[0].decode()
    return None


def remember(code):
    scope = globals()
    try:
        value = eval(code, scope)
    except SyntaxError:
        value = exec(code, scope)
    except OSError as error:
        value = repr(error)
    print("\nvalue: " + repr(value), flush=True)
