"""Everything that can be used up: the session is held, another answers.

A case in which the session ends says for which reason; the others return what
is more than they may have."""

from .case import GROUPS, Case, table

CASES = table(
    "resources",
    Case(
        "fork-bomb",
        "pids = []\n"
        "try:\n"
        "    while len(pids) < 2000:\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            time.sleep(60)\n"
        "            os._exit(0)\n"
        "        pids.append(pid)\n"
        "    return f'{len(pids)} processes'\n"
        "finally:\n"
        "    for pid in pids:\n"
        "        os.kill(pid, signal.SIGKILL)\n"
        "        os.waitpid(pid, 0)",
        "EAGAIN",
        GROUPS + " limits",
        outside=False,
    ),
    Case(
        "threads",
        "threads = []\n"
        "stop = threading.Event()\n"
        "try:\n"
        "    while len(threads) < 2000:\n"
        "        threads.append(threading.Thread(target=stop.wait))\n"
        "        threads[-1].start()\n"
        "    return f'{len(threads)} threads'\n"
        "except RuntimeError:\n"
        "    threads.pop()\n"
        "    raise OSError(errno.EAGAIN, 'threads') from None\n"
        "finally:\n"
        "    stop.set()\n"
        "    for thread in threads:\n"
        "        thread.join()",
        "EAGAIN",
        GROUPS + " limits",
        outside=False,
    ),
    Case(
        "memory",
        "kept = []\nwhile len(kept) < 4000:\n    kept.append(bytearray(1 << 20))\n"
        "return 'four gigabytes'",
        "MemoryError",
        GROUPS,
        alone=True,
        ends="memory",
        outside=False,
    ),
    Case(
        "memory-of-a-child",
        "def grow():\n"
        "    kept = []\n"
        "    while len(kept) < 4000:\n"
        "        kept.append(bytearray(1 << 20))\n"
        "    return 'four gigabytes'\n"
        "return in_child(grow)",
        "SIGKILL",
        GROUPS,
        alone=True,
        ends="memory",
        outside=False,
    ),
    Case(
        "tmp-full",
        "try:\n"
        "    with open('/tmp/full', 'wb') as file:\n"
        "        for turn in range(64):\n"
        "            file.write(bytes(1 << 20))\n"
        "    return '64 MiB'\n"
        "finally:\n"
        "    os.unlink('/tmp/full')",
        "ENOSPC",
        "mount",
    ),
    Case(
        "shm-full",
        "try:\n"
        "    with open('/dev/shm/full', 'wb') as file:\n"
        "        for turn in range(64):\n"
        "            file.write(bytes(1 << 20))\n"
        "    return '64 MiB'\n"
        "finally:\n"
        "    os.unlink('/dev/shm/full')",
        "ENOSPC",
        "mount",
    ),
    Case(
        "sparse-file",
        "with open('sparse', 'wb') as file:\n"
        "    file.truncate(1 << 42)\n"
        "return '4 TiB'",
        "EFBIG",
        "limits",
    ),
    Case(
        "file-in-memory",
        "fd = os.memfd_create('big')\n"
        "try:\n"
        "    os.ftruncate(fd, 8 << 30)\n"
        "finally:\n"
        "    os.close(fd)\n"
        "return '8 GiB'",
        "EFBIG",
        "limits",
    ),
    Case(
        "a-thousand-folders-deep",
        "top = os.getcwd()\n"
        "try:\n"
        "    for turn in range(1000):\n"
        "        os.mkdir('d')\n"
        "        os.chdir('d')\n"
        "    os.chmod('.', 0)\n"
        "finally:\n"
        "    os.chdir(top)",
        "nothing",
        "gateway",
        alone=True,
        judge="workspace_goes",
        outside=False,
    ),
    Case(
        "descriptors",
        "kept = []\n"
        "try:\n"
        "    while len(kept) < 4000:\n"
        "        kept.append(os.dup(0))\n"
        "    return f'{len(kept)} descriptors'\n"
        "finally:\n"
        "    for fd in kept:\n"
        "        os.close(fd)",
        "EMFILE",
        "limits",
    ),
    Case(
        "terminals",
        "kept = []\n"
        "try:\n"
        "    while len(kept) < 300:\n"
        "        kept.extend(os.openpty())\n"
        "    return f'{len(kept)} ends of terminals'\n"
        "finally:\n"
        "    for fd in kept:\n"
        "        os.close(fd)",
        "ENOSPC EMFILE",
        "mount limits",
    ),
    Case(
        "timers",
        "def make():\n"
        "    event = ctypes.create_string_buffer(64)\n"
        "    ctypes.memmove(event, struct.pack('Qii', 0, signal.SIGURG, 0), 16)\n"
        "    for turn in range(4000):\n"
        "        call(222 if os.uname().machine == 'x86_64' else 107, 1, event,"
        " ctypes.create_string_buffer(8))\n"
        "    return '4000 timers'\n"
        "return in_child(make)",
        "EAGAIN",
        "limits",
    ),
    Case(
        "locked-memory",
        "return mmap.mmap(-1, 1 << 22, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS |"
        " 0x2000, mmap.PROT_READ) and '4 MiB locked'",
        "EAGAIN EPERM",
        "limits",
    ),
    Case(
        "core-file",
        "import resource\n"
        "return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0 and 'allowed'",
        "nothing",
        "limits",
    ),
    Case(
        "deep-recursion",
        "def down(n):\n"
        "    return down(n + 1) + 1\n"
        "try:\n"
        "    down(0)\n"
        "except RecursionError:\n"
        "    return None",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "outlives-its-session",
        "subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "subprocess.Popen(['sh', '-c', 'trap \"\" HUP TERM INT; sleep 600'])",
        "nothing",
        "pid",
        alone=True,
        judge="nothing_is_left",
        outside=False,
    ),
    Case(
        "output",
        "for turn in range(300):\n    print('x' * 100000)",
        "nothing",
        "gateway",
        alone=True,
        outside=False,
    ),
    Case(
        "many-outputs",
        "for turn in range(20000):\n    print(turn, flush=True)",
        "nothing",
        "gateway",
        alone=True,
        outside=False,
    ),
    Case(
        "deaf-loop",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True:\n    pass",
        "",
        "gateway",
        alone=True,
        ends="time",
        outside=False,
    ),
)
