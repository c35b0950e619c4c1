"""The same over Unix sockets, as with `gateway/transport = ipc`.

No TCP on either side, and only users who may enter the folder can connect.
"""

from __future__ import annotations

from figures import Figure
from measures import measure_first_result, measure_round_trip
from quick import measure_quick
from sides import Hearth, Ipykernel, Side


def over_unix(figures: list[Figure]) -> list[Figure]:
    for figure in figures:
        figure.name = f"ipc: {figure.name}"
    return figures


def measure_local(
    hearth: Hearth, others: list[Side], rounds: int
) -> list[Figure]:
    """Start and round trip, by the client in Python and by the one in C."""
    sides: list[Side] = [
        hearth,
        *(
            Ipykernel(side.context, side.scratch, "ipc")
            for side in others
            if isinstance(side, Ipykernel)
        ),
    ]
    return over_unix(
        [
            *measure_first_result(sides, rounds),
            *measure_quick(hearth, sides[1:], rounds),
            *measure_round_trip(sides, rounds),
        ]
    )
