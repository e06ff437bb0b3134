"""A plain table in step with a keyed one, as pyiceberg reads it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.table import Table

import keylake as kl
from integration.histories import Shape, operations
from integration.random_runs import FIRST, SHAPES, of_every
from integration.raw import catalog_of
from integration.refusals import refused, refused_in_sql
from integration.twin import Found, Twin, by_key, fresh_name

EXPLICIT = Shape("explicit", buckets=2)


@pytest.fixture
def copy(lake: kl.Lake) -> Iterator[str]:
    """The name of a copy that is not there yet; it is dropped in the end."""
    name = fresh_name("copies")
    yield name
    lake.spark.sql(f"DROP TABLE IF EXISTS {lake.catalog}.{name}")


def opened(lake: kl.Lake, copy: str) -> Table:
    catalog = catalog_of(lake)
    table = catalog.load_table(copy)
    catalog.close()
    return table


def found(lake: kl.Lake, copy: str, key: tuple[str, ...]) -> Found:
    """The rows of a copy; it has the format and the files that old engines read."""
    table = opened(lake, copy)
    assert table.format_version == 2
    assert "keylake.spec" not in table.properties
    assert sorted(table.schema().identifier_field_names()) == sorted(key)
    assert table.inspect.delete_files().to_pydict()["content"].count(2) == 0, "no equality deletes"
    return by_key(table.scan().to_arrow(), key)


def written(lake: kl.Lake) -> Twin:
    twin = EXPLICIT.create(lake, fresh_name("published"))
    rows = [{"id": key, "a": key, "b": "text", "c": 0.5, "d": None, "e": 1} for key in range(10)]
    twin.upsert(rows, version=1)
    return twin


def snapshot_ids(lake: kl.Lake, copy: str) -> list[int]:
    return [each.snapshot_id for each in opened(lake, copy).metadata.snapshots]


@pytest.mark.slow
@of_every("shape", SHAPES, today=1)
def test_random_operations(lake: kl.Lake, copy: str, shape: Shape) -> None:
    twin = shape.create(lake, fresh_name("published"))
    for number, operation in enumerate(operations(shape, FIRST, 9, 20)):
        operation.apply(twin)
        if number % 3 == 2:
            before = snapshot_ids(lake, copy) if number > 2 else []
            done = twin.table.publish_iceberg(copy)
            assert done.mode == ("changes" if before else "full")
            assert len(snapshot_ids(lake, copy)) - len(before) <= (1 if before else 2)
            assert found(lake, copy, shape_key(twin)) == twin.expected()


def shape_key(twin: Twin) -> tuple[str, ...]:
    return tuple(twin.model.key)


@pytest.mark.slow
def test_nothing_new_makes_no_commit(lake: kl.Lake, copy: str) -> None:
    twin = written(lake)
    first = twin.table.publish_iceberg(copy)
    assert (first.mode, first.reason, first.rows_written) == ("full", "new copy", 10)
    assert [str(field.transform) for field in opened(lake, copy).spec().fields] == ["bucket[2]"]
    twin.table.compact("full")
    before = snapshot_ids(lake, copy)
    assert twin.table.publish_iceberg(copy).mode == "nothing"
    assert snapshot_ids(lake, copy) == before
    twin.delete([{"id": 3}], version=2)
    twin.update([{"id": 4, "a": 40}, {"id": 90, "a": 9}], version=2)
    done = twin.table.publish_iceberg(copy)
    assert (done.mode, done.rows_deleted) == ("changes", 2)
    assert len(snapshot_ids(lake, copy)) == len(before) + 1
    assert list(opened(lake, copy).refs()) == ["main"]
    assert found(lake, copy, ("id",)) == twin.expected()


def test_what_the_copy_lacks_does_not_expire(lake: kl.Lake, copy: str) -> None:
    twin = written(lake)
    twin.table.publish_iceberg(copy)
    twin.update([{"id": 4, "a": 40}], version=2)
    twin.update([{"id": 5, "a": 50}], version=3)
    twin.table.clean(kl.RetentionPolicy(days=0))
    assert twin.table.publish_iceberg(copy).mode == "changes"
    assert found(lake, copy, ("id",)) == twin.expected()
    twin.update([{"id": 6, "a": 60}], version=4)
    twin.table.drop_consumer(f"copy.{copy}")
    twin.update([{"id": 7, "a": 70}], version=5)
    twin.table.compact("full")
    twin.table.clean(kl.RetentionPolicy(days=0))
    done = twin.table.publish_iceberg(copy)
    assert done.mode == "full"
    assert done.reason is not None
    assert "has expired" in done.reason
    assert found(lake, copy, ("id",)) == twin.expected()


def test_columns_change(lake: kl.Lake, copy: str) -> None:
    twin = written(lake)
    twin.table.publish_iceberg(copy)
    for change in ("RENAME COLUMN a TO a2", "DROP COLUMN b", "ADD COLUMN n INT"):
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} {change}")
    assert twin.table.publish_iceberg(copy).mode == "nothing"
    assert [field.name for field in opened(lake, copy).schema().fields] == ["id", "a2", "c", "d", "e", "n"]
    table = lake.table(twin.table.name)
    table.update(lake.spark.createDataFrame([(4, 44, 7)], "id BIGINT, a2 INT, n INT"), version=2)
    assert table.publish_iceberg(copy).mode == "changes"
    read = by_key(table.read().toArrow(), ("id",))
    assert read[(4,)]["n"] == 7
    assert found(lake, copy, ("id",)) == read
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} DROP COLUMN n")
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} ADD COLUMN n STRING")
    assert table.publish_iceberg(copy, full=True).reason == "asked for"
    assert found(lake, copy, ("id",)) == by_key(lake.table(twin.table.name).read().toArrow(), ("id",))


def test_members_that_have_changed_since_the_newest_commit(lake: kl.Lake, copy: str) -> None:
    """They are found by their ids, in lists and maps, too: another one stands in the place of one that went."""
    name = f"{lake.catalog}.{fresh_name('published')}"
    run = lake.spark.sql
    pair = "STRUCT<x: INT, y: INT>"
    columns = f"id INT PRIMARY KEY, s {pair}, n {pair}, l ARRAY<{pair}>, m MAP<STRING, {pair}>"
    run(f"CREATE TABLE {name} ({columns}) USING keylake").collect()
    value = "named_struct('x', 1, 'y', 2)"
    run(f"INSERT INTO {name} VALUES (1, {value}, NULL, array({value}, NULL), map('k', {value}))").collect()
    for member in ("s", "n", "l.element", "m.value"):
        run(f"ALTER TABLE {name} DROP COLUMN {member}.y").collect()
        run(f"ALTER TABLE {name} ADD COLUMN {member}.z INT").collect()
    lake.table(name.partition(".")[2]).serving.publish_iceberg(copy)
    (row,) = opened(lake, copy).scan().to_arrow().to_pylist()
    now = {"x": 1, "z": None}
    assert (row["s"], row["n"], row["l"], row["m"]) == (now, None, [now, None], [("k", now)])


def test_others_who_write_to_the_copy(lake: kl.Lake, copy: str) -> None:
    twin = written(lake)
    twin.table.publish_iceberg(copy)
    lake.spark.sql(f"DELETE FROM {lake.catalog}.{copy} WHERE id = 1")
    with refused(lake, copy, kl.ForeignCommit, "was not made by publish_iceberg", "full => true"):
        twin.table.publish_iceberg(copy)
    assert twin.table.publish_iceberg(copy, full=True).mode == "full"
    assert found(lake, copy, ("id",)) == twin.expected()
    lake.spark.sql(
        f"CALL {lake.catalog}.system.rewrite_data_files(table => '{copy}', options => map('rewrite-all', 'true'))"
    )
    twin.delete([{"id": 2}], version=2)
    assert twin.table.publish_iceberg(copy).mode == "changes"
    assert found(lake, copy, ("id",)) == twin.expected()


def test_two_at_once(lake: kl.Lake, copy: str) -> None:
    twin = written(lake)
    twin.table.publish_iceberg(copy)
    twin.update([{"id": 4, "a": 40}, {"id": 90, "a": 9}], version=2)

    def publish(_: int) -> str:
        try:
            return lake.table(twin.table.name).publish_iceberg(copy).mode
        except kl.CommitConflict:
            return "conflict"

    with ThreadPoolExecutor(2) as pool:
        modes = sorted(pool.map(publish, range(2)))
    assert "changes" in modes
    assert modes != ["changes", "changes"]
    assert twin.table.publish_iceberg(copy).mode == "nothing"
    assert found(lake, copy, ("id",)) == twin.expected()


def test_refusals(lake: kl.Lake, copy: str) -> None:
    twin, other = written(lake), written(lake)
    with refused(lake, other.table.name, kl.TableExists, "is no copy of", "take another name"):
        twin.table.publish_iceberg(other.table.name)
    with refused_in_sql(lake, twin.table.name, "DEFINITION", "write namespace.name"):
        lake.spark.sql(
            f"CALL {lake.catalog}.system.publish_iceberg(table => '{twin.table.name}', into => 'x')"
        ).collect()
    empty = EXPLICIT.create(lake, fresh_name("published"))
    with refused(lake, empty.table.name, kl.TableNotFound, "has no commit yet"):
        empty.table.publish_iceberg(copy)
    for apart in (twin.table.branch("tmp_apart"), twin.table.experiment("apart", add={"f": kl.Int64})):
        with pytest.raises(kl.DefinitionError, match="is not main, and a copy has the rows of main"):
            apart.serving.publish_iceberg(copy)
