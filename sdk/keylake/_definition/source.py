"""The class of a table as Python source, which gives an equal definition when it runs.

column  ->  a line of the class: attribute, annotation, role
struct  ->  a pydantic model above the class, for its annotation
the rest of the definition  ->  words beside the name of the class
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from keylake._definition.attributes import attributes_of, class_name_of
from keylake._definition.columns import Column, ColumnGroup
from keylake._definition.models import VERBS, Model
from keylake._definition.table_names import name_parts
from keylake._definition.words import DEFAULT_BUCKETS, Definition, names_of
from keylake.reducers import LATEST, Reducer

_ANNOTATIONS: dict[type[IcebergType], str] = {
    BooleanType: "bool",
    IntegerType: "kl.Int32",
    LongType: "int",
    FloatType: "kl.Float32",
    DoubleType: "float",
    DateType: "kl.Date",
    TimeType: "kl.Time",
    TimestampType: "kl.Timestamp",
    TimestamptzType: "kl.Timestamptz",
    StringType: "str",
    BinaryType: "bytes",
    UUIDType: "kl.UUID",
}
_NESTED: tuple[type[IcebergType], ...] = (DecimalType, FixedType, ListType, MapType, StructType)
_ICEBERG = (*(each.__name__ for each in _ANNOTATIONS), *(each.__name__ for each in _NESTED), "NestedField")
# A class finds the names of its annotations among its attributes first.
_WORDS = frozenset(
    (
        "kl",
        "bool",
        "int",
        "float",
        "str",
        "bytes",
        "list",
        "dict",
        "Annotated",
        "Decimal",
        "BaseModel",
        "Field",
        "Stored",
    )
)
_WIDEST = 120


def python_source(columns: Sequence[Column], groups: Sequence[ColumnGroup], words: Definition) -> str:
    """The class of a table with these columns; the words are the others of its definition, all of them said."""
    return _Source(columns, groups, words).text()


class _Source:
    """The source of one class, and of the models of structs above it."""

    def __init__(self, columns: Sequence[Column], groups: Sequence[ColumnGroup], words: Definition) -> None:
        self._columns = columns
        self._groups = groups
        self._words = words
        self._models: list[str] = []
        self._taken = {name for column in columns for name in (column.name, *_names_inside(column.type))}
        self._taken |= _WORDS | {group.name for group in groups}
        self._classes: set[str] = set()

    def text(self) -> str:
        annotations = {column.name: self._annotation(column.type, column.name) for column in self._columns}
        attributes = attributes_of([column.name for column in self._columns], self._is_taken)
        taken = frozenset(attributes.values())
        groups = attributes_of(
            [group.name for group in self._groups], lambda name: name in taken or self._is_taken(name)
        )
        body: list[str] = []
        for group in self._groups:
            said = [repr_of(group.doc)] if group.doc else []
            said += [f"name={repr_of(group.name)}"] if groups[group.name] != group.name else []
            body.append(f"{groups[group.name]} = kl.group({', '.join(said)})")
        for column in self._columns:
            role, said = self._role(column, groups)
            said += [f"name={repr_of(column.name)}"] if attributes[column.name] != column.name else []
            annotation = annotations[column.name] + (" | None" if role == "column" else "")
            body.append(f"{attributes[column.name]}: {annotation} = kl.{role}({', '.join(said)})")
        table = [*self._head(), *(f"    {line}" for line in body)]
        parts = [*self._models, "\n".join(table)]
        return "\n\n\n".join(["\n".join(_imports("\n".join(parts))), *parts]) + "\n"

    def _head(self) -> Iterator[str]:
        """The line with the name of the class and the words beside it, and the text about the table."""
        words, comment = dict(_said(self._columns, self._words)), self._words.get("comment", "")
        text = _docstring(comment)
        if comment and text is None:
            words["comment"] = repr_of(comment)
        said = [f"{word}={value}" for word, value in words.items()]
        name = self._class_name(name_parts(self._words["name"])[-1])
        line = f"class {name}(kl.Table, {', '.join(said)}):"
        if len(line) > _WIDEST:
            line = "\n".join([f"class {name}(", "    kl.Table,", *(f"    {each}," for each in said), "):"])
        yield line
        if comment and text is not None:
            yield f"    {text}"
            yield ""

    def _role(self, column: Column, groups: Mapping[str, str]) -> tuple[str, list[str]]:
        value = "ordering" if column.name == self._words.get("ordering") else "column"
        role = "key" if column.required else value
        said = [f"reduce={repr_of(column.reducer)}"] if column.reducer != LATEST else []
        said += [f"group={groups[each.name]}" for each in self._groups if column.name in each.columns]
        return role, said + ([f"doc={repr_of(column.doc)}"] if column.doc else [])

    def _annotation(self, type_: IcebergType, name: str) -> str:
        """The annotation of a type; what no annotation says of the values inside is said beside it."""
        text = self._plain(type_, name)
        return text if _is_said(type_) else f"Annotated[{text}, Stored({_iceberg(type_)})]"

    def _plain(self, type_: IcebergType, name: str) -> str:
        if isinstance(type_, DecimalType):
            return f"Annotated[Decimal, kl.Decimal({type_.precision}, {type_.scale})]"
        if isinstance(type_, FixedType):
            return f"Annotated[bytes, kl.Fixed({len(type_)})]"
        if isinstance(type_, ListType):
            return f"list[{self._inner(type_.element_type, name, type_.element_required)}]"
        if isinstance(type_, MapType):
            key = self._plain(type_.key_type, name)
            return f"dict[{key}, {self._inner(type_.value_type, name, type_.value_required)}]"
        if isinstance(type_, StructType):
            return self._model(type_, name)
        return _ANNOTATIONS[type(type_)]

    def _inner(self, type_: IcebergType, name: str, required: bool) -> str:
        return self._plain(type_, name) + ("" if required else " | None")

    def _model(self, struct: StructType, name: str) -> str:
        """The name of the model of a struct, whose source is put above all that needs it."""
        annotations = [self._inner(field.field_type, field.name, field.required) for field in struct.fields]
        attributes = attributes_of([field.name for field in struct.fields], self._is_taken)
        options = ["strict=True", 'extra="forbid"']
        if any(attribute != field for field, attribute in attributes.items()):
            options += ["validate_by_name=True", "validate_by_alias=True"]
        if any(attribute.startswith("model_") for attribute in attributes.values()):
            options.append("protected_namespaces=()")
        class_name = self._class_name(name)
        lines = [f"class {class_name}(BaseModel, {', '.join(options)}):"]
        for field, annotation in zip(struct.fields, annotations, strict=True):
            attribute = attributes[field.name]
            default = "" if field.required else " = None"
            if attribute != field.name:
                default = f" = Field({'...' if field.required else 'None'}, alias={repr_of(field.name)})"
            lines.append(f"    {attribute}: {annotation}{default}")
        self._models.append("\n".join(lines))
        return class_name

    def _class_name(self, name: str) -> str:
        found = class_name_of(name)
        while found in self._taken or found in self._classes:
            found += "_"
        self._classes.add(found)
        return found

    def _is_taken(self, attribute: str) -> bool:
        return attribute in _WORDS or attribute in self._classes or attribute in VERBS or hasattr(Model, attribute)


def repr_of(value: object) -> str:
    """A value as source has it: text, names, numbers and reducers.

    >>> from keylake.reducers import Collect
    >>> print(repr_of("it is 5"), repr_of(("a", "b")), repr_of(Collect(limit=3)))
    "it is 5" ["a", "b"] kl.Collect(limit=3)
    """
    if isinstance(value, Reducer):
        options = ((field, getattr(value, field.name)) for field in fields(value))
        given = [f"{field.name}={repr_of(option)}" for field, option in options if option != field.default]
        return f"kl.{value.type}({', '.join(given)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{repr_of(name)}: {repr_of(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(repr_of, value))}]"
    text = repr(value)
    return f'"{text[1:-1]}"' if text.startswith("'") and '"' not in text else text


def _said(columns: Iterable[Column], words: Definition) -> Iterator[tuple[str, str]]:
    """The words of a definition that differ from what a class has without them."""
    key, bucket_by = names_of(words["key"]), names_of(words.get("bucket_by"))
    yield "name", repr_of(words["name"])
    if words.get("buckets") != DEFAULT_BUCKETS:
        yield "buckets", repr_of(words.get("buckets"))
    if bucket_by != key:
        yield "bucket_by", _names(bucket_by)
    if words.get("versions") == "explicit":
        yield "versions", repr_of("explicit")
    if words.get("partition_by"):
        yield "partition_by", _names(names_of(words.get("partition_by")))
    for word in ("groups", "hash"):
        if words.get(word) is not None:
            yield word, repr_of(words.get(word))
    if key != tuple(column.name for column in columns if column.required):
        yield "key", repr_of(key)


def _names(names: Sequence[str]) -> str:
    return repr_of(names[0]) if len(names) == 1 else repr_of(names)


def _docstring(comment: str) -> str | None:
    """A text as the docstring of a class; None where a docstring would say another one."""
    text = "\n    ".join(comment.splitlines()).replace("\n    \n", "\n\n")
    text += "\n    " if "\n" in text else ""
    is_plain = comment.replace("\n", "").isprintable() and '"""' not in text and "\\" not in text
    is_kept = is_plain and not text.endswith('"') and inspect.cleandoc(text) == comment
    return f'"""{text}"""' if is_kept else None


