"""A network for a process that resolves and dials, and walls left out of it.

A name has its answers in turn, and each address leads to a server of the test:

    with FakeFiles() as outside:
        network = FakeNetwork(
            {"data.example": [["9.9.9.9"], ["127.0.0.1"]]},
            {"9.9.9.9": outside.port},
        )
        folder.hook = network.hook()

The last answer holds from then on. What else is resolved or dialled is what it
is without this. For a process that the test forks, there is `replace`.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

Replace = Callable[[Any, str, Any], None]  # as setattr


@dataclass
class FakeNetwork:
    """The answers of names, and the ports of servers by their addresses."""

    names: dict[str, list[list[str]]]
    hosts: dict[str, int]

    def hook(self, wall: str = "") -> str:
        """Return what a worker runs; `wall` names a function below."""
        leave_out = f"fake_network.{wall}(setattr)" if wall else ""
        return (
            f"sys.path.append({str(Path(__file__).parent)!r})\n"
            f"import fake_network\n"
            f"fake_network.{self!r}.replace(setattr)\n"
            f"{leave_out}\n"
        )

    def replace(self, put: Replace) -> None:
        """Become the network of this process."""
        resolve_really = socket.getaddrinfo
        connect_really = socket.socket.connect
        answers = {name: list(turns) for name, turns in self.names.items()}

        def resolve(host: Any, *rest: Any, **options: Any) -> list[Any]:
            name = host.decode() if isinstance(host, bytes) else host
            turns = answers.get(name, [[name]])
            answer = turns.pop(0) if len(turns) > 1 else turns[0]
            return [
                one
                for address in answer
                for one in resolve_really(address, *rest, **options)
            ]

        def connect(client: socket.socket, address: Any) -> None:
            if address[0] in self.hosts:
                address = ("127.0.0.1", self.hosts[address[0]])
            connect_really(client, address)

        put(socket, "getaddrinfo", resolve)
        put(socket.socket, "connect", connect)


def resolve_twice(put: Replace) -> None:
    """Let the proxy judge one answer, and then dial the name."""
    from hearth_downloads.core import proxy

    def dial(self: Any, host: str, place: str, found: Any) -> Any:
        for *_, name in found:
            if self.rules.permits_address(host, name[0]):
                return socket.create_connection((host, name[1]))
        raise proxy.Refusal("address", place, name[0])

    put(proxy._Service, "_dial_one", dial)


def judge_a_name_once(put: Replace) -> None:
    """Let the proxy believe a name that has led to a good address."""
    from hearth_downloads.core import proxy

    dial_really = proxy._Service._dial_one
    good: set[str] = set()

    def dial(self: Any, host: str, place: str, found: Any) -> Any:
        if host in good:
            return socket.create_connection(found[0][4][:2])
        upstream = dial_really(self, host, place, found)
        good.add(host)
        return upstream

    put(proxy._Service, "_dial_one", dial)


def judge_one_of_an_answer(put: Replace) -> None:
    """Let the proxy dial all of an answer that has one good address."""
    from hearth_downloads.core import proxy

    def dial(self: Any, host: str, place: str, found: Any) -> Any:
        judge = self.rules.permits_address
        if any(judge(host, name[0]) for *_, name in found):
            for *_, name in found:
                try:
                    return socket.create_connection(name[:2])
                except OSError:
                    pass
        raise proxy.Refusal("address", place, name[0])

    put(proxy._Service, "_dial_one", dial)
