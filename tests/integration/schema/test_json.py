"""`update_json`: fields of payloads are updates of columns, new ones become columns, and what fits nowhere is kept."""

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

import keylake as kl
from integration.refusals import refused
from integration.twin import fresh_name
from keylake import Int32

Payload = dict[str, object] | str | None


def frame(lake: kl.Lake, *rows: tuple[int, Payload]) -> DataFrame:
    """Keys with their payloads; text is a payload as it is."""
    texts = [(id_, each if isinstance(each, str | None) else json.dumps(each)) for id_, each in rows]
    return lake.spark.createDataFrame(texts, "id long, payload string")


def created(lake: kl.Lake, *columns: tuple[str, pa.DataType], **words: object) -> kl.KeyedTable:
    schema = pa.schema([("id", pa.int64()), *columns])
    return lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("json"), **{"key": "id", "buckets": 1, **words}))


def found(table: kl.KeyedTable, *columns: str) -> list[tuple[object, ...]]:
    rows = table.read(columns=["id", *columns]).orderBy("id").toArrow().to_pylist()
    return [tuple(row.values()) for row in rows]


def rescued(table: kl.KeyedTable) -> dict[object, set[tuple[object, object]]]:
    """The fields and values that are kept for each row that has some."""
    rows = table.read(columns=["id", "_rescued"], where="_rescued IS NOT NULL").toArrow().to_pylist()
    return {row["id"]: {(each["field"], each["value"]) for each in row["_rescued"]} for row in rows}


def types(table: kl.KeyedTable) -> dict[str, str]:
    return {column.name: str(column.type) for column in table.spec.columns}


@pytest.mark.slow
def test_fields_become_columns(lake: kl.Lake) -> None:
    """Present, null and absent; every kind of value; then other fields, and members of structs."""
    table = created(lake, ("n", pa.int32()))
    commit = table.update_json(
        frame(
            lake,
            (1, {"n": 1, "flag": True, "whole": 2**40, "real": 1, "big": 2**63, "text": "a", "mixed": 1, "none": None}),
            (2, {"N": None, "real": 2.5, "mixed": {"a": [1]}, "list": [1, None], "home": {"zip": 1, "old": None}}),
            (3, None),
            (4, "{}"),
            (5, {"mixed": "a", "big": 1, "list": [], "home": {"geo": [{"x": 1.5}]}}),
        )
    )
    assert (commit.rows, commit.rescued, commit.reasons) == (5, 0, ())
    assert commit.added == ("big", "flag", "home", "list", "mixed", "real", "text", "whole")
    assert types(table) | {"home": ""} == {
        "id": "long", "n": "int", "big": "decimal(38, 0)", "flag": "boolean", "mixed": "string", "real": "double",
        "home": "", "list": "list<long>", "text": "string", "whole": "long",
    }  # fmt: skip
    assert found(table, "n", "flag", "whole", "real", "big", "text", "mixed") == [
        (1, 1, True, 2**40, 1.0, Decimal(2**63), "a", "1"),
        (2, None, None, None, 2.5, None, None, '{"a":[1]}'),
        (3, None, None, None, None, None, None, None),
        (4, None, None, None, None, None, None, None),
        (5, None, None, None, None, Decimal(1), None, "a"),
    ]
    second = table.update_json(
        frame(lake, (1, {"n": None, "text": "b"}), (2, {"home": {"zip": 2, "street": "s"}, "new": "x"}))
    )
    assert second.added == ("home.street", "new")
    assert found(table, "n", "whole", "text", "list", "new")[:2] == [
        (1, None, 2**40, "b", None, None),
        (2, None, None, None, [1, None], "x"),
    ]
    homes = found(table, "home")
    assert homes[1] == (2, {"geo": None, "zip": 2, "street": "s"})
    assert homes[4] == (5, {"geo": [{"x": 1.5}], "zip": None, "street": None})
    row = table.get(id=1)
    assert row is not None
    assert row["text"] == "b"


