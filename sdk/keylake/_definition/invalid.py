"""Rows and defaults of a class that pydantic refuses, and the sentence about them."""

from __future__ import annotations

from typing import Any

from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from keylake._definition.definition import hint
from keylake._values.misfit import shown
from keylake.errors import DefinitionError

READ = "read"  # the context in which rows of the table are checked


class NullWhenRead:
    """The check of an ordering column: null only in rows of the table, where partial updates alone wrote the row.

    JSON is checked without the function, which would get Python's values: text, where JSON has times as text.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        read = WrapValidator(self._read).__get_pydantic_core_schema__(source, handler)
        return {"type": "json-or-python", "json_schema": handler(source), "python_schema": read}

    @staticmethod
    def _read(value: object, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
        return None if value is None and info.context == READ else check(value)


def misfit_of(model: type[BaseModel], error: ValidationError) -> str:
    """The first thing that is wrong with a row of a class."""
    first = error.errors(include_url=False)[0]
    column = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"A row of {model.__name__} lacks {column!r}. Give it a value."
    if first["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in model.model_fields.items()]
        return f"{model.__name__} has no column {column!r}. {hint(column, known)}"
    why = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"Column {column!r} of {model.__name__} is {shown(first['input'])}: {why}."


def check_defaults(model: type[BaseModel]) -> None:
    """A default that does not fit its column is told where it is defined, and not with the first row."""
    for name, field in model.model_fields.items():
        if field.default is None or field.is_required():
            continue
        try:
            model.__pydantic_validator__.validate_assignment(model.model_construct(), name, field.default)
        except ValidationError as error:
            raise DefinitionError(f"A default does not fit: {misfit_of(model, error)}") from None
