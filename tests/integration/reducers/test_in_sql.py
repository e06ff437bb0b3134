"""Accumulators from SQL and through the other verbs: filters, statements, idempotency, bad contributions, branches."""

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import Row

import keylake as kl
from integration.raw import catalog_of
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving
from integration.twin import fresh_name

REDUCED = (
    "'versions' = 'commit', 'reduce.clicks' = 'Sum', 'reduce.visits' = 'Count', 'reduce.tags' = 'Collect(distinct)'"
)
COLUMNS = "id BIGINT, clicks BIGINT, visits BIGINT, tags ARRAY<STRING>, page STRING, PRIMARY KEY (id)"


@pytest.fixture
def table(lake: kl.Lake) -> Evolving:
    made = Evolving(lake, COLUMNS, REDUCED)
    made.run("INSERT INTO {t} VALUES (1, 5, 1, array('a', 'b'), 'x'), (2, NULL, NULL, NULL, 'y')")
    made.run("INSERT INTO {t} VALUES (1, 6, 1, array('b', 'c'), 'z'), (3, -4, 1, NULL, NULL)")
    return made


ROWS = [(1, 11, 2, ["a", "b", "c"], "z"), (2, None, 0, None, "y"), (3, -4, 1, None, None)]


def test_rows_and_filters(table: Evolving) -> None:
    """A filter asks the combined value, which no file has."""
    for _ in range(2):
        assert table.rows() == ROWS
        assert table.rows("SELECT id FROM {t} WHERE clicks > 6") == [(1,)]
        assert table.rows("SELECT id FROM {t} WHERE clicks IN (5, 6)") == []
        assert table.rows("SELECT id FROM {t} WHERE visits = 0") == [(2,)]
        assert table.rows("SELECT id FROM {t} WHERE visits IS NULL OR clicks IS NULL") == [(2,)]
        assert table.rows("SELECT count(*), sum(visits), max(clicks) FROM {t}") == [(3, 3, 11)]
        assert table.rows("SELECT id FROM {t} WHERE array_contains(tags, 'c') AND page = 'z'") == [(1,)]
        table.table.compact("full")


def test_a_row_of_one_write_may_lack_a_count(lake: kl.Lake) -> None:
    table = Evolving(lake, COLUMNS, REDUCED)
    table.run("INSERT INTO {t} (id, page) VALUES (1, 'x')")
    assert table.rows("SELECT id, visits FROM {t}") == [(1, 0)]
    assert table.rows("SELECT id FROM {t} WHERE visits = 0") == [(1,)]


def test_statements_leave_accumulators_as_they_are(table: Evolving) -> None:
    table.run("UPDATE {t} SET page = 'new' WHERE clicks > 6")
    source = "USING (SELECT 1 AS k, 7 AS c UNION ALL SELECT 9, 9) s ON t.id = s.k"
    table.run(
        f"MERGE INTO {{t}} t {source} WHEN MATCHED THEN UPDATE SET page = concat(page, 's') "
        "WHEN NOT MATCHED THEN INSERT (id, clicks) VALUES (s.k, s.c)"
    )
    assert table.rows() == [(1, 11, 2, ["a", "b", "c"], "news"), *ROWS[1:], (9, 9, 0, None, None)]
    with refused_in_sql(table.lake, table.name, "UNSUPPORTED", "'clicks'", "Sum", "INSERT INTO"):
        table.run("UPDATE {t} SET clicks = clicks + 1")
    with refused_in_sql(table.lake, table.name, "UNSUPPORTED", "'visits'", "Count"):
        table.run(f"MERGE INTO {{t}} t {source} WHEN MATCHED THEN UPDATE SET visits = 1")
    table.run("DELETE FROM {t} WHERE id = 1", "INSERT INTO {t} (id, clicks) VALUES (1, 2), (1, 3)")
    assert table.rows("SELECT * FROM {t} WHERE id = 1") == [(1, 5, 0, None, None)]


def test_a_repeated_write_counts_once(table: Evolving) -> None:
    rows = [{"id": 1, "clicks": 100}]
    first = table.table.update(rows, idempotency_key="monday")
    again = table.table.update(rows, idempotency_key="monday")
    assert (again.snapshot_id, again.rows) == (first.snapshot_id, 1)
    assert (first.repeated, again.repeated) == (False, True)
    assert "nothing was written" in str(again)
    assert table.rows("SELECT clicks FROM {t} WHERE id = 1") == [(111,)]


