"""lossy.py FILE COMMAND...: a network on which packets get lost.

Run in a network namespace of its own, as its owner. Packets to THERE come back
to HERE, as if they had been sent from there: a client that connects to THERE
meets the server that listens on HERE, and each packet between the two goes
through this program, which loses some, sends some twice and lets some be
overtaken. For each lost packet the file gets one byte longer. TCP is the
kernel's own. It ends with the command, which replaces the process that was
started.
"""

from __future__ import annotations

import fcntl
import os
import random
import select
import struct
import subprocess
import sys

HERE = "10.11.12.1"
THERE = "10.11.12.2"
LOST, TWICE, OVERTAKEN = 0.05, 0.02, 0.02

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_MTU = 1500
_HELD_MS = 50  # who waits to be overtaken, at most


def open_tunnel(name: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI)
    fcntl.ioctl(fd, _TUNSETIFF, request)
    for words in (
        "link set lo up",
        f"link set {name} mtu {_MTU} up",
        f"addr add {HERE}/24 dev {name}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    return fd


def turned(packet: bytes) -> bytes:
    """From whom it went to. Sums over both addresses stay the same."""
    return packet[:12] + packet[16:20] + packet[12:16] + packet[20:]


def forward(tunnel: int, command: int, lost: int) -> None:
    """Until the command's process, a pidfd, has ended."""
    chance = random.Random(1)
    held = b""
    waiting = select.poll()
    waiting.register(tunnel, select.POLLIN)
    waiting.register(command, select.POLLIN)
    while True:
        ready = dict(waiting.poll(_HELD_MS if held else None))
        if command in ready:
            return
        packets = []
        if tunnel in ready:
            packet = os.read(tunnel, _MTU)
            if packet[0] >> 4 != 4:  # the kernel's own, of IPv6
                continue
            kind = chance.random()
            if kind < LOST:
                os.write(lost, b".")
                continue
            if kind < LOST + OVERTAKEN and not held:
                held = packet
                continue
            packets = [packet] * (2 if kind > 1 - TWICE else 1)
        for packet in [*packets, *([held] if held else [])]:
            os.write(tunnel, turned(packet))
        held = b""


def main() -> None:
    tunnel = open_tunnel("lossy")
    lost = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    command = os.pidfd_open(os.getpid())
    if os.fork() == 0:
        forward(tunnel, command, lost)
        os._exit(0)
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
