"""Further namespaces, and what is seen of the host's."""

from .case import Case, table

FLAGS = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
    "time": 0x00000080,
}

CASES = table(
    "namespaces",
    *(
        Case(
            f"unshare-{name}",
            f"return in_child(lambda: f\"returned {{call('unshare', {flag})}}\")",
            "EPERM",
            "seccomp nested" if name == "user" else "seccomp capabilities",
        )
        for name, flag in FLAGS.items()
    ),
    Case(
        "unshare-user-and-mount",
        "return in_child(lambda: f\"returned {call('unshare', 0x10020000)}\")",
        "EPERM",
        "seccomp nested",
    ),
    Case(
        "clone-user",
        "def clone():\n"
        "    pid = call('clone', 0x10000000 | signal.SIGCHLD, 0)\n"
        "    if pid == 0:\n"
        "        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "    return 'cloned'\n"
        "return in_child(clone)",
        "EPERM",
        "seccomp nested",
    ),
    Case("clone3", "return reached('clone3', BAD, 88)", "ENOSYS", "seccomp"),
    Case("setns", "return reached('setns', -1, 0)", "EPERM", "seccomp"),
    Case(
        "unshare-program",
        "done = subprocess.run(['unshare', '-Ur', 'echo', 'in'],"
        " capture_output=True, text=True)\n"
        "if done.returncode:\n"
        "    raise Stopped(done.stderr.split(':')[-1].strip().replace(' ', '-'))\n"
        "return done.stdout",
        "Operation-not-permitted",
        "seccomp nested landlock",
    ),
    Case(
        "number-of-namespaces",
        "return os.open('/proc/sys/user/max_user_namespaces', os.O_WRONLY)",
        "EACCES EROFS",
        "landlock capabilities ids",
    ),
    Case(
        "other-ids",
        "return os.open('/proc/self/uid_map', os.O_WRONLY)",
        "EACCES",
        "landlock",
    ),
    Case(
        "processes-of-the-host",
        "return HOST['pid'] in [int(n) for n in os.listdir('/proc') if"
        " n.isdigit()] and 'seen'",
        "nothing",
        "pid",
    ),
    Case(
        "more-processes-than-two",
        "return len([n for n in os.listdir('/proc') if n.isdigit()]) > 3",
        "nothing",
        "pid",
    ),
    Case(
        "name-of-the-host",
        "return os.uname().nodename == HOST['name'] and HOST['name']",
        "nothing",
        "uts",
    ),
    Case(
        "groups-of-the-host",
        "return [line for line in open('/proc/self/cgroup').read().split()"
        " if line.rpartition(':')[2] != '/']",
        "nothing",
        "cgroup",
    ),
    Case(
        "group-files",
        "return glob.glob('/sys/fs/cgroup/*')",
        "nothing",
        "mount",
    ),
    Case(
        "shared-memory-of-the-host",
        "return open('/proc/sysvipc/shm').read().splitlines()[1:]",
        "nothing",
        "ipc",
    ),
    Case(
        "attach-memory-of-the-host",
        "return f\"at {call('shmat', HOST['shm'], 0, 0o10000):x}\"",
        "EPERM",
        "seccomp ipc",
        outside=False,
    ),
    Case(
        "namespaces-of-pid-1",
        "return os.readlink('/proc/1/ns/net')",
        "EACCES",
        "init landlock ids",
    ),
    Case(
        "own-namespaces-are-the-hosts",
        "return [n for n in HOST['namespaces'] if os.readlink('/proc/self/ns/'"
        " + n) == HOST['namespaces'][n] and n in ('user', 'mnt', 'pid')]",
        "nothing",
        "user",
    ),
)
