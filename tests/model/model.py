"""The naive model of a keyed table: keep everything that was ever written, and answer each read by brute force.

It is the law of the merge in code, for tests to compare with, so it is short and slow. There is one idea in it:

    every write of a column, every row as such, and every tombstone has a **place** (version, commit, row);
    places are compared as tuples, and the larger one is the newer one.

1. A column's value is the contribution with the newest place, of those newer than the newest tombstone; unless its
   reducer says otherwise (`reducers.py`).
2. The row exists if some write of it, be it of the key alone, is newer than the newest tombstone.
3. Rows of one commit that repeat a key need no rule of their own: `row` is the last part of their places.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from typing import Literal

from model.reducers import LATEST, Contribution, Place, Rule

Key = tuple[object, ...]
Row = Mapping[str, object]
Version = str | int | Mapping[str, str] | None
Versions = Literal["explicit", "commit", "ordering"]


@dataclass(frozen=True)
class Written:
    """One row as it was written; a tombstone, or the columns it carries with the version of each."""

    key: Key
    version: int
    deleted: bool = False
    columns: Mapping[str, tuple[int, object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Stamps:
    """What `_merge_info` says about a key, in absolute versions."""

    version: int
    written: int | None
    deleted: int | None
    columns: Mapping[str, int]


def as_version(value: object) -> int:
    """The version a value stands for: a number itself, a date in days, a timestamp in microseconds."""
    if isinstance(value, datetime):
        since = value - (datetime(1970, 1, 1) if value.tzinfo is None else datetime(1970, 1, 1, tzinfo=timezone.utc))
        return since // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    assert isinstance(value, int), f"{value!r} is no version"
    return value


@dataclass
class KeyedTable:
    """A keyed table as all that was written to it: per key the rows, each with its commit and its number therein.

    Commits are numbered from 1; `at=n` reads the first n of them. `replaced` says of each commit which keys it replaced
    altogether, as an overwrite does.
    """

    key: tuple[str, ...]
    columns: tuple[str, ...]
    versions: Versions = "explicit"
    ordering: str | None = None
    reducers: Mapping[str, Rule] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    written: dict[Key, list[tuple[int, int, Written]]] = field(default_factory=dict)
    replaced: list[Callable[[Key], bool]] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------------------- writes

    def upsert(self, rows: Iterable[Row], version: Version = None) -> int:
        """Write every value column of each row."""
        rows = list(rows)
        assert all(set(self.columns) <= set(row) for row in rows), "upsert carries every column"
        return self.update(rows, version)

    def update(self, rows: Iterable[Row], version: Version = None, columns_from: str | None = None) -> int:
        """Write the value columns that each row carries, or of these the ones that its entry `columns_from` names."""
        return self.append([self._written(row, version, columns_from) for row in rows])

    def delete(self, rows: Iterable[Row], version: Version = None) -> int:
        """Write one tombstone a row."""
        return self.append([self._tombstone(row, version) for row in rows])

    def apply_changes(self, rows: Iterable[Row], op: str, version: Version = None) -> int:
        """Write a row or a tombstone, as the row's entry `op` says."""
        return self.append(
            [self._tombstone(r, version) if r[op] in ("D", "d") else self._written(r, version, None) for r in rows]
        )

    def overwrite(
        self, rows: Iterable[Row], version: Version = None, replaces: Callable[[Key], bool] = lambda _key: True
    ) -> int:
        """Forget what earlier commits say about the keys that `replaces` holds for, and write `rows`."""
        return self.append([self._written(row, version, None) for row in rows], replaces)

    def append(self, rows: Iterable[Written], replaces: Callable[[Key], bool] = lambda _key: False) -> int:
        """Add one commit, and give its number."""
        self.replaced.append(replaces)
        commit = len(self.replaced)
        for number, row in enumerate(rows):
            self.written.setdefault(row.key, []).append((commit, number, row))
        return commit

    def _written(self, row: Row, version: Version, columns_from: str | None) -> Written:
        named = self.columns if columns_from is None else row[columns_from]
        assert isinstance(named, Sequence)
        # The ordering column is the row's version, so that a row which has it carries it, named or not.
        carried = [name for name in self.columns if name in row and (name in named or name == self.ordering)]
        own = {c: as_version(row[v]) for c, v in version.items()} if isinstance(version, Mapping) else {}
        base = self._row_version(row, version)
        return Written(
            self._key(row),
            max(own.values()) if base is None else base,
            columns={name: (own[name] if name in own or base is None else base, row[name]) for name in carried},
        )

    def _tombstone(self, row: Row, version: Version) -> Written:
        at = self._row_version(row, version)
        assert at is not None, "a tombstone has one version"
        return Written(self._key(row), at, deleted=True)

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.key)

    def _row_version(self, row: Row, version: Version) -> int | None:
        if self.versions == "commit":
            return len(self.replaced) + 1
        if isinstance(version, int):
            return version
        if isinstance(version, str):
            return as_version(row[version])
        return as_version(row[self.ordering]) if self.ordering in row else None

    # -------------------------------------------------------------------------------------------------------- reads

    def read(self, columns: Sequence[str] | None = None, at: int | None = None) -> dict[Key, dict[str, object]]:
        """The rows that exist, by key, each with the columns asked for."""
        wanted = self.columns if columns is None else columns
        found: dict[Key, dict[str, object]] = {}
        for key in self.written_keys(at):
            if self.merge_info(key, at).written is not None:
                values = {name: self._value(key, name, at) for name in wanted}
                found[key] = {name: self._shown(name, value) for name, value in values.items()}
        return found

    def between(self, after: int, until: int) -> "KeyedTable":
        """The table as if only the commits after one and up to another had ever been made."""
        written = {
            key: [entry for entry in entries if after < entry[0] <= until] for key, entries in self.written.items()
        }
        return replace(
            self,
            written={key: entries for key, entries in written.items() if entries},
            replaced=[(lambda _key: False)] * after + self.replaced[after:until],
        )

    def without(self, after: int, until: int) -> "KeyedTable":
        """The table as if the commits after one and up to another had never been made; others keep their numbers."""
        return self.only(n for n in range(1, len(self.replaced) + 1) if not after < n <= until)

    def only(self, commits: Iterable[int]) -> "KeyedTable":
        """The table as if only these commits had ever been made; they keep their numbers."""
        made = set(commits)
        written = {key: [entry for entry in entries if entry[0] in made] for key, entries in self.written.items()}
        return replace(
            self,
            written={key: entries for key, entries in written.items() if entries},
            replaced=[r if n in made else (lambda _key: False) for n, r in enumerate(self.replaced, start=1)],
        )

    def appended(self, after: int, until: int) -> dict[Key, dict[str, object] | None]:
        """What these commits wrote, merged among itself; None for a key that they deleted."""
        only = self.between(after, until)
        rows = only.read()
        return {key: rows.get(key) for key in only.written_keys()}

    def merge_info(self, key: Key, at: int | None = None) -> Stamps:
        """The stamps of a key that was ever written, existing or deleted."""
        tombstones = self._tombstones(key, at)
        # A row counts as a write at its own version, and at that of each column it carries.
        writes = [
            (version, commit, number)
            for commit, number, row in self._rows(key, at)
            if not row.deleted
            for version in (row.version, *(of_column for of_column, _ in row.columns.values()))
        ]
        alive = [place for place in writes if all(place > tombstone for tombstone in tombstones)]
        written = max(alive)[0] if alive else None
        deleted = max(tombstones)[0] if tombstones else None
        leaves = {name: name for name in self.columns} | {
            c: g for g, cs in self.groups.items() for c in cs if not self._rule(c).accumulates
        }
        values = {leaf: self._value(key, name, at) for name, leaf in leaves.items()}
        return Stamps(
            version=max(stamp for stamp in (written, deleted) if stamp is not None),
            written=written,
            deleted=deleted,
            columns={leaf: value.place[0] for leaf, value in values.items() if value is not None},
        )

    def written_keys(self, at: int | None = None) -> list[Key]:
        """All keys that the first `at` commits say something about, existing or deleted."""
        return [key for key in self.written if self._rows(key, at)]

    def _shown(self, column: str, value: Contribution | None) -> object:
        return self._rule(column).without if value is None else value.value

    def _rule(self, column: str) -> Rule:
        return self.reducers.get(column, LATEST)

    def _value(self, key: Key, column: str, at: int | None) -> Contribution | None:
        contributions = [
            Contribution((row.columns[column][0], commit, number), row.columns[column][1], row.version)
            for commit, number, row in self._rows(key, at)
            if column in row.columns
        ]
        return self._rule(column).reduce(contributions, self._tombstones(key, at))

    def _tombstones(self, key: Key, at: int | None) -> list[Place]:
        return [(row.version, commit, number) for commit, number, row in self._rows(key, at) if row.deleted]

    def _rows(self, key: Key, at: int | None) -> list[tuple[int, int, Written]]:
        """Everything written to the key that no later commit replaced, with its commit and its number therein."""
        first = max((n for n, replaces in enumerate(self.replaced[:at], start=1) if replaces(key)), default=1)
        last = len(self.replaced) if at is None else at
        return [entry for entry in self.written[key] if first <= entry[0] <= last]
