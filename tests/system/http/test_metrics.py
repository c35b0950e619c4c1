"""/metrics, as Prometheus reads it."""

from __future__ import annotations

import re

from deadline import wait_for
from web import Kernel, Web

SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*=\"[^\"\\\n]*\",?)*)\})?"
    r" (-?[0-9.e+]+|\+Inf|NaN)"
)
Samples = dict[tuple[str, str], float]


def scrape(web: Web) -> tuple[Samples, dict[str, str]]:
    """Samples by name and labels; types. Anything else is a failure."""
    answer = web.get("/metrics")
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0")
    samples: Samples = {}
    types: dict[str, str] = {}
    told: set[str] = set()
    for line in answer.body.decode().splitlines():
        if line.startswith("# TYPE "):
            name, kind = line[7:].split()
            assert name not in types, f"{name} twice"
            types[name] = kind
        elif line.startswith("# HELP "):
            told.add(line.split()[2])
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            key = (found[1], (found[2] or "").strip(","))
            assert key not in samples, f"{key} twice"
            samples[key] = float(found[3])
            family = re.sub("_(bucket|count|sum)$", "", found[1])
            assert found[1] in types or types[family] == "histogram", line
    assert told == set(types)
    return samples, types


def test_what_is_told(kernel: Kernel) -> None:
    ws = kernel.socket()
    before, types = scrape(kernel.web)
    for _ in range(5):
        ws.run("1+1")
    # A session is idle in the registry's eyes a moment later than in ours.
    idle = ("hearth_sessions", 'state="idle"')
    after = wait_for(
        lambda: (found := scrape(kernel.web)[0])[idle] == 1 and found,
        "one idle session",
    )
    size = ("hearth_journal_bytes", "")
    assert after[size] > before[size] > 0
    ws.run("print('x' * 1_000_000)")
    assert scrape(kernel.web)[0][size] > after[size] + 1_000_000
    assert types["http_request_duration_seconds"] == "histogram"
    running = ("kernel_currently_running_total", 'type="python3"')
    assert after[running] == 1
    trips = ("hearth_round_trip_seconds_count", "")
    assert after[trips] - before[trips] == 5
    assert after[("hearth_session_start_seconds_count", "")] >= 1
    assert after[("hearth_kernels_memory_bytes", "")] > 1 << 20
    assert after[("hearth_http_connections", "")] >= 2
    assert ("hearth_pool_target", 'profile="python3"') in after
    created = (
        "http_request_duration_seconds_count",
        'method="POST",handler="/api/kernels",status_code="201"',
    )
    assert after[created] >= 1


def test_histograms_add_up(web: Web) -> None:
    web.get("/api")
    samples, types = scrape(web)
    for family in (n for n, kind in types.items() if kind == "histogram"):
        rows: dict[str, list[tuple[float, float]]] = {}
        for (name, labels), value in samples.items():
            if name == f"{family}_bucket":
                rest, _, bound = labels.rpartition('le="')
                rows.setdefault(rest.strip(","), []).append(
                    (float(bound.strip('"')), value)
                )
        assert rows
        for labels, buckets in rows.items():
            values = [value for _, value in sorted(buckets)]
            assert values == sorted(values)
            assert sorted(buckets)[-1][0] == float("inf")
            assert values[-1] == samples[(f"{family}_count", labels)]
            assert samples[(f"{family}_sum", labels)] >= 0


def test_ends_are_counted(kernel: Kernel) -> None:
    def gone() -> float:
        samples, _ = scrape(kernel.web)
        return sum(
            v for (n, _), v in samples.items() if n == "hearth_sessions_ended"
        )

    before = gone()
    kernel.web.delete(kernel.id)
    wait_for(lambda: gone() == before + 1, "the end")


def test_who_may(web: Web) -> None:
    assert web.with_token(None).get("/metrics").status == 401