@pytest.mark.slow
def test_what_fits_nowhere_is_rescued(lake: kl.Lake) -> None:
    """Values of other types, names that no column can have, texts that are no objects, fields that contradict."""
    table = created(
        lake, ("n", pa.int32()), ("ok", pa.bool_()), ("x", pa.float64()), ("price", pa.decimal128(5, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us")), ("code", pa.uuid()), ("raw", pa.binary()),
        ("home", pa.struct([("zip", pa.int32())])), ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int32())),
    )  # fmt: skip
    uid = "00000000-0000-0000-0000-00000000000a"
    good: dict[str, object] = {
        "n": 7.0, "ok": False, "x": 0.1, "price": 1.25, "day": "2026-01-02", "at": "2026-01-02T03:04:05.5+01:00",
        "local": "2026-01-02 03:04:05", "code": uid, "raw": "-_8=", "home": {"zip": 1}, "tags": ["a", 1, None],
        "counts": {"a": 1, "b": None}, "id": 1, "empty": [],
    }  # fmt: skip
    bad: dict[str, object] = {
        "n": 2**31, "ok": "true", "x": 2**53 + 1, "price": 1.125, "day": "2026-02-30", "at": "2026-01-02T03:04:05",
        "local": 5, "code": "a", "raw": "%", "home": {"zip": "a"}, "tags": "a", "counts": {"a": 1.5},
        "id": 1, "_bucket": 1, "_merge_info": {"a": 1}, "a.b": "'", " ": 1, "_file": None, "_rescued": 1, "é'`\"": 1,
    }  # fmt: skip
    texts = ["{", '{"a": 1} x', '{"a": 1, "a": 2}', "[1]", "null", "", '{"a": 1}]']
    commit = table.update_json(frame(lake, (1, good), (2, bad), *((3 + n, text) for n, text in enumerate(texts))))
    del good["id"], good["empty"]
    converted = {
        "n": 7, "price": Decimal("1.25"), "day": date(2026, 1, 2), "raw": b"\xfb\xff",
        "local": datetime(2026, 1, 2, 3, 4, 5),
        "at": datetime(2026, 1, 2, 2, 4, 5, 500000, tzinfo=timezone.utc), "tags": ["a", "1", None],
        "counts": [("a", 1), ("b", None)],
    }  # fmt: skip
    assert found(table, *good)[:2] == [(1, *(good | converted).values()), (2, *[None] * len(good))]
    assert found(table, "é'`\"")[1] == (2, 1)
    lost = {
        (name, json.dumps(value, separators=(",", ":")))
        for name, value in bad.items()
        if name not in ("_file", "é'`\"")
    }
    assert rescued(table) == {1: {("empty", "[]")}, 2: lost} | {3 + n: {(None, text)} for n, text in enumerate(texts)}
    assert commit.added == ("é'`\"", "_rescued")
    assert commit.rescued == len(lost) + len(texts) + 1
    reasons = {(each.field, each.reason): each.values for each in commit.reasons}
    assert reasons[None, "it cannot be parsed as JSON"] == 5
    assert reasons["n", "bigint does not fit into column 'n', int"] == 1
    assert sum(each.values for each in commit.reasons) == commit.rescued
    assert "values rescued" in str(commit)


@pytest.mark.slow
def test_rows_of_one_key_and_fields_of_one_column(lake: kl.Lake) -> None:
    table = created(lake, ("at", pa.int64()), ("a", pa.int64()), ordering="at")
    rows = [
        (1, 5, '{"a": 1, "A": 2, "B": 1, "b": 2, "at": 5}'),
        (1, 7, '{"a": "x"}'),
        (1, 6, '{"a": 3, "b": "new", "at": 9}'),
    ]
    commit = table.update_json(lake.spark.createDataFrame(rows, "id long, at long, payload string"))
    assert types(table)["B"] == "string"
    assert found(table, "at", "a", "B") == [(1, 7, 3, "new")]
    assert rescued(table) == {1: {("A", "2"), ("b", "2"), ("a", '"x"'), ("at", "9")}}
    assert commit.rescued == 4
    # What is rescued has a version as every column has: a later write without any leaves it.
    later = lake.spark.createDataFrame([(1, 8, '{"a": 4}')], "id long, at long, payload string")
    assert table.update_json(later).rescued == 0
    assert len(rescued(table)[1]) == 4
    columns = lake.spark.createDataFrame(
        [(1, 9, 10, '{"a": 10, "b": "c"}')], "id long, at long, A long, Payload string"
    )
    assert table.update_json(columns, column="payload", version="AT").rescued == 0
    assert found(table, "at", "a", "B") == [(1, 9, 10, "c")]


