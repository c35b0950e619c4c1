"""Capabilities, identities, set-user-id programs, scheduling, limits."""

from .case import Case, table

CASES = table(
    "privileges",
    Case("capset", "return reached('capset', BAD, BAD)", "EPERM", "seccomp"),
    *(
        Case(
            f"in-set-{name.lower()}",
            f"status = open('/proc/self/status').read()\n"
            f"value = status.split('{name}:')[1].split()[0]\n"
            "return int(value, 16) and value",
            "nothing",
            "capabilities",
        )
        for name in ("CapPrm", "CapEff", "CapBnd")
    ),
    Case(
        "new-privileges",
        "return libc.prctl(39, 0, 0, 0, 0) == 0 and 'to be had'",
        "nothing",
        "no_new_privs",
    ),
    Case(
        "file-of-mode-0",
        "os.close(os.open('closed', os.O_CREAT | os.O_WRONLY, 0))\n"
        "try:\n"
        "    return os.open('closed', os.O_RDONLY)\n"
        "finally:\n"
        "    os.unlink('closed')",
        "EACCES",
        "capabilities",
    ),
    Case(
        "forged-credentials",
        "a, b = socket.socketpair()\n"
        "b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)\n"
        "a.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('iii', 1,"
        " os.getuid(), os.getgid()))])\n"
        "return 'pid 1'",
        "EPERM",
        "capabilities",
    ),
    Case(
        "set-uid",
        "return in_child(lambda: call('setuid', 0) == 0)",
        "EPERM",
        "seccomp user",
    ),
    Case(
        "set-uids",
        "return in_child(lambda: reached('setresuid', -1, -1, -1))",
        "EPERM",
        "seccomp",
    ),
    Case(
        "set-gid",
        "return in_child(lambda: call('setgid', 0) == 0)",
        "EPERM",
        "seccomp user",
    ),
    Case(
        "set-groups",
        "return in_child(lambda: reached('setgroups', 1, BAD))",
        "EPERM",
        "seccomp capabilities user",
    ),
    Case(
        "keep-capabilities", "return reached('prctl', 8, 9)", "EPERM", "seccomp"
    ),
    Case(
        "securebits",
        "return reached('prctl', 28, 0)",
        "EPERM",
        "seccomp capabilities",
        outside=False,
    ),
    Case(
        "ambient",
        "head = struct.pack('Ii', 0x20080522, 0)\n"
        "sets = ctypes.create_string_buffer(24)\n"
        "call('capget', head, sets)\n"
        "had = struct.unpack('6I', sets.raw)\n"
        "call('capset', head, struct.pack('6I', *had[:2], had[1], *had[3:5],"
        " had[4]))\n"
        "call('prctl', 47, 2, 5, 0, 0)\n"
        "return 'kept by a program that is started'",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "hide-from-the-check",
        "return in_child(lambda: reached('prctl', 4, 0))",
        "EPERM",
        "seccomp",
    ),
    Case(
        "memory-layout",
        "return reached('prctl', 35, 99, 0, 0, 0)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "speculation", "return reached('prctl', 53, 99, 0)", "EPERM", "seccomp"
    ),
    Case(
        "own-filter", "return reached('prctl', 22, 2, BAD)", "EPERM", "seccomp"
    ),
    Case(
        "filter-with-a-listener",
        "return reached('seccomp', 1, 8, BAD)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "same-addresses",
        "return in_child(lambda: f\"was {call('personality', 0x0040000)}\")",
        "EPERM",
        "seccomp",
    ),
    Case(
        "old-mappings",
        "return in_child(lambda: f\"was {call('personality', 0x0100000)}\")",
        "EPERM",
        "seccomp",
    ),
    Case(
        "better-nice",
        "return in_child(lambda: os.setpriority(0, 0, -20) is None)",
        "EACCES EPERM",
        "user",
    ),
    Case(
        "real-time",
        "return reached('sched_setscheduler', 0, 1, BAD)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "real-time-attributes",
        "return reached('sched_setattr', 0, BAD, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "disk-first",
        "return reached('ioprio_set', 9, 0, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "more-descriptors",
        "import resource\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "def more():\n"
        "    call('setrlimit', 7, struct.pack('QQ', hard, hard + 1))\n"
        "    return 'raised'\n"
        "return in_child(more)",
        "EPERM",
        "user",
    ),
    Case(
        "limits-of-pid-1",
        "return reached('prlimit64', 1, 7, BAD, BAD)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "last-to-be-ended",
        "with open('/proc/self/oom_score_adj', 'w') as file:\n"
        "    file.write('0')\n"
        "return 'moved'",
        "EACCES",
        "landlock ids",
    ),
    Case(
        "host-name",
        "return reached('sethostname', BAD, 4)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "become-root-by-a-program",
        "done = subprocess.run(['su', '-c', 'id -u'], capture_output=True,"
        " text=True, stdin=subprocess.DEVNULL)\n"
        "return done.stdout.strip() == '0'",
        "nothing",
        "user no_new_privs",
    ),
)
