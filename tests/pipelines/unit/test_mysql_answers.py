"""Answers of the server: columns are made JSON as each of their values would be, wherever their lengths lead."""

import json
import os
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from keylake_pipelines.mysql.rows import snapshot_rows
from keylake_pipelines.mysql.values.literals import FROM_TEXT, column_literals, columns_in, row_literals

SEED = os.environ["KEYLAKE_SEED"]


def whole(chance: random.Random) -> bytes:
    return chance.choice(["0", "-1", "0042", "000", f"{chance.randint(-(2**63), 2**63 - 1)}"]).encode()


def exact(chance: random.Random) -> bytes:
    return chance.choice(["0", "0.50", "-12.5", "0012", "0012.50", f"{chance.randrange(2**64)}", "9" * 65]).encode()


def floating(chance: random.Random) -> bytes:
    value = chance.choice(
        [
            *(0.0, -0.0, 1.0, -7.0, 1e-4, 9.99e-5, 1e10, 9999999999.0, 9999999999.5, 5e-324, 1.7976931348623157e308),
            *(chance.uniform(-10, 10) * 10.0 ** chance.randrange(-8, 18), chance.randrange(10**12) / 1024),
        ]
    )
    return f"{value:.17g}".replace("e+", "e").encode()


def text(chance: random.Random) -> bytes:
    return chance.choice(
        ["", "Oslo", 'a "b"', "back\\slash", "\n\t\x00\x1f", "Ærø 日本 🙂", "\x7f", "x" * 251]
    ).encode()


def day(chance: random.Random) -> bytes:
    return chance.choice([b"0000-00-00", b"2026-00-01", b"2026-01-00", b"0001-01-01", b"9999-12-31", b"2000-10-20"])


def moment(chance: random.Random) -> bytes:
    return day(chance) + chance.choice([b" 00:00:00", b" 23:59:59.999999", b" 12:00:00.1"])


def some_bytes(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice([4, 5, 250, 251, 252, 300, 70_000]))


VALUES: dict[str, Callable[[random.Random], bytes]] = {
    "number": whole,
    "year": lambda chance: chance.choice([b"0000", b"1901", b"2155"]),
    "exact": exact,
    "float": floating,
    "double": floating,
    "boolean": lambda chance: chance.choice([b"\0", b"\1"]),
    "binary": some_bytes,
    "geometry": some_bytes,
    "text": text,
    "choice": text,
    "date": day,
    "datetime": moment,
    "timestamp": moment,
    "time": lambda chance: chance.choice([b"-838:59:59.5", b"00:00:00", b"12:34:56.000001"]),
}


@pytest.mark.parametrize("form", FROM_TEXT)
@pytest.mark.parametrize("nulls", [0, 0.3, 1])
def test_a_column_is_made_json_as_its_values_are(form: str, nulls: float) -> None:
    chance = random.Random(f"{SEED} {form}")
    values = [None if chance.random() < nulls else VALUES[form](chance) for _ in range(300)]
    expected = ["null" if value is None else FROM_TEXT[form](value) for value in values]
    assert column_literals(form, pa.array(values, pa.large_binary())).to_pylist() == expected
    plain = [value for value in values if value is not None][:1] * 3
    assert column_literals(form, pa.array(plain, pa.large_binary())).to_pylist() == [FROM_TEXT[form](v) for v in plain]


def with_length(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    for most, code, size in ((250, b"", 1), (2**16 - 1, b"\xfc", 2), (2**24 - 1, b"\xfd", 3)):
        if len(value) <= most:
            return code + len(value).to_bytes(size, "little") + value
    return b"\xfe" + len(value).to_bytes(8, "little") + value


@pytest.mark.parametrize("number", range(20))
def test_columns_are_taken_out_of_rows(number: int) -> None:
    chance = random.Random(f"{SEED} {number}")
    sizes = [0, 1, 250, 251, 252, 253, 254, 65_535, 65_536] + [2**24] * (number == 0)
    rows = [
        [None if chance.random() < 0.2 else chance.randbytes(1) * chance.choice(sizes) for _ in range(number % 5 + 1)]
        for _ in range(number % 7 * 3)
    ]
    found = columns_in([b"".join(map(with_length, row)) for row in rows], number % 5 + 1)
    assert [column.to_pylist() for column in found] == [[row[i] for row in rows] for i in range(number % 5 + 1)]


def test_rows_of_a_snapshot() -> None:
    rows = row_literals(
        ["id", 'a "{b}"'], [pa.array(["1", "2"], pa.large_string()), pa.array(['"x"', "null"], pa.large_string())]
    )
    assert rows.to_pylist() == ['{"id":1,"a \\"{b}\\"":"x"}', '{"id":2,"a \\"{b}\\"":null}']
    found = snapshot_rows("p", "shop.t", rows, 7, -3).to_pylist()
    assert json.loads(found[1].pop("row")) == {"id": 2, 'a "{b}"': None}
    expected = {"table": "shop.t", "op": "r", "version": 7, "partition": "p", "offset": -3, "at": None, "error": None}
    assert found[1] == expected
