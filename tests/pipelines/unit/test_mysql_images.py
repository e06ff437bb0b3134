"""Images of rows in the log: what is read of them is what was written, whatever is null, absent or not wanted."""

import base64
import json
import os
import random
import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone

import pytest
from pymysqlreplication.constants import FIELD_TYPE as KIND

from keylake_pipelines.mysql.maps import RowsEvent, TableMap
from keylake_pipelines.mysql.rows import Rows
from keylake_pipelines.mysql.values.images import LoggedColumn, columns_in, rows_reader, values_reader

Make = Callable[[random.Random], tuple[bytes, object]]  # a value as the log has it, and as JSON has it

SEED = os.environ["KEYLAKE_SEED"]
WORDS = ("", "Oslo", "Ærøskøbing", 'a "b"\\\n\t\x01', "{id}", "日本 🙂", "x" * 300)
NAMES = ("id", "n", 'a "b"', "{c}", "it's", "{{d}}", "\\N{DASH}", "größe", "c0", "at", "$v", "%s", "日本")


def integer(size: int, *, unsigned: bool = False) -> Make:
    least, most = (0, 256**size - 1) if unsigned else (-(256**size) // 2, 256**size // 2 - 1)

    def make(chance: random.Random) -> tuple[bytes, object]:
        value = chance.choice([least, 0, most, chance.randint(least, most)])
        shown = str(value) if unsigned and size == 8 else value
        return value.to_bytes(size, "little", signed=not unsigned), shown

    return make


def floating(code: str) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        data = struct.pack(code, chance.choice([0.0, -0.0, 1e-5, 1e16, 1.5, chance.uniform(-1e9, 1e9)]))
        return data, struct.unpack(code, data)[0]

    return make


def decimal(digits: int, scale: int) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        number = chance.choice([0, 1, 10**digits - 1, chance.randrange(10**digits)])
        sign = chance.choice(["", "-"]) if number else ""
        text = str(number).zfill(digits)
        whole, part = text[: digits - scale], text[digits - scale :]
        first = len(whole) % 9
        groups = [whole[:first], *(whole[i : i + 9] for i in range(first, len(whole), 9))]
        groups += [part[i : i + 9] for i in range(0, len(part), 9)]
        sizes = [(len(each) + 1) // 2 if len(each) < 9 else 4 for each in groups]
        data = bytearray(b"".join(int(each or 0).to_bytes(n, "big") for each, n in zip(groups, sizes, strict=True)))
        data[0] |= 0x80
        return bytes(each ^ 0xFF for each in data) if sign else bytes(
            data
        ), f"{sign}{int(whole or 0)}{'.' if scale else ''}{part}"

    return make


def text(lengths: int, codec: str) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        value = chance.choice(WORDS[:-1] if lengths == 1 else WORDS).encode(codec, "ignore")
        return len(value).to_bytes(lengths, "little") + value, value.decode(codec)

    return make


def binary(lengths: int, padded_to: int = 0) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        value = chance.randbytes(chance.randrange(9)).rstrip(b"\0")
        shown = base64.b64encode(value.ljust(padded_to, b"\0")).decode()
        return len(value).to_bytes(lengths, "little") + value, shown

    return make


def day(chance: random.Random) -> date | None:
    """A day, or None for a zero date."""
    return chance.choice([None, date(1, 1, 1), date(9999, 12, 31), date(2026, 1, 1) + timedelta(chance.randrange(900))])


def of_date(chance: random.Random) -> tuple[bytes, object]:
    value = day(chance)
    year, month, number = (value.year, value.month, value.day) if value else (2026, 0, chance.randrange(2))
    return (year << 9 | month << 5 | number).to_bytes(3, "little"), value and value.isoformat()


def part_of_second(chance: random.Random, digits: int) -> tuple[bytes, str]:
    number = chance.choice([0, 10**digits - 1, chance.randrange(10**digits)])
    size = (digits + 1) // 2
    return (number * 10 ** (digits % 2)).to_bytes(size, "big"), f".{number:0{digits}}" if digits else ""


def of_datetime(digits: int) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        value = day(chance)
        year, month, number = (value.year, value.month, value.day) if value else (0, chance.randrange(13), 1)
        hour, minute, second = chance.randrange(24), chance.randrange(60), chance.randrange(60)
        packed = (year * 13 + month) << 22 | number << 17 | hour << 12 | minute << 6 | second
        part, shown = part_of_second(chance, digits)
        text = f"{value}T{hour:02}:{minute:02}:{second:02}{shown}"
        return (packed + (1 << 39)).to_bytes(5, "big") + part, text if value else None

    return make


def of_timestamp(digits: int) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        seconds = chance.choice([0, 1, 2**31 - 1, 2**32 - 1, chance.randrange(2**32)])
        part, shown = part_of_second(chance, digits)
        text = f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}{shown}Z"
        return seconds.to_bytes(4, "big") + part, text if seconds else None

    return make


def of_time(digits: int) -> Make:
    size = (digits + 1) // 2

    def make(chance: random.Random) -> tuple[bytes, object]:
        hours, minutes, seconds = chance.randrange(839), chance.randrange(60), chance.randrange(60)
        part = chance.randrange(10**digits) * 10 ** (digits % 2)
        sign = chance.choice([1, -1])
        packed = (hours << 12 | minutes << 6 | seconds) << 8 * size | part
        micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + part * 10 ** (6 - 2 * size)
        return (sign * packed + (0x800000 << 8 * size)).to_bytes(3 + size, "big"), sign * micros

    return make


def of_bit(bits: int) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        value = chance.getrandbits(bits).to_bytes((bits + 7) // 8, "big")
        return value, any(value) if bits == 1 else base64.b64encode(value).decode()

    return make


def of_set(size: int, choices: tuple[str, ...]) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        taken = [chance.random() < 0.5 for _ in choices]
        shown = ",".join(each for each, is_taken in zip(choices, taken, strict=True) if is_taken)
        return sum(is_taken << i for i, is_taken in enumerate(taken)).to_bytes(size, "little"), shown

    return make


def of_enum(size: int, choices: tuple[str, ...]) -> Make:
    def make(chance: random.Random) -> tuple[bytes, object]:
        number = chance.randrange(len(choices) + 1)
        return number.to_bytes(size, "little"), choices[number - 1] if number else ""

    return make


def of_year(chance: random.Random) -> tuple[bytes, object]:
    number = chance.choice([0, 1, 255])
    return bytes([number]), 1900 + number if number else 0


CHOICES = ("a", 'b"', "ö", "d", "e", "f", "g", "h", "i")
UTF8 = ("utf-8", "strict")
KINDS: list[tuple[LoggedColumn, Make]] = [
    *(
        (LoggedColumn("", kind, unsigned=unsigned), integer(size, unsigned=unsigned))
        for kind, size in ((KIND.TINY, 1), (KIND.SHORT, 2), (KIND.INT24, 3), (KIND.LONG, 4), (KIND.LONGLONG, 8))
        for unsigned in (False, True)
    ),
    (LoggedColumn("", KIND.FLOAT, size=4), floating("<f")),
    (LoggedColumn("", KIND.DOUBLE, size=8), floating("<d")),
    *(
        (LoggedColumn("", KIND.NEWDECIMAL, digits=digits, scale=scale), decimal(digits, scale))
        for digits, scale in ((1, 0), (2, 2), (5, 2), (12, 2), (18, 9), (18, 0), (38, 10), (65, 30), (30, 30))
    ),
    (LoggedColumn("", KIND.VARCHAR, size=255, codec=UTF8), text(1, "utf-8")),
    (LoggedColumn("", KIND.VARCHAR, size=256, codec=UTF8), text(2, "utf-8")),
    (LoggedColumn("", KIND.STRING, size=200, codec=("cp1252", "keylake.as_it_is")), text(1, "cp1252")),
    *((LoggedColumn("", KIND.BLOB, size=size, codec=UTF8), text(size, "utf-8")) for size in (2, 3, 4)),
    (LoggedColumn("", KIND.VAR_STRING, size=20), binary(1)),
    (LoggedColumn("", KIND.STRING, size=12), binary(1, 12)),
    (LoggedColumn("", KIND.DATE), of_date),
    (LoggedColumn("", KIND.YEAR), of_year),
    *((LoggedColumn("", KIND.DATETIME2, size=digits), of_datetime(digits)) for digits in range(7)),
    *((LoggedColumn("", KIND.TIMESTAMP2, size=digits), of_timestamp(digits)) for digits in range(7)),
    *((LoggedColumn("", KIND.TIME2, size=digits), of_time(digits)) for digits in range(7)),
    *((LoggedColumn("", KIND.BIT, size=bits), of_bit(bits)) for bits in (1, 8, 13, 64)),
    (LoggedColumn("", KIND.ENUM, size=1, choices=CHOICES), of_enum(1, CHOICES)),
    (LoggedColumn("", KIND.ENUM, size=2, choices=CHOICES), of_enum(2, CHOICES)),
    (LoggedColumn("", KIND.SET, size=2, choices=CHOICES), of_set(2, CHOICES)),
]


def columns_of(chance: random.Random, count: int) -> tuple[tuple[LoggedColumn, ...], list[Make]]:
    taken = [chance.choice(KINDS) for _ in range(count)]
    names = [*NAMES[:count], *(f"c{number}" for number in range(1, count))][:count]
    columns = [LoggedColumn(name, *list(vars(each).values())[1:]) for name, (each, _) in zip(names, taken, strict=True)]
    return tuple(columns), [make for _, make in taken]


def bitmap(bits: list[bool], rest: bool = False) -> bytes:
    size = (len(bits) + 7) // 8
    bits = bits + [rest] * (8 * size - len(bits))
    return sum(bit << i for i, bit in enumerate(bits)).to_bytes(size, "little")


def image_of(chance: random.Random, makes: list[Make], nulls: float) -> tuple[bytes, list[object]]:
    """An image of columns that are all there, and their values. What is left of its bitmap may be anything."""
    made = [None if chance.random() < nulls else make(chance) for make in makes]
    data = b"".join(each[0] for each in made if each is not None)
    values = [each and each[1] for each in made]
    return bitmap([each is None for each in made], chance.random() < 0.5) + data, values


def pairs(text: str) -> list[tuple[str, object]]:
    """The members of a JSON object in their order; numbers with a fraction as their text."""
    found: list[tuple[str, object]] = json.loads(text, object_pairs_hook=list, parse_float=str)
    return found


@pytest.mark.parametrize("number", range(60))
def test_what_is_read_of_an_image_is_what_was_written(number: int) -> None:
    chance = random.Random(f"{SEED} {number}")
    columns, makes = columns_of(chance, chance.choice([1, 2, 5, 8, 9, 13, 20]))
    there = [chance.random() < 0.8 for _ in columns]
    there[0] = True
    present = bitmap(there)
    names = columns_in(columns, present)
    assert list(names) == [column.name for column, is_there in zip(columns, there, strict=True) if is_there]
    wanted = tuple(tuple(chance.sample(names, chance.randint(1, len(names)))) for _ in range(2))
    read_values, read_rows = values_reader(columns, present), rows_reader(columns, present, wanted)
    in_image = [make for make, is_there in zip(makes, there, strict=True) if is_there]
    images = [image_of(chance, in_image, nulls) for nulls in (0, 0, 0.3, 1)]
    data, at = b"".join(image for image, _ in images), 0
    for image, made in images:
        values = {
            name: repr(value) if isinstance(value, float) else value for name, value in zip(names, made, strict=True)
        }
        found, behind = read_values(data, at)
        assert {name: json.loads(value, parse_float=str) for name, value in found.items()} == values
        *rows, end = read_rows(data, at)
        assert [pairs(row) for row in rows] == [[(name, values[name]) for name in some] for some in wanted]
        at += len(image)
        assert behind == end == at


def table_of(columns: tuple[LoggedColumn, ...], *key: str) -> TableMap:
    return TableMap(("shop", "t"), (), key, columns)


def taken(event: RowsEvent) -> list[tuple[str | None, list[tuple[str, object]], int]]:
    rows = Rows("p")
    rows.take(event, 100, None)
    return [(op, pairs(row), version) for op, row, version in zip(rows.op, rows.row, rows.version, strict=True)]


PLAIN = (LoggedColumn("n", KIND.LONG), LoggedColumn("id", KIND.LONG), LoggedColumn("m", KIND.LONG))
ALL, NO_KEY = b"\x07", b"\x05"


def numbers(*values: int) -> bytes:
    return b"\x00" + struct.pack(f"<{len(values)}i", *values)


def test_rows_of_inserts_and_deletes_are_counted_in_versions() -> None:
    data = numbers(1, 10, 5) + numbers(2, 20, 6)
    inserts = taken(RowsEvent(table_of(PLAIN, "id"), data, None, ALL))
    assert inserts == [
        ("c", [("n", 1), ("id", 10), ("m", 5)], 101),
        ("c", [("n", 2), ("id", 20), ("m", 6)], 103),
    ]
    assert taken(RowsEvent(table_of(PLAIN, "id"), data, ALL, None)) == [
        ("d", [("id", 10)], 101),
        ("d", [("id", 20)], 103),
    ]
    assert taken(RowsEvent(table_of(PLAIN), data, None, ALL))[1] == (None, [("n", 2), ("id", 20), ("m", 6)], 103)


def test_an_updated_row_begins_with_its_key_and_a_changed_key_is_two_rows() -> None:
    same = numbers(1, 10, 5) + numbers(2, 10, 6)
    moved = numbers(1, 20, 5) + numbers(1, 30, 6)
    assert taken(RowsEvent(table_of(PLAIN, "id"), same + moved + same, ALL, ALL)) == [
        ("u", [("id", 10), ("n", 2), ("m", 6)], 101),
        ("d", [("id", 20)], 103),
        ("c", [("n", 1), ("id", 30), ("m", 6)], 104),
        ("u", [("id", 10), ("n", 2), ("m", 6)], 105),
    ]


def test_an_update_whose_images_lack_columns() -> None:
    """The log has the key before, and after it what was changed; a column that an image has counts."""
    key, changed = b"\x02", b"\x04"
    table = table_of(PLAIN, "id")
    assert taken(RowsEvent(table, numbers(10) + numbers(6), key, changed)) == [("u", [("id", 10), ("m", 6)], 101)]
    whole_before = numbers(1, 10, 5) + numbers(6)
    assert taken(RowsEvent(table, whole_before, ALL, changed)) == [("u", [("id", 10), ("m", 6)], 101)]
    whole_after = numbers(10) + numbers(2, 10, 6)
    assert taken(RowsEvent(table, whole_after, key, ALL)) == [("u", [("id", 10), ("n", 2), ("m", 6)], 101)]
    moved = numbers(10) + numbers(2, 11, 6)
    assert [op for op, _, _ in taken(RowsEvent(table, moved, key, ALL))] == ["d", "c"]


def test_of_a_period_only_current_rows_count() -> None:
    columns = (
        LoggedColumn("id", KIND.LONG),
        LoggedColumn("s", KIND.LONGLONG, True),
        LoggedColumn("e", KIND.LONGLONG, True),
    )
    table = TableMap(("shop", "t"), (), ("id",), columns)
    table.leave_out(("s", "e"))
    endless = b"\xff" * 8
    current = b"\x00" + struct.pack("<iQ", 1, 7) + endless
    history = b"\x00" + struct.pack("<iQQ", 1, 7, 9)
    assert taken(RowsEvent(table, current + history, None, ALL)) == [("c", [("id", 1)], 101)]
    assert taken(RowsEvent(table, current + history, ALL, ALL)) == [("d", [("id", 1)], 101)]
