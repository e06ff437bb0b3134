"""TableSpec: the definition of a keyed table, as Python, the server and the table itself know it.

    class or Arrow schema or Iceberg schema  ->  TableSpec  <->  JSON

It is frozen and always whole: defaults are filled in and every check has passed when one exists. Its JSON has two
forms. The *full* form goes to the server to create a table. The *property* form is the same without name, comment and
schema, which the Iceberg table keeps itself; it is the table property `keylake.spec`.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Required, TypedDict, Unpack, overload

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, NestedField, StructType

from keylake._definition import arrow_types, bucketing, definition, grouping
from keylake._definition.definition import Column, ColumnGroup, Versions
from keylake._definition.spec_json import FullForm, GroupForm, PropertyForm, parse, written
from keylake._definition.table_names import name_parts, table_name
from keylake._display.html_table import html_table
from keylake.errors import DefinitionError
from keylake.reducers import LATEST, Reducer
from keylake.reducers import from_json as reducer_from_json
from keylake.types import numbered

__all__ = ["DEFAULT_BUCKETS", "PROPERTY", "Column", "ColumnGroup", "TableSpec", "Versions"]

PROPERTY = "keylake.spec"
# Enough that the cores of one machine all work, few enough that a small table does not fall into crumbs.
DEFAULT_BUCKETS = 16
_HIDDEN_COLUMNS = ("_bucket", "_group", "_merge_info")

Names = str | Sequence[str]


class Definition(TypedDict, total=False):
    """The words that define a table, the same for every kind of schema."""

    name: Required[str]
    key: Required[Names]
    ordering: str | None  # the column whose value is a row's version
    buckets: int
    bucket_by: Names | None  # the whole key unless said
    versions: Versions | None  # "ordering" with an ordering column, else "commit", unless said
    reducers: Mapping[str, Reducer] | None  # Latest() unless said
    partition_by: Names
    column_groups: Mapping[str, Sequence[str]] | Sequence[ColumnGroup]
    groups: int | None  # of keys, as an online store has them; with a hash, see `keylake.grouping`
    hash: str | None
    comment: str


@dataclass(frozen=True)
class TableSpec:
    """The definition of one keyed table.

    >>> schema = pa.schema([("user_id", pa.int64()), ("day", pa.date32()), ("clicks", pa.int64())])
    >>> print(TableSpec.from_arrow(schema, name="features.user_profile", key=["user_id", "day"], buckets=64))
    features.user_profile
      key       user_id, day
      versions  commit
      buckets   64 by user_id, day
      user_id   long, key
      day       date, key
      clicks    long
    """

    name: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    versions: Versions
    ordering: str | None
    buckets: int
    bucket_by: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    column_groups: tuple[ColumnGroup, ...] = ()
    groups: int | None = None
    hash: str | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "key", "bucket_by", "partition_by", "column_groups"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        # One name has one spelling, the server's.
        object.__setattr__(self, "name", table_name(name_parts(self.name)))
        # JSON keeps groups by name, so their order means nothing.
        object.__setattr__(self, "column_groups", tuple(sorted(self.column_groups, key=lambda group: group.name)))
        definition.check_columns(self.columns)
        definition.check_key(self.columns, self.key)
        definition.check_versions(self.columns, self.key, self.versions, self.ordering)
        definition.check_buckets(self.key, self.buckets, self.bucket_by, self.partition_by)
        definition.check_groups(self.columns, self.key, self.ordering, self.column_groups)
        hashed = [self.column(name) for name in self.bucket_by]
        definition.check_key_groups(hashed, self.buckets, self.groups, self.hash)
        if not self.has_bucket_column:
            definition.check_partition_name(self.columns, f"{self.bucket_by[0]}_bucket")

    # ------------------------------------------------------------------------------------------------------- parts

    @property
    def column_names(self) -> tuple[str, ...]:
        """All columns, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns outside the key, the ordering column among them."""
        return tuple(name for name in self.column_names if name not in self.key)

    @property
    def has_bucket_column(self) -> bool:
        """Whether the bucket is the hidden column `_bucket`, rather than a bucket transform of one column."""
        return self.groups is not None or bucketing.is_hidden([self.column(name).type for name in self.bucket_by])

    def column(self, name: str) -> Column:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def hint(self, name: str) -> str:
        """What may have been meant by a column that is not there.

        >>> schema = pa.schema([("user_id", pa.int64())])
        >>> TableSpec.from_arrow(schema, name="features.seen", key="user_id").hint("userid")
        "Did you mean 'user_id'?"
        """
        return definition.hint(name, self.column_names)

    def bucket_of(self, *key: object) -> int:
        """The bucket in which a key lies; the values stand in the order of the key.

        >>> schema = pa.schema([("user_id", pa.int64())])
        >>> TableSpec.from_arrow(schema, name="features.seen", key="user_id", buckets=1000).bucket_of(34)
        379
        """
        if self.groups is not None:
            return self.group_of(*key) * self.buckets // self.groups
        return bucketing.bucket_of(*self._hashed(key), self.buckets)

    def group_of(self, *key: object) -> int:
        """The group into which a key falls, of a table with groups; the values stand in the order of the key.

        >>> schema = pa.schema([("user_id", pa.int64())])
        >>> spec = TableSpec.from_arrow(schema, name="a.b", key="user_id", buckets=64, groups=8192, hash="xxhash64")
        >>> spec.group_of(34), spec.bucket_of(34)
        (1005, 7)
        """
        if self.groups is None or self.hash is None:
            raise DefinitionError(f"Table {self.name} has no groups. Use bucket_of(), or define groups and hash.")
        return grouping.group_of(*self._hashed(key), self.groups, self.hash)

    def _hashed(self, key: tuple[object, ...]) -> tuple[list[IcebergType], list[object]]:
        of = dict(zip(self.key, key, strict=True))
        return [self.column(name).type for name in self.bucket_by], [of[name] for name in self.bucket_by]

    def differences(self, other: TableSpec) -> tuple[str, ...]:
        """What another table has otherwise, one sentence each; names of tables and texts about them do not count.

        >>> one = TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name="a.b", key="id", buckets=4)
        >>> one.differences(TableSpec.from_arrow(pa.schema([("id", pa.int32())]), name="a.b", key="id", buckets=8))
        ('column id: long here, int there', 'buckets: 4 here, 8 there')
        """
        mine, theirs = ({column.name: _stored_as(column) for column in spec.columns} for spec in (self, other))
        names = dict.fromkeys((*mine, *theirs))
        pairs = [(f"column {name}", mine.get(name, "missing"), theirs.get(name, "missing")) for name in names]
        parts = ("key", "versions", "ordering", "buckets", "bucket_by", "partition_by", "groups", "hash")
        pairs += [(part, _plain(getattr(self, part)), _plain(getattr(other, part))) for part in parts]
        groups = [str({group.name: sorted(group.columns) for group in spec.column_groups}) for spec in (self, other)]
        pairs.append(("column_groups", groups[0], groups[1]))
        return tuple(f"{part}: {here} here, {there} there" for part, here, there in pairs if here != there)

    # ------------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> str:
        """The full form.

        >>> spec = TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name="a.b", key="id")
        >>> TableSpec.from_json(spec.to_json()) == spec
        True
        """
        return written(FullForm(**self._form(), name=self.name, comment=self.comment, schema=self.iceberg_schema()))

    def property_json(self) -> str:
        """The property form: the value of the table property `keylake.spec`.

        >>> TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name="a.b", key="id").property_json()[:34]
        '{"bucket_by":["id"],"buckets":16,"'
        """
        return written(PropertyForm(**self._form()))

    @classmethod
    def from_json(cls, text: str | bytes) -> TableSpec:
        """The spec whose full form a text is."""
        form = parse(text, FullForm)
        return cls._from_form(form, form.schema_, form.name, form.comment)

    def _form(self) -> dict[str, Any]:
        return {
            "key": list(self.key),
            "versions": self.versions,
            "ordering": self.ordering,
            "buckets": self.buckets,
            "bucket_by": list(self.bucket_by),
            "partition_by": list(self.partition_by),
            "reducers": {c.name: c.reducer.to_json() for c in self.columns if c.reducer != LATEST},
            "column_groups": {g.name: GroupForm(columns=list(g.columns), doc=g.doc) for g in self.column_groups},
            "groups": self.groups,
            "hash": self.hash,
        }

    @classmethod
    def _from_form(cls, form: PropertyForm, schema: Schema, name: str, comment: str = "") -> TableSpec:
        named = {schema.find_column_name(id_) for id_ in schema.identifier_field_ids}
        if named and named != set(form.key):
            raise DefinitionError(
                f"The key is {', '.join(form.key)}, but the identifier fields of the schema are "
                f"{', '.join(sorted(map(str, named)))}. Make them the same."
            )
        fields = [field for field in schema.fields if field.name not in _HIDDEN_COLUMNS]
        columns = _columns(fields, {name: reducer_from_json(name, r) for name, r in form.reducers.items()}, None)
        return cls(
            name=name,
            comment=comment,
            columns=columns,
            key=tuple(form.key),
            versions=form.versions,
            ordering=form.ordering,
            buckets=form.buckets,
            bucket_by=tuple(form.bucket_by),
            partition_by=tuple(form.partition_by),
            column_groups=tuple(ColumnGroup(n, tuple(g.columns), g.doc) for n, g in form.column_groups.items()),
            groups=form.groups,
            hash=form.hash,
        )

    # ---------------------------------------------------------------------------------------------------- schemas

    @classmethod
    def from_arrow(cls, schema: pa.Schema, **definition: Unpack[Definition]) -> TableSpec:
        """The spec of a table with the columns of an Arrow schema, each as the Iceberg type that holds all its values.

        >>> schema = pa.schema([("user_id", pa.int64()), ("day", pa.date32()), ("tags", pa.list_(pa.string()))])
        >>> spec = TableSpec.from_arrow(schema, name="features.tags", key="user_id", ordering="day", buckets=4)
        >>> spec.versions, str(spec.column("tags").type)
        ('ordering', 'list<string>')
        """
        return cls._defined([_arrow_field(field) for field in schema], **definition)

    @overload
    @classmethod
    def from_iceberg(cls, schema: Schema, *, name: str, spec: str | bytes, comment: str = "") -> TableSpec: ...

    @overload
    @classmethod
    def from_iceberg(cls, schema: Schema, **definition: Unpack[Definition]) -> TableSpec: ...

    @classmethod
    def from_iceberg(cls, schema: Schema, *, spec: str | bytes | None = None, **definition: Any) -> TableSpec:
        """The spec of a table with the columns of an Iceberg schema.

        With `spec`, the value of the table property `keylake.spec`, it is the spec of an existing table, whose hidden
        columns are left out. Otherwise the words are those of `Definition`.

        >>> from pyiceberg.types import LongType
        >>> schema = Schema(NestedField(1, "user_id", LongType(), required=True))
        >>> spec = TableSpec.from_iceberg(schema, name="features.seen", key="user_id")
        >>> TableSpec.from_iceberg(schema, name="features.seen", spec=spec.property_json()) == spec
        True
        """
        if spec is None:
            return cls._defined(schema.fields, **definition)
        return cls._from_form(parse(spec, PropertyForm), schema, **definition)

    def iceberg_schema(self) -> Schema:
        """The user's columns as an Iceberg schema, with ids in Iceberg's order and the key as identifier fields."""
        fields = [NestedField(0, c.name, c.type, required=c.required, doc=c.doc or None) for c in self.columns]
        struct = numbered(StructType(*fields))
        assert isinstance(struct, StructType)
        ids = {field.name: field.field_id for field in struct.fields}
        return Schema(*struct.fields, identifier_field_ids=[ids[name] for name in self.key])

    def arrow_schema(self) -> pa.Schema:
        """The user's columns as an Arrow schema, types said exactly; `from_arrow` gives the same columns again."""
        return pa.schema([arrow_types.natural_field(c.name, c.type, c.required, c.doc) for c in self.columns])

    @classmethod
    def _defined(
        cls,
        fields: Iterable[NestedField],
        *,
        name: str,
        key: Names,
        ordering: str | None = None,
        buckets: int = DEFAULT_BUCKETS,
        bucket_by: Names | None = None,
        versions: Versions | None = None,
        reducers: Mapping[str, Reducer] | None = None,
        partition_by: Names = (),
        column_groups: Mapping[str, Sequence[str]] | Sequence[ColumnGroup] = (),
        groups: int | None = None,
        hash: str | None = None,  # noqa: A002 - the word of the spec
        comment: str = "",
    ) -> TableSpec:
        keys = names_of(key)
        if isinstance(column_groups, Mapping):
            column_groups = [ColumnGroup(group, names_of(columns)) for group, columns in column_groups.items()]
        return cls(
            name=name,
            comment=comment,
            columns=_columns(fields, reducers or {}, keys),
            key=keys,
            versions=versions or ("ordering" if ordering is not None else "commit"),
            ordering=ordering,
            buckets=buckets,
            bucket_by=keys if bucket_by is None else names_of(bucket_by),
            partition_by=names_of(partition_by),
            column_groups=tuple(column_groups),
            groups=groups,
            hash=hash,
        )

    # ------------------------------------------------------------------------------------------------------- display

    def __str__(self) -> str:
        rows = [("key", ", ".join(self.key)), ("versions", self._versions_text())]
        rows.append(("buckets", f"{self.buckets} by {', '.join(self.bucket_by)}"))
        if self.groups is not None:
            rows.append(("groups", f"{self.groups} by {self.hash}"))
        if self.partition_by:
            rows.append(("partitions", ", ".join(self.partition_by)))
        rows += [(column.name, self._column_text(column)) for column in self.columns]
        width = max(len(label) for label, _ in rows)
        title = f"{self.name}: {self.comment.splitlines()[0]}" if self.comment.strip() else self.name
        return "\n".join([title, *(f"  {label:{width}}  {text}" for label, text in rows)])

    def _repr_html_(self) -> str:
        title = f"{self.name}: {self._versions_text()}, {self.buckets} buckets by {', '.join(self.bucket_by)}"
        rows = [(column.name, self._column_text(column), column.doc) for column in self.columns]
        return html_table(title, ("column", "type", "doc"), rows)

    def _versions_text(self) -> str:
        return self.versions if self.ordering is None else f"ordering column {self.ordering}"

    def _column_text(self, column: Column) -> str:
        group = next((group.name for group in self.column_groups if column.name in group.columns), None)
        role = "key" if column.name in self.key else f"group {group}" if group else None
        reducer = None if column.reducer == LATEST else column.reducer.type
        return ", ".join(part for part in (str(column.type), role, reducer) if part)


def names_of(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _arrow_field(field: pa.Field) -> NestedField:
    type_ = arrow_types.from_arrow(field.type, f"Column {field.name!r}")
    return NestedField(0, field.name, type_, required=False, doc=arrow_types.doc_of(field) or None)


def _columns(
    fields: Iterable[NestedField], reducers: Mapping[str, Reducer], key: Sequence[str] | None
) -> tuple[Column, ...]:
    """The columns of a schema; with a key, nullability follows from it, whatever the schema says."""
    columns: list[Column] = []
    for field in fields:
        required = field.required if key is None else field.name in key
        reducer = reducers.get(field.name, LATEST)
        columns.append(Column(field.name, field.field_type, required, field.doc or "", reducer))
    definition.check_reducers(columns, reducers)
    return tuple(columns)


def _stored_as(column: Column) -> str:
    reducer = "" if column.reducer == LATEST else f", {column.reducer.type}"
    return f"{column.type}{reducer}"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
