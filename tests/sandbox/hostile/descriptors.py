"""What a session was born with, and what it can do with it."""

from .case import Case, table

KINDS = """
def kinds():
    for name in os.listdir('/proc/self/fd'):
        with contextlib.suppress(OSError):
            yield int(name), os.fstat(int(name)), os.readlink(
                '/proc/self/fd/' + name)
"""

CASES = table(
    "descriptors",
    Case(
        "folders",
        KINDS + "return [text for fd, what, text in kinds() if"
        " stat.S_ISDIR(what.st_mode) and not text.startswith('/proc')]",
        "nothing",
        "descriptors",
    ),
    Case(
        "up-from-a-folder",
        KINDS + "for fd, what, text in kinds():\n"
        "    with contextlib.suppress(OSError):\n"
        "        if stat.S_ISDIR(what.st_mode):\n"
        "            inner = os.open('../' * 20 + HOST['secret'][1:],"
        " os.O_RDONLY, dir_fd=fd)\n"
        "            return os.read(inner, 100)",
        "nothing",
        "descriptors landlock mount",
    ),
    Case(
        "plain-files",
        KINDS + "return [text for fd, what, text in kinds() if"
        " stat.S_ISREG(what.st_mode) and not text.startswith(('/workspace',"
        " '/usr', '/proc'))]",
        "nothing",
        "descriptors",
    ),
    Case(
        "more-than-its-own",
        KINDS + "return [(fd, text) for fd, what, text in kinds() if not"
        " text.startswith(('/dev/null', 'socket:', 'pipe:', 'anon_inode:',"
        " '/proc'))]",
        "nothing",
        "descriptors",
    ),
    Case(
        "listening-socket-of-pid-1",
        "found = []\n"
        "for name in os.listdir('/proc/self/fd'):\n"
        "    with contextlib.suppress(OSError):\n"
        "        s = socket.socket(fileno=os.dup(int(name)))\n"
        "        if 'init' in str(s.getsockname()):\n"
        "            found.append(s.getsockname())\n"
        "return found",
        "nothing",
        "descriptors",
    ),
    Case(
        "streams-are-something-else",
        "return [os.readlink(f'/proc/self/fd/{fd}') for fd in (0, 1, 2) if"
        " not os.readlink(f'/proc/self/fd/{fd}').startswith(('/dev/null',"
        " 'pipe:', 'socket:'))]",
        "nothing",
        "mount",
        outside=False,
    ),
    Case(
        "open-the-link-again",
        "return os.open(f'/proc/self/fd/{find_link().fileno()}', os.O_RDWR)",
        "ENOENT ENXIO EACCES",
        "kernel",
        outside=False,
    ),
    Case(
        "descriptors-in-a-program",
        "done = subprocess.run([sys.executable, '-c', 'import os;"
        ' print(*os.listdir("/proc/self/fd"))\'], capture_output=True,'
        " text=True, close_fds=False)\n"
        "return [n for n in done.stdout.split() if int(n) > 3]",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "current-folder-is-outside",
        "return os.readlink('/proc/self/cwd') != '/workspace' and os.getcwd()",
        "nothing",
        "mount",
    ),
)
