"""Keys of tables as bounds of chunks, and the offsets of snapshots, from which keys are found again.

A restarted snapshot is told one number of where it was, and has to find the key again from it, without its rows.
The offset of a table whose key is one whole number is that number. Else it holds a number of the first column of the
key that grows with the key (whole numbers, decimals without their fraction, times to the minute, the first five bytes
of the weights of texts in their collation), and behind it the count of the chunks that ended at the same number. Keys
that share the number are read again after a restart: they have versions, so that changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keylake.extension import quoted
from keylake_pipelines.mysql.values.forms import Form

BEGIN = -(2**63)
DONE = 2**63 - 1
_WEIGHT_BYTES = 5
_COUNT_BITS = 22
_FARTHEST = 2**40  # numbers beyond share one
_UNSIGNED = 2**63
_DATE, _MINUTE = 8, 12  # digits


@dataclass(frozen=True)
class KeyColumn:
    """A column of a key: how it is compared, and how it becomes a number."""

    name: str
    form: Form
    definition: str
    collation: str = ""

    @property
    def by_number(self) -> bool:
        """Choices and bits are in the order of their numbers."""
        return self.definition.lower().startswith(("enum", "set", "bit"))

    @property
    def sql(self) -> str:
        return f"({quoted(self.name)} + 0)" if self.by_number else quoted(self.name)

    def value(self, text: Any) -> object:
        """A value of the server's answer as one to compare with."""
        if self.by_number or self.form.name in ("number", "year"):
            return int(text)
        return Decimal(text) if self.form.name == "exact" else text

    @property
    def weight(self) -> str | None:
        """The number of the column as SQL, where it is not made from its value here."""
        if self.by_number or self.form.name not in ("text", "binary", "choice"):
            return None
        # Collations that pad compare as if spaces followed; the others, and bytes, have nothing behind their end.
        padded = self.form.name == "text" and "nopad" not in self.collation and "0900" not in self.collation
        column = f"WEIGHT_STRING({quoted(self.name)} AS CHAR(8))" if padded else f"WEIGHT_STRING({quoted(self.name)})"
        return f"CONV(RPAD(HEX(LEFT({column}, {_WEIGHT_BYTES})), {2 * _WEIGHT_BYTES}, '0'), 16, 10)"

    def number(self, value: object) -> int:
        """A number that grows with the value, of columns whose number is not made by the server."""
        if isinstance(value, int):
            return max(-_FARTHEST, min(_FARTHEST, value))
        if isinstance(value, Decimal):
            return max(-_FARTHEST, min(_FARTHEST, int(value.to_integral_value("ROUND_FLOOR"))))
        if self.form.name in ("date", "datetime", "timestamp"):
            return int(re.sub(r"\D", "", str(value))[: _DATE if self.form.name == "date" else _MINUTE])
        return 0

    def from_number(self, number: int) -> object | None:
        """A value at or before all that have a number or a larger one; None: all have to be read."""
        if self.by_number or self.form.name in ("number", "year", "exact"):
            return number if abs(number) < _FARTHEST else _FARTHEST if number > 0 else None
        if self.form.name == "date":
            digits = str(number).zfill(_DATE)
            return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
        if self.form.name in ("datetime", "timestamp"):
            digits = str(number).zfill(_MINUTE)
            return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {digits[8:10]}:{digits[10:]}:00"
        return None


@dataclass(frozen=True)
class Offsets:
    """The offsets of a snapshot over a key."""

    key: Sequence[KeyColumn]

    @property
    def exact(self) -> bool:
        """The key is one whole number, and so its own offset."""
        return len(self.key) == 1 and (self.key[0].form.name == "number" or self._shift > 0)

    @property
    def _shift(self) -> int:
        return _UNSIGNED if self.key[0].definition.lower().startswith(("bigint", "serial")) and self._unsigned else 0

    @property
    def _unsigned(self) -> bool:
        return self.key[0].form.name == "exact"

    @property
    def sql(self) -> str:
        """The expression that a chunk reads beside its columns, to know the offset of its end."""
        return self.key[0].weight or self.key[0].sql

    def after(self, offset: int, last: Any) -> int:
        """The offset behind a chunk that began at an offset and whose last row has this value of `sql`."""
        first = self.key[0]
        if self.exact:
            return int(last) - self._shift
        number = int(last) if first.weight else first.number(first.value(last))
        fresh = number << _COUNT_BITS
        return fresh if fresh > offset else offset + 1

    def first_value(self, offset: int) -> tuple[object | None, int | None]:
        """The value of the first column from which on to read at an offset, or the weight that it has at least."""
        if offset == BEGIN:
            return None, None
        if self.exact:
            return offset + self._shift, None
        number = offset >> _COUNT_BITS
        return (None, number) if self.key[0].weight else (self.key[0].from_number(number), None)


def after(key: Sequence[KeyColumn], values: Sequence[object]) -> tuple[str, list[object]]:
    """The condition that a row stands behind a key."""
    return _beyond(key, values, ">")


def up_to(key: Sequence[KeyColumn], values: Sequence[object]) -> tuple[str, list[object]]:
    """The condition that a row stands before a key, or has it."""
    condition, used = _beyond(key, values, "<")
    same = " AND ".join(f"{column.sql} = %s" for column in key)
    # The first column once more, alone: the server finds the range of an index by it.
    return f"({key[0].sql} <= %s AND ({condition} OR ({same})))", [values[0], *used, *values]


def _beyond(key: Sequence[KeyColumn], values: Sequence[object], sign: str) -> tuple[str, list[object]]:
    parts: list[str] = []
    used: list[object] = []
    for i, column in enumerate(key):
        same = [f"{each.sql} = %s" for each in key[:i]]
        parts.append("(" + " AND ".join([*same, f"{column.sql} {sign} %s"]) + ")")
        used.extend([*values[:i], values[i]])
    return "(" + " OR ".join(parts) + ")", used
