"""Many requests: one client that does not wait, fifty that do, displays."""

from __future__ import annotations

import time
from contextlib import ExitStack

import zmq
from clients import PATIENCE_MS, BenchError, Client, Outcome, is_idle
from crowd import walk
from figures import Figure
from sides import Side, kernel_of, kernel_of_each

QUEUED = 500
CLIENTS = 50
CELLS = 10  # of each of them
DISPLAYS = 1000
SHOWN = "x" * 1020
DISPLAY = f"""\
from IPython.display import display
for number in range({DISPLAYS}):
    display({{"text/plain": f"{{number:04}}{SHOWN}"}}, raw=True)"""


def check_sum(client: Client, outcome: Outcome, wanted: str = "2") -> None:
    if outcome.result != wanted:
        raise BenchError(f"{wanted} is {outcome.result!r}")


def flood(client: Client, count: int) -> float:
    """All requests at once; seconds until the last one's `idle`."""
    asked = [client.execute_request(f"{number}+1") for number in range(count)]
    reported: list[list[bytes]] = []
    answers: list[list[bytes]] = []
    waiting = zmq.Poller()
    waiting.register(client.iopub, zmq.POLLIN)
    waiting.register(client.shell, zmq.POLLIN)
    last = f'"{asked[-1][0]}"'.encode()
    started = time.perf_counter()
    for _, frames in asked:
        client.shell.send_multipart(frames)
    while (
        len(answers) < count or not reported or not is_idle(reported[-1], last)
    ):
        ready = dict(waiting.poll(PATIENCE_MS))
        if not ready:
            raise BenchError(f"{len(answers)} of {count} were answered")
        if client.iopub in ready:
            reported.append(client.iopub.recv_multipart())
        if client.shell in ready:
            answers.append(client.shell.recv_multipart())
    seconds = time.perf_counter() - started
    outcomes = {msg_id: Outcome() for msg_id, _ in asked}
    for message in reported:
        for_whom = client.signer.open(message)[1]
        if for_whom in outcomes:
            client.take_output(message, for_whom, outcomes[for_whom])
    for number, outcome in enumerate(outcomes.values()):
        check_sum(client, outcome, str(number + 1))
    return seconds


def measure_displays(sides: list[Side], rounds: int) -> Figure:
    figure = Figure(f"{DISPLAYS:,} displays of 1 KB", "ms", "1x")
    wanted = [f"{number:04}{SHOWN}" for number in range(DISPLAYS)]
    with kernel_of_each(sides) as kernels:
        for number in range(rounds + 1):
            for name, kernel in kernels:
                outcome = kernel.client.execute(DISPLAY)
                if outcome.shown != wanted:
                    raise BenchError(f"{name}: {len(outcome.shown)} came")
                if number:
                    figure.add(name, 1000 * outcome.seconds)
    return figure


def measure_flood(sides: list[Side], rounds: int) -> Figure:
    figure = Figure(f"{QUEUED} cells queued at once, each", "ms", "1x")
    with kernel_of_each(sides) as kernels:
        for number in range(rounds + 1):
            for name, kernel in kernels:
                seconds = flood(kernel.client, QUEUED)
                if number:
                    figure.add(name, 1000 * seconds / QUEUED)
    return figure


def measure_crowd(sides: list[Side], rounds: int, count: int) -> Figure:
    """The sides one after the other: fifty ipykernels are in each other's way
    enough."""
    figure = Figure(f"{count} clients on {count} sessions, a cell", "ms", "1x")
    for side in sides:
        with ExitStack() as stack:
            clients = [
                stack.enter_context(kernel_of(side)).client
                for _ in range(count)
            ]
            walk(clients, 2)
            for _ in range(rounds):
                started = time.perf_counter()
                walk(clients, CELLS)
                seconds = time.perf_counter() - started
                figure.add(side.name, 1000 * seconds / (CELLS * count))
    return figure


def measure_throughput(sides: list[Side], rounds: int) -> list[Figure]:
    return [
        measure_flood(sides, rounds),
        measure_displays(sides, rounds),
        measure_crowd(sides, min(rounds, 5), CLIENTS),
    ]
