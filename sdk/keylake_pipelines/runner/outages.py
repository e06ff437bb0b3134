"""Outages of a source, or of the lake: since when it does not answer, what is told of that, when it is asked again."""

from __future__ import annotations

import datetime
import logging
import time

from keylake.errors import (
    CommitConflict,
    KeylakeError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnreachable,
    SourceFailed,
    Unavailable,
)

LOG = logging.getLogger("keylake")
# Rows with offsets count once, so what may have been written is written again.
_PASSING = (ServerUnreachable, Unavailable, CommitConflict, OutcomeUnknown)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_SECONDS_OF_A_FIRST_RUN = 10.0  # it may have a wrong address, which is told soon


def passes(error: KeylakeError) -> bool:
    """A failure of the lake may pass by itself.

    >>> passes(Unavailable("The catalog does not answer.")), passes(ServerRefused("Token."))
    (True, False)
    """
    return isinstance(error, _PASSING) and not isinstance(error, ServerRefused)


class Outage:
    """A time without answers: the source or the lake is asked again after 1, 2, 4 and more seconds, at most 30.

    `what` is how that is told. `most` are the seconds after which it ends, None for never. What is `known` has answered
    before.
    """

    def __init__(self, name: str, what: str, most: float | None, *, known: bool) -> None:
        self._name = name
        self._what = what
        self._most = most
        self._known = known
        self._since: float | None = None
        self._again_at = 0.0
        self._pause = _FIRST_PAUSE
        self.said: str | None = None  # for those who ask how the pipeline is

    @property
    def lasts(self) -> bool:
        """The last question had no answer."""
        return self._since is not None

    @property
    def seconds_left(self) -> float:
        """The seconds for which nothing is to be asked."""
        return 0.0 if self._since is None else max(0.0, self._again_at - time.monotonic())

    def failed(self, error: KeylakeError) -> None:
        """Note that it was asked and did not answer; an error where that has lasted too long."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
            self._began_at = datetime.datetime.now(datetime.timezone.utc)
        away = now - self._since
        most = self._most if self._known else _SECONDS_OF_A_FIRST_RUN
        if most is not None and away >= most:
            why = "a run that ends with its source" if self._known else "a first run"
            kind = SourceFailed if isinstance(error, SourceFailed) else type(error)
            raise kind(f"{error} It was asked for {away:.0f} s, and {why} waits {most:g} s.") from error
        self.said = f"{self._what} since {self._began_at:%Y-%m-%d %H:%M:%S} UTC. {error}"
        LOG.warning("%s: %s It is asked again in %.0f s.", self._name, self.said, self._pause)
        self._again_at = now + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    def over(self) -> None:
        """Note that it has answered."""
        if self._since is not None:
            LOG.info("%s: it answers again, after %.0f s. %s", self._name, time.monotonic() - self._since, self.said)
        self._since = self.said = None
        self._pause = _FIRST_PAUSE
        self._known = True
