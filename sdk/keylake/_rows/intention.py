"""A verb with its words becomes a Write, if the spec of the table and the columns of the rows allow it.

    Intention (verb, version=, ...)  +  spec  +  columns of the rows   ->   Write

All that can be said about a write from the spec and the names of the columns is checked here, so that a mistake is
found before anything is sent; what depends on types and values is for the server to check. Column names match whatever
their case, as they do in Spark unless a session says otherwise: no table has two names that differ in case only.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pyiceberg.types import DateType, TimestampType, TimestamptzType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros
from typing_extensions import TypedDict

from keylake._definition.spec import TableSpec
from keylake._definition.words import check_words
from keylake._rows.business_time import BusinessTime, utc_of, zoned
from keylake._server.statements import WHOLE_ROWS, TablePath, Verb, Write
from keylake.errors import BadRows, DefinitionError, SchemaMismatch, VersionMissing, check_type

Version = str | int | datetime.date | Mapping[str, str]  # a datetime is a date, too


class Labels(TypedDict, total=False):
    """The labels that any verb may give to its commit, for `history()` and for doing it again safely."""

    stream: Annotated[str | None, "the name of the stream that the rows come from"]
    # A second commit with the same key does nothing and returns the first.
    idempotency_key: Annotated[str | None, "text that only this write has"]
    # Where the rows come from: per source the first offset and the one after the last. A branch takes each offset once.
    offsets: Annotated[
        Mapping[str, tuple[int, int]] | None, "a mapping from sources to ranges such as {'clicks-0': (0, 100)}"
    ]
    # Event time up to which the stream is complete, for at=kl.watermark(...).
    watermark: Annotated[datetime.datetime | None, "a datetime with a zone: tzinfo=datetime.timezone.utc"]
    # Archived states of that time or later get the rows, too.
    business_time: Annotated[BusinessTime | None, "a date, a datetime with a zone, or text such as '2026-11-01'"]


def check_labels(labels: Labels) -> Labels:
    """Refuse labels that do not exist, or whose values have another type.

    >>> check_labels({"steam": "web"})
    Traceback (most recent call last):
    keylake.errors.DefinitionError: A write has no option 'steam'. Did you mean 'stream'?
    """
    check_words(labels, Labels, "A write")
    return labels


_MOST_SOURCES = 10_000
_LONGEST_NAME = 1_000


def offsets_in_json(offsets: Mapping[str, tuple[int, int]] | None) -> str | None:
    """Ranges of offsets as the server reads them, each checked; None where there are none.

    >>> offsets_in_json({"clicks-0": (0, 100)})
    '{"clicks-0":[0,100]}'
    >>> offsets_in_json({})
    Traceback (most recent call last):
    keylake.errors.DefinitionError: offsets names 0 sources. Name 1 to 10000.
    """
    if offsets is None:
        return None
    if not offsets or len(offsets) > _MOST_SOURCES:
        raise DefinitionError(f"offsets names {len(offsets)} sources. Name 1 to {_MOST_SOURCES}.")
    for source, (begin, end) in offsets.items():
        if not 1 <= len(source) <= _LONGEST_NAME:
            raise DefinitionError(
                f"offsets has a source of {len(source)} characters. Use a name of 1 to {_LONGEST_NAME} characters."
            )
        if not 0 <= begin <= end <= _LONG[-1]:
            raise DefinitionError(
                f"offsets has ({begin}, {end}) for source {source!r}. Give the first offset and the one after the "
                f"last, from 0 to {_LONG[-1]}."
            )
    return json.dumps(offsets, separators=(",", ":"))


_LONG = range(-(2**63), 2**63)
_GIVE_VERSION = "Give version= a column's name, one value for all rows, or a mapping {'column': 'its version'}."


@dataclass(frozen=True)
class Intention:
    """A verb with its words, as its caller said it."""

    verb: Verb
    version: Version | None = None
    columns_from: str | None = None
    op: str | None = None
    row_order: str | None = None
    retract: bool = False
    stream: str | None = None
    writer: str | None = None
    idempotency_key: str | None = None
    offsets: Mapping[str, tuple[int, int]] | None = None
    watermark: datetime.datetime | None = None
    business_time: BusinessTime | None = None
    require: tuple[str, ...] = ()  # conditions in SQL that each row has to satisfy
    on_failure: str = "raise"


def write(
    spec: TableSpec, path: TablePath, intention: Intention, columns: Sequence[str], write_id: str | None = None
) -> Write:
    """The write of rows with these columns, if the spec allows it; `write_id` is of one commit.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("user_id", pa.int64()), ("clicks", pa.int64())])
    >>> spec = TableSpec.from_arrow(schema, name="features.clicks", key="user_id", versions="explicit")
    >>> write(spec, TablePath("features.clicks"), Intention("update", version=7), ["user_id", "clicks"], "w1").options
    (('verb', 'update'), ('version_value', '7'), ('write_id', 'w1'))
    """
    carried = _Carried.of(spec, path, intention, columns)
    carried.check_columns()
    if not intention.retract:
        carried.check_groups()
    said = {
        "verb": intention.verb,
        **carried.version_options(),
        "columns_from": carried.columns_from,
        "op": carried.op,
        "row_order": intention.row_order,
        "retract": "true" if intention.retract else None,
        "stream": intention.stream,
        "writer": intention.writer,
        "idempotency_key": intention.idempotency_key,
        "offsets": offsets_in_json(intention.offsets),
        "write_id": write_id,
        "watermark": None if intention.watermark is None else zoned("watermark", intention.watermark).isoformat(),
        "business_time": _business_time(intention, path),
        **_requirement(intention, path),
    }
    return Write(path, tuple((name, value) for name, value in said.items() if value is not None))


def _requirement(intention: Intention, path: TablePath) -> dict[str, str]:
    if not intention.require:
        return {}
    if intention.retract:
        raise DefinitionError("require= looks at rows that are written, and retract=True takes contributions back.")
    if intention.on_failure == "quarantine" and path.branch is not None:
        raise DefinitionError(
            f"on_failure='quarantine' goes with writes to main, and this one goes to {path}. Check the branch when it "
            "is published: publish(require=[...])."
        )
    return {"require": json.dumps(intention.require), "on_failure": intention.on_failure}


def _business_time(intention: Intention, path: TablePath) -> str | None:
    if intention.business_time is None:
        return None
    if intention.verb == "overwrite" or path.branch is not None:
        raise DefinitionError(
            "business_time= goes with writes that add to main, not with overwrite or on a branch. Leave it out."
        )
    return utc_of(intention.business_time).isoformat()


@dataclass(frozen=True)
class _Carried:
    """The columns of the rows, matched to those of the table."""

    spec: TableSpec
    path: TablePath
    intention: Intention
    columns: tuple[str, ...]  # all columns of the rows, as they are written there
    known: tuple[str, ...]  # those of the table, as the table writes them

    @classmethod
    def of(cls, spec: TableSpec, path: TablePath, intention: Intention, columns: Sequence[str]) -> _Carried:
        seen: dict[str, str] = {}
        for name in columns:
            other = seen.get(name.lower())
            if other is not None:
                how = "stands twice in the rows" if other == name else f"and {name!r} differ only in case"
                raise SchemaMismatch(f"Column {other!r} {how}. Rename one of the two, or leave it out.")
            seen[name.lower()] = name
        known = tuple(name for name in spec.column_names if name.lower() in seen)
        return cls(spec, path, intention, tuple(columns), known)

    # ---------------------------------------------------------------------------------------------------- columns

    @property
    def columns_from(self) -> str | None:
        return self._extra("columns_from", self.intention.columns_from)

    @property
    def op(self) -> str | None:
        return self._extra("op", self.intention.op)

    @property
    def values(self) -> tuple[str, ...]:
        """The value columns that the rows carry."""
        return tuple(name for name in self.known if name not in self.spec.key)

    def check_columns(self) -> None:
        """The key, no column that nobody knows, and what the verb wants beside it."""
        spec, verb = self.spec, self.intention.verb
        missing = [name for name in spec.key if name not in self.known]
        if missing:
            raise SchemaMismatch(
                f"The rows lack {_listed(missing)} of the key of {self.path}, which is {_listed(spec.key)}. Add it."
            )
        table = {name.lower() for name in spec.column_names}
        for name in self.columns:
            if name.lower() not in table and name not in self._named_by_words():
                raise SchemaMismatch(f"{self.path} has no column {name!r}. {spec.hint(name)}")
        missing = [name for name in spec.column_names if name not in self.known]
        if verb in WHOLE_ROWS and missing:
            way = "Use update, which writes just the columns that the rows carry." if verb == "upsert" else "Add them."
            raise SchemaMismatch(
                f"{verb} writes every column of {self.path}, and the rows lack {_listed(missing)}. {way}"
            )
        named = {name.lower() for name in self._named_by_words()}
        more = [name for name in self.values if name != spec.ordering and name.lower() not in named]
        if verb == "delete" and more:
            wanted = [*spec.key, *([spec.ordering] if spec.ordering else [])]
            raise SchemaMismatch(
                f"delete takes {_listed(wanted)} only, and the rows carry {_listed(more)}. Leave them out."
            )

    def check_groups(self) -> None:
        """Refuse a part of the columns of a group: they are written together or not at all."""
        for group in self.spec.column_groups:
            missing = [name for name in group.columns if name not in self.known]
            if missing and len(missing) < len(group.columns):
                raise SchemaMismatch(
                    f"The columns of group {group.name!r} are written together, and the rows lack {_listed(missing)}. "
                    "Add them."
                )

    def _extra(self, word: str, name: str | None) -> str | None:
        """A column of the rows that is none of the table, as the rows write it."""
        check_type(word, name, str | None, "the name of a column of the rows")
        if name is None:
            return None
        if name.lower() in (known.lower() for known in self.spec.column_names):
            raise SchemaMismatch(
                f"{word}={name!r} is a column of {self.path} itself. Give that column of the rows another name."
            )
        return self._of_rows(word, name)

    def _of_rows(self, word: str, name: str) -> str:
        for column in self.columns:
            if column.lower() == name.lower():
                return column
        raise SchemaMismatch(
            f"{word} names the column {name!r}, which the rows do not have; they have {_listed(self.columns)}."
        )

    def _named_by_words(self) -> set[str]:
        version = self._said_version()
        names = {self.columns_from, self.op, self.intention.row_order}
        if isinstance(version, str):
            names.add(self._of_rows("version=", version))
        if isinstance(version, Mapping):
            names.update(self._of_rows("version=", name) for name in version.values())
        return {name for name in names if name is not None}

    # --------------------------------------------------------------------------------------------------- versions

    def version_options(self) -> dict[str, str]:
        """The options that say where the versions of the rows come from."""
        version = self._said_version()
        if self.spec.versions == "commit":
            if version is not None:
                raise self._no_place()
            return {}
        ordering = self.spec.ordering if self.spec.ordering in self.known else None
        if isinstance(version, Mapping):
            return self._versions_of_columns(version, ordering)
        if ordering is not None:
            if version is not None:
                raise VersionMissing(
                    f"The rows carry the ordering column {ordering!r}, which is their version, and version={version!r} "
                    "says another one. Leave one of the two out."
                )
            return {}
        if version is None:
            raise VersionMissing(self._no_version())
        return (
            {"version_value": str(version)}
            if isinstance(version, int)
            else {"version": self._of_rows("version=", version)}
        )

    def _said_version(self) -> str | int | Mapping[str, str] | None:
        """`version=` checked by itself; None, too, where it only says the ordering column again."""
        version = self.intention.version
        if not _is_version(version):
            raise VersionMissing(f"version={version!r} is no version. {_GIVE_VERSION}")
        if isinstance(version, datetime.date):
            return self._number_of(version)
        if isinstance(version, int) and version not in _LONG:
            raise BadRows(f"version={version} does not fit into 64 bits. Give a number from {_LONG[0]} to {_LONG[-1]}.")
        ordering = self.spec.ordering
        if isinstance(version, str) and ordering is not None and version.lower() == ordering.lower():
            return None
        return version

    def _number_of(self, time: datetime.date) -> int:
        """A date or time as the ordering column counts it."""
        if self.spec.versions == "commit":
            raise self._no_place()
        ordering = self.spec.ordering
        type_ = None if ordering is None else self.spec.column(ordering).type
        if isinstance(time, datetime.datetime):
            if isinstance(type_, TimestampType if time.tzinfo is None else TimestamptzType):
                return datetime_to_micros(time)
        elif isinstance(type_, DateType):
            return date_to_days(time)
        wanted = "a whole number" if ordering is None else f"a {type_}, as the ordering column {ordering!r} is"
        raise VersionMissing(f"version={time!r} is no version of {self.path}. Give {wanted}.")

    def _versions_of_columns(self, version: Mapping[str, str], ordering: str | None) -> dict[str, str]:
        if self.intention.verb == "delete":
            raise VersionMissing("A deleted row has one version. Give version= a column's name or an int.")
        of = {self._value_column(name): self._of_rows("version=", column) for name, column in version.items()}
        if self.spec.ordering in of:
            raise VersionMissing(
                f"The ordering column {self.spec.ordering!r} is its own version. Take it out of version=."
            )
        rest = [name for name in self.values if name not in of]
        if not of or (ordering is None and rest):
            raise VersionMissing(
                f"version= says nothing about {_listed(rest or self.spec.key)}. Name a version for each column."
            )
        for group in self.spec.column_groups:
            said = sorted({str(of.get(name)) for name in group.columns if name in self.known})
            if len(said) > 1:
                raise VersionMissing(
                    f"The columns of group {group.name!r} share one version, and version= gives them several. "
                    "Name the same for all."
                )
        return {f"version_of.{name}": column for name, column in of.items()}

    def _value_column(self, name: str) -> str:
        for known in self.values:
            if known.lower() == name.lower():
                return known
        if name.lower() in (key.lower() for key in self.spec.key):
            raise SchemaMismatch(f"version= names the key column {name!r}, which has no version. Take it out.")
        raise SchemaMismatch(
            f"version= names the column {name!r}, which the rows do not carry; they carry {_listed(self.values)}."
        )

    def _no_place(self) -> VersionMissing:
        return VersionMissing(
            f"{self.path} takes its versions from its commits, so version= has no place. "
            'To give versions of your own, create the table with versions="explicit".'
        )

    def _no_version(self) -> str:
        if self.spec.ordering is None:
            return f"{self.path} has explicit versions, and this write gives none. {_GIVE_VERSION}"
        return (
            f"The rows lack the ordering column {self.spec.ordering!r} of {self.path}, and so have no version. "
            "Add it, or give version= a column's name, or one value for all rows."
        )


def _is_version(version: object) -> bool:
    if isinstance(version, Mapping):
        return all(isinstance(name, str) for pair in version.items() for name in pair)
    return isinstance(version, str | int | datetime.date | None) and not isinstance(version, bool)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
