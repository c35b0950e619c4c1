"""The zygote: a warm interpreter that forks kernels (PROTOCOL.zygote.md).

It runs only hearth's code and the profile's modules, has one thread, and knows
nothing of any session but the descriptors that it passes on. Once it is warm
it runs Python only in its kernels.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import platform
import signal
import socket
import struct
import sys
import sysconfig
import traceback
from typing import Any, NoReturn

from hearth_kernel import payload

Fields = dict[str, Any]

PROTOCOL = 5  # ZYGOTE_PROTOCOL of kernels/zygote_request.h
SOCKET_FD = 3
DATAGRAM_MAX = 64 * 1024
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")


class Fault(Exception):
    """A reason why there can be no kernels, as a sentence."""


def reply(gateway: socket.socket, answer: Fields) -> None:
    """Send one datagram of JSON."""
    gateway.send(json.dumps(answer).encode())


def report_end(gateway: socket.socket, error: Exception) -> NoReturn:
    """Say why there will be no kernels, and end."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is None:
        text = error.strerror or text  # the sandbox's sentence alone
    reply(gateway, {"fault": text[:1000]})
    sys.exit(1)


def check_places(profile: Fields) -> None:
    """Refuse a setting that names what is not there to be shown."""
    places = [("readonly", path) for path in profile.get("readonly") or []]
    for text in profile.get("mount") or []:
        places.append(("mount", text.rpartition(":")[0]))
    for setting, path in places:
        try:
            os.stat(path)
        except OSError as error:
            raise Fault(
                f"profile/{profile.get('profile')}/{setting} names {path}: "
                f"{error.strerror}; make it, or remove it from the setting"
            ) from None
    for path in _find_made(profile):
        try:
            os.stat(path)
        except OSError as error:
            raise Fault(
                f"packages/dir: {path}: {error.strerror}; the gateway makes it "
                f"when it starts"
            ) from None


def _find_made(profile: Fields) -> list[str]:
    """Return the folders that the gateway has made."""
    made = (profile.get("packages") or [])[:1]
    return [*made, *filter(None, [profile.get("preinstalled")])]


def mounts(profile: Fields) -> list[str]:
    """The folders that a kernel sees at another place, SOURCE:TARGET."""
    wanted = list(profile.get("mount") or [])
    if profile.get("packages"):
        wanted.append(":".join(profile["packages"]))
    return wanted


def readonly_folders(extra: list[str]) -> list[str]:
    """The folders that a kernel sees: the system's and this Python's."""
    paths = sysconfig.get_paths()
    package = os.path.dirname(os.path.abspath(__file__))
    wanted = [
        *_SYSTEM_FOLDERS,
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        sys.base_exec_prefix,
        paths["stdlib"],
        paths["platstdlib"],
        paths["purelib"],
        paths["platlib"],
        *(path for path in sys.path if "-packages" in path),
        os.path.dirname(os.path.realpath(sys.executable)),
        package,
        *extra,
    ]
    found: list[str] = []
    for path in wanted:
        whole = os.path.normpath(os.path.join("/", path))
        if whole != "/" and whole not in found and os.path.exists(whole):
            found.append(whole)
    # An outer folder shows what is in it.
    return [
        path
        for path in found
        if not any(path.startswith(outer + "/") for outer in found)
    ]


def snapshot() -> dict[str, int]:
    """When the folders of installed packages were changed last, in ns."""
    found = {}
    for path in [*sys.path, os.path.join(sys.prefix, "pyvenv.cfg")]:
        if "-packages" in path or path.endswith("pyvenv.cfg"):
            try:
                found[path] = os.stat(path).st_mtime_ns
            except OSError:
                continue
    return found


def check_threads() -> None:
    """Refuse to fork with a second thread: its locks would stay locked."""
    from hearth_kernel.forking import forks

    threads = forks.count_threads()
    if threads != 1:
        raise Fault(
            f"the zygote has {threads} threads: a preloaded module started "
            "one; remove it from `preload` of the profile"
        )


def report_fault(status_fd: int, error: BaseException) -> None:
    """Say why there will be no kernel: a fault_t of base/fault.h."""
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    plain = last.encode("unicode_escape").decode("ascii")
    text = f"the kernel did not start: {plain}".encode("ascii")
    # The last byte stays 0.
    os.write(status_fd, struct.pack("i252s", errno.ECHILD, text[:251]))


