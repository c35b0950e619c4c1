"""Keys, tokens, environments."""

from .case import Case, table

CASES = table(
    "secrets",
    Case(
        "key-in-objects",
        "for held in gc.get_objects():\n"
        "    for value in gc.get_referents(held):\n"
        "        text = value.encode('utf-8', 'replace') if type(value) is str"
        " else value\n"
        "        if type(text) is bytes and 16 <= len(text) <= 200:\n"
        "            if hashlib.sha256(text).hexdigest() in HOST['digests']:\n"
        "                return value",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "key-in-memory",
        "return holds(HOST['key-form'].encode(), HOST['digests'])",
        "nothing EACCES",
        "kernel",
        outside=False,
    ),
    Case(
        "environment-of-the-gateway",
        "return [n for n, v in os.environ.items() if"
        " hashlib.sha256(v.encode()).hexdigest() in HOST['digests']]",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "variable-of-the-gateway-in-memory",
        "return holds(b'planted-[0-9a-f]{32}', HOST['digests'])",
        "nothing EACCES",
        "kernel",
        outside=False,
    ),
    Case(
        "unexpected-variables",
        "return sorted(n for n in os.environ if re.match("
        "'(?i).*(hearth|token|key|secret|pass|ssh|aws|proxy)', n))",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "first-environment",
        "return [w for w in open('/proc/self/environ', 'rb').read().split("
        "b'\\0') if hashlib.sha256(w.partition(b'=')[2]).hexdigest() in"
        " HOST['digests']]",
        "nothing",
        "kernel",
        outside=False,
    ),
    Case(
        "environment-of-a-host-process",
        "return open(f\"/proc/{HOST['pid']}/environ\").read()",
        "ENOENT",
        "pid",
    ),
    Case(
        "words-of-a-host-process",
        "return open(f\"/proc/{HOST['pid']}/cmdline\").read()",
        "ENOENT",
        "pid",
    ),
    Case(
        "connection-file",
        "return open(HOST['connection']).read()",
        "ENOENT",
        "mount",
    ),
    Case(
        "management-key",
        "return open(HOST['runtime'] + '/management.key').read()",
        "ENOENT",
        "mount",
    ),
    Case(
        "journals",
        "return open(HOST['state'] + '/hearth.lock').read() or 'opened'",
        "ENOENT",
        "mount",
    ),
    Case(
        "ssh-keys",
        "return [p for p in glob.glob('/home/*/.ssh') + ['/root/.ssh',"
        " os.path.expanduser('~/.ssh')] if os.path.exists(p)]",
        "nothing",
        "mount",
        outside=False,
    ),
    Case(
        "metadata-of-the-cloud",
        "return socket.create_connection(('169.254.169.254', 80), 2)",
        "EAFNOSUPPORT",
        "seccomp network",
        outside=False,
    ),
)
