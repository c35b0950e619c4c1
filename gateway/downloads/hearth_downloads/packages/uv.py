"""Finds uv and runs its commands in the sandbox, with the proxy as way out."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
from typing import Callable, NoReturn, Optional

from hearth_kernel.zygote import readonly_folders

from hearth_downloads.core.certificates import find_certificates
from hearth_downloads.core.faults import Failed
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.proxy import Bounds, Proxy, Report
from hearth_downloads.core.sandbox import PROXY_PORT, Program, Result, Sandbox
from hearth_downloads.packages.growth import Growth
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.rules import Rules
from hearth_downloads.packages.stage import INSIDE, Stage

PROFILE = "/profile-wheels"  # its packages' wheels, as uv sees them
_NETRC = "/tmp/.netrc"  # noqa: S108  the sandbox's own
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def find_uv(job: Job) -> str:
    """Return the path of the program."""
    setting = "packages/uv"
    if job.uv:
        if os.access(job.uv, os.X_OK) and os.path.isfile(job.uv):
            return job.uv
        raise Failed(
            f"{setting} names {job.uv}, and that is no program: install uv, "
            "or correct the setting"
        )
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("uv")
    if found is None:
        raise Failed(
            f"there is no uv beside {sys.executable} nor in PATH: install it "
            f"({sys.executable} -m pip install uv), or name it in {setting}"
        )
    return os.path.abspath(found)


def encode_netrc(job: Job) -> str:
    """Return the users and passwords of the job as uv reads them."""

    def quote(word: str) -> str:
        return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'

    return "".join(
        f"machine {one['host'].lower()} login {quote(one['user'])} "
        f"password {quote(one['password'])}\n"
        for one in job.credentials
    )


class Uv:
    """uv for one job."""

    def __init__(
        self,
        job: Job,
        gateway: Gateway,
        rules: Rules,
        stage: Stage,
        wheels: str = "",
    ) -> None:
        self.job = job
        self.stage = stage
        self.gateway = gateway
        self.program = find_uv(job)
        self.growth = Growth(job, stage)
        self.sandbox = Sandbox(
            job,
            stage.workspace,
            readonly_folders([self.program]),
            [f"{wheels}:{PROFILE}"] if wheels else [],
        )
        self.proxy: Optional[Proxy] = Proxy(
            rules, Bounds(job.max_bytes, job.silence), job.uid, job.gid
        )
        self.reports: list[Report] = []

    def run(self, *arguments: str) -> Result:
        """Run one command; `reports` has what the proxy refused meanwhile."""
        return self.do(lambda: self._become([self.program, *arguments]))

    def do(self, main: Callable[[], None]) -> Result:
        """Run a function in the place of uv, with the same walls."""
        assert self.proxy is not None  # noqa: S101  it is closed last
        self.proxy.reports()
        program = Program(
            main,
            self._attach,
            self.growth.look,
            self.stage.check,
        )
        result = self.sandbox.run(self.gateway, program)
        self.growth.measure()
        self.reports = self.proxy.reports()
        return Result(result.code, self.job.hide(result.output))

    def _attach(self, listener: int) -> None:
        assert self.proxy is not None  # noqa: S101  it is closed last
        self.proxy.attach(listener)
        if self.job.order != "remove" and not self.job.offline:
            # Needed when uv has resolved. The processor has time now.
            importlib.import_module("hearth_downloads.packages.status")

    def _become(self, arguments: list[str]) -> NoReturn:
        # In the sandbox's own /tmp: in no argument, and on no disk.
        if self.job.credentials:
            with open(os.open(_NETRC, _WRITE, 0o600), "w") as file:
                file.write(encode_netrc(self.job))
        try:
            os.execve(  # noqa: S606  it is no shell's command
                self.program, arguments, self._environment()
            )
        except OSError as error:
            raise OSError(f"cannot start uv: {error}") from None

    def close(self) -> None:
        """End the proxy."""
        if self.proxy is not None:
            self.proxy.close()
            self.proxy = None

    def _environment(self) -> dict[str, str]:
        """Return uv's environment, made from nothing.

        The index is here and not among the arguments, which every user of the
        machine can read: its URL may have a password.
        """
        proxy = f"http://127.0.0.1:{PROXY_PORT}"
        environment = {
            "PATH": "/usr/bin:/bin",
            "NETRC": _NETRC,
            "HOME": "/tmp",  # noqa: S108  the sandbox's own
            "LANG": "C.UTF-8",
            "MALLOC_ARENA_MAX": "2",  # each has 64 MiB of addresses
            "NO_COLOR": "1",
            "HTTP_PROXY": proxy,
            "HTTPS_PROXY": proxy,
            "http_proxy": proxy,
            "https_proxy": proxy,
            "UV_CACHE_DIR": f"{INSIDE}/cache",
            "UV_DEFAULT_INDEX": self.job.index,
            "UV_NO_CONFIG": "1",
            "UV_NO_PROGRESS": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_KEYRING_PROVIDER": "disabled",
            "UV_HTTP_RETRIES": "1",
            "UV_HTTP_TIMEOUT": str(max(1, int(self.job.silence))),
            "UV_CONCURRENT_DOWNLOADS": "8",
            "UV_CONCURRENT_INSTALLS": "4",  # its threads, too
        }
        certificates = find_certificates()
        if certificates:
            environment["SSL_CERT_FILE"] = certificates
        return environment
