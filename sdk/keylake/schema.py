"""Tables as classes: a pydantic model whose instances are rows, and whose class is a TableSpec.

    class UserProfile(Table, name="features.user_profile"):
        user_id: Int64 = key()              annotation           -> type of the column
        clicks: Int64 | None = column()     what it is set to    -> role of the column

Validation is strict, as the table is: no text becomes a number, no number loses its fraction. Texts that stand for
what JSON has no form of are taken, so a class can be the body of a request: times, dates and uuids in their ISO form,
bytes in base64, members of an Enum by their values.
"""

# pyright: reportUnknownParameterType=false
# Arrow's own types stand in signatures, and Arrow carries no types for a checker.

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ForwardRef, Literal, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pyiceberg.types import StructType
from typing_extensions import Self, Unpack, dataclass_transform

from keylake._definition.attributes import attributes_of, class_name_of
from keylake._definition.columns import Column, ColumnGroup, check_reducer
from keylake._definition.definition import hint
from keylake._definition.invalid import READ, NullWhenRead, check_defaults, misfit_of
from keylake._definition.models import NAME, Model
from keylake._definition.spec import TableSpec
from keylake._definition.table_names import name_parts
from keylake._definition.words import Definition, TableWords, Texts, check_words, names_of
from keylake._rows.intention import Intention, Version
from keylake._rows.rows import Rows, arrow_schema_of, checked_rows
from keylake._values.read import is_read_as_it_is, python_value
from keylake.errors import BadRows, DefinitionError, SchemaMismatch, check_type
from keylake.reducers import LATEST, Reducer
from keylake.types import annotation_of, checked, named, type_of, without_none

if TYPE_CHECKING:
    from keylake._frames.pandera_schema import FrameKind


class Group:
    """Columns that are always written together and share one version; made by `group()`, named by its attribute."""

    def __init__(self, doc: str, name: str = "") -> None:
        self.doc = doc
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __repr__(self) -> str:
        return f"group({self.doc!r})"


@dataclass(frozen=True)
class _Role:
    """The role of a column. It travels in pydantic's field as its hook for JSON schemas, and leaves those alone."""

    kind: str
    doc: str = ""
    reducer: Reducer = LATEST
    group: Group | None = None

    def __call__(self, schema: dict[str, Any]) -> None:
        """Adds nothing to a JSON schema."""


def key(*, doc: str = "", name: str | None = None) -> Any:
    """A key column. Several make a compound key, in the order in which they stand.

    `name` is the column's name where the attribute cannot have it, here and in `ordering` and `column`.

    >>> class Seen(Table, name="features.seen"):
    ...     user_id: int = key(doc="Who.")
    >>> Seen.table_spec().key
    ('user_id',)
    """
    return _field(_Role("key", doc), name, ...)


def ordering(*, doc: str = "", name: str | None = None) -> Any:
    """The ordering column: its value is the version of the row that carries it.

    >>> class Seen(Table, name="features.seen"):
    ...     user_id: int = key()
    ...     at_micros: int = ordering(doc="The newest wins.")
    >>> Seen.table_spec().ordering
    'at_micros'
    """
    return _field(_Role("ordering", doc), name, ...)


def column(*, reduce: Reducer = LATEST, group: Group | None = None, doc: str = "", name: str | None = None) -> Any:
    """A value column. Its annotation is `X | None`, because a partial update may not carry it.

    >>> from keylake.reducers import LatestNotNull
    >>> class Seen(Table, name="features.seen"):
    ...     user_id: int = key()
    ...     page: str | None = column(reduce=LatestNotNull())
    >>> Seen.table_spec().column("page").reducer
    LatestNotNull()
    """
    check_reducer("a column", reduce)
    check_type("group", group, Group | None, "what kl.group() returns: behaviour = group('...')")
    return _field(_Role("column", doc, reduce, group), name, None)


