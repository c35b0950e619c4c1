"""Kernel interfaces that no code inside needs: whose errno is it?

Each is called with bad arguments that the kernel itself would refuse with
another error, so EPERM is the filter's. Interfaces that the kernel refuses to
the unprivileged before it reads an argument name `capabilities` or `user` too.
"""

from .case import Case, table

# name: arguments, walls
CALLS = {
    "io_uring_setup": ("8, BAD", "seccomp"),
    "io_uring_enter": ("-1, 1, 0, 0, 0, 0", "seccomp"),
    "io_uring_register": ("-1, 0, BAD, 1", "seccomp"),
    "io_setup": ("1, BAD", "seccomp"),
    "bpf": ("0, BAD, 64", "seccomp"),
    "keyctl": ("0, -3, 1", "seccomp"),
    "add_key": ("BAD, BAD, BAD, 8, -3", "seccomp"),
    "request_key": ("BAD, BAD, BAD, -3", "seccomp"),
    "userfaultfd": ("-1", "seccomp"),
    "perf_event_open": ("BAD, 0, -1, -1, 0", "seccomp"),
    "splice": ("-1, BAD, -1, BAD, 1, 0", "seccomp"),
    "vmsplice": ("-1, BAD, 1, 0", "seccomp"),
    "tee": ("-1, -1, 1, 0", "seccomp"),
    "sendfile": ("-1, -1, BAD, 1", "seccomp"),
    "copy_file_range": ("-1, BAD, -1, BAD, 1, 0", "seccomp"),
    "kexec_load": ("0, 0, BAD, -1", "seccomp user"),
    "init_module": ("BAD, 1, BAD", "seccomp user"),
    "finit_module": ("-1, BAD, 0", "seccomp user"),
    "delete_module": ("BAD, 0", "seccomp user"),
    "reboot": ("1, 2, 3, BAD", "seccomp capabilities"),
    "swapon": ("BAD, 0", "seccomp user"),
    "acct": ("BAD", "seccomp user"),
    "quotactl": ("-1, BAD, 0, BAD", "seccomp"),
    "syslog": ("2, BAD, 10", "seccomp user"),
    "settimeofday": ("BAD, 0", "seccomp"),
    "clock_settime": ("0, BAD", "seccomp"),
    "adjtimex": ("BAD", "seccomp"),
    "vhangup": ("", "seccomp user"),
    "fanotify_init": ("-1, 0", "seccomp"),
    "inotify_init1": ("-1", "seccomp"),
    "mincore": ("1, 1, BAD", "seccomp"),
    "mlock": ("BAD, -1", "seccomp"),
    "mlockall": ("99", "seccomp"),
    "remap_file_pages": ("1, 1, 1, 1, 1", "seccomp"),
    "memfd_secret": ("-1", "seccomp"),
    "process_madvise": ("-1, BAD, 1, 0, 0", "seccomp"),
    "mbind": ("1, 1, 99, BAD, 1, 99", "seccomp"),
    "set_mempolicy": ("99, BAD, 1", "seccomp"),
    "migrate_pages": ("0, -1, BAD, BAD", "seccomp"),
    "move_pages": ("0, 1, BAD, BAD, BAD, 2", "seccomp"),
    "kcmp": ("1, 1, 99, 0, 0", "seccomp init landlock"),
    "shmget": ("0, 0, 0", "seccomp"),
    "semget": ("0, 0, 0", "seccomp"),
    "msgget": ("1, 0", "seccomp"),
    "mq_open": ("BAD, 0, 0, BAD", "seccomp"),
    "landlock_create_ruleset": ("BAD, 8, 0", "seccomp"),
    "setdomainname": ("BAD, 4", "seccomp capabilities"),
}
ON_X86 = {
    "ioperm": ("0, 1, 1", "seccomp user"),
    "iopl": ("3", "seccomp user"),
    "modify_ldt": ("99, BAD, 0", "seccomp"),
    "uselib": ("BAD", "seccomp"),
    "ustat": ("0, BAD", "seccomp"),
}
# Younger than the filter's names: as on an older kernel.
YOUNG = {
    "cachestat": (451, "-1, BAD, BAD, 0"),
    "statmount": (457, "BAD, BAD, 1, 0"),
    "listmount": (458, "BAD, BAD, 1, 0"),
    "lsm_set_self_attr": (460, "1, BAD, 1, 0"),
    "open_tree_attr": (467, "-1, BAD, 0, BAD, 0"),
}


def body(which: str, arguments: str) -> str:
    comma = ", " if arguments else ""
    return f"return reached({which}{comma}{arguments})"


CASES = table(
    "system calls",
    *(
        Case(
            name,
            body(repr(name), arguments),
            "ENOSYS" if name == "copy_file_range" else "EPERM",
            walls,
        )
        for name, (arguments, walls) in CALLS.items()
    ),
    *(
        Case(
            name,
            body(repr(name), arguments),
            "EPERM",
            walls,
            machine="x86_64",
            outside=name != "iopl",
        )
        for name, (arguments, walls) in ON_X86.items()
    ),
    *(
        Case(name, body(str(call), arguments), "ENOSYS", "seccomp")
        for name, (call, arguments) in YOUNG.items()
    ),
    Case(
        "x32",
        "return in_child(lambda: f'pid {call(0x40000000 | 39)}')",
        "SIGSYS",
        "seccomp kernel",
        machine="x86_64",
    ),
    Case(
        "int-0x80",
        "# mov eax, 20 (getpid); int 0x80; ret\n"
        "code = bytes.fromhex('b814000000cd80c3')\n"
        "return in_child(lambda: f'pid {run_machine_code(code)}')",
        "SIGSYS",
        "seccomp",
        machine="x86_64",
    ),
    Case(
        "int-0x80-socket",
        "# mov eax, 359 (socket); mov ebx, 38 (AF_ALG); mov ecx, 5; int 0x80\n"
        "code = bytes.fromhex('53b867010000bb26000000b90500000031d2cd805bc3')\n"
        "return in_child(lambda: f'socket {run_machine_code(code)}')",
        "SIGSYS",
        "seccomp",
        machine="x86_64",
    ),
    Case(
        "high-bits-of-a-flag",
        "return reached('ioctl', 0, 0x1_0000_5412, BAD)",
        "EPERM",
        "seccomp",
    ),
)
