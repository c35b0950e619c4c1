"""A kernel that lies to its gateway: the session ends, with the reason, and
others do not notice."""

from .case import GATEWAY, Case, table

FORGERIES = {
    "garbage": "os.urandom(4096)",
    "half-a-frame-then-garbage": "frame(34, 1)[:20] + os.urandom(999)",
    "text": "b'GET / HTTP/1.1\\r\\n\\r\\n' * 10",
    "two-gigabytes": "frame(34, 1, size=1 << 31)",
    "four-gigabytes": "frame(34, 1, size=0xffffffff)",
    "another-version": "frame(34, 1, version=9)",
    "many-buffers": "frame(34, 1, more=0xffffffff)",
    "far-ahead": "frame(34, 1 << 40)",
    "unknown-type": "numbered(99)",
    "a-request": 'numbered(3, content=b\'{"code":"1"}\')',
    "second-welcome": 'frame(32, 0, content=b\'{"protocol":1,"last":0}\')',
    "second-ready": "numbered(33)",
    "reply-for-another-session": "numbered(44, request=1 << 60)",
    "question-of-no-cell": (
        "numbered(43, request=1 << 60,"
        ' content=b\'{"prompt":"key?","password":false}\')'
    ),
    "no-json": "numbered(35, content=b'{')",
    "deep-json": "numbered(35, content=b'[' * 100000)",
    "not-utf-8": 'numbered(34, content=b\'{"name":"stdout","text":"\\xff"}\')',
    "unknown-stream": 'numbered(34, content=b\'{"name":"x","text":""}\')',
    "mime-type-of-two-lines": (
        'numbered(35, content=b\'{"data":{"text/html\\\\n":"x"},'
        '"metadata":{}}\')'
    ),
}

CASES = table(
    "link",
    *(
        Case(
            name,
            f"find_link().sendall({bytes_})\ntime.sleep(60)\n"
            "return 'the session goes on'",
            "",
            GATEWAY,
            alone=True,
            ends="protocol",
            outside=False,
        )
        for name, bytes_ in FORGERIES.items()
    ),
    Case(
        "descriptors-for-the-gateway",
        "link = find_link()\n"
        "for turn in range(20):\n"
        "    with contextlib.suppress(OSError):\n"
        "        link.sendmsg([b'\\0'], [(socket.SOL_SOCKET, 1,"
        " struct.pack('100i', *[0] * 100))])\n"
        "link.sendall(bytes(200))\ntime.sleep(60)",
        "",
        GATEWAY,
        alone=True,
        ends="protocol",
        judge="gateway_holds_no_more_descriptors",
        outside=False,
    ),
)