def group(doc: str = "", *, name: str | None = None) -> Group:
    """Columns that are always written together and may therefore share one version.

    `name` is the group's name where the attribute cannot have it.

    >>> class Seen(Table, name="features.seen"):
    ...     user_id: int = key()
    ...     behaviour = group("Written by the click stream.")
    ...     clicks: int | None = column(group=behaviour)
    ...     page: str | None = column(group=behaviour)
    >>> Seen.table_spec().column_groups
    (ColumnGroup(name='behaviour', columns=('clicks', 'page'), doc='Written by the click stream.'),)
    """
    check_type("name", name, str | None, "the name of the group")
    return Group(doc, name or "")


def _field(role: _Role, name: str | None, default: Any) -> Any:
    check_type("doc", role.doc, str, "text about the column")
    check_type("name", name, str | None, "the name of the column")
    return Field(default, alias=name, json_schema_extra=role)


_STRICT = ConfigDict(
    strict=True,
    extra="forbid",
    defer_build=True,  # built once, when each annotation has been looked at
    validate_assignment=True,
    validate_by_name=True,
    validate_by_alias=True,
    ignored_types=(Group,),
    protected_namespaces=(),
    ser_json_bytes="base64",
    val_json_bytes="base64",
)


class _TableOfClass(TableWords, total=False):
    """The options of a table that a class says: those of every table, and two that its body says otherwise."""

    key: Annotated[Texts, "the key columns in the order of the key"]  # default: the order in which they stand
    comment: Annotated[str, "text"]  # default: the docstring


class _ClassWords(_TableOfClass, ConfigDict, total=False):
    """The words beside the name of a class: the options of the table, and pydantic's own, which pydantic takes."""


class _NamedTable(_TableOfClass, total=False):
    """The words that keylake takes beside the name of a class."""

    name: Annotated[str, "text such as 'namespace.table'"]


AnyTable = TypeVar("AnyTable", bound="Table")


