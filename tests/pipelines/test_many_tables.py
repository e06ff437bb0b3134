"""Rows of many tables in one write, by the driver or one Spark job, and a commit for each table that can have one."""

from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name
from keylake._server.statements import TablePath
from keylake_pipelines.multi_table.write import TableBatch, TableOutcome, write_tables
from pipelines.many_tables import COLUMNS, change, create, name_of, rows, written


@pytest.mark.usefixtures("writer")
def test_each_table_gets_its_rows_and_a_commit(lake: kl.Lake) -> None:
    orders = create(lake, city=pa.string(), total=pa.decimal128(10, 2))
    people = create(lake, buckets=1, key="person", name=pa.string())
    quiet = create(lake, x=pa.int64())
    [of_orders, of_people, of_quiet] = written(
        lake,
        [
            change(orders, "c", 1, id=1, city="Oslo", total=12.5),
            change(people, "r", 5, PERSON=7, Name="Ann"),
            change(orders, "c", 2, id=2, CITY=None, total="99999999.99"),
            change(orders, "u", 3, id=1, total=13),
            change(orders, "c", 4, id=3, city="Bern"),
            change(orders, "d", 5, id=3, city="of no matter", total="neither"),
        ],
        TableBatch(name_of(orders), {"log": (0, 5)}, "shop"),
        TableBatch(TablePath(name_of(people))),
        TableBatch(name_of(quiet), {"log": (0, 5)}),
    )
    assert rows(orders) == [
        {"id": 1, "city": "Oslo", "total": Decimal("13.00")},
        {"id": 2, "city": None, "total": Decimal("99999999.99")},
    ]
    assert rows(people) == [{"person": 7, "name": "Ann"}]
    assert of_orders.commit is not None
    assert (of_orders.commit.rows, of_orders.commit.versions) == (3, (2, 5))
    [made] = orders.history()
    assert (made.snapshot_id, made.stream, made.verb) == (of_orders.commit.snapshot_id, "shop", "apply_changes")
    assert orders.offsets() == {"log": 5}
    assert of_people.commit is not None
    assert of_quiet == TableOutcome(name_of(quiet), None, None)
    assert len(quiet.history()) == 0


@pytest.mark.usefixtures("writer")
def test_offsets_count_once(lake: kl.Lake) -> None:
    one, other = (create(lake, x=pa.int64()) for _ in range(2))
    changes = [change(table, "c", 1, id=1, x=1) for table in (one, other)]
    [first, _] = written(lake, changes, TableBatch(name_of(one), {"log": (0, 9)}), TableBatch(name_of(other)))
    [again, of_other] = written(
        lake, changes, TableBatch(name_of(one), {"log": (0, 9)}), TableBatch(name_of(other), {"log": (0, 9)})
    )
    assert first.commit is not None
    assert again.commit is not None
    assert of_other.commit is not None
    assert (again.commit.repeated, again.commit.snapshot_id) == (True, first.commit.snapshot_id)
    assert again.commit.offsets == {"log": 9}
    assert not of_other.commit.repeated
    assert (len(one.history()), len(other.history())) == (1, 2)
    [overlap] = written(lake, changes[:1], TableBatch(name_of(one), {"log": (5, 12)}))
    assert isinstance(overlap.error, kl.KeylakeError)
    assert len(one.history()) == 1


@pytest.mark.usefixtures("writer")
def test_a_table_that_fails_is_set_aside(lake: kl.Lake) -> None:
    good, poisoned, dropped = (create(lake, x=pa.int32()) for _ in range(3))
    commits = lake.create(
        kl.TableSpec.from_arrow(
            pa.schema([pa.field("id", pa.int64(), nullable=False), ("x", pa.int64())]),
            name=fresh_name("many"),
            key="id",
        )
    )
    tables = [name_of(each) for each in (good, poisoned, dropped, commits)]
    lake.drop(tables[2])
    changes = [change(table, "c", number, id=number, x=number) for number in range(40) for table in tables]
    changes += [
        change(poisoned, "u", 7, id=1, x=2**31),
        change(poisoned, "u", 6, id=2, x="six\n"),
        change("many.no", "c", 1),
    ]
    found = written(lake, changes, *map(TableBatch, tables))
    assert [each.table for each in found] == [*tables, "many.no"]
    assert found[0].error is None
    assert len(rows(good)) == 40
    expected = [
        (
            kl.BadRows,
            "Column 'x' is int and cannot hold 'six",
            '{"id": 2, "x": "six\\n"} with version 6',
            "correct the row",
        ),
        (kl.TableNotFound, tables[2]),
        (kl.DefinitionError, 'versions="explicit"'),
        (kl.TableNotFound, "'many.no'", "list it"),
    ]
    for outcome, (kind, *words) in zip(found[1:], expected, strict=True):
        assert type(outcome.error) is kind
        assert outcome.commit is None
        assert not [word for word in words if word not in str(outcome.error)], outcome.error
    assert (len(poisoned.history()), len(commits.history())) == (0, 0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": None}, "The version of the row is null"),
        ({"op": "x"}, "The operation of the row is 'x'"),
        ({"op": None}, "The operation of the row is 'null'"),
        ({"row": None}, "The row is null"),
        ({"row": "[1]"}, "The row is not a JSON object"),
        ({"row": '{"id": 1} {}'}, "The row goes on behind"),
        ({"row": '{"id": 1, "x": 01}'}, "The row is not a JSON object: Invalid numeric value"),
        ({"row": '{"id": 1, "x": 1, "x": 2}'}, "column 'x' twice"),
        ({"row": '{"id": 1, "x": 1, "X": 2}'}, "The row has the column 'X' twice"),
        ({"row": '{"id": 1, "y": 1}'}, "The row has a field 'y', and the table has no such column"),
        ({"row": '{"x": 1}'}, "The key column 'id' is not in the row"),
        ({"row": '{"id": null}'}, "The key column 'id' is null"),
    ],
)
def test_rows_that_are_none(lake: kl.Lake, changed: Mapping[str, str | None], words: str) -> None:
    table = create(lake, x=pa.int64())
    row = {"table": name_of(table), "op": "c", "version": 1, "row": '{"id": 1}'} | changed
    frame = lake.spark.createDataFrame([tuple(row.values())], COLUMNS)
    [outcome] = write_tables(lake, frame, [TableBatch(name_of(table))])
    assert words in str(outcome.error)
    assert len(table.history()) == 0


