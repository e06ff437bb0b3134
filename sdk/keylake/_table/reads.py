"""Verbs that read merged rows: a frame of many, or the row of one key."""

# pyright: reportUnknownParameterType=false
# Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, cast

import pyarrow as pa
from typing_extensions import TypeVar

from keylake._definition.spec import Names, names_of
from keylake._rows.business_time import BusinessTime, zoned
from keylake._server.statements import Explain, Freshness, KeyParts, Moment, Select, TablePath, Watermark
from keylake._table.explaining import explained
from keylake._table.handle import Verbs
from keylake._table.log import see_log
from keylake._values.arrow_types import has_names_of
from keylake._values.frames import pandas_of, polars_of
from keylake.errors import (
    DefinitionError,
    KeylakeError,
    SchemaMismatch,
    SnapshotExpired,
    TableNotFound,
    Unsupported,
    check_count,
    check_type,
)
from keylake.explanations import RowExplanation
from keylake.results import Commit, CommitInfo
from keylake.schema import Table

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame

    from keylake._server.conditions import Where

# As Iceberg begins.
_NO_REFERENCE = "Cannot find matching snapshot ID or reference name"
_NO_SNAPSHOT = "Cannot find snapshot with ID"

Row = TypeVar("Row", bound=Table, default=Table)

_KEYS_OF_A_QUERY = 500


def check_freshness(freshness: object, **said: object) -> None:
    """Refuse a word for freshness that there is not; `said` are words of reads that have no late rows apart."""
    if freshness not in (None, "on_time"):
        raise DefinitionError(f"freshness is {freshness!r}. Use 'on_time', which leaves late rows out, or None.")
    for name, value in said.items():
        if freshness is not None and value is not None:
            raise DefinitionError(f"freshness='on_time' does not go with {name}={value!r}. Leave one of them out.")


