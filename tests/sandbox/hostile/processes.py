"""Signals, tracing, and pid 1, the weak neighbour."""

from .case import Case, table

LOOK = "init landlock ids"  # each alone refuses to look into pid 1

CASES = table(
    "processes",
    Case(
        "trace-pid-1",
        "return reached('ptrace', 16, 1, 0, 0)",
        "EPERM",
        "seccomp " + LOOK,
        outside=False,
    ),
    Case(
        "seize-pid-1",
        "return reached('ptrace', 0x4206, 1, 0, 0)",
        "EPERM",
        "seccomp " + LOOK,
        outside=False,
    ),
    Case(
        "be-traced",
        "return in_child(lambda: f\"was {call('ptrace', 0, 0, 0, 0)}\")",
        "EPERM",
        "seccomp",
    ),
    Case(
        "read-memory-of-pid-1",
        "return reached('process_vm_readv', 1, BAD, 1, BAD, 1, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "write-memory-of-pid-1",
        "return reached('process_vm_writev', 1, BAD, 1, BAD, 1, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "descriptor-of-pid-1",
        "return reached('pidfd_getfd', -1, 0, 0)",
        "EPERM",
        "seccomp",
    ),
    *(
        Case(
            f"{name}-of-pid-1",
            f"return open('/proc/1/{name}', 'rb').read(64)",
            "EACCES EPERM",
            LOOK,
        )
        for name in ("environ", "maps", "auxv")
    ),
    Case(
        "stack-of-pid-1",
        "return open('/proc/1/stack', 'rb').read(64)",
        "EACCES EPERM",
        "user",
    ),
    *(
        Case(
            f"{name}-list-of-pid-1",
            f"return os.listdir('/proc/1/{name}')",
            "EACCES EPERM",
            LOOK,
        )
        for name in ("fd", "map_files")
    ),
    Case(
        "program-name-of-pid-1",
        "return os.readlink('/proc/1/exe')",
        "EACCES EPERM",
        LOOK,
    ),
    Case(
        "open-memory-of-pid-1",
        "return os.open('/proc/1/mem', os.O_RDWR)",
        "EACCES",
        LOOK,
    ),
    Case(
        "signal-pid-1",
        "return os.kill(1, 0) is None and 'may'",
        "EPERM",
        "landlock ids capabilities",
        scoped=True,
    ),
    Case(
        "stop-pid-1",
        "return os.kill(1, signal.SIGSTOP) is None and 'may'",
        "EPERM",
        "landlock ids capabilities",
        scoped=True,
        outside=False,
    ),
    Case(
        "child-signal-to-pid-1",
        "return os.kill(1, signal.SIGCHLD) is None and 'may'",
        "EPERM",
        "landlock ids capabilities",
        scoped=True,
        outside=False,
    ),
    Case(
        "signal-pid-1-by-a-descriptor",
        "return signal.pidfd_send_signal(os.pidfd_open(1), 0) is None and 'may'",
        "EPERM",
        "landlock ids capabilities",
        scoped=True,
    ),
    Case(
        "queue-a-signal-to-pid-1",
        "info = ctypes.create_string_buffer(struct.pack('iii', 0, 0, -1), 128)\n"
        "return call('rt_sigqueueinfo', 1, signal.SIGCHLD, info) == 0",
        "EPERM",
        "landlock ids capabilities",
        scoped=True,
        outside=False,
    ),
    Case(
        "signal-the-host",
        "return os.kill(HOST['pid'], 0) is None and 'may'",
        "ESRCH",
        "pid",
    ),
    Case(
        "descriptor-of-a-host-process",
        "return os.pidfd_open(HOST['pid'])",
        "ESRCH",
        "pid",
    ),
    Case(
        "slow-down-pid-1",
        "return os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(0, 1)) is"
        " None and 'may'",
        "EPERM EACCES",
        "ids capabilities",
        modes=("service",),
    ),
    Case(
        "move-pid-1",
        "return os.sched_setaffinity(1, os.sched_getaffinity(1)) is None and"
        " 'may'",
        "EPERM",
        "ids capabilities",
        modes=("service",),
    ),
    Case(
        "limit-pid-1-by-its-files",
        "return os.open('/proc/1/oom_score_adj', os.O_WRONLY)",
        "EACCES",
        "landlock ids init",
    ),
    Case(
        "signal-everybody",
        "return in_child(lambda: (signal.pthread_sigmask(signal.SIG_BLOCK,"
        " [signal.SIGURG]), os.kill(-1, 0))[1] is None and HOST['pid'] in"
        " [int(n) for n in os.listdir('/proc') if n.isdigit()])",
        "nothing ESRCH EPERM",
        "pid",
    ),
)