def test_contributions_are_taken_back(lake: kl.Lake) -> None:
    """Also before they come, and in a group whose other columns are left as they are."""
    columns = (
        "id BIGINT, n BIGINT, d DOUBLE, m DECIMAL(30, 2), c BIGINT, l ARRAY<BIGINT>, page STRING, "
        "days STRUCT<day: DATE, values: ARRAY<BIGINT>>, PRIMARY KEY (id)"
    )
    reduced = ", ".join(
        f"'reduce.{column}' = '{reducer}'"
        for column, reducer in {
            "n": "Sum",
            "d": "Sum",
            "m": "Sum",
            "c": "Count",
            "l": "ArraySum",
            "days": "Daily",
        }.items()
    )
    table = Evolving(lake, columns, f"'versions' = 'commit', 'column_group.g' = 'n, page', {reduced}")
    day = {"day": date(2026, 11, 1), "values": [3, None, 4]}
    given = {"n": 5, "d": 0.1, "m": Decimal("1.50"), "c": 1, "l": [1, 2], "days": day}
    table.table.update([{"id": 1} | given], retract=True)
    for _ in range(3):
        table.table.update([{"id": 1, "page": "x"} | given])
    table.table.update([{"id": 1, "n": 1, "d": 0.1, "c": 9}, {"id": 1, "n": 1, "d": 0.1, "c": 9}], retract=True)
    ((_, *row),) = table.rows()
    assert row == [8, 0.0, Decimal("3.00"), 0, [2, 4], "x", Row(day=date(2026, 11, 1), values=[6, None, 8])]
    table.same_after_compaction()
    with pytest.raises(kl.KeylakeError, match=r"'page'.*Latest.*Sum, Count"):
        table.table.update([{"id": 1, "page": "y"}], retract=True)


def test_branches_and_copies_contribute_once(table: Evolving) -> None:
    draft = table.table.branch("tmp_draft")
    draft.update([{"id": 1, "clicks": 100}])
    table.table.update([{"id": 1, "clicks": 1000}])
    assert draft.read(columns=["clicks"], where="id = 1").collect() == [(111,)]
    draft.publish()
    assert table.rows("SELECT clicks FROM {t} WHERE id = 1") == [(1111,)]
    other = table.table.branch("tmp_other")
    other.delete([{"id": 1}])
    assert other.read(where="id = 1").count() == 0
    assert table.rows("SELECT visits FROM {t} WHERE id = 1") == [(2,)]


def test_a_contribution_that_is_no_bitmap(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("seen", pa.binary())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("bitmaps"), key=["id"], reducers={"seen": kl.BitmapOr()})
    table = lake.create(spec)
    with pytest.raises(kl.BadRows, match=r"'seen'.*id=7.*3 bytes.*Roaring"):
        table.upsert([{"id": 7, "seen": b"abc"}])
    assert not table.history()


def test_the_branch_merged_has_the_combined_values(table: Evolving) -> None:
    """What engines without the plug-in read; a count is 0 where nothing was counted."""
    table.table.refresh_merged()
    assert table.rows("SELECT * FROM {t} VERSION AS OF 'merged'") == ROWS
    scan = catalog_of(table.lake).load_table(table.name).scan()
    raw = scan.use_ref("merged").to_arrow().select(["id", "clicks", "visits", "tags", "page"]).to_pylist()
    assert sorted((tuple(row.values()) for row in raw), key=repr) == ROWS


def test_an_overflow_fails_only_who_asks_for_its_key(lake: kl.Lake) -> None:
    table = Evolving(
        lake,
        "id BIGINT, clicks BIGINT, best STRUCT<most: BIGINT, sums: ARRAY<BIGINT>>, PRIMARY KEY (id)",
        "'versions' = 'commit', 'reduce.clicks' = 'Sum', 'reduce.best' = 'Struct(most=Max, sums=ArraySum)'",
    )
    for _ in range(2):
        table.run(
            "INSERT INTO {t} SELECT id, if(id = 3, 9223372036854775807L, id), "
            "named_struct('most', id, 'sums', array(if(id = 3, 9223372036854775807L, id))) FROM range(6)"
        )
    assert table.table.get(id=2).clicks == 4  # type: ignore[union-attr]
    assert table.rows("SELECT clicks, best.sums FROM {t} WHERE id > 3") == [(10, [10]), (8, [8])]
    assert table.rows("SELECT sum(clicks), count(best) FROM {t} WHERE id <> 3") == [(24, 5)]
    for asked in ("clicks", "best.sums", "best.most", "best"):
        with refused_in_sql(lake, table.name, "BAD_ROWS", f"'{asked.split('.')[0]}'", "for the key id=3"):
            table.rows(f"SELECT {asked} FROM {{t}}")