class ReadVerbs(Verbs, Generic[Row]):
    """The verbs that read the merged rows of a table."""

    _model: type[Row]  # what a row that is read by its key becomes

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, the key among them, in their order."""
        return self.spec.column_names

    def read(
        self,
        columns: Names | None = None,
        *,
        where: Where | None = None,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
        experiments: Names | None = None,
        fresh: bool = False,
        freshness: Freshness | None = None,
    ) -> DataFrame:
        """The merged rows as a plain Spark frame: some columns, some rows, now or at a moment.

        `where` is Spark SQL, a condition on columns (`kl.col(Profile.clicks) > 5`), or a column of Spark. `at` is a
        commit, a snapshot id, a time with a zone, the name of a tag or branch, or `kl.watermark(...)`. `as_of` is the
        business time of an archived state. `experiments` are names of experiments whose columns are read, too, as they
        are now. With `fresh` what is in the table's log is moved to its files first, so that the frame has it. With
        `freshness="on_time"` rows that came later than the table allows are left out, and no file of them is opened,
        until a compaction has made them a run like others: see `table.layout.set_lateness`.

        Raises `SchemaMismatch` for a column that the table does not have, `DefinitionError` for a `where` that cannot
        be read or an `at` that names no moment, `TableNotFound` for an unknown tag, branch, archived state or
        watermark, `SnapshotExpired` for a moment that is not kept any more, and `Unsupported` for earlier moments of an
        experiment. What is found only when rows are read, such as `ForeignCommit` and `StoreFailed`, the frame raises
        when it is run.

        Example::

            profiles.read(columns=["clicks", "spend"], where="day >= '2026-01-01'", at=commit).show()
        """
        if as_of is not None and at is not None:
            raise DefinitionError(f"at={at!r} and as_of={as_of!r} name two states. Leave one of them out.")
        moment = self._moment(at)
        check_freshness(freshness, experiments=experiments)
        see_log(self, self._handle, fresh, at=at, as_of=as_of, experiments=experiments)
        names = None if columns is None else names_of(columns)
        if experiments is not None:
            path = self._beside(names_of(experiments), moment, as_of)
            return self._handle.session.frame_of(Select(path, names), where)
        if moment is not None:
            self._handle.check_no_experiment("earlier moments")
        if names is not None and moment is None:  # at another moment the table may have had other columns
            known = names
            self._knowing(lambda: self._handle.columns(known))
        select = Select(self._handle.at_state(as_of).path, names, moment, freshness=freshness)
        try:
            return self._handle.session.frame_of(select, where)
        except (SnapshotExpired, TableNotFound) as error:
            raise self._no_moment(moment, error) from None

    def _no_moment(self, moment: Moment | None, error: KeylakeError) -> KeylakeError:
        """The error in the words of `at=`, where it is about that."""
        if isinstance(moment, int) and _NO_SNAPSHOT in str(error):
            return SnapshotExpired(
                f"{self._handle.path} has no snapshot {moment}, or it has expired. Take one of history()."
            )
        if isinstance(moment, str) and _NO_REFERENCE in str(error):
            return TableNotFound(
                f"{self._handle.path} has no tag or branch {moment!r}. "
                "Give at= a commit, a snapshot id, a datetime with a zone, or the name of a tag or branch."
            )
        return error

    def _beside(self, names: tuple[str, ...], moment: Moment | None, as_of: BusinessTime | None) -> TablePath:
        """The table with experiments, and with the one that this is."""
        path = self._handle.path
        own = self._handle.experiment
        if moment is not None or as_of is not None or (path.branch is not None and own is None):
            raise Unsupported(
                f"experiments={list(names)!r} are read with main as it is now. Leave at=, as_of= and branches out."
            )
        both = dict.fromkeys(((own,) if own is not None else ()) + names)
        return TablePath(path.name, experiments=tuple(both)) if both else path

    def count(self, where: Where | None = None) -> int:
        """The number of merged rows, of all or of those for which a condition holds.

        Raises `DefinitionError` for a `where` that cannot be read, and `ForeignCommit` after a commit of another
        engine.

        Example::

            profiles.count("clicks > 100")
        """
        with self._handle.session.asking():
            return self.read(where=where).count()

    def head(self, rows: int = 5) -> pandas.DataFrame:
        """Some merged rows as a pandas frame, to look at; which ones is not said.

        Raises `DefinitionError` if `rows` is no count, and `ForeignCommit` after a commit of another engine.

        Example::

            profiles.head()
        """
        check_count("rows", rows)
        with self._handle.session.asking():
            return pandas_of(self.read().limit(rows).toArrow())

    def to_arrow(
        self,
        columns: Names | None = None,
        *,
        where: Where | None = None,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
    ) -> pa.Table:
        """The merged rows as an Arrow table in the memory of this process; the words are those of `read`.

        Times with a zone stay the moments that they are, with a zone.

        Raises what `read` raises, such as `SchemaMismatch`, `DefinitionError`, `TableNotFound` and `SnapshotExpired`.

        Example::

            profiles.to_arrow(["user_id", "clicks"], where="clicks > 100")
        """
        with self._handle.session.asking():
            return self.read(columns, where=where, at=at, as_of=as_of).toArrow()

    def to_pandas(
        self,
        columns: Names | None = None,
        *,
        where: Where | None = None,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
    ) -> pandas.DataFrame:
        """The merged rows as a pandas frame; the words are those of `read`.

        It has the types of Arrow: a null stays a null, whole numbers stay whole, and times with a zone keep one, which
        `toPandas()` of a Spark frame leaves out.

        Raises what `to_arrow` raises, such as `SchemaMismatch`, and `Unsupported` without pandas.

        Example::

            profiles.to_pandas(["user_id", "clicks"])["clicks"].sum()
        """
        return pandas_of(self.to_arrow(columns, where=where, at=at, as_of=as_of))

    def to_polars(
        self,
        columns: Names | None = None,
        *,
        where: Where | None = None,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
    ) -> Any:
        """The merged rows as a polars frame; the words are those of `read`.

        Raises what `to_arrow` raises, such as `SchemaMismatch`, and `Unsupported` without polars.

        Example::

            profiles.to_polars(["user_id", "clicks"])
        """
        return polars_of(self.to_arrow(columns, where=where, at=at, as_of=as_of))

    def get(
        self,
        key: Mapping[str, object] | None = None,
        /,
        *unnamed: object,
        as_of: BusinessTime | None = None,
        fresh: bool = False,
        **columns: object,
    ) -> Row | None:
        """The row of a key, or None; opens one bucket. `as_of` is the business time of an archived state.

        The key is given by its columns, or as a mapping where one of these is called `as_of` or `fresh`. With `fresh`
        what is in the table's log is moved to its files first, and counts.

        Raises `SchemaMismatch` if the key has other columns than the table's, `BadRows` if a value of it does not fit,
        `TableNotFound` for an unknown archived state, and `ForeignCommit` after a commit of another engine.

        Example::

            profiles.get(user_id=7, day=today)
        """
        given = one_key((key, *unnamed), columns)
        if given is None:
            named = ", ".join(f"{name}=..." for name in self.spec.key)
            raise SchemaMismatch(
                f"get() takes the key of {self._handle.path} by the names of its columns: get({named}), "
                "or as a mapping."
            )
        see_log(self, self._handle, fresh, as_of=as_of)
        return self._knowing(lambda: self._row(given, as_of))

    def _row(self, key: Mapping[str, object], as_of: BusinessTime | None) -> Row | None:
        parts = self._key_parts("get", key)
        path = self._handle.at_state(as_of).path
        found = self._handle.session.look_up(path, parts)
        if found.num_rows and not has_names_of(self.spec.iceberg_schema().as_struct(), found.schema):
            self._current()
        rows = found.to_pylist()
        return self._model.from_row(rows[0]) if rows else None

    def get_many(
        self, keys: Iterable[Mapping[str, object]], *, as_of: BusinessTime | None = None, fresh: bool = False
    ) -> list[Row | None]:
        """The rows of some keys, in the order of the keys; None where there is no row.

        Each key is a mapping from the key columns to their values, as `get` takes it. A key may come more than once.
        500 keys are one query, which opens the buckets that they lie in; more are several, each of the rows as they are
        at its time. `as_of` and `fresh` are those of `get`.

        Raises `SchemaMismatch` if a key has other columns than the table's, `BadRows` if a value of it does not fit,
        `TableNotFound` for an unknown archived state, and `ForeignCommit` after a commit of another engine.

        Example::

            profiles.get_many([{"user_id": 7, "day": today}, {"user_id": 8, "day": today}])
        """
        check_type("keys", keys, Iterable, "a list of mappings such as {'user_id': 7}")
        given = tuple(keys)
        see_log(self, self._handle, fresh, as_of=as_of)
        return self._knowing(lambda: self._rows(given, as_of))

    def _rows(self, keys: Sequence[Mapping[str, object]], as_of: BusinessTime | None) -> list[Row | None]:
        for key in keys:
            check_type("A key", key, Mapping, "a mapping from the key columns to their values")
        sought = [self._key_parts("get_many", key) for key in keys]
        values = [tuple(value for _, _, value in parts) for parts in sought]
        distinct = list(dict(zip(values, sought, strict=True)).values())
        path = self._handle.at_state(as_of).path if keys else self._handle.path
        found: dict[tuple[object, ...], Row] = {}
        for begin in range(0, len(distinct), _KEYS_OF_A_QUERY):
            rows = self._handle.session.look_up_all(path, distinct[begin : begin + _KEYS_OF_A_QUERY])
            if begin == 0 and not has_names_of(self.spec.iceberg_schema().as_struct(), rows.schema):
                self._current()
            for row in map(self._model.from_row, rows.to_pylist()):
                found[self.spec.fitted_key(*(row[name] for name in self.spec.key))] = row
        return [found.get(value) for value in values]

    def explain_row(
        self,
        key: Mapping[str, object] | None = None,
        /,
        *,
        at: Commit | CommitInfo | Moment | Watermark | None = None,
        as_of: BusinessTime | None = None,
        **columns: object,
    ) -> RowExplanation:
        """The explanation of the row of a key: for each column the value that counts, who wrote it, and what lost.

        The key is given as in `get`, or as a mapping where a key column is called `at` or `as_of`. `at` and `as_of`
        name a moment or an archived state, as in `read`. Opens the files of one bucket that may have the key.

        Raises `SchemaMismatch` if the key has other columns than the table's, `BadRows` if a value of it does not fit,
        `DefinitionError` if `at` and `as_of` are both given, `TableNotFound` or `SnapshotExpired` for a moment that is
        not there, `Unsupported` for earlier moments of an experiment, and `ForeignCommit` after a commit of another
        engine.

        Example::

            print(profiles.explain_row(user_id=7, day=today)["clicks"].stream)
        """
        check_type("The key", key, Mapping | None, "a mapping from the key columns to their values")
        given = one_key((key,), columns)
        if given is None:
            named = ", ".join(f"{name}=..." for name in self.spec.key)
            raise SchemaMismatch(
                f"explain_row() takes the key of {self._handle.path} by the names of its columns, or as one mapping: "
                f"explain_row({named})."
            )
        if as_of is not None and at is not None:
            raise DefinitionError(f"at={at!r} and as_of={as_of!r} name two states. Leave one of them out.")
        moment = self._moment(at)
        if moment is not None:
            self._handle.check_no_experiment("earlier moments")
        self._current()
        return self._explained(given, moment, as_of)

    def _explained(
        self, key: Mapping[str, object], moment: Moment | None, as_of: BusinessTime | None
    ) -> RowExplanation:
        parts = self._key_parts("explain_row", key)
        explain = Explain(self._handle.at_state(as_of).path, parts, moment)
        lines = self._handle.session.call(explain).to_pylist()
        return explained(str(self._handle.path), self.spec, parts, lines)

    def _key_parts(self, verb: str, key: Mapping[str, object]) -> KeyParts:
        """The key as the table holds it; its columns may be called as the attributes of the table's class."""
        given = by_column(key, self._model)
        if given.keys() != set(self.spec.key) or len(key) != len(given):
            wanted = ", ".join(map(repr, self.spec.key))
            raise SchemaMismatch(
                f"The key of {self._handle.path} is {wanted}, and {verb}() has {', '.join(map(repr, key)) or 'none'}."
            )
        fitted = self.spec.fitted_key(*(given[name] for name in self.spec.key))
        types = (self.spec.column(name).type for name in self.spec.key)
        return tuple(zip(self.spec.key, types, fitted, strict=True))

    def _moment(self, at: Commit | CommitInfo | Moment | Watermark | None) -> Moment | None:
        """The moment that `at` means, as a statement has it."""
        moment = at.snapshot_id if isinstance(at, Commit | CommitInfo) else at
        moment = self._at_watermark(moment) if isinstance(moment, Watermark) else moment
        if not _is_moment(moment):
            raise DefinitionError(
                f"at={at!r} is no moment. Give a commit, a snapshot id, a time, or the name of a tag."
            )
        return moment

    def _at_watermark(self, watermark: Watermark) -> int:
        at = zoned("the watermark", watermark.time).isoformat()
        return int(self._handle.value("commit_at_watermark", watermark=at, stream=watermark.stream))


