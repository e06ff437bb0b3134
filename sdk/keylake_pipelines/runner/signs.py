"""Signs of life of a pipeline whose loop is busy: with a long write, a source that hangs, steps at its end."""

from __future__ import annotations

import threading
from types import TracebackType

from keylake.errors import KeylakeError, PipelineBusy
from keylake_pipelines.runner.state import StateTable

_SHARE_OF_A_LEASE = 3
_SECONDS_OF_THE_LAST = 10.0


class SignsOfLife:
    """A thread that says that the process lives whenever it was not seen for a third of its lease.

    Example::

        with SignsOfLife(state, lease=120):
            ...
    """

    def __init__(self, state: StateTable, lease: float) -> None:
        self._state = state
        self._seconds = lease / _SHARE_OF_A_LEASE
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._say, name="keylake signs of life", daemon=True)

    def __enter__(self) -> None:
        if self._seconds:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        if self._seconds:
            self._thread.join(_SECONDS_OF_THE_LAST)

    def _say(self) -> None:
        while not self._ending.wait(self._seconds / 2):
            try:
                self._state.sign(self._seconds)
            except PipelineBusy:  # the loop finds that out at its next write
                return
            except KeylakeError:  # a store that does not answer: the loop says so
                continue
