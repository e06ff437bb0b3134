"""Messages of the log become rows: a transaction in parts of equal size, each part one row for each key.

    messages ──▶ part (newest values by key) ──▶ rows, all of one version ──▶ the next part, of a larger version

Parts are cut by the number of changes alone, so that a transaction that is read again gives the same rows in the same
versions. A later change of a key takes its place in the part; what that one does not carry stays of the earlier one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from keylake_pipelines.postgres.messages import (
    ABSENT,
    Begin,
    Commit,
    Delete,
    Insert,
    Message,
    Relation,
    Truncate,
    Update,
    Value,
    decoded,
)
from keylake_pipelines.postgres.positions import ROWS_OF_A_PART, version_of_part
from keylake_pipelines.postgres.rows import Layout, Rows
from keylake_pipelines.source.source import Step
from keylake_pipelines.source.tables import TableChange, TableTruncated

LOG = "log"  # the partition of the log
_CHANGES = (Insert, Update, Delete)


class Logged:
    """A table as rows of the log have it, and where their values go now; None where the source does not read it."""

    def __init__(self, relation: Relation, layout: Layout | None) -> None:
        self.relation = relation
        self.layout = layout


@dataclass(slots=True)
class Pending:
    """The newest change of a key in a part."""

    op: str
    logged: Logged
    values: Sequence[Value]
    moved: bool = False  # from another key: what an update did not carry is not in the table under this key


class Transactions:
    """Rows from messages. `describe` says where a relation's values go; `fill` finds values that are not in the log."""

    def __init__(
        self,
        describe: Callable[[Relation], tuple[Layout | None, tuple[TableChange, ...]]],
        fill: Callable[[Begin, Sequence[Pending]], None],
        emptied: Callable[[int], TableTruncated | None],
    ) -> None:
        self._describe = describe
        self._fill = fill
        self._emptied = emptied
        self._logged: dict[int, Logged] = {}
        self._begun: Begin | None = None
        self._pending: dict[tuple[object, ...], Pending] = {}
        self._part = self._changes_of_part = 0
        self.rows = Rows(LOG)
        self.position = 0  # behind the last part whose rows are here
        self._first = 0  # what comes before this position is not given
        self.newest: Begin | None = None

    @property
    def between(self) -> bool:
        """No transaction is half read."""
        return self._begun is None

    @property
    def current(self) -> Begin | None:
        """The transaction that is being read."""
        return self._begun

    def start_at(self, position: int) -> None:
        """Forget what was half read: the transaction at the position comes again, and its first parts are left out."""
        self._logged.clear()
        self._pending.clear()
        self._begun = None
        self.rows = Rows(LOG)
        self.position = self._first = position

    def move_to(self, place: int) -> None:
        """Nothing of interest lies before a place between transactions."""
        self.position = max(self.position, version_of_part(place, 0))

    def step(self, ends: Mapping[str, int], changes: tuple[TableChange, ...] = ()) -> Step:
        """The rows so far as a step, and none left here."""
        rows, self.rows = self.rows, Rows(LOG)
        return rows.step(ends, changes)

    def laid_out_anew(self, layout_of: Callable[[Relation], Layout | None]) -> None:
        """Tables have changed: values that wait go where their columns are now."""
        waiting = {id(each.logged): each.logged for each in self._pending.values()}
        for logged in {**{id(each): each for each in self._logged.values()}, **waiting}.values():
            logged.layout = layout_of(logged.relation)

    def take_some(self, messages: deque[bytes], most_rows: int) -> tuple[TableChange, ...]:
        """Messages up to so many rows, or to changes of tables that hold for all rows that are not in `rows` yet."""
        rows, take = self.rows, self.take
        while messages and len(rows) < most_rows:
            if changes := take(decoded(messages.popleft())):
                return changes
        return ()

    def take(self, message: Message) -> tuple[TableChange, ...]:
        """Take one message; gives changes of tables, as `take_some` does."""
        if isinstance(message, _CHANGES):
            self._change(message)
        elif isinstance(message, Begin):
            self._begun = self.newest = message
            self._part = self._changes_of_part = 0
        elif isinstance(message, Commit):
            self._end_part()
            self._begun = None
            self.move_to(message.end)
        elif isinstance(message, Relation):
            layout, changes = self._describe(message)
            self._logged[message.number] = Logged(message, layout)
            return changes
        elif isinstance(message, Truncate):
            self._end_part()
            if self.position > self._first:
                return tuple(found for each in message.relations if (found := self._emptied(each)) is not None)
        return ()

    def _change(self, message: Insert | Update | Delete) -> None:
        logged = self._logged[message.relation]
        if logged.layout is not None:
            if isinstance(message, Insert):
                self._put("c", logged, message.new)
            elif isinstance(message, Delete):
                self._put("d", logged, message.old)
            else:
                self._update(logged, message)
        self._changes_of_part += 1
        if self._changes_of_part == ROWS_OF_A_PART:
            self._end_part()

    def _update(self, logged: Logged, message: Update) -> None:
        new: Sequence[Value] = message.new
        layout = logged.layout
        assert layout is not None
        if message.old is None:
            self._put("u", logged, new)
            return
        if message.old_is_whole:
            pairs = zip(new, message.old, strict=True)
            new = tuple(old if value is ABSENT else value for value, old in pairs)
        else:
            # A key that did not change is not logged, but a key of several columns is logged whole.
            new = tuple(
                message.old[at] if value is ABSENT and at in layout.key else value for at, value in enumerate(new)
            )
        if all(new[at] == message.old[at] for at in layout.key):
            self._put("u", logged, new)
            return
        before = self._pending.get(self._key(logged, message.old))
        if before is not None and before.op != "d":
            new = carried(before, logged, new)
        self._put("d", logged, message.old)
        self._put("c", logged, new, moved=True)

    def _key(self, logged: Logged, values: Sequence[Value]) -> tuple[object, ...]:
        assert logged.layout is not None
        return logged.relation.number, logged.layout.key_of(values)

    def _put(self, op: str, logged: Logged, values: Sequence[Value], *, moved: bool = False) -> None:
        key = self._key(logged, values)
        before = self._pending.get(key) if op == "u" else None
        if before is not None and before.op != "d":
            self._pending[key] = Pending(before.op, logged, carried(before, logged, values), before.moved)
        else:
            self._pending[key] = Pending(op, logged, values, moved)

    def _end_part(self) -> None:
        begun = self._begun
        if begun is None:
            raise ValueError("The log has a change outside of a transaction.")
        version = version_of_part(begun.commit, self._part)
        if self._pending and version >= self._first:
            alive = [each for each in self._pending.values() if each.logged.layout is not None]
            lacking = [each for each in alive if each.op != "d" and ABSENT in each.values]
            if lacking:
                self._fill(begun, lacking)
            layouts = [layout for each in alive if (layout := each.logged.layout) is not None]
            assert len(layouts) == len(alive)
            ops, rows = [each.op for each in alive], [each.values for each in alive]
            self.rows.add(layouts, ops, rows, version, version, begun.at)
        self._pending.clear()
        self._part += 1
        self.position = max(self.position, version + 1)
        self._changes_of_part = 0


def carried(before: Pending, logged: Logged, values: Sequence[Value]) -> Sequence[Value]:
    """Newer values of a row, with those of the earlier change where the newer one does not carry them."""
    if ABSENT not in values:
        return values
    if before.logged is logged:
        return tuple(old if new is ABSENT else new for new, old in zip(values, before.values, strict=True))
    if before.logged.layout is None or logged.layout is None:
        return values
    known = dict(zip(before.logged.layout.numbers, before.values, strict=True))
    return tuple(
        known.get(number, new) if new is ABSENT and number is not None else new
        for new, number in zip(values, logged.layout.numbers, strict=True)
    )
