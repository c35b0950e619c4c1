"""/metrics, as Prometheus reads it."""

from __future__ import annotations

import re
import time
from pathlib import Path

from deadline import wait_for
from harness import Gateway
from web import Kernel, Socket, Web

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
    shown: set[str] = set()
    for line in answer.body.decode().splitlines():
        if line.startswith("# TYPE "):
            name, kind = line[7:].split()
            assert name not in types, f"{name} twice"
            types[name] = kind
        elif line.startswith("# HELP "):
            shown.add(line.split()[2])
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            key = (found[1], (found[2] or "").strip(","))
            assert key not in samples, f"{key} twice"
            samples[key] = float(found[3])
            family = re.sub("_(bucket|count|sum)$", "", found[1])
            assert found[1] in types or types[family] == "histogram", line
    assert shown == set(types)
    return samples, types


def test_metrics_are_reported(kernel: Kernel) -> None:
    ws = kernel.socket()
    before, types = scrape(kernel.web)
    for _ in range(5):
        ws.run("1+1")
    # A session is idle for the registry a moment later than for us, and the
    # duration of its replies is reported later.
    idle = ("hearth_sessions", 'state="idle"')
    trips = ("hearth_round_trip_seconds_count", "")
    after = wait_for(
        lambda: (
            (found := scrape(kernel.web)[0])[idle] == 1
            and found[trips] - before[trips] >= 5
            and found
        ),
        "one idle session, five replies",
    )
    size = ("hearth_journal_bytes", "")
    assert after[size] > before[size] > 0
    ws.run("print('x' * 1_000_000)")
    assert scrape(kernel.web)[0][size] > after[size] + 1_000_000
    assert types["http_request_duration_seconds"] == "histogram"
    running = ("kernel_currently_running_total", 'type="python3"')
    assert after[running] == 1
    assert after[trips] - before[trips] == 5
    assert after[("hearth_round_trip_seconds_sum", "")] > 0
    assert after[("hearth_session_start_seconds_count", "")] >= 1
    assert after[("hearth_kernels_memory_bytes", "")] > 1 << 20
    assert after[("hearth_http_connections", "")] >= 2
    assert ("hearth_pool_target", 'profile="python3"') in after
    created = (
        "http_request_duration_seconds_count",
        'method="POST",handler="/api/kernels",status_code="201"',
    )
    assert after[created] >= 1


def test_the_process_is_measured(gateway: Gateway, web: Web) -> None:
    samples, types = scrape(web)
    assert types["process_cpu_seconds_total"] == "counter"
    assert samples["process_cpu_seconds_total", ""] > 0
    status = Path(f"/proc/{gateway.pid}/status").read_text()
    (seen,) = re.findall(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
    resident = samples["process_resident_memory_bytes", ""]
    assert 0.5 < resident / (1024 * int(seen)) < 2
    assert 0 <= time.time() - samples["process_start_time_seconds", ""] < 86400
    assert samples["process_max_fds", ""] >= 256
    version = gateway.info()["version"]
    assert samples["hearth_build_info", f'version="{version}"'] == 1


def test_replies_over_zeromq_count_too(gateway: Gateway, web: Web) -> None:
    """And those of a session that has ended since, at once."""
    trips = ("hearth_round_trip_seconds_count", "")
    session = gateway.create()
    before = scrape(web)[0][trips]
    with session.client() as client:
        for _ in range(3):
            client.run("1+1")
        session.delete()
        session.wait_state("gone")
    assert scrape(web)[0][trips] - before == 3


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


STARTED = ("hearth_sessions_started_total", "")
TIMED = ("hearth_session_start_seconds_count", "")


def ended(reason: str) -> tuple[str, str]:
    return ("hearth_sessions_ended_total", f'reason="{reason}"')


def hit(limit: str) -> tuple[str, str]:
    return ("hearth_limits_hit_total", f'limit="{limit}"')


def changed(before: Samples, after: Samples) -> Samples:
    """Return the changed counters of sessions and limits."""
    names = (STARTED[0], TIMED[0], ended("")[0], hit("")[0])
    return {
        key: value - before[key]
        for key, value in after.items()
        if key[0] in names and value != before[key]
    }


def wait_changed(web: Web, before: Samples, expected: Samples) -> None:
    def look() -> bool:
        found.update(scrape(web)[0])
        return changed(before, found) == expected

    found: Samples = {}
    try:
        wait_for(look, "what is expected")
    except AssertionError:
        assert changed(before, found) == expected
        raise


def test_jupyters_names(web: Web) -> None:
    samples, types = scrape(web)
    started = samples["jupyter_server_started_timestamp_seconds", ""]
    active = samples["jupyter_server_last_activity_timestamp_seconds", ""]
    assert 0 < started <= active
    lasted = samples["jupyter_server_active_duration_seconds", ""]
    assert abs(lasted - (active - started)) < 0.01
    assert samples["terminal_currently_running_total", ""] == 0
    version = web.get("/api").json["version"]
    assert samples["jupyter_server_info", f'version="{version}"'] == 1
    assert types["hearth_limits_hit_total"] == "counter"
    assert types["hearth_sessions_ended_total"] == "counter"


def test_sessions_are_counted_for_each_creator(web: Web) -> None:
    before, _ = scrape(web)
    kernel = web.create()
    session = web.gateway.create()  # not over HTTP
    wait_changed(web, before, {STARTED: 2, TIMED: 2})
    web.delete(kernel)
    wait_changed(web, before, {STARTED: 2, TIMED: 2, ended("deleted"): 1})
    session.delete()
    wait_changed(web, before, {STARTED: 2, TIMED: 2, ended("deleted"): 2})
    web.create(idle_timeout=0.2)
    wait_changed(
        web,
        before,
        {STARTED: 3, TIMED: 3, ended("deleted"): 2, ended("idle"): 1},
    )


def test_limits_are_counted() -> None:
    """By their names, those of the gateway too; and what was forgotten stays
    counted."""
    settings = {
        "sessions/sessions_max": "1",
        "sessions/gone_max": "1",
        "sessions/restart": "never",
        "profile/python3/limits/memory": "256M",
        "profile/python3/pool/max": "0",
    }
    words = [w for k, v in settings.items() for w in ("--set", f"{k}={v}")]
    gateway = Gateway(*words).start()
    try:
        web = Web.of(gateway)
        expected: Samples = {}
        before, _ = scrape(web)
        for number in range(1, 3):
            kernel = web.create()
            assert web.post("/api/kernels").status == 403
            with Socket(web, kernel) as ws:
                ws.execute("x = bytearray(1 << 30)")
                wait_for(
                    lambda: web.get(f"/api/kernels/{kernel}").status == 404,
                    "the end for its memory",
                )
            expected = {
                STARTED: number,
                TIMED: number,
                ended("memory"): number,
                hit("memory"): number,
                hit("sessions"): number,
            }
            wait_changed(web, before, expected)
        wait_for(
            lambda: scrape(web)[0].get(REMEMBERED) == 1, "one is forgotten"
        )
        assert changed(before, scrape(web)[0]) == expected
    finally:
        gateway.end()


REMEMBERED = ("hearth_sessions_remembered", 'reason="memory"')


def test_scopes_are_required(web: Web) -> None:
    assert web.with_token(None).get("/metrics").status == 401
