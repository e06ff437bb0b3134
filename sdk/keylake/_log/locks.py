"""Locks of threads, which a forked process has anew: one that another thread held would never be let go there."""

from __future__ import annotations

import os
import threading
from types import TracebackType


class ProcessLock:
    """A lock of the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
