"""The types of MariaDB and MySQL: the type of Iceberg that holds all of their values, and the form of a value.

Two descriptions of a column lead to the same form: its definition (`bigint(20) unsigned`, in the catalog or in a
statement), and what the log says of it before rows. A form says how a value becomes JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from keylake.errors import DefinitionError
from keylake_pipelines.mysql.words import Name
from keylake_pipelines.source.tables import SourceColumn

LARGEST_PRECISION = 38  # of Iceberg; MariaDB's decimals have up to 65 digits
_UNSIGNED_LONG = DecimalType(20, 0)


@dataclass(frozen=True)
class Form:
    """The form of a column: its type, and the name of the way from values to JSON."""

    type: IcebergType
    name: str


INTEGER = Form(IntegerType(), "number")
LONG = Form(LongType(), "number")
UNSIGNED_LONG = Form(_UNSIGNED_LONG, "exact")
FLOAT = Form(FloatType(), "float")
DOUBLE = Form(DoubleType(), "double")
BOOLEAN = Form(BooleanType(), "boolean")
BINARY = Form(BinaryType(), "binary")
TEXT = Form(StringType(), "text")
CHOICE = Form(StringType(), "choice")
DATE = Form(DateType(), "date")
DATETIME = Form(TimestampType(), "datetime")
TIMESTAMP = Form(TimestamptzType(), "timestamp")
TIME = Form(LongType(), "time")
YEAR = Form(IntegerType(), "year")
GEOMETRY = Form(BinaryType(), "geometry")

_SMALL = ("tinyint", "smallint", "mediumint", "int1", "int2", "int3", "middleint", "bool", "boolean")
_SIMPLE = {
    **dict.fromkeys(("float", "float4"), FLOAT),
    **dict.fromkeys(("double", "float8", "real"), DOUBLE),
    **dict.fromkeys(("enum", "set"), CHOICE),
    **dict.fromkeys(("char", "varchar", "character", "nchar", "nvarchar", "national", "json"), TEXT),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "long"), TEXT),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), BINARY),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint"), GEOMETRY),
    **dict.fromkeys(("multilinestring", "multipolygon", "geometrycollection", "geomcollection"), GEOMETRY),
    "date": DATE,
    "datetime": DATETIME,
    "timestamp": TIMESTAMP,
    "time": TIME,
    "year": YEAR,
}
_DECIMALS = ("decimal", "numeric", "dec", "fixed")
_PACKED = re.compile(r"\bcompressed\b")  # of MariaDB, which the log has as the server stores them
_BINARY_TEXT = re.compile(r"character set binary|charset binary|collate binary")


def decimal_form(precision: int, scale: int) -> Form:
    """Decimals of more digits than Iceberg's have are text."""
    return (
        Form(DecimalType(precision, scale), "exact") if precision <= LARGEST_PRECISION else Form(StringType(), "exact")
    )


def bit_form(bits: int) -> Form:
    """The form of BIT(n): a boolean of one bit, else bytes."""
    return BOOLEAN if bits == 1 else BINARY


def form_of(definition: str) -> Form | None:
    """The form of a column by its type in a definition, or None for a type that keylake does not know.

    >>> form_of("bigint(20) unsigned").type
    DecimalType(precision=20, scale=0)
    """
    text = definition.lower().strip()
    found = re.match(r"([a-z0-9_]+)\s*(?:\(([^)]*)\))?", text)
    if found is None:
        return None
    name, within = found[1], found[2]
    if _PACKED.search(text) and name not in ("enum", "set"):
        return None
    numbers = [int(each) for each in (within or "").split(",") if each.strip().isdigit()]
    form: Form | None
    if name in ("int", "integer", "int4"):
        form = LONG if "unsigned" in text or "zerofill" in text else INTEGER
    elif name in ("bigint", "int8"):
        form = UNSIGNED_LONG if "unsigned" in text or "zerofill" in text else LONG
    elif name == "serial":
        form = UNSIGNED_LONG
    elif name in _DECIMALS:
        form = decimal_form((numbers or [10])[0], numbers[1] if len(numbers) > 1 else 0)
    elif name == "float" and len(numbers) == 1 and numbers[0] > 24:
        form = DOUBLE
    elif name == "bit":
        form = bit_form((numbers or [1])[0])
    elif name in _SMALL:
        form = INTEGER
    else:
        form = _SIMPLE.get(name)
        if form is TEXT and (_BINARY_TEXT.search(text) or (name == "long" and "varbinary" in text)):
            form = BINARY
    return form


def plain_definition(definition: str) -> str:
    """A definition without what does not change values: the width in which whole numbers are shown."""
    if re.match(r"\s*(?:enum|set)\b", definition, re.IGNORECASE):
        return definition.strip()
    return re.sub(r"\b(\w*int|integer)\(\d+\)", r"\1", re.sub(r"\s+", " ", definition.lower().strip()))


def source_column(table: Name, name: str, definition: str, comment: str) -> SourceColumn:
    """A column of a definition; raises DefinitionError for a type that the log has in no form that is known."""
    form = form_of(definition)
    if form is None:
        raise DefinitionError(
            f"Column {name} of {'.'.join(table)} is {definition!r}, a type that cannot be read from the log."
            f" Leave the table out, or run: ALTER TABLE {'.'.join(table)} MODIFY {name} VARCHAR(50), or another type."
        )
    return SourceColumn(name, form.type, comment)