@pytest.mark.slow
def test_maps_and_variants(lake: kl.Lake) -> None:
    """The same fields from other types of payloads; text of a map is JSON where the column is no text."""
    columns = [("n", pa.int32()), ("t", pa.string()), ("x", pa.string()), ("l", pa.list_(pa.string()))]
    table = created(lake, *columns, ("d", pa.date32()))
    table.update([{"id": number, "x": "x"} for number in (1, 2, 3)])
    of_text = """
        SELECT 1L AS id, map('n', '7', 't', '7', 'x', null, 'l', '[1, "a"]', 'm', '5 6', 'd', '2026-01-02') AS payload
        UNION ALL SELECT 11, map('n', '7 8', 'd', 'x') UNION ALL SELECT 12, null"""
    of_variants = """
        SELECT 2L AS id, map('n', 7::variant, 't', '7'::variant, 'x', null, 'l', parse_json('[1, "a"]'),
            'm', 5::variant, 'd', parse_json('null')) AS payload
        UNION ALL SELECT 21, map('n', '7'::variant, 'd', 5::variant)"""
    variants = """
        SELECT 3L AS id, to_variant_object(named_struct('n', 7, 't', '7', 'l', array(1, 2), 'd', date'2026-01-02',
            'real', 1.50, 'w', date'2026-01-02')) AS payload
        UNION ALL SELECT 31, parse_json('[1]') UNION ALL SELECT 32, parse_json('null') UNION ALL SELECT 33, null"""
    commits = [table.update_json(lake.spark.sql(each)) for each in (of_text, of_variants, variants)]
    assert [(commit.rows, commit.rescued) for commit in commits] == [(3, 2), (2, 2), (4, 2)]
    assert commits[2].added == ("real", "w")
    day = date(2026, 1, 2)
    assert found(table, "n", "t", "x", "l", "d", "m", "real", "w")[:3] == [
        (1, 7, "7", None, ["1", "a"], day, "5 6", None, None),
        (2, 7, "7", None, ["1", "a"], None, "5", None, None),
        (3, 7, "7", "x", ["1", "2"], day, None, 1.5, day),
    ]
    assert rescued(table) == {
        11: {("n", '"7 8"'), ("d", '"x"')}, 21: {("n", '"7"'), ("d", "5")}, 31: {(None, "[1]")}, 32: {(None, "null")},
    }  # fmt: skip


@pytest.mark.slow
def test_a_mapping_chooses_fields_names_and_types(lake: kl.Lake) -> None:
    table = created(lake, ("zip", pa.int64()), ("a", pa.int64()))
    rows = frame(
        lake,
        (
            1,
            {
                "home": {"zip": 1, "a.b": {"c": 5}},
                "userName": "ann",
                "a": 1,
                "day": "2026-01-02",
                "x": [],
                "skipped": 1,
            },
        ),
        (2, {"home": {"zip": "x"}, "userName": None, "day": None}),
        (3, {"home": 5, "zip": 3}),
        (4, {"home": {"zip": 4}, "zip": 5}),
    )
    mapping = kl.JsonMapping(
        include=["day", "x", "zip"],
        rename={"home.zip": "zip", "home.`a.b`.c": "deep", "userName": "user name"},
        types={"day": date, "x": list[Int32], "deep": str},
        rescue="left over",
    )
    commit = table.update_json(rows, mapping=mapping)
    assert commit.added == ("day", "deep", "user name", "x", "left over")
    assert types(table)["x"] == "list<int>"
    assert found(table, "zip", "a", "deep", "user name", "day", "x") == [
        (1, 1, None, "5", "ann", date(2026, 1, 2), []),
        (2, None, None, None, None, None, None),
        (3, 3, None, None, None, None, None),
        (4, 5, None, None, None, None, None),
    ]
    left = table.read(columns=["id", "left over"]).orderBy("id").toArrow()["left over"].to_pylist()
    assert [None if each is None else [(one["field"], one["value"]) for one in each] for each in left] == [
        None, [("home.zip", '"x"')], None, [("home.zip", "4")],
    ]  # fmt: skip
    excluding = kl.JsonMapping(
        exclude=["home", "userName", "x", "skipped"], rename={"home.zip": "ZIP"}, rescue="left over"
    )
    assert table.update_json(rows, mapping=excluding).rescued == 2
    assert table.spec.column_names == ("id", "zip", "a", "day", "deep", "user name", "x", "left over")


