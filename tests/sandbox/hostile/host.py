"""The machine around the sandbox, as snippets would like to meet it: a file,
a process, sockets, shared memory, each with a mark on it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

IPC_PRIVATE, IPC_RMID = 0, 0
NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


class Host:
    def __init__(self, user: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hx-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.planted = "planted-" + secrets.token_hex(16)
        self.secret = self.folder / "secret"
        self.secret.write_text("a file of the host\n")
        self.locked = lock(self.secret)
        self.shown = self.folder / "shown"
        self.shown.mkdir()
        (self.shown / "file").write_text("shown\n")
        for path in (self.shown, self.shown / "file"):
            os.chown(path, user, user)
        self.shown.chmod(0o777)
        (self.shown / "file").chmod(0o666)
        self.process = subprocess.Popen(
            ["sleep", "3600"],
            user=user,
            group=user,
            extra_groups=[] if os.getuid() == 0 else None,
            env={"PLANTED": self.planted},
        )
        self.abstract = "hostile-" + secrets.token_hex(8)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind("\0" + self.abstract)
        self.unix.listen()
        for server in (self.tcp, self.unix):
            threading.Thread(target=greet, args=(server,), daemon=True).start()
        self.libc = ctypes.CDLL(None)
        self.shm = self.libc.shmget(IPC_PRIVATE, 4096, 0o1666)

    def facts(self) -> dict[str, Any]:
        return {
            "secret": str(self.secret),
            "shown": str(self.shown),
            "pid": self.process.pid,
            "abstract": self.abstract,
            "port": self.tcp.getsockname()[1],
            "shm": self.shm,
            "name": os.uname().nodename,
            "namespaces": {
                name: os.readlink(f"/proc/self/ns/{name}")
                for name in NAMESPACES
            },
        }

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for server in (self.tcp, self.unix):
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()
        os.close(self.locked)
        self.libc.shmctl(self.shm, IPC_RMID, None)
        shutil.rmtree(self.folder, ignore_errors=True)


def lock(path: Path) -> int:
    """Lock an open file; the lock has no process, and is in each /proc/locks."""
    fd = os.open(path, os.O_RDWR)
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole)
    return fd


def greet(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            connection.sendall(b"the host")
            connection.close()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def form(key: str) -> str:
    """A pattern of the key's letters and digits, which does not tell it."""
    return re.sub(r"[0-9a-f]{4,}", lambda m: f"[0-9a-f]{{{len(m[0])}}}", key)
