"""Contributions that are combined before they are moved: where reducers permit, and with no other answer."""

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import keylake as kl
from integration.query_plans import changed_settings
from integration.random_runs import of_every
from integration.reducers.reduced import CASES
from integration.refusals import refused
from integration.twin import Twin, fresh_name
from model.sums import SumOverflow

COMMUTE = [
    name
    for name, case in CASES.items()
    if not isinstance(case.reducer, kl.First | kl.Collect | kl.MapMerge | kl.TopN | kl.LatestN) and name != "struct"
]


def table_of(lake: kl.Lake, columns: Mapping[str, tuple[pa.DataType, kl.Reducer]], versions: str) -> Twin:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), *((name, of[0]) for name, of in columns.items())])
    reducers = {name: of[1] for name, of in columns.items()}
    spec = kl.TableSpec.from_arrow(
        schema,
        name=fresh_name("combined"),
        key=["k"],
        versions=versions,  # type: ignore[arg-type]
        buckets=3,
        reducers=reducers,
    )
    return Twin.create(lake, spec, schema)


@of_every("name", {name: name for name in COMMUTE}, today=2)
@pytest.mark.parametrize("versions", ["explicit", "commit"])
def test_rows_of_hot_keys_give_what_all_of_them_give(lake: kl.Lake, name: str, versions: str) -> None:
    random = Random(name)
    case = CASES[name]
    twin = table_of(lake, {"v": (case.type, case.reducer), "n": (pa.int64(), kl.Count())}, versions)
    for _ in range(3):
        rows = [
            {
                "k": random.choice([1, 1, 1, 2, random.randint(3, 40)]),
                "v": None if random.random() < 0.2 else case.draw(random),
                "n": random.choice([None, 0, 5]),
                "x": random.randint(0, 6),
            }
            for _ in range(120)
        ]
        if versions == "commit":
            rows = [{column: value for column, value in row.items() if column != "x"} for row in rows]
        twin.upsert(rows, None if versions == "commit" else "x", form="spark")
    if any(isinstance(row["v"], SumOverflow) for row in twin.model.read().values()):
        twin.check(["n"])
    else:
        twin.check()
    twin.table.compact("full")
    twin.check(["n"])


SUM = kl.Sum()
PLANS: Mapping[str, tuple[Mapping[str, tuple[pa.DataType, kl.Reducer]], str, bool]] = {
    "sums": ({"v": (pa.int64(), SUM)}, "k, v", True),
    "some of the columns": ({"v": (pa.int64(), SUM), "w": (pa.int64(), kl.Latest())}, "k, v", True),
    "a register": ({"v": (pa.int64(), SUM), "w": (pa.int64(), kl.Latest())}, "k, v, w", False),
    "registers only": ({"v": (pa.int64(), kl.Latest())}, "k, v", False),
    "a list": ({"v": (pa.list_(pa.int64()), kl.Collect())}, "k, array(v) AS v", False),
    "maps, which the writer looks at": (
        {"v": (pa.map_(pa.string(), pa.int64()), kl.MapMerge(of=SUM))},
        "k, map('a', v) AS v",
        False,
    ),
}


@pytest.mark.parametrize(("columns", "given", "combines"), PLANS.values(), ids=PLANS.keys())
def test_the_plan_says_what_is_combined(
    lake: kl.Lake, columns: Mapping[str, tuple[pa.DataType, kl.Reducer]], given: str, combines: bool
) -> None:
    twin = table_of(lake, columns, "commit")
    names = ", ".join(part.rsplit(" ", 1)[-1] for part in given.split(", ") if not part.startswith("map('a'"))
    names = names if "v" in names else names + ", v"
    rows = f"SELECT {given} FROM (SELECT id % 3 AS k, id AS v, id AS w FROM range(9))"
    plan = str(lake.spark.sql(f"EXPLAIN INSERT INTO {twin.sql_name} ({names}) {rows}").collect()[0][0])
    assert ("Combine by [k]: [Sum of v]" in plan) == combines


def test_ranges_of_keys_are_cut_by_what_is_left(lake: kl.Lake) -> None:
    """Half of the rows are of one key; once they are one row, no bucket is hot, and none is cut."""
    twin = table_of(lake, {"n": (pa.int64(), SUM), "d": (pa.float64(), SUM)}, "commit")
    settings = {
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "50k",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.shuffle.partitions": "8",
    }
    with changed_settings(lake, settings):
        lake.spark.sql(
            f"INSERT INTO {twin.sql_name} SELECT IF(id % 2 = 0, 7, id) AS k, id AS n, id * 0.1D AS d "
            "FROM range(0, 60000, 1, 3)"
        )
    (row,) = twin.table.read().selectExpr("count(*) AS keys", "sum(n) AS n", "max(n) AS hot").collect()
    assert (row.keys, row.n, row.hot) == (30_000, 60_000 * 59_999 // 2, sum(range(0, 60_000, 2)) + 7)
    rows = [file["rows"] for file in twin.table.files().collect()]
    assert len(rows) == 3
    assert max(rows) < 2 * min(rows), rows


def test_batches_of_streams_are_combined(lake: kl.Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = table_of(lake, {"n": (pa.int64(), SUM), "c": (pa.int64(), kl.Count())}, "commit")
    lake.spark.range(0, 20_000, 1, 2).write.parquet(str(tmp_path / "numbers"))
    numbers = lake.spark.readStream.schema("id BIGINT").parquet(str(tmp_path / "numbers"))
    contributions = numbers.selectExpr("IF(id % 2 = 0, 7, id) AS k", "id AS n", "id AS c")
    writer = contributions.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).toTable(twin.sql_name)
    assert query.awaitTermination(120)
    query.explain()
    assert "Combine by [k]: [Sum of n, Count of c]" in capsys.readouterr().out
    (row,) = twin.table.read().selectExpr("count(*) AS keys", "sum(n) AS n", "max(c) AS hot").collect()
    assert (row.keys, row.n, row.hot) == (10_000, 20_000 * 19_999 // 2, 10_001)


def test_what_a_reducer_refuses_is_told_by_key_and_column(lake: kl.Lake) -> None:
    twin = table_of(lake, {"v": (pa.binary(), kl.Hll())}, "commit")
    good = "hll_of(id)"
    frame = lake.spark.sql(
        f"SELECT bigint(1) AS k, {good} AS v FROM range(9) UNION ALL SELECT bigint(1), x'0102' UNION ALL "
        f"SELECT bigint(1), {good} FROM range(3)"
    )
    with refused(lake, twin.table.name, kl.BadRows, "Column 'v' of the row with key k=1: ", "Hll"):
        twin.table.upsert(frame)
    assert twin.table.read().isEmpty()
