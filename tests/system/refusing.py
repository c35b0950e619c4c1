"""Runs a command to which some system calls are refused, as by a container's
seccomp profile: `python refusing.py CALL,CALL… COMMAND…`."""

from __future__ import annotations

import ctypes
import errno
import os
import sys

ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM  # SCMP_ACT_ERRNO


def main() -> None:
    calls, *command = sys.argv[1:]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(ALLOW))
    for call in calls.split(","):
        number = library.seccomp_syscall_resolve_name(call.encode())
        if library.seccomp_rule_add(rules, REFUSE, number, 0):
            sys.exit(f"there is no call {call}")
    if library.seccomp_load(rules):
        sys.exit("no filter can be set")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
