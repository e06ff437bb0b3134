"""SQL functions that make contributions and read combined values, and parts of structs and maps from SQL."""

import math
from collections.abc import Sequence

import pytest

import keylake as kl
from integration.random_runs import of_every
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving

SPARK = ("avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "skewness", "kurtosis")
VALUES = [3.5, -1.25, 0.1, 1e3, 7.0, 7.0]


def one(rows: Sequence[tuple[object, ...]]) -> tuple[object, ...]:
    (row,) = rows
    return row


def test_averages(lake: kl.Lake) -> None:
    table = Evolving(
        lake,
        "id BIGINT, price STRUCT<sum: DOUBLE, count: BIGINT>, PRIMARY KEY (id)",
        "'versions' = 'commit', 'reduce.price' = 'Average'",
    )
    table.run("INSERT INTO {t} VALUES (1, average_of(0.1D)), (1, average_of(0.2D)), (2, NULL)")
    table.run("INSERT INTO {t} VALUES (1, named_struct('sum', 7.5D, 'count', 3L)), (3, average_of(CAST(NULL AS INT)))")
    table.same_after_compaction("SELECT id, average(price), price.count FROM {t}")
    assert table.rows("SELECT id, average(price), price.count FROM {t}") == [
        (1, 7.8 / 5, 5),
        (2, None, None),
        (3, None, None),
    ]
    table.table.update([{"id": 1, "price": {"sum": 7.5, "count": 3}}], retract=True)
    assert table.rows("SELECT price FROM {t} WHERE id = 1") == [((math.fsum([0.1, 0.2]), 2),)]
    with refused_in_sql(lake, table.name, "BAD_ROWS", "'price'", "id=1", "no 'count'", "sum, count"):
        table.run("INSERT INTO {t} VALUES (1, named_struct('sum', 7.5D, 'count', CAST(NULL AS BIGINT)))")


@of_every("values", {str(len(values)): values for values in (VALUES, VALUES[:1], [4.0, 4.0], [])}, today=1)
def test_moments_are_those_of_spark(lake: kl.Lake, values: list[float]) -> None:
    powers = ", ".join(f"sum{power}: DOUBLE" for power in ("", 2, 3, 4))
    table = Evolving(
        lake,
        f"id BIGINT, price STRUCT<count: BIGINT, {powers}>, PRIMARY KEY (id)",
        "'versions' = 'commit', 'reduce.price' = 'Moments'",
    )
    table.run("INSERT INTO {t} (id) VALUES (1)")
    for value in values:
        table.run(f"INSERT INTO {{t}} SELECT 1, moments_of({value}D)")
    table.table.compact("full")
    read = one(table.rows("SELECT " + ", ".join(f"moments_{name}(price)" for name in SPARK) + " FROM {t}"))
    listed = ", ".join(f"({value}D)" for value in values) or "(CAST(NULL AS DOUBLE))"
    asked = ", ".join(f"{name}(v)" for name in SPARK)
    expected = one(table.rows(f"SELECT {asked} FROM VALUES {listed} AS t(v)"))
    for found, wanted in zip(read, expected, strict=True):
        assert found is wanted is None or found == pytest.approx(wanted, rel=1e-9)


def test_roaring_bitmaps(lake: kl.Lake) -> None:
    table = Evolving(
        lake,
        "id BIGINT, seen BINARY, PRIMARY KEY (id)",
        "'versions' = 'commit', 'reduce.seen' = 'BitmapOr'",
    )
    table.run("INSERT INTO {t} VALUES (1, roaring_of(array(1, 2, 3))), (1, roaring_of(4294967295L)), (2, NULL)")
    table.run("INSERT INTO {t} VALUES (1, roaring_of(array(3, NULL, 70000))), (2, roaring_of(2))")
    assert table.rows("SELECT id, roaring_count(seen), roaring_to_array(seen) FROM {t}") == [
        (1, 5, [1, 2, 3, 70_000, 4_294_967_295]),
        (2, 1, [2]),
    ]
    both = "{t} a CROSS JOIN {t} b WHERE a.id = 1 AND b.id = 2"
    assert table.rows(
        "SELECT roaring_contains(a.seen, b.id), roaring_count(roaring_and(a.seen, b.seen)), "
        f"roaring_count(roaring_or(a.seen, NULL)), roaring_to_array(roaring_andnot(a.seen, b.seen)) FROM {both}"
    ) == [(True, 1, None, [1, 3, 70_000, 4_294_967_295])]


@pytest.mark.parametrize(
    ("made", "aggregate"),
    [
        ("hll_of(id)", "hll_sketch_agg(id)"),
        ("hll_of(CAST(id AS STRING), 8)", "hll_sketch_agg(CAST(id AS STRING), 8)"),
        ("hll_of(CAST(id AS SMALLINT))", "hll_sketch_agg(CAST(id AS INT))"),
        ("hll_of(CAST('x' AS BINARY))", "hll_sketch_agg(CAST('x' AS BINARY))"),
        ("theta_of(id)", "theta_sketch_agg(id)"),
        ("theta_of(CAST(id AS STRING), 10)", "theta_sketch_agg(CAST(id AS STRING), 10)"),
        ("kll_of(id)", "kll_sketch_agg_bigint(id)"),
        ("kll_of(CAST(id AS FLOAT), 50)", "kll_sketch_agg_float(CAST(id AS FLOAT), 50)"),
        ("kll_of(id / 7)", "kll_sketch_agg_double(id / 7)"),
    ],
)
def test_a_sketch_of_one_value_is_that_of_the_aggregate(lake: kl.Lake, made: str, aggregate: str) -> None:
    (row,) = lake.spark.sql(f"SELECT first({made}), {aggregate} FROM range(5, 6)").collect()
    if made.startswith("hll"):  # the aggregate leaves room for more values
        together = f"hll_sketch_estimate(hll_union(first({made}), {aggregate}))"
        assert one(lake.spark.sql(f"SELECT {together} FROM range(5, 6)").collect()) == (1,)
        assert len(row[0]) == 12
    else:
        assert row[0] == row[1]
    (nothing,) = lake.spark.sql(f"SELECT {made} FROM (SELECT CAST(NULL AS BIGINT) AS id)").collect()
    assert nothing[0] is None or "'x'" in made


@pytest.mark.parametrize(
    ("expression", "kind", "says"),
    [
        ("roaring_of(-1)", "BAD_ROWS", ["-1", "from 0 to 4294967295"]),
        ("roaring_of('a')", "DEFINITION", ["roaring_of was given (string)", "a whole number"]),
        ("roaring_count(CAST('abc' AS BINARY))", "BAD_ROWS", ["3 bytes", "roaring_of(value)"]),
        ("hll_of(1, 40)", "BAD_ROWS", ["the lg_k of hll_of is 40", "from 4 to 21"]),
        ("kll_of('a')", "DEFINITION", ["kll_of was given (string)", "kll_of(value, k)"]),
        ("average_of('a')", "DEFINITION", ["average_of was given (string)", "write average_of(value)"]),
        ("average(3)", "DEFINITION", ["average was given (int)", "'count'"]),
        ("moments_avg(named_struct('sum', 1))", "DEFINITION", ["moments_avg(column)", "'sum4'"]),
    ],
)
def test_what_functions_do_not_take(lake: kl.Lake, expression: str, kind: str, says: list[str]) -> None:
    with refused_in_sql(lake, "no.table", kind, *says):
        lake.spark.sql(f"SELECT {expression}").collect()


def test_pages_of_bits_are_read_by_spark(lake: kl.Lake) -> None:
    """A page for each bucket number, in a map or under a key."""
    table = Evolving(
        lake,
        "id BIGINT, seen MAP<BIGINT, BINARY>, first BINARY, PRIMARY KEY (id)",
        "'versions' = 'commit', 'reduce.seen' = 'MapMerge(of=BitmapOr(pages))', 'reduce.first' = 'BitmapOr(pages)'",
    )
    for start, end in ((0, 50_000), (40_000, 90_000)):
        pages = (
            "SELECT bitmap_bucket_number(id) AS page, bitmap_construct_agg(bitmap_bit_position(id)) AS bits "
            f"FROM range({start}, {end}) GROUP BY 1"
        )
        table.run(
            f"INSERT INTO {{t}} SELECT 1, map_from_entries(collect_list(struct(page, bits))), max(bits) FROM ({pages})"
        )
    counted = (
        "SELECT aggregate(map_values(seen), 0L, (n, page) -> n + bitmap_count(page)), "
        "bitmap_count(seen[1]), bitmap_count(first) FROM {t}"
    )
    for _ in range(2):
        assert table.rows(counted)[0][:2] == (90_000 - 1 + 1, 32_768)
        table.table.compact("full")
    with refused_in_sql(lake, table.name, "BAD_ROWS", "'first'", "id=1", "5000 bytes", "bitmap_construct_agg"):
        table.run("INSERT INTO {t} (id, first) VALUES (1, CAST(repeat('x', 5000) AS BINARY))")


PARTS = (
    "id BIGINT, day STRUCT<spend: BIGINT, longest: INT>, best ARRAY<STRUCT<name: STRING, score: INT>>, PRIMARY KEY (id)"
)
REDUCED = (
    "'versions' = 'commit', 'reduce.day' = 'Struct(longest=Max, spend=Sum)', 'reduce.best' = 'TopN(by=score, n=2)'"
)


def test_members_have_reducers_of_their_own(lake: kl.Lake) -> None:
    table = Evolving(lake, PARTS, REDUCED)
    table.run(
        "INSERT INTO {t} VALUES "
        "(1, named_struct('spend', 3L, 'longest', 7), array(named_struct('name', 'a', 'score', 5)))"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, named_struct('spend', 4L, 'longest', NULL), "
        "array(named_struct('name', 'b', 'score', 9), named_struct('name', 'c', 'score', 1)))"
    )
    table.same_after_compaction("SELECT day, best FROM {t}")
    assert table.rows("SELECT day, best FROM {t}") == [((7, 7), [("b", 9), ("a", 5)])]
    assert table.rows("SELECT id FROM {t} WHERE day.spend = 7") == [(1,)]
    assert table.rows("SELECT id FROM {t} WHERE day.spend = 3") == []
    table.run("INSERT INTO {t} (id, day) VALUES (1, named_struct('spend', 9223372036854775807L, 'longest', 1))")
    with refused_in_sql(lake, table.name, "BAD_ROWS", "'day'", "for the key id=1"):
        table.rows("SELECT day FROM {t}")
    assert table.rows("SELECT id FROM {t}") == [(1,)]
    with refused_in_sql(lake, table.name, "BAD_ROWS", "'best'", "no 'score'"):
        table.run("INSERT INTO {t} (id, best) VALUES (1, array(named_struct('name', 'a', 'score', CAST(NULL AS INT))))")


@pytest.mark.parametrize(
    "change",
    [
        "ADD COLUMN day.more INT",
        "DROP COLUMN day.longest",
        "RENAME COLUMN day.longest TO most",
        "RENAME COLUMN best.element.score TO points",
    ],
)
def test_members_that_a_reducer_names_stay(lake: kl.Lake, change: str) -> None:
    table = Evolving(lake, PARTS, REDUCED)
    table.run(
        "INSERT INTO {t} VALUES "
        "(1, named_struct('spend', 3L, 'longest', 7), array(named_struct('name', 'a', 'score', 5)))"
    )
    before = table.rows()
    with pytest.raises(Exception, match=r"KEYLAKE_(DEFINITION|UNSUPPORTED|SCHEMA_MISMATCH)"):
        table.run(f"ALTER TABLE {{t}} {change}")
    assert table.rows() == before


def test_a_member_can_be_wider_and_stand_elsewhere(lake: kl.Lake) -> None:
    table = Evolving(lake, PARTS, REDUCED)
    for _ in range(2):
        table.run(
            "INSERT INTO {t} (id, day) VALUES (1, named_struct('spend', 4611686018427387904L, 'longest', 2147483647))"
        )
    table.table.compact("full")
    table.run("ALTER TABLE {t} ALTER COLUMN day.longest TYPE BIGINT", "ALTER TABLE {t} ALTER COLUMN day.longest FIRST")
    table.run("INSERT INTO {t} (id, day) VALUES (1, named_struct('longest', 2147483648L, 'spend', -1L))")
    assert table.rows("SELECT day.longest, day.spend FROM {t}") == [(2_147_483_648, 2**63 - 1)]
