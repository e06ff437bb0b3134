"""The JSON of a TableSpec: which keys there are, and of which type their values.

Only the shape is checked here, and strictly: a spec of a newer version, a key that is not known, or a value of another
type is refused, because guessing would read a table wrongly. What the values mean is checked where definitions are.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pyiceberg.exceptions import ValidationError as IcebergValidationError
from pyiceberg.schema import Schema

from keylake._definition.columns import Versions
from keylake.errors import DefinitionError

SPEC_VERSION = 1


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class GroupForm(_Form):
    """A column group: `{"columns": ["clicks", "last_page"], "doc": "..."}`."""

    columns: list[str]
    doc: str = ""


def _later() -> Any:
    """A member that came after the first version: left out where it says nothing, so older versions read the spec."""
    return Field(default=None, exclude_if=lambda value: value is None)


class PropertyForm(_Form):
    """The value of the table property `keylake.spec`."""

    spec_version: Literal[1] = 1
    key: list[str]
    versions: Versions
    ordering: str | None = None
    buckets: int
    bucket_by: list[str]
    partition_by: list[str] = Field(default_factory=list)
    reducers: dict[str, dict[str, object]] = Field(default_factory=dict)
    column_groups: dict[str, GroupForm] = Field(default_factory=dict)
    groups: int | None = _later()
    hash: str | None = _later()


# The members that are in the form what they are in a TableSpec.
PLAIN_MEMBERS = tuple(
    name for name in PropertyForm.model_fields if name not in ("spec_version", "reducers", "column_groups")
)


def _schema(value: object) -> object:
    try:
        return value if isinstance(value, Schema) else Schema.model_validate(value)
    except KeyError as error:  # pyiceberg takes lists apart by itself
        lacking = str(error.args[0]).removesuffix("_type")
        raise DefinitionError(
            f"The schema in the spec cannot be read: a type has no {lacking!r}. Use the types of Iceberg v2."
        ) from None


class FullForm(PropertyForm):
    """The property form with what Iceberg keeps itself: what `system.create_table` takes."""

    name: str
    comment: str = ""
    schema_: Annotated[Schema, BeforeValidator(_schema)] = Field(alias="schema")


_AnyForm = TypeVar("_AnyForm", PropertyForm, FullForm)


def parse(text: str | bytes, form: type[_AnyForm]) -> _AnyForm:
    """The form that a text holds.

    >>> parse('{"spec_version": 2}', PropertyForm)
    Traceback (most recent call last):
    keylake.errors.DefinitionError: The spec has spec_version 2, which is newer than 1, the newest that this version \
reads. Upgrade keylake.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise DefinitionError(f"The spec is no JSON: {error}. Write it with TableSpec.to_json().") from None
    except RecursionError:
        raise DefinitionError(
            "The spec has lists or objects that are too deep. Write it with TableSpec.to_json()."
        ) from None
    if not isinstance(value, dict):
        raise DefinitionError("The spec is no JSON object. Write it with TableSpec.to_json().")
    version: object = value.get("spec_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise DefinitionError(f"The spec has spec_version {version!r}. Write it with TableSpec.to_json().")
    if version > SPEC_VERSION:
        raise DefinitionError(
            f"The spec has spec_version {version}, which is newer than {SPEC_VERSION}, "
            "the newest that this version reads. Upgrade keylake."
        )
    try:
        return form.model_validate(value)
    except ValidationError as error:
        raise DefinitionError(_sentence(error)) from None
    except (IcebergValidationError, ValueError) as error:
        raise DefinitionError(f"The schema in the spec cannot be read: {error}. Use the types of Iceberg v2.") from None


def written(form: PropertyForm) -> str:
    """The text of a form: keys sorted, no spaces, so that equal specs are equal texts.

    >>> written(PropertyForm(key=["id"], versions="commit", buckets=4, bucket_by=["id"]))[:57]
    '{"bucket_by":["id"],"buckets":4,"column_groups":{},"key":'
    """
    value = form.model_dump(mode="json", exclude={"schema_"})
    if isinstance(form, FullForm):
        value["schema"] = json.loads(form.schema_.model_dump_json())  # its own JSON leaves out what is not said
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DefinitionError(f"The spec has the key {twice!r} twice. Keep one.")
    return value


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    *path, last = [str(step) for step in first["loc"]] or ["spec"]
    where = f" in {'.'.join(path)}" if path else ""
    if first["type"] == "extra_forbidden":
        return f"The spec has the key {last!r}{where}, which this version does not know. Upgrade keylake."
    if first["type"] == "missing":
        return f"The spec lacks the key {last!r}{where}. Write it with TableSpec.to_json()."
    told = first["msg"].removeprefix("Value error, ").removesuffix(".")
    return f"The spec has {first['input']!r} as {last!r}{where}: {told}. Write it with TableSpec.to_json()."