@dataclass_transform(kw_only_default=True, field_specifiers=(key, ordering, Field))
class Table(Model):
    """A keyed table as a class; its instances are validated rows.

    >>> class UserProfile(Table, name="features.user_profile", buckets=64):
    ...     \"\"\"Behaviour of one user in one week.\"\"\"
    ...
    ...     user_id: int = key()
    ...     week: int = key()
    ...     spend: float | None = column(doc="Yuan since Monday.")
    >>> UserProfile(user_id=7, week=2955)
    UserProfile(user_id=7, week=2955, spend=None)
    >>> print(UserProfile.table_spec())
    features.user_profile: Behaviour of one user in one week.
      key       user_id, week
      versions  commit
      buckets   64 by user_id, week
      user_id   long, key
      week      long, key
      spend     double
    """

    model_config = _STRICT
    _keylake_spec: ClassVar[TableSpec | None] = None
    _keylake_words: ClassVar[Mapping[str, Any]] = {}  # what stands beside the name of the class

    def __init__(self, **values: Any) -> None:
        """A row with these values; `BadRows` tells what does not fit. pydantic's own methods raise its own errors."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
            try:
                super().__init__(**plain)  # with numbers of numpy as those of Python
            except ValidationError:
                raise BadRows(misfit_of(type(self), error)) from None

    # pydantic calls an __init__ that is not its own wherever it makes a row, and forgets the context of validation.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            raise BadRows(misfit_of(type(self), error)) from None

    def __init_subclass__(cls, *, name: str | None = None, **words: Unpack[_ClassWords]) -> None:
        super().__init_subclass__()
        cls._keylake_spec = None
        given: dict[str, Any] = {**words} if name is None else {"name": name, **words}
        if NAME in given:
            given["name"] = name = given.pop(NAME)
        check_words(given, _NamedTable, "A class of a table")
        if given and name is None:
            raise DefinitionError(
                f"Class {cls.__name__} has {', '.join(given)}, which belongs to a table, and names none. "
                f"Say class {cls.__name__}(keylake.Table, name='namespace.table', ...)."
            )
        cls._keylake_words = given

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        _make_strict(cls)
        if cls._keylake_words:
            cls._keylake_spec = _spec_of(cls, cls._keylake_words)
        try:
            cls.model_rebuild(force=True)
        except PydanticUserError as error:
            raise DefinitionError(f"Class {cls.__name__} cannot be checked by pydantic: {error.message}") from None
        check_defaults(cls)

    @classmethod
    def table_spec(cls) -> TableSpec:
        """The definition of the table."""
        if cls._keylake_spec is None:
            raise DefinitionError(
                f"Class {cls.__name__} names no table. Say class {cls.__name__}(keylake.Table, name='namespace.table')."
            )
        return cls._keylake_spec

    @classmethod
    def from_row(cls, values: Mapping[str, object]) -> Self:
        """A row read from the table: values by column name, as Arrow or Spark give them.

        >>> class Seen(Table, name="features.seen"):
        ...     user_id: int = key()
        ...     counts: dict[str, int] | None = column()
        >>> Seen.from_row({"user_id": 7, "counts": [("a", 1)]})
        Seen(user_id=7, counts={'a': 1})
        """
        return cls.from_rows([values])[0]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, object]]) -> list[Self]:
        """Rows read from the table, each as `from_row` takes it."""
        read, spec = [dict(row) for row in rows], cls.table_spec()
        for name in read[0] if read else ():
            spec.column(name)
        types = {each.name: each.type for each in spec.columns if not is_read_as_it_is(each.type)}
        plain = (row | {n: python_value(types[n], row[n]) for n in types if n in row} if types else row for row in read)
        try:
            return [cls.model_validate(row, context=READ) for row in plain]
        except ValidationError as error:
            raise SchemaMismatch(f"{misfit_of(cls, error)} The table has such a row; open it by its name.") from None

    @classmethod
    def validate(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, rows: Rows, *, verb: Literal["upsert", "update", "delete"] = "upsert", version: Version | None = None
    ) -> pa.Table:
        """The rows as a write of them sends them, as an Arrow table; they are checked as the write does.

        Rows are a pandas or polars frame, an Arrow table, or dicts or rows of the class. `verb` is the write that is
        meant, and `version` what it says where the rows have no ordering column. No server is asked; a table may have
        columns that were added since, and a reducer in Java checks its contributions on the server.

        Raises `BadRows` for a value that does not fit its column, `SchemaMismatch` for a column that is missing or
        unknown, and `VersionMissing` for rows without versions.

        >>> class Seen(Table, name="features.seen"):
        ...     user_id: int = key()
        ...     clicks: int | None = column()
        >>> Seen.validate([{"user_id": 7, "clicks": 3}]).to_pylist()
        [{'user_id': 7, 'clicks': 3}]
        >>> Seen.validate([{"user_id": 7, "clicks": "3"}])
        Traceback (most recent call last):
        keylake.errors.BadRows: Column 'clicks', row 0: '3' (string) does not fit long: text is not parsed. \
