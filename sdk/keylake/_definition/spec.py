"""TableSpec: the definition of a keyed table, as Python, the server and the table itself know it.

    class or Arrow schema or Iceberg schema  ->  TableSpec  <->  JSON

It is frozen and always whole: defaults are filled in and every check has passed when one exists. Its JSON has two
forms. The *full* form goes to the server to create a table. The *property* form is the same without name, comment and
schema, which the Iceberg table keeps itself; it is the table property `keylake.spec`.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType, NestedField, StructType
from typing_extensions import Unpack

from keylake._definition import bucketing, definition, grouping
from keylake._definition.columns import Column, ColumnGroup, Versions, columns_of, spelled
from keylake._definition.source import python_source
from keylake._definition.spec_json import PLAIN_MEMBERS, FullForm, GroupForm, PropertyForm, parse, written
from keylake._definition.table_names import name_parts, table_name
from keylake._definition.words import DEFAULT_BUCKETS, Definition, Names, check_words, names_of
from keylake._display.html_table import html_table, in_notebook
from keylake._values import arrow_types
from keylake._values.objects import fitted_value
from keylake.errors import DefinitionError, SchemaMismatch, check_type
from keylake.reducers import LATEST, Reducer
from keylake.reducers import from_json as reducer_from_json
from keylake.types import numbered

__all__ = ["Column", "ColumnGroup", "Names", "TableSpec", "Versions", "names_of"]

_HIDDEN_COLUMNS = ("_bucket", "_group", "_merge_info")


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
        check_words({field.name: getattr(self, field.name) for field in fields(self) if field.name != "columns"})
        object.__setattr__(self, "columns", columns_of(self.columns))
        for name in ("key", "bucket_by", "partition_by"):
            object.__setattr__(self, name, spelled(self.columns, names_of(getattr(self, name))))
        if self.ordering is not None:
            object.__setattr__(self, "ordering", spelled(self.columns, (self.ordering,))[0])
        # One name has one spelling, the server's.
        object.__setattr__(self, "name", table_name(name_parts(self.name)))
        # JSON keeps groups by name, so their order means nothing.
        groups = [replace(group, columns=spelled(self.columns, group.columns)) for group in self.column_groups]
        object.__setattr__(self, "column_groups", tuple(sorted(groups, key=lambda group: group.name)))
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
        """The bucket is the hidden column `_bucket`, rather than a bucket transform of one column."""
        return self.groups is not None or bucketing.is_hidden([self.column(name).type for name in self.bucket_by])

    def column(self, name: str) -> Column:
        """The column of that name."""
        check_type("The name of a column", name, str, "text")
        column = self._columns_by_name.get(name)
        if column is None:
            raise SchemaMismatch(f"{self.name} has no column {name!r}. {self.hint(name)}")
        return column

    @cached_property
    def _columns_by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    def hint(self, name: str) -> str:
        """The column that may have been meant by a name that is not there, as a question, or else all columns.

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

    def fitted_key(self, *key: object) -> tuple[object, ...]:
        """The values of a key as the table holds them; one that does not fit its column is refused.

        >>> schema = pa.schema([("user_id", pa.uuid())])
        >>> spec = TableSpec.from_arrow(schema, name="features.seen", key="user_id")
        >>> spec.fitted_key("00000000-0000-0000-0000-000000000007")
        (UUID('00000000-0000-0000-0000-000000000007'),)
        """
        if len(key) != len(self.key):
            raise DefinitionError(f"The key of {self.name} is {', '.join(self.key)}, and {len(key)} values were given.")
        return tuple(
            fitted_value(name, self.column(name).type, value) for name, value in zip(self.key, key, strict=True)
        )

    def _hashed(self, key: tuple[object, ...]) -> tuple[list[IcebergType], list[object]]:
        of = dict(zip(self.key, self.fitted_key(*key), strict=True))
        return [self.column(name).type for name in self.bucket_by], [of[name] for name in self.bucket_by]

    def differences(self, other: TableSpec) -> tuple[str, ...]:
        """The differences of another table, one sentence each; names of tables and texts about them do not count.

        >>> one = TableSpec.from_arrow(pa.schema([("id", pa.int64())]), name="a.b", key="id", buckets=4)
        >>> one.differences(TableSpec.from_arrow(pa.schema([("id", pa.int32())]), name="a.b", key="id", buckets=8))
        ('column id: long here, int there', 'buckets: 4 here, 8 there')
        """
        check_type("other", other, TableSpec, "another TableSpec")
        mine, theirs = ({column.name: _stored_as(column) for column in spec.columns} for spec in (self, other))
        names = dict.fromkeys((*mine, *theirs))
        pairs = [(f"column {name}", mine.get(name, "missing"), theirs.get(name, "missing")) for name in names]
        pairs += [(part, _plain(getattr(self, part)), _plain(getattr(other, part))) for part in PLAIN_MEMBERS]
        groups = [str({group.name: sorted(group.columns) for group in spec.column_groups}) for spec in (self, other)]
        pairs.append(("column_groups", groups[0], groups[1]))
        return tuple(f"{part}: {here} here, {there} there" for part, here, there in pairs if here != there)

    # ----------------------------------------------------------------------------------------------- Python and JSON

    def to_python(self) -> str:
        """The class of the table as Python source; the class that it makes has an equal definition.

        The columns of a group come in the order of the table. A name that no attribute can have is said by `name=`.

        >>> schema = pa.schema([("user id", pa.int64()), ("day", pa.date32()), ("clicks", pa.int32())])
        >>> spec = TableSpec.from_arrow(schema, name="a.clicks_of_day", key=["user id", "day"], bucket_by="user id")
        >>> print(spec.to_python())
        import keylake as kl
        <BLANKLINE>
        <BLANKLINE>
        class ClicksOfDay(kl.Table, name="a.clicks_of_day", bucket_by="user id"):
            user_id: int = kl.key(name="user id")
            day: kl.Date = kl.key()
            clicks: kl.Int32 | None = kl.column()
        <BLANKLINE>
        """
        words: Any = {name: getattr(self, name) for name in ("name", "comment", *PLAIN_MEMBERS)}
        return python_source(self.columns, self.column_groups, words)

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
        check_type("The text of a spec", text, str | bytes, "JSON, as to_json() gives it")
        form = parse(text, FullForm)
        return cls._from_form(form, form.schema_, form.name, form.comment)

    def _form(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in PLAIN_MEMBERS}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()} | {
            "reducers": {c.name: c.reducer.to_json() for c in self.columns if c.reducer != LATEST},
            "column_groups": {g.name: GroupForm(columns=list(g.columns), doc=g.doc) for g in self.column_groups},
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
        reducers = {name: reducer_from_json(name, each) for name, each in form.reducers.items()}
        columns = tuple(_column(field, reducers.get(field.name, LATEST)) for field in fields)
        definition.check_reducers(columns, reducers)
        return cls(
            name=name,
            comment=comment,
            columns=columns,
            column_groups=tuple(ColumnGroup(n, tuple(g.columns), g.doc) for n, g in form.column_groups.items()),
            **{name: getattr(form, name) for name in PLAIN_MEMBERS},
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
        check_type("schema", schema, pa.Schema, "a pyarrow.Schema")
        return cls.of([_column(_arrow_field(field)) for field in schema], **definition)

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
        check_type("schema", schema, Schema, "a pyiceberg Schema")
        if spec is None:
            return cls.of(map(_column, schema.fields), **definition)
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
    def of(cls, columns: Iterable[Column], **words: Unpack[Definition]) -> TableSpec:
        """The spec of a table with these columns: those of the key are required, the others are not.

        >>> from pyiceberg.types import LongType
        >>> TableSpec.of([Column("user_id", LongType())], name="features.seen", key="user_id").versions
        'commit'
        """
        check_words(words)
        for word in ("name", "key"):
            if word not in words:
                raise DefinitionError(f"The definition has no {word}. Add {word}=.")
        key, ordering, groups = names_of(words["key"]), words.get("ordering"), words.get("column_groups", ())
        if isinstance(groups, Mapping):
            groups = [ColumnGroup(group, names_of(names)) for group, names in groups.items()]
        columns = columns_of(columns)
        named = {each.name: each for each in columns}
        key = spelled(columns, key)
        given_reducers = words.get("reducers") or {}
        reducers = dict(zip(spelled(columns, given_reducers), given_reducers.values(), strict=True))
        definition.check_reducers(columns, given_reducers)
        named |= {name: replace(named[name], reducer=reducer) for name, reducer in reducers.items()}
        given: dict[str, Any] = {
            "buckets": DEFAULT_BUCKETS,
            "comment": "",
            "ordering": None,
            **{word: value for word, value in words.items() if word != "reducers"},
            "columns": tuple(replace(named[each.name], required=each.name in key) for each in columns),
            "key": key,
            "versions": words.get("versions") or ("commit" if ordering is None else "ordering"),
            "bucket_by": key if words.get("bucket_by") is None else words.get("bucket_by"),
            "column_groups": tuple(groups),
        }
        return cls(**given)

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
        return self._html(self.name)

    def _html(self, name: str) -> str:
        """The columns, under the name of what has them: the table, or a branch of it."""
        title = f"{name}: {self._versions_text()}, {self.buckets} buckets by {', '.join(self.bucket_by)}"
        rows = [(column.name, self._column_text(column), column.doc) for column in self.columns]
        return in_notebook(html_table(title, ("column", "type", "doc"), rows))

    def _versions_text(self) -> str:
        return self.versions if self.ordering is None else f"ordering column {self.ordering}"

    def _column_text(self, column: Column) -> str:
        group = next((group.name for group in self.column_groups if column.name in group.columns), None)
        role = "key" if column.name in self.key else f"group {group}" if group else None
        reducer = None if column.reducer == LATEST else column.reducer.text
        return ", ".join(part for part in (str(column.type), role, reducer) if part)


def _arrow_field(field: pa.Field) -> NestedField:
    type_ = arrow_types.from_arrow(field.type, f"Column {field.name!r}")
    return NestedField(0, field.name, type_, required=False, doc=arrow_types.doc_of(field) or None)


def _column(field: NestedField, reducer: Reducer = LATEST) -> Column:
    return Column(field.name, field.field_type, field.required, field.doc or "", reducer)


def _stored_as(column: Column) -> str:
    reducer = "" if column.reducer == LATEST else f", {column.reducer.text}"
    return f"{column.type}{reducer}"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
