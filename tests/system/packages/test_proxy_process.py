"""The proxy as a process: what it holds, and when it ends."""

from __future__ import annotations

import fcntl
import mmap
import os
import select
import signal
import socket
from pathlib import Path

import pytest
from hearth_downloads.core import proxy as module
from hearth_downloads.core.proxy import Bounds, Proxy
from hearth_downloads.packages.rules import Rules
from proxying import LONG, Proxies, Servers


def test_holds_what_it_needs_alone(proxies: Proxies) -> None:
    """Nothing of the worker's, nor the listener of the sandbox before."""
    held = os.open("/", os.O_PATH)
    running = proxies(Rules("http", "127.0.0.1", 1))
    os.close(held)
    for _ in range(2):
        running.proxy.attach(running.listener.fileno())
        running.ask("GET http://other.example/ HTTP/1.1")
    there = [
        os.readlink(f"/proc/{running.proxy.pid}/fd/{name}")
        for name in os.listdir(f"/proc/{running.proxy.pid}/fd")
        if int(name) > 2
    ]
    assert len(there) == 2
    assert all(one.startswith("socket:") for one in there)


def test_closes_no_more_than_is_open(
    monkeypatch: pytest.MonkeyPatch, proxies: Proxies, tmp_path: Path
) -> None:
    """The limit may be a billion, and Python 3.9 closes each number."""
    closed = tmp_path / "closed"
    closerange = os.closerange

    def note(low: int, high: int) -> None:
        with open(closed, "a") as file:
            file.write(f"{high}\n")
        closerange(low, min(high, 1 << 16))

    held = fcntl.fcntl(0, fcntl.F_DUPFD, 200)
    monkeypatch.setattr(os, "closerange", note)
    monkeypatch.setattr(os, "sysconf", lambda _: 1 << 30)
    running = proxies(Rules("http", "127.0.0.1", 1))
    os.close(held)
    running.ask("GET http://other.example/ HTTP/1.1")
    assert 200 < max(map(int, closed.read_text().split())) < 1 << 16
    there = os.listdir(f"/proc/{running.proxy.pid}/fd")
    assert len([name for name in there if int(name) > 2]) == 2


def test_one_that_was_killed_reports_nothing_more(proxies: Proxies) -> None:
    running = proxies(Rules("http", "127.0.0.1", 1))
    running.ask("GET http://other.example/ HTTP/1.1")
    os.kill(running.proxy.pid, signal.SIGKILL)
    poll = select.poll()
    pidfd = os.pidfd_open(running.proxy.pid)
    try:
        poll.register(pidfd, select.POLLIN)
        assert poll.poll(LONG * 1000)
    finally:
        os.close(pidfd)
    assert [one.kind for one in running.proxy.reports()] == ["host"]


def test_ends_as_a_process_of_its_own() -> None:
    """It does nothing of what the worker does next."""
    mine = os.getpid()
    proxy = Proxy(Rules("http", "127.0.0.1", 1), Bounds(1, LONG), 1, 1)
    if os.getpid() != mine:
        os._exit(1)
    proxy.control.close()
    assert os.waitpid(proxy.pid, 0) == (proxy.pid, 0)


def test_its_end_is_waited_for() -> None:
    proxy = Proxy(Rules("http", "127.0.0.1", 1), Bounds(1, LONG), 1, 1)
    proxy.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(proxy.pid, 0)


def test_a_connection_that_has_gone_keeps_it_from_nothing(
    proxies: Proxies,
) -> None:
    """Its accept(2) waits for no other one."""
    running = proxies(Rules("http", "127.0.0.1", 1))
    running.ask("GET http://other.example/ HTTP/1.1")
    assert not os.get_blocking(running.listener.fileno())


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_listener_without_a_connection_does_no_harm(is_closed: bool) -> None:
    """Drop one that has failed: it would be ready for ever."""
    ours, theirs = socket.socketpair()
    bounds = Bounds(1 << 20, LONG)
    rules = Rules("http", "127.0.0.1", 1)
    service = module._Service(rules, bounds, mmap.mmap(-1, 8), theirs)
    with ours, theirs, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        service.listener = listener
        if is_closed:
            listener.close()
        service._accept(listener)
        assert service.connections == 0
        assert (service.listener is None) == is_closed


def test_takes_no_posts_unless_the_job_says_so() -> None:
    assert not Bounds(1, LONG).takes_posts


def test_bounds_connections(servers: Servers, proxies: Proxies) -> None:
    """More of them wait until one ends."""
    index = servers()
    running = proxies(Rules("http", "127.0.0.1", index.port))
    idle = [running.open() for _ in range(module.CONNECTIONS_MAX)]
    with running.open() as late:
        late.sendall(
            f"GET http://127.0.0.1:{index.port}/ HTTP/1.1\r\n\r\n".encode()
        )
        late.settimeout(0.5)
        with pytest.raises(socket.timeout):
            late.recv(100)
        assert index.accepted == 0
        for client in idle:
            client.close()
        late.settimeout(LONG)
        assert late.recv(100).startswith(b"HTTP/1.1 200 ")


def test_the_next_listener_may_come_with_a_connection_to_the_last_one(
    servers: Servers, proxies: Proxies
) -> None:
    index = servers()
    running = proxies(Rules("http", "127.0.0.1", index.port))
    os.kill(running.proxy.pid, signal.SIGSTOP)
    with running.open(), running.listener:
        running.listener = socket.create_server(("127.0.0.1", 0))
        running.proxy.attach(running.listener.fileno())
        os.kill(running.proxy.pid, signal.SIGCONT)
        got = running.ask(f"GET http://127.0.0.1:{index.port}/ HTTP/1.1")
    assert got.startswith(b"HTTP/1.1 200 ")


def test_bounds_reports(servers: Servers, proxies: Proxies) -> None:
    running = proxies(Rules("http", "127.0.0.1", 1))
    for _ in range(2 * module.REPORTS_MAX):
        running.ask("GET http://other.example/ HTTP/1.1")
    assert len(running.proxy.reports()) == module.REPORTS_MAX


def test_ends_with_the_worker(proxies: Proxies) -> None:
    running = proxies(Rules("http", "127.0.0.1", 1))
    pidfd = os.pidfd_open(running.proxy.pid)
    try:
        running.proxy.control.shutdown(socket.SHUT_RDWR)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        assert poll.poll(LONG * 1000)
    finally:
        os.close(pidfd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up its user")
def test_is_not_root(proxies: Proxies) -> None:
    before = os.getgroups()
    os.setgroups([*before, 64321])
    try:
        running = proxies(Rules("http", "127.0.0.1", 1))
    finally:
        os.setgroups(before)
    running.ask("GET http://other.example/ HTTP/1.1")
    with open(f"/proc/{running.proxy.pid}/status") as file:
        status = dict(
            line.split(":", 1) for line in file.read().splitlines() if line
        )
    assert status["Uid"].split() == ["64320"] * 4
    assert status["Gid"].split() == ["64320"] * 4
    assert status["Groups"].split() == []
