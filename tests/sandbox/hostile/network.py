"""Ways out of the machine, and into its other parts."""

from .case import Case, table

# family, kind, protocol, outcomes, walls; in a child, because a family may
# load a module of the kernel's
SOCKETS = {
    "tcp": (2, 1, 0, "EAFNOSUPPORT", "seccomp"),
    "tcp-6": (10, 1, 0, "EAFNOSUPPORT", "seccomp"),
    "udp": (2, 2, 0, "EAFNOSUPPORT", "seccomp"),
    "multipath-tcp": (2, 1, 262, "EAFNOSUPPORT", "seccomp"),
    "raw": (2, 3, 1, "EAFNOSUPPORT", "seccomp capabilities"),
    "ping": (2, 2, 1, "EAFNOSUPPORT", "seccomp kernel"),
    "sctp": (2, 5, 132, "EAFNOSUPPORT", "seccomp kernel"),
    "udp-lite": (2, 2, 136, "EAFNOSUPPORT", "seccomp kernel"),
    "netlink": (16, 3, 0, "ENOTSUP", "seccomp"),
    "netfilter": (16, 3, 12, "ENOTSUP", "seccomp kernel"),
    "packet": (17, 3, 0, "EPERM", "seccomp capabilities"),
    "alg": (38, 5, 0, "EPERM", "seccomp kernel"),
    "vsock": (40, 1, 0, "EPERM", "seccomp kernel"),
    "key": (15, 3, 2, "EPERM", "seccomp kernel capabilities"),
    "rxrpc": (33, 2, 2, "EPERM", "seccomp kernel"),
    "bluetooth": (31, 3, 1, "EPERM", "seccomp kernel"),
    "can": (29, 3, 1, "EPERM", "seccomp kernel"),
    "tipc": (30, 5, 0, "EPERM", "seccomp kernel"),
    "smc": (43, 1, 0, "EPERM", "seccomp kernel"),
    "xdp": (44, 3, 0, "EPERM", "seccomp kernel capabilities"),
}

CASES = table(
    "network",
    *(
        Case(
            name,
            f"return f\"socket {{call('socket', {family}, {kind}, {protocol})}}\"",
            stops,
            walls,
        )
        for name, (family, kind, protocol, stops, walls) in SOCKETS.items()
    ),
    Case(
        "pair-of-another-family",
        "return reached('socketpair', 30, 1, 0, BAD)",
        "EPERM",
        "seccomp kernel",
    ),
    Case(
        "server-of-the-host",
        "s = socket.create_connection(('127.0.0.1', HOST['port']), 5)\n"
        "return s.recv(100)",
        "EAFNOSUPPORT",
        "seccomp network landlock",
    ),
    Case(
        "name-service",
        "return socket.getaddrinfo('example.com', 80)",
        "gaierror",
        "seccomp network",
        outside=False,
    ),
    Case(
        "abstract-socket-of-the-host",
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.connect('\\0' + HOST['abstract'])\n"
        "return s.recv(100)",
        "ECONNREFUSED EPERM",
        "network landlock",
    ),
    Case(
        "names-of-the-hosts-sockets",
        "return HOST['abstract'] in open('/proc/net/unix').read() and 'seen'",
        "nothing",
        "network",
    ),
    Case(
        "connections-of-the-host",
        "port = f\":{HOST['port']:04X} \"\n"
        "return port in open('/proc/net/tcp').read() and 'seen'",
        "nothing",
        "network",
    ),
    Case(
        "socket-file-of-the-gateway",
        "s = socket.socket(socket.AF_UNIX)\n"
        "s.connect(HOST['runtime'] + '/management.sock')\n"
        "return 'connected'",
        "ENOENT",
        "mount",
    ),
    Case(
        "program-in-a-socket",
        "a, b = socket.socketpair()\n"
        "code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0))\n"
        "a.setsockopt(socket.SOL_SOCKET, 26, struct.pack('HxxxxxxQ', 1,"
        " ctypes.addressof(code)))\n"
        "return 'attached'",
        "EPERM",
        "seccomp",
    ),
    Case(
        "marked-packets",
        "a, b = socket.socketpair()\n"
        "a.setsockopt(socket.SOL_SOCKET, 36, 7)\nreturn 'marked'",
        "EPERM",
        "seccomp capabilities",
    ),
    Case(
        "bigger-buffer-than-allowed",
        "a, b = socket.socketpair()\n"
        "a.setsockopt(socket.SOL_SOCKET, 32, 1 << 28)\nreturn 'forced'",
        "EPERM",
        "seccomp capabilities",
    ),
)
