"""Attempts to write into another user's terminal."""

from .case import Case, table

ON_OWN = "master, slave = os.openpty()\n"

CASES = table(
    "terminal",
    Case(
        "type-into-it",
        ON_OWN + "return f\"typed {call('ioctl', slave, 0x5412, b'x')}\"",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "type-by-high-bits",
        ON_OWN
        + "return f\"typed {call('ioctl', slave, 0x1_0000_5412, b'x')}\"",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "type-into-stdin",
        "return reached('ioctl', 0, 0x5412, BAD)",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "paste-on-the-console",
        "return reached('ioctl', 0, 0x541C, BAD)",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "line-discipline",
        ON_OWN
        + "return f\"set {call('ioctl', slave, 0x5423, struct.pack('i', 27))}\"",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "take-the-console",
        ON_OWN + "return reached('ioctl', slave, 0x541D, 0)",
        "EPERM EACCES",
        "seccomp kernel capabilities user",
    ),
    Case(
        "lights-of-the-keyboard",
        "return reached('ioctl', 0, 0x4B32, 0)",
        "EPERM EACCES",
        "seccomp",
    ),
    Case(
        "terminal-of-the-host",
        "return os.open('/dev/tty', os.O_RDWR)",
        "ENOENT ENXIO",
        "mount",
        outside=False,
    ),
    Case(
        "console-of-the-host",
        "return os.path.exists('/dev/console') and 'there'",
        "nothing",
        "mount",
    ),
    Case("any-terminal", "return glob.glob('/dev/tty*')", "nothing", "mount"),
    Case(
        "controlling-terminal",
        "return int(open('/proc/self/stat').read().rpartition(')')[2].split()[4])",
        "nothing",
        "kernel",
        outside=False,
    ),
)
