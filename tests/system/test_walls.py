"""What a profile says about the walls, through real sessions."""

import json
from collections.abc import Iterator

import pytest
from harness import Gateway

SECCOMP = "open('/proc/self/status').read().split('Seccomp:')[1].split()[0]"
FAMILY = """
import errno, socket
try:
    answer = socket.socket(socket.AF_INET) and 'made'
except OSError as error:
    answer = errno.errorcode[error.errno]
answer
"""


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """One with the settings of profile python3 that the test names."""
    settings = [
        "preload=",
        "pool/min=0",
        "pool/max=0",
        *getattr(request, "param", []),
    ]
    running = Gateway(
        *(
            word
            for setting in settings
            for word in ("--set", f"profile/python3/{setting}")
        )
    )
    try:
        running.start()
        yield running
    finally:
        running.end()


def test_has_no_network_and_every_wall(gateway: Gateway) -> None:
    client = gateway.create().client()
    assert client.value(SECCOMP) == "2"
    assert client.value(FAMILY) == "EAFNOSUPPORT"
    client.close()


@pytest.mark.parametrize("gateway", [["network=loopback"]], indirect=True)
def test_has_a_loopback_when_asked(gateway: Gateway) -> None:
    client = gateway.create().client()
    assert client.value(FAMILY) == "made"
    client.close()


@pytest.mark.parametrize(
    "gateway", [["accept=seccomp", "without=seccomp"]], indirect=True
)
def test_leaves_out_what_was_accepted(gateway: Gateway) -> None:
    client = gateway.create().client()
    assert client.value(SECCOMP) == "0"
    client.close()
    # And it does not go unseen.
    report = json.loads(gateway.run("doctor", "--json").stdout)
    states = {row["name"]: row["state"] for row in report["checks"]}
    assert states["wall landlock"] in ("ok", "missing")


@pytest.mark.parametrize("gateway", [["zygote_forks=2"]], indirect=True)
def test_replaces_a_zygote_that_is_spent(gateway: Gateway) -> None:
    """Two sessions of one zygote have one hash seed, the third another."""
    clients = [gateway.create().client() for _ in range(3)]
    seeds = [client.value("hash('seed')") for client in clients]
    assert seeds[0] == seeds[1]
    assert seeds[2] != seeds[1]
    # The first two have survived their zygote.
    assert [client.value("1+1") for client in clients] == [2, 2, 2]
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("gateway", "said"),
    [
        (["without=seccomp"], "accept"),
        (["accept=moat"], 'no wall "moat"'),
        (["accept=user"], "there is no sandbox"),
    ],
    indirect=["gateway"],
)
def test_refuses_a_hole(gateway: Gateway, said: str) -> None:
    done = gateway.run("session", "create", "--json")
    assert done.returncode != 0
    assert said in done.stderr
