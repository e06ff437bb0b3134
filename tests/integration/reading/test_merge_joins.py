"""Joins with keyed tables batch by batch: which joins are done so, and that they give what Spark's own join gives."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from integration.query_plans import changed_settings, explained, rows_of
from integration.random_runs import of_every
from integration.twin import fresh_name

ROWS = 12_000  # a bucket of them is several batches
SHUFFLED = {"spark.sql.sources.v2.bucketing.enabled": "false"}
SETTINGS = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        ("number", pa.int32()),
        ("text", pa.string()),
        ("long_text", pa.string()),
        ("amount", pa.decimal128(30, 4)),
        ("small", pa.decimal128(9, 2)),
        ("ratio", pa.float64()),
        ("factor", pa.float32()),
        ("on", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("raw", pa.binary()),
        ("list", pa.list_(pa.string())),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("place", pa.struct([("x", pa.float64()), ("y", pa.struct([("z", pa.string())]))])),
    ]
)


def row(draw: random.Random, number: int) -> dict[str, Any]:
    values: dict[str, Any] = {
        "number": draw.randrange(100),
        "text": f"text {draw.randrange(50)}",
        "long_text": "long " * draw.randrange(40),
        "amount": Decimal(draw.randrange(10**20)) / 10**4,
        "small": Decimal(draw.randrange(10**6)) / 100,
        "ratio": draw.random(),
        "factor": draw.randrange(1000) / 8,
        "on": draw.random() < 0.5,
        "day": date(2026, 1, 1 + draw.randrange(28)),
        "at": datetime(2026, 1, 1, draw.randrange(24), tzinfo=UTC),
        "raw": draw.randbytes(draw.randrange(5)),
        "list": [str(n) for n in range(draw.randrange(4))],
        "map": [(str(n), n) for n in range(draw.randrange(3))],
        "place": {"x": draw.random(), "y": None if draw.random() < 0.2 else {"z": str(number)}},
    }
    empty = {name for name in values if draw.random() < 0.15}
    return {"id": number, "name": f"the name {number % 7}"} | {k: None if k in empty else v for k, v in values.items()}


@pytest.fixture(autouse=True)
def settings(lake: kl.Lake) -> Iterator[None]:
    with changed_settings(lake, SETTINGS):
        yield


@pytest.fixture(scope="module")
def tables(lake: kl.Lake) -> list[str]:
    """Three tables of the same keys, of which each has most; one of them is a few runs."""
    names = []
    for number in range(3):
        draw = random.Random(number)
        spec = kl.TableSpec.from_arrow(
            SCHEMA, name=fresh_name("joined"), key=["id", "name"], versions="commit", buckets=2
        )
        table = lake.create(spec)
        for share in (0.8, 0.1, 0.1) if number == 1 else (0.8,):
            rows = [row(draw, n) for n in range(ROWS) if draw.random() < share]
            table.upsert(pa.Table.from_pylist(rows, schema=SCHEMA))
        names.append(f"lake.{table.name}")
    return names


def joins_in(lake: kl.Lake, query: str) -> tuple[int, int]:
    """How many joins go batch by batch, and how many are Spark's own, when rows are what they are with shuffles."""
    plan = explained(lake, query).partition("\n\n")[0]  # the tree, and not what is said of each operator
    found = rows_of(lake, query)
    with changed_settings(lake, SHUFFLED):
        assert found == rows_of(lake, query), query
    assert found
    return plan.count("KeyedMergeJoin"), plan.count("SortMergeJoin")


def on(left: str, right: str) -> str:
    return f"{left}.id = {right}.id AND {left}.name = {right}.name"


