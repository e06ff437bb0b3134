"""The format of messages of topics, as a value.

| format | a message is | its table | its key |
|---|---|---|---|
| `debezium-json`, `debezium-avro` | a changed row | names in `source` | the columns of the message's key |
| `canal-json` | changed rows of one statement | `database.table` | `pkNames` |
| `maxwell-json` | a changed row | `database.table` | `primary_key_columns`, or as the message's key |
| `json`, `avro` | a row, or without a value a delete | the topic | declared, or the columns of the message's key |
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from keylake.errors import DefinitionError

FORMATS = ("debezium-json", "canal-json", "maxwell-json", "json", "avro", "debezium-avro")
CHANGES_OF_A_MESSAGE = 4096  # the version of a change is the offset times this, and its place in the message
_EVERY_TABLE = "*"


@dataclass(frozen=True)
class MessageFormat:
    """The format of messages, and what they do not say themselves.

    `key` has the columns of the key of every table, or those of each table by its name. `version` is the path of a
    field with a whole number that grows with each change of a key, such as `source.lsn`; without it, the offset is the
    version. `placeholder` is what Debezium writes in place of values that were not logged, unless it is its usual text;
    `hex:` before digits for one of bytes. Avro is read by one `schema`, or by `schemas` with their numbers, where messages begin with a number, as
    those of a schema registry do; `key_schema` is that of the messages' keys.

    >>> MessageFormat("json", key=("id",)).as_json(infers=False)
    '{"format": "json", "infers": false, "keys": {"*": ["id"]}}'
    >>> MessageFormat("debezium")
    Traceback (most recent call last):
    keylake.errors.DefinitionError: There is no format 'debezium'. Use debezium-json, canal-json, maxwell-json, json, avro, debezium-avro.
    """  # noqa: E501

    name: str
    key: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    version: str | None = None
    placeholder: str | None = None
    schema: str | None = None
    key_schema: str | None = None
    schemas: Mapping[int, str] = field(default_factory=dict[int, str])

    def __post_init__(self) -> None:
        if self.name not in FORMATS:
            raise DefinitionError(f"There is no format {self.name!r}. Use {', '.join(FORMATS)}.")
        is_avro = self.name.endswith("avro")
        if is_avro and self.schema is None and not self.schemas:
            raise DefinitionError(
                f"Format {self.name!r} has no schema. Give schema=, or schemas={{1: '...'}} by their numbers."
            )
        if not is_avro and (self.schema or self.key_schema or self.schemas):
            raise DefinitionError(f"Format {self.name!r} takes no schemas of Avro. Use avro or debezium-avro.")
        if self.schema is not None and self.schemas:
            raise DefinitionError("Both schema= and schemas= are given. Give schemas= if messages begin with a number.")
        if self.placeholder is not None and not _is_placeholder(self.placeholder):
            raise DefinitionError(
                f"The placeholder {self.placeholder!r} is not hexadecimal behind hex:. Write two digits for each byte."
            )
        for schema in (self.schema, self.key_schema, *self.schemas.values()):
            _check_schema(schema)
        if self.version is not None and not all(self.version.split(".")):
            raise DefinitionError(f"version={self.version!r} is no path of a field. Write one such as 'source.lsn'.")

    def as_json(self, *, infers: bool) -> str:
        """The format as the server reads it; `infers`: rows tell of the columns of their tables."""
        keys = self.key if isinstance(self.key, Mapping) else {_EVERY_TABLE: self.key} if self.key else {}
        said: dict[str, object] = {"format": self.name, "infers": infers}
        if keys:
            said["keys"] = {table: list(key) for table, key in keys.items()}
        if self.version is not None:
            said["version"] = self.version.split(".")
        if self.placeholder is not None:
            said["placeholder"] = self.placeholder
        if self.schema is not None:
            said["schema"] = self.schema
        if self.key_schema is not None:
            said["key_schema"] = self.key_schema
        if self.schemas:
            said["schemas"] = {str(number): text for number, text in self.schemas.items()}
        return json.dumps(said)


def _is_placeholder(text: str) -> bool:
    return not text.startswith("hex:") or re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text[len("hex:") :]) is not None


def _check_schema(schema: str | None) -> None:
    if schema is None:
        return
    try:
        json.loads(schema)
    except ValueError as error:
        raise DefinitionError(
            f"A schema of Avro is no JSON ({error}): {schema[:60]!r}. Give the text of an .avsc file."
        ) from None
