"""Two sessions: what one leaves for the other, takes from it, shares with it."""

from .case import KERNEL, Case, table

RANDOM = {
    "random": "__import__('random').random()",
    "random-seeded-before": "__import__('random').Random().random()",
    "uuid-1-node": "__import__('uuid').getnode()",
    "uuid-4": "str(__import__('uuid').uuid4())",
    "secret-token": "__import__('secrets').token_hex()",
    "name-of-a-temporary-file": "next(__import__('tempfile')._get_candidate_names())",
    "key-of-multiprocessing": "bytes(__import__('multiprocessing').current_process().authkey).hex()",
    "openssl": "__import__('ssl').RAND_bytes(16).hex()",
    "numpy": "float(__import__('numpy').random.random())",
    "numpy-generator": "float(__import__('numpy').random.default_rng().random())",
}

CASES = table(
    "neighbours",
    *(
        Case(
            f"file-in-{folder.strip('/').replace('/', '-')}",
            f"return open('{folder}/hostile-left').read()",
            "ENOENT",
            "mount",
            before=f"open('{folder}/hostile-left', 'w').write('mine')",
            outside=folder != "/workspace",
        )
        for folder in ("/tmp", "/dev/shm", "/workspace", "/var/tmp")
    ),
    Case(
        "abstract-socket",
        "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0hostile-server')\n"
        "return 'connected'",
        "ECONNREFUSED EPERM",
        "network landlock",
        before="__import__('builtins').hostile = s = socket.socket("
        "socket.AF_UNIX); s.bind('\\0hostile-server'); s.listen()",
    ),
    Case(
        "taken-name",
        "s = socket.socket(socket.AF_UNIX)\n"
        "try:\n"
        "    s.bind('\\0hostile-name')\n"
        "except OSError:\n"
        "    return 'the name is taken by another session'",
        "nothing",
        "network",
        before="__import__('builtins').taken = s = socket.socket("
        "socket.AF_UNIX); s.bind('\\0hostile-name')",
    ),
    Case(
        "shared-memory",
        "return f\"id {call('shmget', 0x68737400, 4096, 0o666)}\"",
        "EPERM",
        "seccomp",
        before="libc.shmget(0x68737400, 4096, 0o1666)",
        after="",
    ),
    Case(
        "semaphore",
        "return os.path.exists('/dev/shm/sem.hostile') and 'seen'",
        "nothing",
        "mount",
        before="open('/dev/shm/sem.hostile', 'wb').write(bytes(32))",
    ),
    Case(
        "terminal",
        "return [n for n in os.listdir('/dev/pts') if n != 'ptmx']",
        "nothing",
        "mount",
        before="__import__('builtins').terminal = os.openpty()",
    ),
    Case(
        "signal",
        "return [p for p in range(2, 60) if p not in (os.getpid(),) and"
        " os.path.exists(f'/proc/{p}/ns') and not"
        " os.path.samefile('/proc/self/ns/pid', f'/proc/{p}/ns/pid')]",
        "nothing",
        "pid",
    ),
    Case(
        "write-through-a-pipe",
        "# CVE-2022-0847: a page of a read-only file in a pipe\n"
        "out, into = os.pipe()\n"
        "try:\n"
        "    with open(os.__file__) as file:\n"
        "        moved = call('splice', file.fileno(),"
        " ctypes.byref(ctypes.c_long(1)), into, 0, 1, 0)\n"
        "    return f'{moved} byte in the pipe'\n"
        "finally:\n"
        "    os.close(out)\n"
        "    os.close(into)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "write-through-own-memory",
        "# CVE-2016-5195: private pages of a read-only file\n"
        "with open(os.__file__) as file:\n"
        "    page = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE,"
        " mmap.PROT_READ)\n"
        "return os.open('/proc/self/mem', os.O_WRONLY)",
        "EACCES",
        "landlock",
    ),
    Case(
        "who-reads-a-file",
        "# cachestat and mincore tell what others have read\n"
        "return reached(451, -1, BAD, BAD, 0)",
        "ENOSYS",
        "seccomp",
    ),
    *(
        Case(
            f"same-{name}",
            f"return ({expression}) == VICTIM and VICTIM",
            "nothing",
            KERNEL,
            before=expression,
            outside=False,
        )
        for name, expression in RANDOM.items()
    ),
    Case(
        "starve-of-descriptors-in-flight",
        "kept = []\n"
        "try:\n"
        "    for pair in range(100):\n"
        "        a, b = socket.socketpair()\n"
        "        kept.append((a, b))\n"
        "        for turn in range(200):\n"
        "            a.sendmsg([b'x'], [(socket.SOL_SOCKET, 1,"
        " struct.pack('200i', *[0] * 200))], socket.MSG_DONTWAIT)\n"
        "except OSError:\n"
        "    pass\n"
        "__import__('builtins').kept = kept",
        "nothing",
        "ids",
        after="(lambda p: not p[0].sendmsg([b'x'], [(socket.SOL_SOCKET, 1,"
        " struct.pack('i', 0))]))(socket.socketpair())",
        modes=("service",),
        alone=True,
        outside=False,
    ),
    Case(
        "starve-of-pipe-pages",
        "kept = []\n"
        "for turn in range(120):\n"
        "    out, into = os.pipe()\n"
        "    with contextlib.suppress(OSError):\n"
        "        fcntl.fcntl(into, 1031, 1 << 20)\n"
        "    kept.append((out, into))\n"
        "__import__('builtins').kept = kept",
        "nothing",
        "ids",
        after="fcntl.fcntl(os.pipe()[1], 1032) < 65536",
        modes=("service",),
        alone=True,
        outside=False,
    ),
)