Convert the values, or give the column another type.
        """
        if verb not in ("upsert", "update", "delete"):
            raise DefinitionError(f"verb is {verb!r}. Use 'upsert', 'update' or 'delete'.")
        return checked_rows(rows, cls.table_spec(), Intention(verb, version=version))

    @classmethod
    def to_pandera(cls, frame: FrameKind = "pandas") -> Any:
        """The table as a schema of pandera, a `DataFrameSchema` for frames of pandas or of polars; needs pandera.

        It checks frames as `to_pandas()` and `to_polars()` give them: exactly the columns of the table with their
        types, no null in the key, and each key once. Times with a zone may have any zone. The type is not checked of
        uuids and fixed bytes, which have two forms in reads, nor of maps in polars.

        Raises `DefinitionError` for another frame, and `Unsupported` without pandera or the library of the frame.

        Example::

            Profile.to_pandera("polars").validate(profiles.to_polars())
        """
        from keylake._frames.pandera_schema import pandera_schema

        return pandera_schema(cls.table_spec(), frame)

    @classmethod
    def to_dataframely(cls) -> Any:
        """The table as a class of dataframely, a `Schema` for frames of polars; needs dataframely.

        The key is its primary key, and all other columns may be null. Times with a zone are in UTC, uuids are text, and
        the type of a map is not checked.

        Raises `Unsupported` without dataframely.

        Example::

            Profile.to_dataframely().validate(frame)
        """
        from keylake._frames.dataframely_schema import dataframely_schema

        return dataframely_schema(cls.table_spec())

    @staticmethod
    def from_frame(frame: Rows, **definition: Unpack[Definition]) -> type[Table]:
        """The class of a table with the columns of a frame, as `lake.create(frame, ...)` finds them; no row is written.

        The frame is of Spark, pandas or polars, an Arrow table, or a list of dicts. `name=`, `key=` and the other words
        of a definition say the rest.

        Raises `DefinitionError` for a definition that cannot be, and `BadRows` for rows without columns.

        >>> Seen = Table.from_frame([{"user_id": 7, "clicks": 3}], name="features.seen", key="user_id")
        >>> Seen(user_id=7)
        Seen(user_id=7, clicks=None)
        """
        return model_of(TableSpec.from_arrow(arrow_schema_of(frame), **definition))

    def __getitem__(self, column: str) -> Any:
        """The value of a column, whatever its name.

        >>> class Seen(Table, name="features.seen"):
        ...     user_id: int = key(name="user id")
        >>> Seen(user_id=7)["user id"]
        7
        """
        attribute = type(self).attributes().get(column)
        if attribute is None:
            raise SchemaMismatch(
                f"{type(self).__name__} has no column {column!r}. {hint(column, list(type(self).attributes()))}"
            )
        return getattr(self, attribute)


def _make_strict(model: type[Table]) -> None:
    """Gives plain annotations the checks of their column types, and value columns their default."""
    names_of_table = frozenset(dir(Table))
    for name, field in model.model_fields.items():
        if not model.__pydantic_fields_complete__ and isinstance(field.annotation, str | ForwardRef):
            raise DefinitionError(
                f"Column {name!r} has an annotation that cannot be found where class {model.__name__} stands: "
                f"{field.annotation}. Import its names at the top of the module, not under TYPE_CHECKING."
            )
        annotation = checked(annotation_of(field))
        role = _role(field)
        field.metadata = [NullWhenRead()] if role.kind == "ordering" else []
        field.annotation = annotation
        # To pydantic, a method of the name of a column is its default.
        if role.kind == "column" and (field.is_required() or (name in names_of_table and callable(field.default))):
            field.default = None


def _role(field: FieldInfo) -> _Role:
    role = field.json_schema_extra
    return role if isinstance(role, _Role) else _Role("column", field.description or "")


def _spec_of(model: type[Table], words: Mapping[str, Any]) -> TableSpec:
    roles = {field.alias or name: _role(field) for name, field in model.model_fields.items()}
    keys = tuple(name for name, role in roles.items() if role.kind == "key")
    orderings = [name for name, role in roles.items() if role.kind == "ordering"]
    if len(orderings) > 1:
        raise DefinitionError(
            f"Columns {' and '.join(map(repr, orderings))} are both ordering(), but versions come from one. Keep one."
        )
    said: dict[str, Any] = {"comment": inspect.cleandoc(model.__dict__.get("__doc__") or ""), "key": keys, **words}
    if set(names_of(said["key"])) != set(keys):
        raise DefinitionError(
            f"key is {said['key']!r} beside the name of class {model.__name__}, and its columns with key() are "
            f"{', '.join(map(repr, keys)) or 'none'}. Name each of them once, or leave key= out."
        )
    return TableSpec.of(
        [_column(field.alias or name, field) for name, field in model.model_fields.items()],
        ordering=orderings[0] if orderings else None,
        column_groups=_column_groups(model, roles),
        **said,
    )


def _column(name: str, field: FieldInfo) -> Column:
    role = _role(field)
    annotation, optional = without_none(annotation_of(field))
    if role.kind == "key" and optional:
        raise DefinitionError(f"Key column {name!r} may be None, but a key is never null. Take `| None` away.")
    if role.kind == "column" and not optional:
        raise DefinitionError(
            f"Column {name!r} is never None, but a partial update may not carry it. "
            "Write its type as `X | None`, or make it part of the key with = key()."
        )
    return Column(name, type_of(annotation, f"Column {name!r}"), role.kind == "key", role.doc, role.reducer)


def _column_groups(model: type[Table], roles: Mapping[str, _Role]) -> tuple[ColumnGroup, ...]:
    declared = {id(each): each for parent in model.__mro__ for each in vars(parent).values() if isinstance(each, Group)}
    for name, role in roles.items():
        if role.group is not None and id(role.group) not in declared:
            raise DefinitionError(
                f"Column {name!r} is in a group that class {model.__name__} does not have. "
                "Declare it there: behaviour = group('...')."
            )
    members = {each: tuple(name for name, role in roles.items() if role.group is each) for each in declared.values()}
    return tuple(ColumnGroup(each.name, columns, each.doc) for each, columns in members.items())


# ------------------------------------------------------------------------------------------------ from spec to class


def model_of(spec: TableSpec, parent: type[Table] = Table) -> type[Table]:
    """The class of a table that is known by its spec only, as when it is opened by name.

    A column whose name no attribute can have gets one like it; `row["the name"]` finds it, too.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("user id", pa.int64()), ("clicks", pa.int32())])
    >>> model = model_of(TableSpec.from_arrow(schema, name="features.user_clicks", key="user id"))
    >>> model(user_id=7)
    UserClicks(user_id=7, clicks=None)
    """
    known = parent.attributes()
    new = [each for each in spec.columns if each.name not in known]
    attributes = attributes_of([each.name for each in new], partial(_is_taken, parent))
    fields: dict[str, Any] = {}
    for each in new:
        role = key if each.name in spec.key else ordering if each.name == spec.ordering else column
        annotation = named(each.type, _struct_model)
        attribute = attributes[each.name]
        field = role(doc=each.doc, name=None if attribute == each.name else each.name)
        fields[attribute] = (annotation | None if role is column else annotation, field)
    title = class_name_of(name_parts(spec.name)[-1]) if parent is Table else parent.__name__
    model = create_model(title, __base__=parent, __doc__=spec.comment, **fields)
    model._keylake_spec = spec  # pyright: ignore[reportPrivateUsage]
    return model


def importable(model: type[AnyTable]) -> type[AnyTable] | None:
    """The class, if its module has it by its name; None for one that was made of a spec, or in a function.

    >>> importable(Table) is Table, importable(type("Made", (Table,), {}))
    (True, None)
    """
    found: object = sys.modules.get(model.__module__)
    for name in model.__qualname__.split("."):
        found = getattr(found, name, None)
    return model if found is model else None


def _struct_model(struct: StructType) -> type[BaseModel]:
    attributes = attributes_of([field.name for field in struct.fields], partial(_is_taken, BaseModel))
    fields: dict[str, Any] = {}
    for each in struct.fields:
        annotation = named(each.field_type, _struct_model)
        attribute = attributes[each.name]
        default = ... if each.required else None
        field = Field(default, alias=None if attribute == each.name else each.name)
        fields[attribute] = (annotation if each.required else annotation | None, field)
    return create_model("Struct", __config__=_STRICT, **fields)


def _is_taken(parent: type[BaseModel], name: str) -> bool:
    return hasattr(parent, name) or name in parent.model_fields
