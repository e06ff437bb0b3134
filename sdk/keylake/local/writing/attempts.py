"""The attempts of a write: what the catalog was sent, and what became of it: taken, refused, or not known yet.

An answer can be lost behind a commit that was taken, and a repeated request is then told of a conflict with itself. So
after every failure the table is asked, and not the answer. Each attempt asserts the head of the branch that it was made
upon, and no snapshot is taken whose sequence number was given to another one: at most one attempt is ever applied.

    the table has the snapshot                              taken
    another snapshot has the sequence number                refused for ever: what the attempt names may be deleted
    neither                                                 it may still come; another attempt is safe, a delete is not
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from dataclasses import dataclass, field

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from keylake.errors import OutcomeUnknown, ServerUnreachable, StoreFailed, Unavailable
from keylake.local.catalogs import loaded

LONGEST_WAIT_SECONDS = 1.0
PATIENCE_SECONDS = 30.0  # how long a catalog that does not answer is asked what became of a commit


@dataclass(frozen=True)
class Attempt:
    """A snapshot that the catalog was asked to take, and the manifests and the list that were written for it alone."""

    snapshot: Snapshot
    paths: tuple[str, ...]

    def is_refused(self, metadata: TableMetadata) -> bool:
        """The catalog can never take the attempt any more, and has not taken it."""
        own = self.snapshot
        same_number = (each for each in metadata.snapshots if each.sequence_number == own.sequence_number)
        return any(each.snapshot_id != own.snapshot_id for each in same_number)


@dataclass
class Attempts:
    """The attempts of one write of a table, which is the table as it was asked for last."""

    name: str
    table: IcebergTable
    _open: list[Attempt] = field(default_factory=list)

    def add(self, attempt: Attempt) -> None:
        """Remembers an attempt; before it is sent."""
        self._open.append(attempt)

    @property
    def may_stand(self) -> bool:
        """Some attempt was sent that was not refused for certain."""
        return bool(self._open)

    def taken(self) -> Snapshot | None:
        """Asks the table for the snapshot of an attempt; None: it has none of them, and another one may be sent."""
        found = self._asked()
        self.table.metadata, self.table.metadata_location = found.metadata, found.metadata_location
        self.table.io, self.table.config = found.io, found.config
        self.forget_refused()
        there = (found.metadata.snapshot_by_id(each.snapshot.snapshot_id) for each in self._open)
        return next((each for each in there if each is not None), None)

    def forget_refused(self) -> None:
        """Deletes what was written for attempts that were refused for certain."""
        refused = [each for each in self._open if each.is_refused(self.table.metadata)]
        self._open = [each for each in self._open if each not in refused]
        for each in refused:
            for path in each.paths:
                with contextlib.suppress(Exception):  # it is found by the next cleaning
                    self.table.io.delete(path)

    def _asked(self) -> IcebergTable:
        until = time.monotonic() + PATIENCE_SECONDS
        for number in itertools.count():
            try:
                return loaded(self.table, self.name)
            except (ServerUnreachable, StoreFailed) as error:
                may_pass = isinstance(error, ServerUnreachable | Unavailable)
                if not may_pass or time.monotonic() > until:
                    raise self.unknown(f"the catalog cannot be asked: {error}") from None
            pause(number)
        raise AssertionError("a count has no end")

    def unknown(self, why: str) -> OutcomeUnknown:
        """The error of a write whose outcome is not known."""
        last = self._open[-1].snapshot
        return OutcomeUnknown(
            f"Whether {self.name} has the rows is not known, because {why.rstrip('.')}. "
            f"They are there if the table has the snapshot {last.snapshot_id}, which read(at=...) and history() say; "
            "write them again if not."
        )


def pause(number: int) -> None:
    """Waits a little, longer each time."""
    time.sleep(random.uniform(0, min(LONGEST_WAIT_SECONDS, 0.02 * 2 ** min(number, 10))))  # no secret
