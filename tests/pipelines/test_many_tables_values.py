"""Values of rows of many tables: each fits its column as it is, or is refused; and random rows beside the model."""

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.event_log import EventLog
from integration.histories import COMPOUND, TENANTS, Shape
from integration.twin import Twin, fresh_name
from keylake_pipelines.multi_table.write import TableBatch, write_tables
from pipelines.many_tables import COLUMNS, Change, change, create, few_rows_by, name_of, rows, written

STRUCT = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(38, 10),
    "date": pa.date32(),
    "local": pa.timestamp("us"),
    "moment": pa.timestamp("us", tz="UTC"),
    "text": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(2),
    "struct": STRUCT,
    "list": pa.list_(pa.int64()),
    "map": pa.map_(pa.int32(), STRUCT),
}
UTC = timezone.utc
FITS: list[tuple[str, str, object]] = [
    ("bool", "true", True),
    ("int", "-2147483648", -(2**31)),
    ("int", '"17"', 17),
    ("int", "1.70e1", 17),
    ("long", "9223372036854775807", 2**63 - 1),
    ("long", "-999999999999999999", -(10**18) + 1),
    ("float", "0.1", pa.scalar(0.1, pa.float32()).as_py()),
    ("float", '"-Infinity"', float("-inf")),
    ("double", "0.1", 0.1),
    ("double", "9007199254740992", 2.0**53),
    ("double", "123456789012345680000", 123456789012345680000.0),
    ("decimal", '"1234567890123456789012345678.0123456789"', Decimal("1234567890123456789012345678.0123456789")),
    ("decimal", "1234567890123456789012345678.0123456789", Decimal("1234567890123456789012345678.0123456789")),
    ("decimal", "0e-999999999", Decimal("0E-10")),
    ("decimal", "1e3", Decimal("1000.0000000000")),
    ("date", '"0001-01-01"', date(1, 1, 1)),
    ("local", '"2026-03-29T02:30:00.123456"', datetime(2026, 3, 29, 2, 30, 0, 123456)),
    ("local", '"1500-01-01 00:00:00"', datetime(1500, 1, 1)),
    ("moment", '"2026-03-29T02:30:00.000001Z"', datetime(2026, 3, 29, 2, 30, 0, 1, UTC)),
    ("moment", '"1969-12-31T23:59:59.999999+01:00"', datetime(1969, 12, 31, 22, 59, 59, 999999, UTC)),
    ("text", '"\\ud83d\\ude00 \\u0000 \\n"', "\U0001f600 \0 \n"),
    ("text", '""', ""),
    ("bytes", '"AAH/"', b"\0\1\xff"),
    ("fixed", '"AAE="', b"\0\1"),
    ("struct", '{"A": 1, "b": ["x", null]}', {"a": 1, "b": ["x", None]}),
    ("struct", "{}", {"a": None, "b": None}),
    ("list", "[1, null, 3]", [1, None, 3]),
    ("map", '{"7": {"a": 1, "b": []}, "8": null}', [(7, {"a": 1, "b": []}), (8, None)]),
    ("text", "null", None),
]
MISFITS: list[tuple[str, str, str]] = [
    ("bool", '"true"', "Column 'bool' is boolean and cannot hold 'true'"),
    ("int", "2147483648", "Column 'int' is int and cannot hold 2147483648"),
    ("int", "1.5", "cannot hold 1.5"),
    ("long", "9223372036854775808", "cannot hold 9223372036854775808"),
    ("long", "1e999999999", "cannot hold 1e999999999"),
    ("long", "true", "cannot hold true"),
    ("float", "1e39", "cannot hold 1e39"),
    ("double", "9007199254740993", "cannot hold 9007199254740993"),
    ("double", "1e-400", "cannot hold 1e-400"),
    ("decimal", "0.00000000001", "Column 'decimal' is decimal(38, 10) and cannot hold 0.00000000001"),
    ("decimal", "1e28", "cannot hold 1e28"),
    ("decimal", "1e-999999999", "cannot hold 1e-999999999"),
    ("date", '"2026-02-30"', "cannot hold '2026-02-30'"),
    ("date", '"0000-00-00"', "cannot hold '0000-00-00'"),
    ("date", "20000", "cannot hold 20000"),
    ("local", '"2026-01-01T00:00:00Z"', "cannot hold '2026-01-01T00:00:00Z'"),
    ("local", '"2026-01-01T00:00:00.1234567"', "cannot hold '2026-01-01T00:00:00.1234567'"),
    ("moment", '"2026-01-01T00:00:00"', "Column 'moment' is timestamptz and cannot hold '2026-01-01T00:00:00'"),
    ("text", "1", "Column 'text' is string and cannot hold 1"),
    ("text", '{"a": 1}', "cannot hold a JSON object"),
    ("text", '"\\ud83d"', "Column 'text' is string and cannot hold"),
    ("text", '"\\ude00\\ud83d"', "Column 'text' is string and cannot hold"),
    ("bytes", '"?"', "Column 'bytes' is binary and cannot hold '?'"),
    ("fixed", '"AA=="', "Column 'fixed' holds 2 bytes exactly"),
    ("struct", '{"a": 2147483648}', "Column 'struct.a' is int and cannot hold 2147483648"),
    ("struct", '{"c": 1}', "Column 'struct' has no field 'c'"),
    ("list", "{}", "Column 'list' is list<long> and cannot hold a JSON object"),
    ("map", '{"x": null}', "cannot hold 'x'"),
    ("map", '{"1": null, "01": null}', "has a map with the key 1 twice"),
]


