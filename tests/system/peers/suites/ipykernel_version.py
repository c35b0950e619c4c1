"""A plugin of pytest: ipykernel's suite asks of each kernel_info_reply that its
implementation is ipykernel 2.1 or newer. hearth has a version of its own."""

from __future__ import annotations

import sys


def pytest_collection_finish() -> None:
    spec = sys.modules["tests.test_message_spec"]
    spec.KernelInfoReply.implementation_version.min = "0.1"
