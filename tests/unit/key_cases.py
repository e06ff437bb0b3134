"""Cases of keys as text."""

import datetime
import decimal
import uuid
from collections.abc import Callable

from pyiceberg.schema import Schema
from pyiceberg.types import IcebergType

READ: dict[str, Callable[[str], object]] = {
    "date": datetime.date.fromisoformat,
    "timestamp": datetime.datetime.fromisoformat,
    "timestamptz": datetime.datetime.fromisoformat,
    "decimal": decimal.Decimal,
    "binary": bytes.fromhex,
    "uuid": uuid.UUID,
}


def schema(types: list[str]) -> Schema:
    fields = [{"id": n, "name": f"k{n}", "required": True, "type": type_} for n, type_ in enumerate(types, start=1)]
    return Schema.model_validate({"type": "struct", "fields": fields})


def read(case: dict[str, list[str]]) -> tuple[list[IcebergType], list[object]]:
    values = [
        READ[type_.split("(")[0]](value) if type_.split("(")[0] in READ else value
        for type_, value in zip(case["types"], case["values"], strict=True)
    ]
    return [field.field_type for field in schema(case["types"]).fields], values
