"""The packages worker: one process for one job of the gateway.

Descriptor 3 is a SOCK_SEQPACKET socket to the gateway: it sends the job, and
gets sentences of progress and one answer. When the gateway's end closes, the
job ends, and leaves the old state or the new one.
"""

from __future__ import annotations

import os
import signal
import socket

from hearth_packages.faults import Failed, Fault, Gone
from hearth_packages.gateway import Gateway
from hearth_packages.job import parse

SOCKET_FD = 3


def run(gateway: Gateway) -> None:
    """Do the job that the gateway sends, and answer."""
    try:
        job = parse(gateway.receive())
        if job.mapper:
            os.set_inheritable(job.mapper, False)
        gateway.limit(job.seconds)
        # After the limits of a job, because it imports all the rest.
        from hearth_packages.order import do

        answer = do(job, gateway)
    except Gone:
        raise
    except Fault as fault:
        gateway.fault(fault)
    except Exception as error:
        gateway.fault(Failed(f"{type(error).__name__}: {error}"))
    else:
        gateway.answer(answer)


def main() -> None:
    """Be the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    link = socket.socket(fileno=SOCKET_FD)
    link.set_inheritable(False)
    try:
        run(Gateway(link))
    except Gone:
        os._exit(1)
