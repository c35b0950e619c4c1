"""A plugin for pytest: how the tests are shared out between its workers.

A file goes to one worker, because its tests may share a gateway. What takes
long goes out first: at the end no worker is left alone with it.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

# The longest first. The files that are not here follow, those of many tests
# before those of few.
LONG = (
    "tests/sandbox/hostile/test_hostile.py",
    "tests/sandbox/test_launch_faults.py",
    "tests/system/packages/test_worker_taken_over.py",
    "tests/system/packages/test_worker.py",
    "tests/system/packages/test_worker_removes.py",
    "tests/system/packages/test_worker_lies.py",
    "tests/system/test_preinstall_made.py",
    "tests/system/test_preinstall.py",
    "tests/system/clone/test_clone_cache.py",
    "tests/system/test_fetch_jobs.py",
    "tests/system/fetch/test_fetch_ends.py",
    "tests/system/test_replays_outside.py",
    "tests/system/packages/test_hashes.py",
    "tests/system/packages/test_status.py",
    "tests/system/fetch/test_fetch_cache.py",
    "tests/system/packages/test_worker_races.py",
    "tests/system/test_replays.py",
    "tests/system/test_survival.py",
    "tests/system/test_packages_launch.py",
    "tests/system/test_endings.py",
    "tests/system/test_session_users.py",
    "tests/system/test_limits.py",
    "tests/system/test_chaos.py",
    "tests/system/test_packages_end_to_end.py",
    "tests/system/test_zygote_user.py",
    "tests/system/test_install.py",
    "tests/system/test_packages_jobs.py",
    "tests/system/test_operating.py",
    "tests/system/test_notebooks.py",
    "tests/system/test_tool_servers.py",
    "tests/system/test_output_limits.py",
    "tests/system/test_seeds.py",
    "tests/system/test_pool.py",
    "tests/system/http/test_tools_away.py",
    "tests/system/http/test_terminals.py",
    "tests/system/http/test_mcp_tasks.py",
    "tests/system/http/test_reload.py",
    "tests/system/http/test_refusals.py",
)
# Their tests run in several modes, each with a gateway or folder of its own: a
# worker gets one mode.
IN_MODES = (
    "tests/sandbox/hostile/test_hostile.py",
    "tests/system/packages/test_worker_taken_over.py",
)
# A layer would wait for them alone: a worker gets a part of their tests, and
# makes what these share once more.
IN_PARTS = {"tests/sandbox/test_launch_faults.py": 3}


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def share_of(nodeid: str) -> str:
    """The name of what one worker gets as a whole, the test among it."""
    file = file_of(nodeid)
    if file in IN_PARTS:
        return f"{file}[{zlib.crc32(nodeid.encode()) % IN_PARTS[file]}]"
    mode = nodeid.partition("[")[2].partition("-")[0]
    return f"{file}[{mode}]" if file in IN_MODES else file


def in_order(nodeids: list[str]) -> list[str]:
    """These tests in the order in which they are shared out."""
    places = {file: place for place, file in enumerate(LONG)}
    counts = Counter(map(file_of, nodeids))

    def place(nodeid: str) -> tuple[int, int]:
        file = file_of(nodeid)
        return places.get(file, len(LONG)), -counts[file]

    return sorted(nodeids, key=place)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ids = in_order([item.nodeid for item in items])
    places = {nodeid: place for place, nodeid in enumerate(ids)}
    items.sort(key=lambda item: places[item.nodeid])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> LoadFileScheduling:
    from xdist.scheduler import LoadFileScheduling

    class Shares(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return Shares(config, log)
