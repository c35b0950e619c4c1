"""A worker: one process for one job of the gateway.

Descriptor 3 is a SOCK_SEQPACKET socket to the gateway: it sends the job, and
gets sentences of progress and one answer. When the gateway's end closes, the
job ends, and leaves the old state or the new one.
"""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import dataclass
from typing import Callable, Generic

from hearth_downloads.core.faults import Failed, Fault, Gone
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.core.job import Kind, parse

SOCKET_FD = 3


@dataclass(frozen=True)
class Worker(Generic[Kind]):
    """A kind of worker: its jobs, and the function that does them."""

    noun: str  # begins the names of its faults, as "Packages"
    kind: type[Kind]
    operations: tuple[str, ...]
    do: Callable[[Kind, Gateway], None]  # and answer

    def serve(self, gateway: Gateway) -> None:
        """Do the job that the gateway sends, and answer."""
        try:
            job = parse(self.kind, gateway.receive(), self.operations)
            if job.mapper:
                os.set_inheritable(job.mapper, False)
            gateway.limit(job.seconds)
            self.do(job, gateway)
        except Gone:
            raise
        except Fault as fault:
            gateway.fault(self.noun, fault)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            gateway.fault(self.noun, Failed(text))

    def main(self) -> None:
        """Be the process."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.umask(0o022)
        link = socket.socket(fileno=SOCKET_FD)
        link.set_inheritable(False)
        try:
            self.serve(Gateway(link))
        except Gone:
            os._exit(1)
        # All is answered; to take the interpreter apart would cost more time.
        os._exit(0)