@pytest.mark.slow
def test_a_chain_of_joins_is_one(lake: kl.Lake, tables: list[str]) -> None:
    one, two, three = tables
    chain = f"SELECT l.*, r.*, q.place FROM {one} l LEFT JOIN {two} r ON {on('l', 'r')}"
    assert joins_in(lake, f"{chain} LEFT JOIN {three} q ON {on('l', 'q')}") == (1, 0)
    assert joins_in(lake, f"{chain} JOIN {three} q ON {on('l', 'q')}") == (1, 0)
    renamed = f"SELECT id AS i, name AS n, place AS p, list FROM {one}"
    query = f"SELECT l.p.y.z, l.list, q.* FROM ({renamed}) l JOIN {two} r ON l.i = r.id AND l.n = r.name"
    assert joins_in(lake, f"{query} LEFT JOIN {three} q ON l.i = q.id AND l.n = q.name") == (1, 0)
    assert joins_in(lake, f"SELECT count(*) FROM {one} l JOIN {two} r ON {on('l', 'r')}") == (1, 0)


@pytest.mark.slow
@of_every("how", {how: how for how in ("INNER", "LEFT", "RIGHT", "LEFT SEMI", "LEFT ANTI")}, today=2)
def test_kinds_of_joins(lake: kl.Lake, tables: list[str], how: str) -> None:
    one, two, three = tables
    columns = "l.*" if how.startswith("LEFT ") else "l.number AS n, l.text, r.*"
    joined = f"SELECT {columns} FROM {one} l {how} JOIN {two} r ON {on('l', 'r')}"
    assert joins_in(lake, joined) == (1, 0)
    further = f"SELECT j.*, q.text AS t FROM ({joined}) j LEFT JOIN {three} q ON {on('j', 'q')}"
    assert joins_in(lake, further) == ((1, 1) if how == "LEFT" else (1, 0)), "keys of missing rows are nulls"


@pytest.mark.slow
def test_samples_with_nulls_and_keys_that_come_again(lake: kl.Lake, tables: list[str]) -> None:
    """Rows that come one by one are copied into batches where they are narrow."""
    samples = f"""(SELECT /*+ REPARTITION(2, w) */ *, lake.system.key_bucket(2, id, name) AS w FROM (
        SELECT CASE WHEN n % 11 = 0 THEN NULL ELSE pmod(n * 31, {ROWS}) END AS id,
            CASE WHEN n % 13 = 0 THEN NULL ELSE concat('the name ', pmod(pmod(n * 31, {ROWS}), 7)) END AS name, n
        FROM range(0, {2 * ROWS}) AS t(n)))"""
    one, two, three = tables
    for how in ("LEFT", "INNER"):
        query = f"SELECT s.*, l.*, r.* FROM {samples} s {how} JOIN {one} l ON {on('s', 'l')}"
        assert joins_in(lake, f"{query} LEFT JOIN {two} r ON {on('s', 'r')}") == (1, 0)
    assert joins_in(lake, f"SELECT s.n FROM {samples} s LEFT ANTI JOIN {three} r ON {on('s', 'r')}") == (0, 1)


@pytest.mark.slow
def test_joins_that_are_left_to_spark(lake: kl.Lake, tables: list[str]) -> None:
    one, two, three = tables
    assert joins_in(lake, f"SELECT l.*, r.* FROM {one} l FULL JOIN {two} r ON {on('l', 'r')}") == (0, 1)
    compared = f"SELECT l.*, r.* FROM {one} l LEFT JOIN {two} r ON {on('l', 'r')} AND l.ratio < r.ratio"
    assert joins_in(lake, compared) == (0, 1)
    grouped = f"(SELECT id, name, max(number) AS m FROM {two} GROUP BY id, name)"
    assert joins_in(lake, f"SELECT l.m, r.m AS x FROM {grouped} l JOIN {grouped} r ON {on('l', 'r')}") == (0, 1)
    # the key of the second join is the first one's, and null where that has no row
    chained = f"SELECT l.text, r.text AS x, q.* FROM {one} l LEFT JOIN {two} r ON {on('l', 'r')}"
    assert joins_in(lake, f"{chained} LEFT JOIN {three} q ON {on('r', 'q')}")[1] <= 1


def test_rows_of_a_window_meet_a_table(lake: kl.Lake, tables: list[str]) -> None:
    one, two, _ = tables
    counted = f"(SELECT *, row_number() OVER (PARTITION BY id, name ORDER BY number) AS nth FROM {one})"
    assert joins_in(lake, f"SELECT l.nth, l.text, r.* FROM {counted} l LEFT JOIN {two} r ON {on('l', 'r')}")[1] <= 1