def test_what_cannot_be_written(lake: kl.Lake) -> None:
    """Nothing is written and no column is added where the arguments, the rows or the table do not allow it."""
    table = created(lake, ("at", pa.int64()), ("n", pa.int32()), ordering="at")
    before = table.spec
    spark = lake.spark
    stream = spark.readStream.format("rate").load().selectExpr("value AS id", "'' AS payload")
    rows = spark.createDataFrame([(1, 1, '{"new": 1, "n": 1, "more": 2}')], "id long, at long, payload string")
    wrong: list[tuple[type[kl.KeylakeError], tuple[str, ...], DataFrame | object, dict[str, object]]] = [
        (kl.DefinitionError, ("'payloads'", "Did you mean 'payload'"), rows, {"column": "payloads"}),
        (kl.DefinitionError, ("column is 5",), rows, {"column": 5}),
        (kl.BadRows, ("'at' of the rows is bigint", "VARIANT"), rows.drop("payload"), {"column": "at"}),
        (kl.BadRows, ("takes a Spark frame",), [{"id": 1, "payload": "{}"}], {}),
        (kl.DefinitionError, ("mapping is {}",), rows, {"mapping": {}}),
        (kl.DefinitionError, ("version is {'n': 'at'}",), rows, {"version": {"n": "at"}}),
        (kl.DefinitionError, ("no option 'steam'",), rows, {"steam": "a"}),
        (kl.VersionMissing, ("'at'", "no version"), rows.drop("at"), {}),
        (kl.VersionMissing, ("'at'",), rows, {"version": 5}),
        (kl.SchemaMismatch, ("lack 'id' of the key",), rows.drop("id"), {}),
        (kl.SchemaMismatch, ("'other' beside the payload",), rows.selectExpr("*", "1 AS other"), {}),
        (kl.SchemaMismatch, ("'ID'",), rows.selectExpr("*", "2 AS ID"), {}),
        (kl.BadRows, ("need 2 new columns ('more', 'new')",), rows, {"mapping": kl.JsonMapping(most_new_columns=1)}),
        (kl.DefinitionError, ("'n' of", "is int"), rows, {"mapping": kl.JsonMapping(types={"n": str})}),
        (kl.DefinitionError, ("'n' of", "fits nowhere"), rows, {"mapping": kl.JsonMapping(rescue="n")}),
        (kl.DefinitionError, ("belong to keylake",), rows, {"mapping": kl.JsonMapping(rename={"new": "_bucket"})}),
        (kl.DefinitionError, ("belong to keylake",), rows, {"mapping": kl.JsonMapping(rescue="_bucket")}),
        (kl.BadRows, ("is a stream",), stream, {}),
    ]  # fmt: skip
    for error, words, given, arguments in wrong:
        with refused(lake, table.name, error, *words):
            table.update_json(given, **arguments)  # type: ignore[arg-type]
    assert lake.table(table.name).spec == before
    same = table.update_json(rows, idempotency_key="a", stream="web")
    assert table.update_json(rows, idempotency_key="a").snapshot_id == same.snapshot_id
    assert table.history(at_most=1)[0].stream == "web"


@pytest.mark.slow
def test_groups_keys_of_several_columns_and_no_rows(lake: kl.Lake) -> None:
    """Columns of a group are written together or rescued together, row by row."""
    columns = [("day", pa.date32()), ("x", pa.int64()), ("y", pa.int64()), ("z", pa.int64())]
    words: dict[str, object] = {"key": ["id", "day"], "versions": "explicit", "column_groups": {"place": ["x", "y"]}}
    table = created(lake, *columns, **words)
    rows = lake.spark.sql(
        """SELECT id, DATE'2026-01-02' AS day, payload FROM VALUES
        (1L, '{"x": 1, "y": 2, "day": "2026-01-02"}'), (2L, '{"x": 1, "z": 3}'), (3L, '{"x": 1, "y": "a"}'),
        (4L, '{"x": 1, "y": null, "id": 4.0, "day": null}') AS (id, payload)"""
    )
    assert table.update_json(rows.where("id = 0"), version=1).rows == 0
    commit = table.update_json(rows, version=1)
    assert found(table, "x", "y", "z") == [
        (1, 1, 2, None),
        (2, None, None, 3),
        (3, None, None, None),
        (4, 1, None, None),
    ]
    assert rescued(table) == {2: {("x", "1")}, 3: {("x", "1"), ("y", '"a"')}, 4: {("day", "null")}}
    assert commit.rescued == 4
    alone = lake.spark.sql("SELECT 2L AS id, DATE'2026-01-02' AS day, '{\"x\": 9}' AS payload")
    assert table.update_json(alone, version=2).reasons == (
        kl.Rescued("x", "the columns of group 'place' are written together, and not all of them are there", 1),
    )