def test_a_member_that_there_is_not(lake: kl.Lake) -> None:
    """Offsets that are misspelt would count twice in silence."""
    table = create(lake, x=pa.int64())
    lake.spark.createDataFrame([(name_of(table), "c", 1, '{"id": 1}')], COLUMNS).createOrReplaceTempView("misspelt")
    member = f'{{"table": "{name_of(table)}", "ofsets": {{"s": [1, 2]}}}}'
    with pytest.raises(Exception, match="member 'ofsets', which there is not; its members are table, offsets"):
        lake.spark.sql(f"CALL {lake.catalog}.system.write_tables(rows => 'misspelt', tables => array('{member}'))")
    assert len(table.history()) == 0


def test_a_null_without_a_column_is_nothing(lake: kl.Lake) -> None:
    table = create(lake, x=pa.int64())
    frame = lake.spark.createDataFrame([(name_of(table), "c", 1, '{"id": 1, "y": null, "x": 2}')], COLUMNS)
    [outcome] = write_tables(lake, frame, [TableBatch(name_of(table))])
    assert outcome.error is None
    assert [(row["id"], row["x"]) for row in table.read().collect()] == [(1, 2)]


def test_a_frame_that_is_none(lake: kl.Lake) -> None:
    frame = lake.spark.createDataFrame([("a", "c", "1", "{}")], COLUMNS.replace("BIGINT", "STRING"))
    with pytest.raises(kl.SchemaMismatch, match="no column 'version' of type BIGINT"):
        write_tables(lake, frame, [])
    with pytest.raises(kl.DefinitionError, match="twice"):
        written(lake, [change("many.t", "c", 1)], TableBatch("many.t"), TableBatch("many.t"))
    assert write_tables(lake, lake.spark.createDataFrame([], COLUMNS), []) == ()


@pytest.mark.slow
@pytest.mark.usefixtures("writer")
def test_rows_that_fail_a_condition_are_held_back_or_set_their_table_aside(lake: kl.Lake) -> None:
    held, strict, plain = (create(lake, a=pa.int64(), b=pa.string()) for _ in range(3))
    require = ("a >= 0", "b <> 'x' AND b NOT LIKE '%,%'")
    outcomes = written(
        lake,
        [
            change(table, op, version, **row)
            for table in (held, strict, plain)
            for op, version, row in (
                ("c", 1, {"id": 1, "a": 1, "b": "y"}),
                ("c", 2, {"id": 2, "a": -1, "b": "y"}),
                ("c", 3, {"id": 3, "a": 3, "b": "x"}),
                ("u", 4, {"id": 4, "A": 4}),
                ("u", 5, {"id": 5, "a": None}),
                ("d", 6, {"id": 1, "a": -9}),
            )
        ],
        TableBatch(name_of(held), {"log": (0, 6)}, require=require, on_failure="quarantine"),
        TableBatch(name_of(strict), {"log": (0, 6)}, require=require),
        TableBatch(name_of(plain), {"log": (0, 6)}, require=("nothing > 0",)),
    )
    assert [row["id"] for row in rows(held)] == [4]
    assert outcomes[0].commit is not None
    assert outcomes[0].commit.held == 3
    shown = held.quarantine.rows().toArrow().to_pylist()
    assert {row["id"]: row["_failed"] for row in shown} == {2: "a >= 0", 3: require[1], 5: "a >= 0"}
    assert isinstance(outcomes[1].error, kl.BadRows)
    assert "does not satisfy the condition" in str(outcomes[1].error)
    assert isinstance(outcomes[2].error, kl.SchemaMismatch)
    assert "nothing" in str(outcomes[2].error)
    assert not rows(strict)
    assert not rows(plain)
    assert held.commits.offsets() == {"log": 6}
    assert held.quarantine.release(where="id = 5").rows == 1
    assert [row["id"] for row in rows(held)] == [4, 5]
