"""Sources that do not answer: a server that starts again, a connection that was cut."""

from __future__ import annotations

import time

from keylake.errors import SourceFailed

_SECONDS_OF_PATIENCE = 10.0  # a server that starts again, or one that has not noticed yet that a reader is gone


class SourceAway(SourceFailed):
    """A source does not answer. It may be back later, so `begin` and `poll` may be called again.

    What cannot get better by itself, such as a wrong password or a log that is gone, is another error.
    """


class Absence:
    """The time since when a source does not answer: it is told after a while, so that a short cut is none.

    >>> absence = Absence()
    >>> absence.lost(SourceAway("No answer.")), absence.lasts
    (None, True)
    >>> absence.check()
    """

    def __init__(self) -> None:
        self._lost: tuple[float, SourceAway] | None = None

    @property
    def lasts(self) -> bool:
        """The last question had no answer."""
        return self._lost is not None

    def lost(self, error: SourceAway) -> None:
        """A question had no answer."""
        self._lost = (time.monotonic() if self._lost is None else self._lost[0], error)

    def over(self) -> None:
        """The source has answered."""
        self._lost = None

    def check(self) -> None:
        """Tell of it, if it lasts longer than a moment."""
        if self._lost is not None and time.monotonic() - self._lost[0] > _SECONDS_OF_PATIENCE:
            raise self._lost[1] from None
