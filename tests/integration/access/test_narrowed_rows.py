"""Random queries of a principal who sees a part of a table, beside the same queries of its owner over that part."""

import random
from collections import Counter

import pytest

from integration.access.guarded_server import Guarded
from integration.access.orders import REGIONS, ROWS, row
from integration.random_runs import seeds

pytestmark = pytest.mark.slow

PART = "(SELECT id, region, amount, concat('***', substr(email, 3)) AS email FROM {0} WHERE region = 'north')"


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_random_queries_see_the_part_of_their_rule(guarded: Guarded, seed: int) -> None:
    drawn = random.Random(seed)
    owner, ana = guarded.of("owner"), guarded.of("ana")
    table = owner.table("shop.orders")
    for _ in range(4):  # several runs, with rows that move from one side of the condition to the other
        table.upsert([row(drawn, key) for key in drawn.sample(range(ROWS), 150)])
        table.update([{"id": key, "region": drawn.choice(REGIONS)} for key in drawn.sample(range(ROWS), 40)])
    for _ in range(60):
        query = statement(drawn)
        seen = ana.spark.sql(query.format("lake.shop.orders")).collect()
        wanted = owner.spark.sql(query.replace("{0}", PART.format("lake.shop.orders"))).collect()
        assert Counter(map(tuple, seen)) == Counter(map(tuple, wanted)), query


CONDITIONS = (
    "t.id < {n}",
    "t.id IN ({n}, {m}, 7)",
    "t.amount > {n}",
    "t.email LIKE '%@{d}'",
    "t.email = '***@1'",
    "t.region <> 'north' OR t.region IS NULL OR t.id > {n}",
    "100 / nullif(t.id - {n}, 0) > 1",
    "NOT (t.amount BETWEEN {m} AND {n})",
    "EXISTS (SELECT 1 FROM {{0}} u WHERE u.id = t.id + 1)",
    "t.amount = (SELECT max(amount) FROM {{0}} u WHERE u.id < {n})",
)
SHAPES = (
    "SELECT t.id, t.email FROM {{0}} t WHERE {where}",
    "SELECT count(*), sum(t.amount), min(t.email) FROM {{0}} t WHERE {where}",
    "SELECT t.region, count(DISTINCT t.email) FROM {{0}} t WHERE {where} GROUP BY t.region",
    "SELECT t.id, u.id FROM {{0}} t JOIN {{0}} u ON t.id = u.id + 1 WHERE {where}",
    "SELECT t.id, row_number() OVER (PARTITION BY t.email ORDER BY t.id) FROM {{0}} t WHERE {where}",
    "SELECT t.id FROM {{0}} t LEFT ANTI JOIN {{0}} u ON t.id = u.id - {n} WHERE {where}",
    "SELECT t.id, t.amount FROM {{0}} t WHERE {where} ORDER BY t.id DESC LIMIT 5",
    "SELECT id FROM {{0}} INTERSECT SELECT t.id FROM {{0}} t WHERE {where}",
)


def statement(drawn: random.Random) -> str:
    numbers = {"n": drawn.randrange(ROWS), "m": drawn.randrange(ROWS), "d": drawn.randrange(5)}
    where = drawn.choice((" AND ", " OR ")).join(
        f"({condition.format(**numbers)})" for condition in drawn.sample(CONDITIONS, drawn.randint(1, 3))
    )
    shape = drawn.choice(SHAPES)
    return shape.replace("{where}", where).replace("{n}", str(numbers["n"])).replace("{{0}}", "{0}")
