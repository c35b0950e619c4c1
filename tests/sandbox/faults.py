"""The steps of a launch that tests make fail in turn, and how.

strace lets a system call answer with an error, the nth time that a process
makes it; the programs under test have nothing in them for that.
"""

from __future__ import annotations

from typing import Union

Step = tuple[str, int, str, str]
Turn = Union[int, str]  # the nth, or "1+": each

# Call, the nth one, error, and what the sentence names.
STEPS: list[Step] = [
    ("clone", 1, "EPERM", "new namespaces"),
    ("clone", 1, "ENOSPC", "max_user_namespaces"),
    ("clone", 2, "EAGAIN", "payload: fork"),
    ("unshare", 1, "ENOSPC", "control group: new namespace"),
    ("setns", 1, "EPERM", "namespaces "),
    ("setns", 3, "EPERM", "namespaces "),
    ("fchdir", 1, "EACCES", "own mounts: enter the workspace"),
    ("unshare", 2, "ENOSPC", "own mounts: new namespace"),
    ("mount", 1, "EACCES", "sources: make all mounts private"),
    ("open_tree", 1, "ENOENT", "sources: "),
    ("open_tree", 1, "ESTALE", "has lost it (Stale file handle): mount"),
    ("mount_setattr", 3, "EPERM", "sources: "),
    ("mount_setattr", 7, "EPERM", "read-only places: attributes"),
    ("mount_setattr", 8, "EPERM", "read-only places: /tmp"),
    ("fsopen", 1, "ENODEV", "root: tmpfs"),
    ("fsconfig", 1, "EINVAL", "root: "),
    ("fsmount", 1, "ENOMEM", "root: "),
    ("fsmount", 2, "ENOMEM", "tmp: "),
    ("fsmount", 3, "ENOMEM", "devices: "),
    ("move_mount", 1, "EINVAL", "root: attach"),
    ("move_mount", 2, "EINVAL", "tmp: "),
    ("move_mount", 4, "EINVAL", "read-only places: "),
    ("mkdirat", 3, "ENOSPC", "folders: "),
    ("mknodat", 3, "ENOSPC", "folders: /dev/"),
    ("symlinkat", 1, "ENOSPC", "folders: "),
    ("setresgid", 1, "EINVAL", "identity: setresgid"),
    ("setresuid", 1, "EAGAIN", "identity: setresuid"),
    ("setsid", 1, "EPERM", "session: setsid"),
    ("pivot_root", 1, "EINVAL", "enter root: pivot_root"),
    ("umount2", 1, "EBUSY", "old root: detach the old root"),
    ("sethostname", 1, "EPERM", "hostname: "),
    ("mount", 2, "EPERM", "covers of /proc: /proc/"),
    ("setpgid", 1, "EPERM", "process: setpgid"),
    ("capset", 1, "EPERM", "capabilities"),
    ("landlock_add_rule", 2, "ENOMEM", "landlock rules: "),
    ("landlock_add_rule", 9, "ENOMEM", "landlock rules: /dev"),
    ("landlock_restrict_self", 1, "E2BIG", "landlock: restrict"),
    ("execveat", 1, "ENOEXEC", "program of pid 1: exec"),
    ("seccomp", 1, "EINVAL", "filter"),
    ("signalfd4", 1, "EMFILE", "pid 1: signalfd"),
]


# Those that are tried with a mapper too: the caller has no privileges then.
MAPPED_STEPS: list[Step] = [
    ("fchdir", 1, "EACCES", "own mounts: enter the workspace"),
    ("unshare", 2, "ENOSPC", "own mounts: new namespace"),
    ("open_tree", 1, "ENOENT", "sources: "),
]


def strace(call: str, turn: Turn, what: str) -> list[str]:
    """Fails that call: `what` is `error=EPERM`, `retval=0` (it says that it
    did what it did not) or `signal=SIGKILL`."""
    return [
        "strace", "-f", "-o", "/dev/null",
        "-e", f"trace={call}", "-e", f"inject={call}:{what}:when={turn}",
    ]  # fmt: skip


def name(step: Step) -> str:
    return f"{step[0]}-{step[1]}-{step[2]}"
