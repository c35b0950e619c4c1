"""What code in a kernel needs to speak over the link in its stead."""

from __future__ import annotations

# In the kernel: the connection to the gateway, found among the descriptors.
TAKE_THE_LINK = """
import json, os, socket, struct, time

def find_link():
    for name in os.listdir('/proc/self/fd'):
        try:
            s = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        try:
            if (s.family == socket.AF_UNIX and s.type == socket.SOCK_STREAM
                    and not s.getsockopt(socket.SOL_SOCKET,
                                         socket.SO_ACCEPTCONN)):
                if str(s.getsockname()).endswith('link.sock'):
                    return s
        except OSError:
            pass
    raise LookupError('no link')

def frame(kind, seq, request=0, content=b'{}', metadata=b'', version=1,
          size=None, buffers=0):
    body = len(metadata) + len(content) if size is None else size
    return struct.pack('<IHHQQII', body, version, kind, seq, request,
                       len(metadata), buffers) + metadata + content

# One of them is the next one, those before it are repetitions.
def numbered(kind, **rest):
    return b''.join(frame(kind, seq, **rest) for seq in range(1, 60))

def find_request():
    from hearth_kernel.messaging import outlet
    return outlet.cause.get()

link = find_link()
link.setblocking(True)
"""
