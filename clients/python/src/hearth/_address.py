"""Where the gateway is: the rules of the command line.

HEARTH_URL and HEARTH_TOKEN name one. Otherwise it is the gateway of this user:
the program `hearth` knows where (HEARTH_CONFIG, HEARTH_RUNTIME_DIR) and starts
one if none runs, unless HEARTH_AUTOSTART is `no`. Without the program the file
<runtime folder>/http.json says where one runs.

That file outlives a gateway that was killed, and any program may then take its
port. So what is in it is used only while the gateway's process listens on the
socket beside it. From another PID namespace, such as a container's that mounts
the folder, that process cannot be recognised: there HEARTH_URL names it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

from hearth.errors import GatewayNotFound

_UNREACHABLE = 4  # exit status of hearth(1): no gateway runs
_START_SECONDS = 60.0
_FILE, _SOCKET = "http.json", "management.sock"
_CREDENTIALS = struct.Struct("3i")  # of a peer: process, user, group


class _GatewayElsewhere(GatewayNotFound):
    """A process of another PID namespace listens for it."""

    what_to_do = (
        "Name it by HEARTH_URL and HEARTH_TOKEN: an address that this"
        " container reaches, and a token of `hearth token create`."
    )


@dataclass(frozen=True)
class Address:
    """A gateway's URL, and a token for it (None: it needs none).

    `folder` is the runtime folder of a gateway that was found there, and `pid`
    its process; None and 0 if the URL was given.
    """

    url: str
    token: Optional[str]
    folder: Optional[Path] = None
    pid: int = 0

    @property
    def is_local(self) -> bool:
        """Whether it is certainly on this machine."""
        host = urlsplit(self.url).hostname or ""
        return host in ("localhost", "::1") or host.startswith("127.")

    def is_current(self) -> bool:
        """Whether that gateway still lives, and serves at this URL. One whose
        URL was given is always current."""
        if self.folder is None:
            return True
        try:
            now = _parse(self.folder, _open(self.folder / _FILE)[0])
        except GatewayNotFound:
            return False
        return now == self and _listener(self.folder, self.pid) == self.pid


def is_near() -> bool:
    """Return whether the gateway that find() returns is on this machine."""
    url = os.environ.get("HEARTH_URL")
    return not url or Address(url, None).is_local


def find(program: Optional[str] = None, start: bool = True) -> Address:
    """Return the gateway of this user; start one if that is permitted.

    Raises GatewayNotFound.
    """
    url = os.environ.get("HEARTH_URL")
    if url:
        return Address(url, os.environ.get("HEARTH_TOKEN") or None)
    hearth = program or shutil.which("hearth")
    if hearth is None:
        return _read(_runtime_folder())
    if os.environ.get("HEARTH_AUTOSTART") == "no":
        start = False
    done = _run(hearth, "gateway", "info", "--json")
    if done.returncode == _UNREACHABLE and start:
        started = _run(hearth, "gateway", "start")
        if started.returncode != 0:
            raise GatewayNotFound(_sentence(started.stderr))
        done = _run(hearth, "gateway", "info", "--json")
    if done.returncode != 0:
        raise GatewayNotFound(_sentence(done.stderr))
    info = json.loads(done.stdout)
    folder = Path(info["runtime_dir"])
    found = _address(folder, info.get("http"))
    _check_namespace(folder, found.pid)
    return found


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GatewayNotFound(
            f"`{' '.join(command)}` did not end in {_START_SECONDS:.0f} s."
        ) from error
    except OSError as error:
        raise GatewayNotFound(f"{command[0]}: {error.strerror}.") from error


def _sentence(text: str) -> str:
    line = (text.strip().splitlines() or ["No gateway runs"])[0]
    return line.rstrip(".") + "."


def _address(folder: Path, http: Any) -> Address:
    if not isinstance(http, dict) or not isinstance(http.get("url"), str):
        raise GatewayNotFound("The gateway runs without HTTP (http/listen).")
    return Address(http["url"], http.get("token"), folder, http.get("pid", 0))


def _runtime_folder() -> Path:
    own = os.environ.get("HEARTH_RUNTIME_DIR", "")
    if own.startswith("/"):
        return Path(own)
    shared = os.environ.get("XDG_RUNTIME_DIR", "")
    if shared.startswith("/"):
        return Path(shared) / "hearth"
    return Path(f"/tmp/hearth-{os.getuid()}")  # noqa: S108


def _open(path: Path) -> tuple[bytes, os.stat_result]:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            return os.read(number, 64 << 10), os.fstat(number)
        finally:
            os.close(number)
    except OSError as error:
        raise GatewayNotFound(f"{path}: {error.strerror}.") from error


def _parse(folder: Path, text: bytes) -> Address:
    try:
        return _address(folder, json.loads(text))
    except ValueError as error:
        raise GatewayNotFound(f"{folder / _FILE} is not JSON.") from error


def _listener(folder: Path, pid: int) -> Optional[int]:
    """Return which process listens on the gateway's own socket: None if none
    does, 0 if it is of another PID namespace. One that was killed does so no
    more, also before its parent reaps it."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.setblocking(False)
        try:
            peer.connect(str(folder / _SOCKET))
            found = peer.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
            )
        except BlockingIOError:
            return pid  # more connect at the moment than have room
        except OSError:
            return None
    return int(_CREDENTIALS.unpack(found)[0])


def _check_namespace(folder: Path, pid: int) -> Optional[int]:
    """Return what _listener returns, of a process of this namespace."""
    found = _listener(folder, pid)
    if found == 0:
        raise _GatewayElsewhere(
            f"The gateway of {folder} runs in another PID namespace, outside of"
            " this container, and cannot be recognised from here."
        )
    return found


def _read(folder: Path) -> Address:
    """Read the file of a gateway. In /tmp any user could have made it: it must
    be this user's own, and no other's to write.
    """
    path = folder / _FILE
    text, status = _open(path)
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise GatewayNotFound(f"{path} is not this user's own file.")
    if not stat.S_ISREG(status.st_mode):
        raise GatewayNotFound(f"{path} is no file.")
    found = _parse(folder, text)
    if _check_namespace(folder, found.pid) != found.pid:
        raise GatewayNotFound(f"The gateway that {path} names has ended.")
    return found