def _is_said(type_: IcebergType) -> bool:
    """The annotation says the whole type: nothing inside is required or has a text about it."""
    if isinstance(type_, ListType):
        return not type_.element_required and _is_said(type_.element_type)
    if isinstance(type_, MapType):
        return not type_.value_required and _is_said(type_.key_type) and _is_said(type_.value_type)
    if isinstance(type_, StructType):
        return all(not field.required and not field.doc and _is_said(field.field_type) for field in type_.fields)
    return True


def _iceberg(type_: IcebergType) -> str:
    """The expression that makes a type; ids mean nothing."""
    if isinstance(type_, ListType):
        return f"ListType(0, {_iceberg(type_.element_type)}, {type_.element_required})"
    if isinstance(type_, MapType):
        key, value = _iceberg(type_.key_type), _iceberg(type_.value_type)
        return f"MapType(0, {key}, 0, {value}, {type_.value_required})"
    if not isinstance(type_, StructType):
        return repr(type_)
    nested: list[str] = []
    for field in type_.fields:
        doc = f", doc={repr_of(field.doc)}" if field.doc else ""
        parts = f"{repr_of(field.name)}, {_iceberg(field.field_type)}, required={field.required}"
        nested.append(f"NestedField(0, {parts}{doc})")
    return f"StructType({', '.join(nested)})"


