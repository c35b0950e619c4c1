"""The turns again, with the oldest jupyter_client that is promised to work."""

from __future__ import annotations

import jupyter_client
from test_interrupts import *  # noqa: F403
from test_outputs import *  # noqa: F403
from test_questions import *  # noqa: F403
from test_turns import *  # noqa: F403


def test_the_client_is_the_old_version() -> None:
    assert jupyter_client.version_info[:2] == (7, 4)