def run_payload(profile: Fields, request: Fields) -> NoReturn:
    """Be a kernel; until it has begun, the launch hears of what goes wrong."""
    from hearth_kernel import _sandbox

    link_fd, status_fd = request["link_fd"], request["status_fd"]
    has_begun = False

    def before_ready() -> None:
        _sandbox.await_init(request["init_fd"])

    def when_begun() -> None:
        nonlocal has_begun
        has_begun = True
        os.close(status_fd)

    try:
        if profile.get("fresh"):
            from hearth_kernel import fresh

            before_ready()
            # It ends with this program: the next one does not have it.
            os.set_inheritable(status_fd, False)
            fresh.become(profile, request, link_fd)
        payload.become_kernel(request, link_fd, before_ready, when_begun)
    except BaseException as error:
        if not has_begun:
            report_fault(status_fd, error)
    finally:
        os._exit(70)


def serve(profile: Fields) -> None:
    """Fork kernels until the gateway closes its end; in C (loop.h)."""
    from hearth_kernel import _sandbox

    request = _sandbox.serve(SOCKET_FD, profile.get("mapper") or 0)
    if request is not None:
        run_payload(profile, request)


def find(names: list[str]) -> tuple[list[str], list[dict[str, str]]]:
    """Which modules are there and which are not; nothing is imported."""
    from hearth_kernel.packages import preinstalled

    loaded, missing = [], []
    for name in names:
        top = name.partition(".")[0]
        if preinstalled.has(name) or importlib.util.find_spec(top):
            loaded.append(name)
        else:
            missing.append({"name": name, "error": f"No module named {name!r}"})
    return loaded, missing


def describe(profile: Fields) -> Fields:
    """Warm up; return the datagram that says so."""
    installed = snapshot()
    try:
        from hearth_kernel import _sandbox
    except ImportError as error:
        raise Fault(f"{sys.executable}: {error}") from None
    if not profile.get("fresh"):
        _sandbox.gather()  # before there is much to be gathered
    try:
        import IPython
    except ImportError as error:
        raise Fault(
            f"IPython is not installed in {sys.executable}: run "
            f"{sys.executable} -m pip install ipython matplotlib-inline comm"
            f" ({error})"
        ) from None
    try:
        # Modules that kernels need are loaded here once, not again by each of
        # them.
        from hearth_kernel import environment, kernel  # noqa: F401
        from hearth_kernel.forking import forks, reseed  # noqa: F401
        from hearth_kernel.packages import added, preinstalled  # noqa: F401
        from hearth_kernel.shell import policy
        from hearth_kernel.warm import warm
    except ImportError as error:
        raise Fault(f"{sys.executable}: {error}") from None
    environment.have_preinstalled(str(profile.get("preinstalled") or ""))
    names = [str(name) for name in profile["preload"]]
    if profile.get("fresh"):
        from hearth_kernel import fresh  # noqa: F401

        # Each kernel warms up for itself: nothing of it is needed here.
        loaded, missing = find(names)
    else:
        _, loaded, missing = warm(names)
        environment.settle({})
        forks.spare()
    policy.configure(profile.get("policy"))
    check_threads()
    check_places(profile)
    _sandbox.describe(
        {
            "init": os.path.join(os.path.dirname(__file__), "hearth-init"),
            "readonly": readonly_folders(
                [*(profile.get("readonly") or []), *preinstalled.folders()]
            ),
            "mounts": mounts(profile),
            "network": profile.get("network") or 0,
            "accept": profile.get("accept") or [],
            "without": profile.get("without") or [],
        }
    )
    return {
        "ready": 1,
        "protocol": PROTOCOL,
        "python": platform.python_version(),
        "ipython": IPython.__version__,
        "preloaded": loaded,
        "missing": missing,
        "threads": forks.count_threads(),
        "environment": installed,
    }


def main() -> None:
    """Be the zygote of the profile in the first datagram."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gateway = socket.socket(fileno=SOCKET_FD)
    gateway.set_inheritable(False)
    try:
        profile = json.loads(gateway.recv(DATAGRAM_MAX))
        if profile.get("mapper"):
            os.set_inheritable(profile["mapper"], False)
        ready = describe(profile)
    except (Fault, OSError) as error:
        report_end(gateway, error)
    try:
        reply(gateway, ready)
        serve(profile)
    except BrokenPipeError:
        pass  # the gateway has gone
    except OSError as error:
        report_end(gateway, error)