def _names_inside(type_: IcebergType) -> Iterator[str]:
    """The names of all members of structs in a type."""
    if isinstance(type_, ListType):
        yield from _names_inside(type_.element_type)
    elif isinstance(type_, MapType):
        yield from _names_inside(type_.key_type)
        yield from _names_inside(type_.value_type)
    elif isinstance(type_, StructType):
        for field in type_.fields:
            yield field.name
            yield from _names_inside(field.field_type)


def _imports(source: str) -> Iterator[str]:
    """The imports that a source needs, in the order that a formatter gives them."""
    named = set(re.findall(r"\w+", source))
    standard = {"Decimal": "from decimal import Decimal", "Annotated": "from typing import Annotated"}
    first = [line for name, line in standard.items() if name in named]
    yield from first
    if first:
        yield ""
    pydantic = [name for name in ("BaseModel", "Field") if re.search(rf"\b{name}[(,]", source)]
    types = sorted(name for name in _ICEBERG if re.search(rf"\b{name}\(", source)) if "Stored" in named else []
    if pydantic:
        yield f"from pydantic import {', '.join(pydantic)}"
    if types:
        yield f"from pyiceberg.types import {', '.join(types)}"
    if pydantic or types:
        yield ""
    yield "import keylake as kl"
    if types:
        yield "from keylake.types import Stored"
