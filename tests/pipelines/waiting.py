"""Waiting for what another process does."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 60.0


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        assert time.monotonic() < until, f"not within {LIMIT_SECONDS:.0f} s: {what}"
        time.sleep(0.1)
