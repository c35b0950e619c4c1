"""Names that change their mind: what was judged is what is dialled.

Each attack is tried twice. With the wall left out it reaches the server of this
machine that it is after: so the test before it proves something.
"""

from __future__ import annotations

import socket
from contextlib import closing
from typing import Iterator

import pytest
from depth import deep
from fake_files import FakeFiles, redirect
from fake_network import FakeNetwork
from fetching import Folder

PUBLIC, PRIVATE, HERE = "9.9.9.9", "10.0.0.5", "127.0.0.1"
NAME = "data.example"


@pytest.fixture
def outside() -> Iterator[FakeFiles]:
    """Serve what the name's owner shows to who judges it."""
    with FakeFiles() as made:
        made.put("/a", b"public")
        yield made


@pytest.fixture
def url(server: FakeFiles) -> str:
    """Return a URL by which the name's owner is after the server."""
    server.put("/a", b"private")
    return f"http://{NAME}:{server.port}/a"


def let_lead(
    folder: Folder,
    servers: tuple[FakeFiles, FakeFiles],
    *answers: list[str],
    wall: str = "",
) -> None:
    """Give the name its answers; `wall` is left out."""
    outside, server = servers
    folder.settings["allow"] = [f"{NAME}:{server.port}"]
    hosts = {PUBLIC: outside.port, PRIVATE: server.port}
    folder.hook = FakeNetwork({NAME: list(answers)}, hosts).hook(wall)


def check_the_public_is_dialled(
    folder: Folder,
    servers: tuple[FakeFiles, FakeFiles],
    url: str,
    *answers: list[str],
) -> None:
    outside, server = servers
    let_lead(folder, servers, *answers)
    assert folder.fetch(url).content == b"public"
    assert (outside.count("/a"), server.accepted) == (1, 0)


@pytest.mark.parametrize("private", [HERE, deep(PRIVATE)])
def test_the_address_that_was_judged_is_dialled(
    folder: Folder,
    server: FakeFiles,
    outside: FakeFiles,
    url: str,
    private: str,
) -> None:
    answers = [PUBLIC], [private]
    servers = outside, server
    check_the_public_is_dialled(folder, servers, url, *answers)
    let_lead(folder, servers, *answers, wall="resolve_twice")
    assert folder.fetch(url).content == b"private"


def test_a_redirect_resolves_once_too(
    folder: Folder, server: FakeFiles, outside: FakeFiles, url: str
) -> None:
    """The name stays what it is until the redirect is dialled."""
    outside.scripts["/to"] = redirect(url)
    start = url.replace("/a", "/to")
    servers = outside, server
    answers = [PUBLIC], [PUBLIC], [HERE]
    check_the_public_is_dialled(folder, servers, start, *answers)
    let_lead(folder, servers, [PUBLIC], *answers, wall="resolve_twice")
    assert folder.fetch(start).content == b"private"


@pytest.mark.parametrize("private", [HERE, deep(PRIVATE)])
def test_a_redirect_to_the_same_name_is_judged_anew(
    folder: Folder,
    server: FakeFiles,
    outside: FakeFiles,
    url: str,
    private: str,
) -> None:
    outside.scripts["/to"] = redirect(url)
    start = url.replace("/a", "/to")
    answers = [PUBLIC], [private]
    servers = outside, server
    let_lead(folder, servers, *answers)
    fault = folder.refuse(start)
    assert fault.ename == "FetchRefused"
    assert f"{NAME} was not asked: its address {private}" in fault.text
    assert (outside.count("/to"), server.accepted) == (1, 0)
    let_lead(folder, servers, *answers, wall="judge_a_name_once")
    assert folder.fetch(start).content == b"private"


@pytest.mark.parametrize(
    "answer",
    [
        [PRIVATE, PUBLIC],
        deep([PUBLIC, PRIVATE]),
        deep([HERE, PRIVATE, "::1", PUBLIC]),
    ],
)
def test_of_a_mixed_answer_the_public_address_is_dialled(
    folder: Folder,
    server: FakeFiles,
    outside: FakeFiles,
    url: str,
    answer: list[str],
) -> None:
    check_the_public_is_dialled(folder, (outside, server), url, answer)


@pytest.mark.parametrize("answer", [[PRIVATE, PUBLIC], deep([PUBLIC, PRIVATE])])
def test_the_others_of_a_mixed_answer_are_never_dialled(
    folder: Folder,
    server: FakeFiles,
    outside: FakeFiles,
    url: str,
    answer: list[str],
) -> None:
    """Not even where the public address takes no connection."""
    with closing(socket.socket()) as silent:  # has the port, does not listen
        silent.bind((HERE, 0))
        outside.port = silent.getsockname()[1]
        servers = outside, server
        let_lead(folder, servers, answer)
        fault = folder.refuse(url)
        assert fault.ename in ("FetchRefused", "FetchUnreachable")
        assert server.accepted == 0
        let_lead(folder, servers, answer, wall="judge_one_of_an_answer")
        assert folder.fetch(url).content == b"private"
