"""Records of a gateway's audit log."""

from __future__ import annotations

import json
from typing import Any

from deadline import wait_for
from harness import Gateway

Record = dict[str, Any]


def records(gateway: Gateway, **wanted: Any) -> list[Record]:
    done = gateway.run("audit", "show", "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        record
        for record in found
        if all(record.get(key) == value for key, value in wanted.items())
    ]


def wait_record(gateway: Gateway, **wanted: Any) -> Record:
    found = wait_for(lambda: records(gateway, **wanted), f"a record {wanted}")
    return found[-1]
