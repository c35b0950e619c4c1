"""A cell that looks for a network reads that its session has no network, and
what it can do instead. An error with another cause is unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from client import Client, Turn
from harness import Gateway

NONE = "this session has no network and no loopback (network = none in its"
LOOPBACK = "this session has no network beyond its own loopback (network ="
FETCH = (
    "; `%fetch URL` brings a file, and `%clone URL` a repository, of a host "
    "that the operator permits"
)
INSTEAD = "from outside can come as a file in /workspace, or through a host"
NAMES = [
    "import urllib.request as r; r.urlopen('http://example.com/')",
    "import socket; socket.gethostbyname('example.com')",
    "import http.client as h; h.HTTPConnection('a.test').request('GET', '/')",
    "import asyncio; await asyncio.open_connection('example.com', 80)",
    "try:\n"
    "    import socket; socket.create_connection(('example.com', 80))\n"
    "except OSError as error:\n"
    "    raise ValueError('no data') from error",
]
ADDRESSES = [
    "import urllib.request as r; r.urlopen('http://192.0.2.1/')",
    "import socket; socket.create_connection(('192.0.2.1', 80))",
    "import socket as s\n"
    "s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
    "import asyncio; await asyncio.open_connection('192.0.2.1', 80)",
]
AWAY = "https://data.example/tool.git"
CLONES = [
    f"%%bash\ngit clone {AWAY}",
    f"%%sh\ncd /tmp && (git -c a=b clone -q '{AWAY}' x)",
    f"import subprocess; subprocess.run('git clone {AWAY}', shell=True, "
    "check=True)",
    "import subprocess as s; raise s.CalledProcessError("
    "128, ['/usr/bin/git', 'clone', 'git@data.example:tool'])",
]
OTHER_CLONES = [
    "%%bash\ngit clone /workspace/nothing x",
    "%%bash\ngit clone http://127.0.0.1:81/x",
    "%%bash\ngit clone http://[::1]:81/x",
    "%%bash\ngit clone file:///workspace/nothing x",
    f"%%bash\ngit commit; echo clone {AWAY}; exit 1",
    f"%%bash\necho git; clone {AWAY}",
    "import subprocess as s; raise s.CalledProcessError(1, object())",
    "import subprocess as s; raise s.CalledProcessError(1, 'git clone http://[')",
]
OTHER_CAUSES = [
    "import errno; raise OSError(errno.ENETUNREACH, 'Network is unreachable')",
    "import errno; raise OSError(errno.EAFNOSUPPORT, 'no such family')",
    "import socket; raise socket.gaierror(socket.EAI_NONAME, 'not known')",
    "import socket; socket.getaddrinfo('127.0.0.1', 'no service')",
    "import socket as s; s.socket(s.AF_UNIX).connect('/tmp/nothing')",
]
HERE = "import socket; socket.create_connection(('127.0.0.1', 81))"


@pytest.fixture(scope="module", params=["none", "loopback"])
def network(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def gateway(network: str) -> Iterator[Gateway]:
    profile = "profile/python3/"
    running = Gateway(
        *("--set", f"{profile}network={network}"),
    )
    try:
        yield running.start()
    finally:
        running.end()


def test_files_of_permitted_hosts() -> None:
    """Named only where the operator permits hosts, and cells may ask."""
    for options, is_named in (
        ((), False),
        (("fetch/allow=data.example",), True),
        (("fetch/allow=data.example", "fetch/cells=no"), False),
    ):
        words = [w for o in options for w in ("--set", f"profile/python3/{o}")]
        running = Gateway(*words)
        try:
            session = running.start().create()
            with session.client() as client:
                sentence = reported(client.run(NAMES[1]))
                assert sentence.endswith(FETCH) == is_named
                assert INSTEAD in sentence
        finally:
            running.end()


def reported(turn: Turn) -> str:
    """Return the text after the error's own, with which its traceback ends."""
    assert turn.status == "error"
    own, _, added = str(turn.content["evalue"]).partition("\n")
    assert own
    if added:
        assert turn.content["traceback"][-1] == added
    return added


@pytest.mark.parametrize("code", NAMES + ADDRESSES + CLONES)
def test_there_is_no_network(client: Client, network: str, code: str) -> None:
    turn = client.run(code)
    sentence = reported(turn)
    assert sentence.startswith(NONE if network == "none" else LOOPBACK)
    assert INSTEAD in sentence
    # Once, and of this error alone.
    assert sentence.count("this session has") == 1
    assert client.run("1 / 0").content["evalue"] == "division by zero"


def test_a_command_says_it_too(client: Client, network: str) -> None:
    turn = client.run(f"!git clone {AWAY}")
    sentence = NONE if network == "none" else LOOPBACK
    assert turn.stream("stderr").count(sentence) == 1
    assert "this session has" not in client.run(f"!: git clone {AWAY}").stream(
        "stderr"
    )


@pytest.mark.parametrize("code", OTHER_CAUSES + OTHER_CLONES)
def test_other_causes_are_not_the_network(client: Client, code: str) -> None:
    assert reported(client.run(code)) == ""


def test_a_loopback_has_its_own_errors(client: Client, network: str) -> None:
    turn = client.run(HERE)
    sentence = reported(turn)
    if network == "none":
        assert sentence.startswith(NONE)
    else:
        assert sentence == ""
        assert turn.content["ename"] == "ConnectionRefusedError"


def test_a_model_reads_it(gateway: Gateway, network: str) -> None:
    session = gateway.create()
    try:
        done = gateway.run("exec", "--for-model", session.id, "-c", NAMES[0])
        assert "Name or service not known" in done.stdout
        assert (NONE if network == "none" else LOOPBACK) in done.stdout
        assert INSTEAD in done.stdout
    finally:
        session.delete()