def one_key(unnamed: Sequence[object], columns: Mapping[str, object]) -> Mapping[str, object] | None:
    """The key that a call gives: by its columns, or as one mapping. None where it gives neither, or both.

    The mapping may be called `key`: a mapping is no value of a key column.

    >>> one_key((None,), {"id": 7}), one_key(({"id": 7},), {}), one_key((7,), {})
    ({'id': 7}, {'id': 7}, None)
    >>> one_key((None,), {"key": {"my id": 7}}), one_key((None,), {"key": 7})
    ({'my id': 7}, {'key': 7})
    """
    key, *more = unnamed
    if key is None and not more:
        named = columns.get("key")
        return cast("Mapping[str, object]", named) if len(columns) == 1 and isinstance(named, Mapping) else columns
    return cast("Mapping[str, object]", key) if isinstance(key, Mapping) and not more and not columns else None


def by_column(key: Mapping[str, object], model: type[Table]) -> dict[str, object]:
    """A key by the names of columns; it may have those of attributes of the table's class, in any case."""
    attributes = model.attributes()
    columns = {attribute: column for column, attribute in attributes.items()}
    in_any_case = {
        name.lower(): column for name, column in (*columns.items(), *zip(attributes, attributes, strict=True))
    }
    return {columns.get(name, in_any_case.get(str(name).lower(), name)): value for name, value in key.items()}


def _is_moment(moment: object) -> bool:
    return isinstance(moment, int | str | datetime | None) and not isinstance(moment, bool)
