"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

# so long that only what will never happen has not happened by then
PATIENCE = 600.0


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something has happened; fail if it does not."""
    given_up = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < given_up, "it did not happen"
        time.sleep(0.02)
