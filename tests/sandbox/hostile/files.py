"""The host's files, by every door."""

from .case import Case, table

CASES = table(
    "files",
    Case("host-file", "return open(HOST['secret']).read()", "ENOENT", "mount"),
    Case("shadow", "return open('/etc/shadow').read()", "ENOENT", "mount"),
    Case(
        "root-home", "return os.listdir('/root') or 'a home'", "ENOENT", "mount"
    ),
    Case("homes", "return os.listdir('/home') or 'homes'", "ENOENT", "mount"),
    Case(
        "up-and-up",
        "return open('../' * 40 + HOST['secret'][1:]).read()",
        "ENOENT",
        "mount",
    ),
    Case(
        "own-root",
        "return open('/proc/self/root/..' + HOST['secret']).read()",
        "ENOENT",
        "mount",
    ),
    Case(
        "link-out",
        "os.symlink(HOST['secret'], 'out')\n"
        "try:\n"
        "    return open('out').read()\n"
        "finally:\n"
        "    os.unlink('out')",
        "ENOENT",
        "mount",
    ),
    Case(
        "state-folder",
        "return os.listdir(HOST['state'])",
        "ENOENT",
        "mount",
    ),
    Case(
        "runtime-folder",
        "return os.listdir(HOST['runtime'])",
        "ENOENT",
        "mount",
    ),
    Case(
        "root-of-pid-1",
        "return os.listdir('/proc/1/root')",
        "EACCES",
        "init landlock ids",
    ),
    Case(
        "folder-of-pid-1",
        "return os.listdir('/proc/1/cwd')",
        "EACCES",
        "init landlock ids",
    ),
    Case("chroot", "return reached('chroot', BAD)", "EPERM", "seccomp"),
    Case(
        "mount",
        "return reached('mount', BAD, BAD, BAD, 0, BAD)",
        "EPERM",
        "seccomp",
    ),
    Case("umount", "return reached('umount2', BAD, 0)", "EPERM", "seccomp"),
    Case(
        "pivot-root",
        "return reached('pivot_root', BAD, BAD)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "open-tree",
        "return reached('open_tree', -1, BAD, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "new-file-system",
        "return reached('fsopen', BAD, 0)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "move-mount",
        "return reached('move_mount', -1, BAD, -1, BAD, 0)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "change-mount",
        "return reached('mount_setattr', -1, BAD, 0, BAD, 32)",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "handle-of-a-file",
        "return reached('name_to_handle_at', -1, BAD, BAD, BAD, 0)",
        "EPERM",
        "seccomp",
    ),
    Case(
        "file-by-handle",
        "return reached('open_by_handle_at', -1, BAD, 0)",
        "EPERM",
        "seccomp user",
    ),
    Case(
        "sysrq",
        # Covered by the null device, which takes everything.
        "file = os.open('/proc/sysrq-trigger', os.O_WRONLY)\n"
        "return os.fstat(file).st_rdev != os.makedev(1, 3)",
        "EACCES EROFS ENOENT nothing",
        "proc landlock user",
    ),
    Case(
        "core-pattern",
        "return os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)",
        "EACCES EROFS",
        "landlock user",
    ),
    Case(
        "hotplug-helper",
        "return os.open('/sys/kernel/uevent_helper', os.O_WRONLY)",
        "ENOENT",
        "mount",
    ),
    Case(
        "kernel-memory",
        "return open('/proc/kcore', 'rb').read(16)",
        "nothing ENOENT",
        "proc user",
    ),
    *(
        Case(
            "proc-" + path.replace("/", "-"),
            f"return open('/proc/{path}', 'rb').read(4000)",
            "nothing ENOENT",
            "proc",
        )
        for path in (
            "interrupts",
            "softirqs",
            "cmdline",
            "modules",
            "locks",
            "keys",
            "key-users",
            "kallsyms",
            "iomem",
        )
    ),
    *(
        Case(
            "proc-" + path,
            f"return os.listdir('/proc/{path}')",
            "nothing ENOENT",
            "proc",
        )
        for path in ("irq", "bus", "fs", "driver")
    ),
    Case(
        "own-memory-file",
        "return os.open('/proc/self/mem', os.O_RDWR)",
        "EACCES",
        "landlock",
    ),
    Case(
        # A rule that permitted this would permit all files beside it.
        "name-of-another-thread",
        "import threading\n"
        "over = threading.Event()\n"
        "thread = threading.Thread(target=over.wait)\n"
        "thread.start()\n"
        "place = f'/proc/self/task/{thread.native_id}/comm'\n"
        "try:\n"
        "    os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))\n"
        "    return 'named'\n"
        "finally:\n"
        "    over.set()\n"
        "    thread.join()",
        "EACCES",
        "landlock",
    ),
    Case(
        "own-program",
        "return os.open('/proc/self/exe', os.O_WRONLY | os.O_APPEND)",
        "EACCES EROFS ETXTBSY",
        "readonly landlock ids",
        outside=False,
    ),
    Case(
        "program-of-pid-1",
        "return os.open('/proc/1/exe', os.O_WRONLY)",
        "EACCES",
        "init landlock ids",
        outside=False,
    ),
    Case(
        "devices",
        "return [n for n in ('mem', 'kmsg', 'kvm', 'fuse', 'net/tun', 'tty0',"
        " 'console', 'sda', 'vda', 'loop-control') if os.path.exists('/dev/' + n)]",
        "nothing",
        "mount",
    ),
    Case(
        "make-a-device",
        "os.mknod('device', 0o600 | stat.S_IFCHR, os.makedev(1, 3))\n"
        "os.unlink('device')\n"
        "return 'made'",
        "EPERM",
        "seccomp landlock user",
    ),
    Case(
        "write-programs",
        "open('/usr/hostile', 'w').close()\nos.unlink('/usr/hostile')\nreturn 'made'",
        "EACCES EROFS",
        "readonly landlock ids",
    ),
    Case(
        "write-what-is-shown",
        "return open(HOST['shown'] + '/file', 'r+').write('x')",
        "EROFS EACCES",
        "readonly",
    ),
    Case(
        "touch-what-is-shown",
        "os.utime(HOST['shown'] + '/file')\nreturn 'touched'",
        "EROFS",
        "readonly",
    ),
    Case(
        "map-what-is-shown",
        "with open(HOST['shown'] + '/file') as file:\n"
        "    return mmap.mmap(file.fileno(), 1, mmap.MAP_SHARED,"
        " mmap.PROT_READ | mmap.PROT_WRITE)",
        "EACCES EPERM",
        "kernel",
        outside=False,
    ),
    Case(
        "make-in-what-is-shown",
        "os.mkdir(HOST['shown'] + '/new')\nos.rmdir(HOST['shown'] + '/new')\n"
        "return 'made'",
        "EROFS",
        "readonly",
    ),
    Case(
        "write-etc",
        "return os.open('/etc/passwd', os.O_WRONLY)",
        "EROFS EACCES",
        "mount",
    ),
    Case(
        "poison-bytecode",
        "path = os.path.dirname(os.__file__) + '/__pycache__/hostile.pyc'\n"
        "open(path, 'w').close()\nos.unlink(path)\nreturn path",
        "EACCES EROFS",
        "readonly landlock ids",
    ),
    Case(
        "run-from-root",
        "os.mkdir('/hostile')\nos.rmdir('/hostile')\nreturn 'made'",
        "EROFS EACCES",
        "mount",
    ),
    Case(
        "set-user-id",
        "open('mine', 'w').close()\nos.chmod('mine', 0o4755)\nreturn 'set'",
        "EPERM",
        "seccomp",
    ),
    Case(
        "set-user-id-at-birth",
        "os.close(os.open('born', os.O_CREAT | os.O_WRONLY, 0o6755))\nreturn 'set'",
        "EPERM",
        "seccomp",
    ),
    Case(
        "set-user-id-by-a-hidden-mode",
        "return reached(437, -100, BAD, BAD, 24)",
        "ENOSYS",
        "seccomp",
    ),
    Case(
        "set-user-id-by-a-young-call",
        "return reached(452, -100, BAD, 0o4755, 0)",
        "ENOSYS",
        "seccomp",
    ),
)