def test_values_that_fit(lake: kl.Lake) -> None:
    table = create(lake, **TYPES)
    changes: list[Change] = [
        (name_of(table), "c", 1, f'{{"id": {number}, "{column}": {value}}}')
        for number, (column, value, _) in enumerate(FITS)
    ]
    [outcome] = written(lake, changes, TableBatch(name_of(table)))
    assert outcome.error is None
    assert [row[column] for row, (column, _, _) in zip(rows(table), FITS, strict=True)] == [each[2] for each in FITS]


@pytest.mark.slow
def test_values_that_do_not_fit(lake: kl.Lake) -> None:
    tables = [create(lake, **{column: TYPES[column]}) for column, _, _ in MISFITS]
    changes: list[Change] = [
        (name_of(table), "u", 3, f'{{"id": 1, "{column}": {value}}}')
        for table, (column, value, _) in zip(tables, MISFITS, strict=True)
    ]
    found = written(lake, changes, *(TableBatch(name_of(table)) for table in tables))
    assert [
        (case, str(outcome.error))
        for case, outcome in zip(MISFITS, found, strict=True)
        if case[2] not in str(outcome.error)
    ] == []


def test_uuids_are_keys(lake: kl.Lake) -> None:
    class Thing(kl.Table, name=fresh_name("many"), versions="explicit", buckets=3):
        thing: kl.UUID = kl.key()
        x: int | None = kl.column()

    table = lake.create(Thing)
    ids = ["F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]
    changes = [change(table, "c", number, thing=each, x=number) for number, each in enumerate(ids)]
    [outcome] = written(lake, changes, TableBatch(name_of(table)))
    assert outcome.commit is not None
    assert (outcome.commit.rows, table.read().toArrow()["x"].to_pylist()) == (1, [1])
    [outcome] = written(lake, [change(table, "c", 1, thing="no", x=1)], TableBatch(name_of(table)))
    assert "Column 'thing' is uuid and cannot hold 'no'" in str(outcome.error)


# ------------------------------------------------------------------------------------------------------- random rows

SHAPES = {
    "few buckets": Shape("explicit"),
    "partitions and groups": Shape("explicit", TENANTS, groups={"g": ("a", "b")}, partition_by=("tenant", "day")),
    "key groups": Shape("explicit", COMPOUND, key_groups=7),
    "one bucket, text": Shape("explicit", {"name": pa.string()}, buckets=1),
    "decimals and binary": Shape("explicit", {"n": pa.decimal128(20, 2), "b2": pa.binary()}, buckets=4),
    "binary partitions": Shape("explicit", {"n": pa.int64(), "b2": pa.binary()}, buckets=2, partition_by=("b2",)),
}


def drawn_key(random: Random, type_: pa.DataType) -> object:
    number = random.randrange(6)
    if pa.types.is_date(type_):
        return date(1969, 12, 31) + timedelta(days=number % 3)
    if pa.types.is_decimal(type_):
        return Decimal(f"{number - 3}.25")
    if pa.types.is_binary(type_):
        return bytes([0] * (number % 3))
    return "aé\0"[: number % 4] if pa.types.is_string(type_) else number - 3


def drawn_value(random: Random, column: str) -> object:
    values: dict[str, list[object]] = {
        "a": [None, 1, -(2**63)],
        "b": [None, "", "x", "é"],
        "c": [None, 0.5, -0.0],
        "d": [None, [], [1, None]],
        "e": [None, 1, 2],
    }
    return random.choice(values[column])


def in_json(value: object) -> str:
    def shown(each: object) -> object:
        if isinstance(each, bytes):
            import base64

            return base64.b64encode(each).decode()
        return str(each)

    return json.dumps(value, default=shown)


def drawn(random: Random, twin: Twin, shape: Shape) -> tuple[str, dict[str, object]]:
    row = {name: drawn_key(random, type_) for name, type_ in shape.key.items()}
    op = random.choice("crud")
    if op != "d":
        leaves = {leaf for leaf in shape.leaves.values() if random.random() < 0.6}
        row |= {name: drawn_value(random, name) for name in shape.columns if shape.leaves[name] in leaves}
    return op, row


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("writer")
def test_random_rows_of_several_tables(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    twins = [(shape.create(lake, fresh_name("many")), shape) for shape in SHAPES.values()]
    for _ in range(3):
        changes: list[Change] = []
        for twin, shape in twins:
            rows_of_batch = []
            # Rows of one key have versions of their own here: between equal ones, the order is that of their bytes.
            versions = random.sample(range(30), 14)
            for version in versions:
                op, row = drawn(random, twin, shape)
                changes.append((twin.table.name, op, version, in_json(row)))
                known = row | {"v": version}
                model = twin.model
                rows_of_batch.append(model._tombstone(known, "v") if op == "d" else model._written(known, "v", None))
            twin.model.append(sorted(rows_of_batch, key=lambda each: each.version))
        random.shuffle(changes)
        outcomes = written(lake, changes, *(TableBatch(twin.table.name) for twin, _ in twins))
        assert [each.error for each in outcomes] == [None] * len(twins)
        for twin, _ in twins:
            twin.check()
            twin.check_stamps()


def facts(lake: kl.Lake, table: kl.KeyedTable) -> list[dict[str, object]]:
    """What manifests say of the files of a table, without their names and sizes.

    Parquet gives the settings of dictionaries to whichever writer of the process asks next, so files of writers that
    work at the same time have the same values in pages of other sizes.
    """
    columns = (
        "partition, spec_id, record_count, value_counts, null_value_counts, nan_value_counts, lower_bounds,"
        " upper_bounds, sort_order_id"
    )
    found = lake.spark.sql(f"SELECT {columns} FROM {lake.catalog}.{table.name}.files").toArrow().to_pylist()
    return sorted(found, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_the_driver_writes_the_files_of_tasks(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    twins = [tuple(shape.create(lake, fresh_name("many")) for _ in range(2)) for shape in SHAPES.values()]
    for number in range(2):
        drawn_rows = [
            (pair, *drawn(random, pair[0], shape), random.randrange(8))
            for pair, shape in zip(twins, SHAPES.values(), strict=True)
            for _ in range(12)
        ]
        found: list[list[tuple[object, ...]]] = []
        for which, by in enumerate(("driver", "tasks")):
            changes: list[Change] = [
                (pair[which].table.name, op, version, in_json(row)) for pair, op, row, version in drawn_rows
            ]
            batches = [TableBatch(pair[which].table.name, {"log": (number, number + 1)}) for pair in twins]
            with few_rows_by(lake, by):
                outcomes = written(lake, changes, *batches)
            commits = [each.commit for each in outcomes]
            found.append([(each.rows, each.versions) for each in commits if each is not None])
        assert found[0] == found[1]
        assert len(found[0]) == len(twins)
        for here, there in twins:
            assert facts(lake, here.table) == facts(lake, there.table)
            assert here.read() == there.read()


# --------------------------------------------------------------------------------------------------------------- jobs


@pytest.mark.slow
def test_one_job_writes_all_tables(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events")
    settings = log.settings() | {"spark.keylake.write.driver-rows": "0"}
    with kl.connect(warehouse=tmp_path / "lake", memory="1g", settings=settings) as lake:
        tables = [create(lake, x=pa.int64(), **{f"c{number}": pa.string()}) for number in range(40)]
        batches = [TableBatch(name_of(table)) for table in tables]
        for version in range(2):
            changes = [change(table, "c", version, id=key, x=key) for table in tables for key in range(5)]
            before = len(log.jobs())
            assert not [each for each in written(lake, changes, *batches) if each.commit is None]
            [stages] = log.jobs()[before:]
            assert len(stages) == 2
            assert stages[-1] <= 6
        before = len(log.jobs())
        frame = lake.spark.createDataFrame([change(tables[0], "c", 3, id=1)], COLUMNS)
        write_tables(lake, frame, batches, count=1)
        assert log.jobs()[before:] == [[1]]


@pytest.mark.slow
def test_few_rows_of_many_tables_need_no_job(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events")
    settings = log.settings() | {"spark.keylake.write.driver-rows": "100"}
    with kl.connect(warehouse=tmp_path / "lake", memory="1g", settings=settings) as lake:
        tables = [create(lake, x=pa.int64()) for _ in range(20)]
        batches = [TableBatch(name_of(table)) for table in tables]
        for keys, jobs in ((5, 0), (6, 1)):
            changes = [change(table, "c", keys, id=key, x=key) for table in tables for key in range(keys)]
            for count in (None, len(changes)):
                before = len(log.jobs())
                assert not [each for each in written(lake, changes, *batches, count=count) if each.commit is None]
                assert len(log.jobs()) - before == jobs
        assert [len(rows(table)) for table in tables] == [6] * 20
