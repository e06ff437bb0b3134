"""Sketches: unions of what Spark and the Python library made, read by both, equal to one sketch of all values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import datasketches as ds
import pyarrow as pa
import pytest

import keylake as kl
from integration.histories import Operation
from integration.random_runs import of_every
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving
from integration.twin import Twin, fresh_name

SQL = (
    "'versions' = 'commit', 'reduce.seen' = 'Hll', 'reduce.members' = 'Theta(lg_nominal=10)', "
    "'reduce.seconds' = 'Kll(values=long)', 'reduce.prices' = 'Kll(k=50, values=float)'"
)
COLUMNS = "id BIGINT, seen BINARY, members BINARY, seconds BINARY, prices BINARY, PRIMARY KEY (id)"


def insert(table: Evolving, first: int, last: int) -> None:
    """Sketches of the numbers of a range, the even ones under one key and the odd ones under another."""
    table.run(
        "INSERT INTO {t} SELECT id % 2, hll_sketch_agg(id), theta_sketch_agg(id, 10), kll_sketch_agg_bigint(id), "
        f"kll_sketch_agg_float(CAST(id AS FLOAT), 50) FROM range({first}, {last}, 1, 1) GROUP BY id % 2"
    )


@pytest.mark.slow
def test_spark_reads_the_unions(lake: kl.Lake) -> None:
    table = Evolving(lake, COLUMNS, SQL)
    insert(table, 0, 6_000)
    insert(table, 4_000, 10_000)
    estimates = (
        "SELECT id, hll_sketch_estimate(seen), theta_sketch_estimate(members), theta_sketch_estimate("
        "theta_intersection(members, (SELECT members FROM {t} WHERE id = 1))) FROM {t}"
    )
    table.same_after_compaction(estimates)
    for key, seen, members, common in table.rows(estimates):
        assert seen == pytest.approx(5_000, rel=0.06)
        assert members == pytest.approx(5_000, rel=0.12)
        assert common == (members if key == 1 else 0)
    for row in table.rows(
        "SELECT kll_sketch_get_n_bigint(seconds), kll_sketch_get_quantile_bigint(seconds, 0.5), "
        "kll_sketch_get_n_float(prices), kll_sketch_get_quantile_float(prices, 0.9) FROM {t}"
    ):
        n, median, n_prices, high = (float(str(value)) for value in row)
        assert n == n_prices == 6_000
        assert median == pytest.approx(5_000, abs=300)
        assert high == pytest.approx(9_000, abs=900)


def test_a_union_with_what_it_has_is_no_change(lake: kl.Lake) -> None:
    """The same bytes, whichever sketches of the values there were."""
    table = Evolving(
        lake, "id BIGINT, seen BINARY, members BINARY, PRIMARY KEY (id)", SQL.split(", 'reduce.seconds'", maxsplit=1)[0]
    )
    select = (
        "SELECT id % 2, hll_sketch_agg(id), theta_sketch_agg(id, 10) FROM range(0, 9000, 1, 1) WHERE {} GROUP BY id % 2"
    )
    table.run("INSERT INTO {t} " + select.format("TRUE"))
    before = table.rows()
    since = table.table.history(at_most=1)[0]
    for part in ("id < 4000", "id > 3000"):
        table.run("INSERT INTO {t} " + select.format(part))
    assert table.rows() == before
    assert table.table.changes(after=since).count() == 0


@pytest.mark.parametrize(
    ("column", "sketch", "says"),
    [
        ("seen", "hll_sketch_agg(id, 10)", ["lg_k=10", "lg_k=12", "hll_sketch_agg(value, 12)"]),
        ("seen", "theta_sketch_agg(id)", ["a Theta sketch", "Hll"]),
        ("seen", "CAST('something' AS BINARY)", ["9 bytes", "Hll"]),
        ("members", "theta_sketch_agg(id, 12)", ["larger lg_nominal", "lg_nominal=10"]),
        ("members", "theta_sketch_agg(id, 8)", ["smaller lg_nominal", "theta_sketch_agg(value, 10)"]),
        ("members", "hll_sketch_agg(id)", ["an Hll sketch", "Theta"]),
        ("seconds", "kll_sketch_agg_bigint(id, 400)", ["k=400", "k=200", "kll_sketch_agg_bigint(value, 200)"]),
        ("seconds", "kll_sketch_agg_float(CAST(id AS FLOAT))", ["not the bytes of a Kll sketch", "type long"]),
    ],
)
def test_other_sketches_are_refused(sketches: Evolving, column: str, sketch: str, says: list[str]) -> None:
    statement = f"INSERT INTO {{t}} (id, {column}) SELECT 7, {sketch} FROM range(0, 5000, 1, 1)"
    if sketch.startswith("CAST"):
        statement = f"INSERT INTO {{t}} (id, {column}) VALUES (7, {sketch})"
    with refused_in_sql(sketches.lake, sketches.name, "BAD_ROWS", f"'{column}'", "id=7", *says):
        sketches.run(statement)


@pytest.fixture(scope="module")
def sketches(lake: kl.Lake) -> Evolving:
    return Evolving(lake, COLUMNS, SQL)


# ------------------------------------------------------------------------------------------- beside sets of values


@dataclass(frozen=True)
class Sketched:
    """A column of sketches: how values become one, and what it must say about all values."""

    reducer: kl.Reducer
    draw: Callable[[Random], Any]
    bytes_of: Callable[[Any], bytes]
    check: Callable[[bytes, Any], None]


def numbers(random: Random) -> frozenset[int]:
    start, many = random.randint(0, 3000), random.choice([0, 1, 5, 100, 3000])
    return frozenset(range(start, start + many))


def measures(random: Random) -> tuple[float, ...]:
    return tuple(random.gauss(0, 1) for _ in range(random.choice([0, 1, 5, 40, 700])))


def hll_of(values: frozenset[int]) -> bytes:
    sketch = ds.hll_sketch(8, Random(len(values)).choice(list(ds.tgt_hll_type)))
    for value in values:
        sketch.update(value)
    return bytes(sketch.serialize_compact() if len(values) % 2 else sketch.serialize_updatable())


def check_hll(found: bytes, values: frozenset[int]) -> None:
    union = ds.hll_union(8)
    for _ in range(2):  # of two sketches, even of the same, the estimate is the one that has no order
        union.update(ds.hll_sketch.deserialize(hll_of(values)))
    assert ds.hll_sketch.deserialize(found).get_estimate() == pytest.approx(
        union.get_result().get_estimate(), rel=1e-12
    )


def theta_of(values: frozenset[int]) -> bytes:
    sketch = ds.update_theta_sketch(lg_k=6)
    for value in values:
        sketch.update(value)
    return bytes(sketch.compact(ordered=len(values) % 2 == 0).serialize())


def check_theta(found: bytes, values: frozenset[int]) -> None:
    union = ds.theta_union(6)
    union.update(ds.compact_theta_sketch.deserialize(theta_of(values)))
    expected, read = union.get_result(), ds.compact_theta_sketch.deserialize(found)
    assert (read.theta64, sorted(read)) == (expected.theta64, sorted(expected))


def kll_of(values: tuple[float, ...]) -> bytes:
    sketch = ds.kll_doubles_sketch(100)
    for value in values:
        sketch.update(value)
    return bytes(sketch.serialize())


def check_kll(found: bytes, values: tuple[float, ...]) -> None:
    """Exact up to k values; within the error beyond."""
    read = ds.kll_doubles_sketch.deserialize(found)
    assert read.n == len(values)
    if values:
        assert (read.get_min_value(), read.get_max_value()) == (min(values), max(values))
    if len(values) <= 100:
        assert sorted(value for value, _ in read) == sorted(values)
    for rank in (0.05, 0.3, 0.5, 0.9) if values else ():
        below = sum(value <= read.get_quantile(rank) for value in values) / len(values)
        assert below == pytest.approx(rank, abs=0.05 + 1 / len(values))


CASES: Mapping[str, Sketched] = {
    "hll": Sketched(kl.Hll(lg_k=8), numbers, hll_of, check_hll),
    "theta": Sketched(kl.Theta(lg_nominal=6), numbers, theta_of, check_theta),
    "kll": Sketched(kl.Kll(k=100), measures, kll_of, check_kll),
}


@of_every("sketched", CASES, today=1)
def test_any_history_gives_one_sketch_of_all_values(lake: kl.Lake, sketched: Sketched) -> None:
    random = Random(17)
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.binary())])
    spec = kl.TableSpec.from_arrow(
        schema,
        name=fresh_name("sketches"),
        key=["k"],
        versions="explicit",
        buckets=2,
        reducers={"v": sketched.reducer},
    )

    class SketchTwin(Twin):
        """The model has the values, the table their sketches."""

        def frame(self, rows: Any, form: Any = "arrow") -> object:
            made = [
                row | {"v": None if row["v"] is None else sketched.bytes_of(row["v"])} if "v" in row else row
                for row in rows
            ]
            return super().frame(made, form)

        def check(self, columns: object = None, commits: int | None = None) -> None:
            read, expected = self.read(), self.model.read()
            assert read.keys() == expected.keys()
            for key, row in read.items():
                found, values = row["v"], expected[key]["v"]
                assert (found is None) == (values is None)
                if isinstance(found, bytes):
                    sketched.check(found, values)

    twin = SketchTwin.create(lake, spec, schema)
    for number in range(6):
        rows = tuple(
            {"k": random.randint(0, 3), "v": sketched.draw(random) if random.random() < 0.9 else None, "x": version}
            for version in random.choices(range(6), k=6)
        )
        if number == 3:
            Operation("delete", tuple({"k": row["k"], "x": row["x"]} for row in rows[:2]), "x").apply(twin)
        Operation("upsert", rows, "x").apply(twin)
        if number in (2, 5):
            twin.check()
            twin.table.compact(random.choice(["full", "settle"]))
    twin.check()
    twin.table.undo(after=twin.commits[1], until=twin.commits[4])
    twin.model = twin.model.without(2, 5)
    twin.check()
