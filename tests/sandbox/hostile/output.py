"""What comes out: for terminals, front ends and parsers.

These are judged by what the client sees (judges.py)."""

from .case import GATEWAY, Case, table


def printed(name: str, code: str, judge: str, **more: object) -> Case:
    return Case(
        name,
        code,
        "nothing",
        GATEWAY,
        judge=judge,
        outside=False,
        **more,  # type: ignore[arg-type]
    )


CASES = table(
    "output",
    printed(
        "clipboard", "print('\\x1b]52;c;aG9zdGlsZQ==\\x07')", "terminal_is_safe"
    ),
    printed("title", "print('\\x1b]0;hostile\\x07')", "terminal_is_safe"),
    printed(
        "answer-of-the-terminal",
        "print('\\x1b[6n\\x1b[c\\x1bP$qm\\x1b\\\\')",
        "terminal_is_safe",
    ),
    printed(
        "eight-bit-controls",
        "print('\\x9b6n\\x9d0;hostile\\x9c')",
        "terminal_is_safe",
    ),
    printed(
        "error-stream",
        "print('\\x1b]0;hostile\\x07', file=sys.stderr)",
        "terminal_is_safe",
    ),
    printed(
        "through-the-descriptor",
        "os.write(1, b'\\x1b]0;hostile\\x07\\n')",
        "terminal_is_safe",
    ),
    printed(
        "through-a-program",
        "subprocess.run(['printf', '\\\\033]0;hostile\\\\007'])",
        "terminal_is_safe",
    ),
    printed(
        "name-of-an-error",
        "raise type('\\x1b]0;hostile\\x07', (BaseException,), {})('\\x1b]0;x\\x07')",
        "terminal_is_safe",
    ),
    printed(
        "name-of-a-file",
        "open('\\x1b]0;hostile\\x07\\n', 'w').close()",
        "names_are_safe",
    ),
    printed(
        "bytes-that-are-no-text",
        "os.write(1, bytes(range(128, 256)) * 10)",
        "text_is_valid",
    ),
    printed("lone-surrogates", "print('\\ud800 \\udfff')", "text_is_valid"),
    printed("half-a-character", "os.write(1, b'\\xe2\\x82')", "text_is_valid"),
    printed("zeros", "print('a\\0b')", "text_is_valid"),
    printed(
        "mime-types",
        "from IPython.display import display\n"
        "for kind in ('text/html\\n', 'x', '', 'text/\\x1b', 'text/x;\\x1b]0;x\\x07', 'text/x;\\u202e', 'a' * 999 + '/b'):\n"
        "    try:\n"
        "        display({kind: 'x'}, raw=True)\n"
        "    except Exception:\n"
        "        pass",
        "mime_types_are_valid",
        alone=True,
    ),
    printed(
        "deep-metadata",
        "from IPython.display import display\n"
        "deep = []\n"
        "for turn in range(5000):\n"
        "    deep = [deep]\n"
        "try:\n"
        "    display({'text/plain': 'x'}, raw=True, metadata={'deep': deep})\n"
        "except BaseException:\n"
        "    pass",
        "text_is_valid",
        alone=True,
    ),
    printed(
        "no-numbers",
        "from IPython.display import display\n"
        "try:\n"
        "    display({'application/json': [float('nan'), float('inf')]},"
        " raw=True)\n"
        "except Exception:\n"
        "    pass",
        "numbers_are_valid",
    ),
)
