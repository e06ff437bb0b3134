"""Reads in any order: rows that win as they stand are selected, and later reads of the same files know them."""

from random import Random

import pytest

import keylake as kl
from integration.histories import COMPOUND, TEXT, Shape, operations
from integration.query_plans import counted, planned
from integration.random_runs import of_every, seeds
from integration.twin import Twin, by_key, fresh_name

SHAPES = {
    "versions decide": Shape("explicit", buckets=2, reducers={}),
    "commits decide": Shape("commit", COMPOUND, buckets=2, reducers={}),
    "an ordering column": Shape("ordering", TEXT, buckets=1, reducers={}),
}
WHOLE = ("upsert", "delete", "overwrite")


def history(lake: kl.Lake, shape: Shape, seed: int, verbs: tuple[str, ...]) -> Twin:
    """A new table after some commits; what is printed says which."""
    twin = shape.create(lake, fresh_name("selections"))
    drawn = (each for each in operations(shape, seed, count=40, rows=60) if each.verb in verbs)
    for operation, _ in zip(drawn, range(6), strict=False):
        print(operation)
        operation.apply(twin)
    return twin


def conditions(twin: Twin, random: Random) -> list[str]:
    number = random.randint(-9, 99)
    return [f"a = {number}", f"b > 'text {number}'", f"c < {number / 7} AND e IS NOT NULL"]


@of_every("name", {name: name for name in SHAPES}, today=2)
@pytest.mark.parametrize("seed", seeds(few=1, many=6))
def test_later_reads_of_the_same_files_answer_alike(lake: kl.Lake, name: str, seed: int) -> None:
    random = Random(seed)
    twin = history(lake, SHAPES[name], seed, WHOLE if random.random() < 0.7 else (*WHOLE, "update", "columns_from"))
    rows = twin.expected()
    filters = conditions(twin, random)
    first = {condition: by_key(twin.table.read(where=condition).toArrow(), twin.model.key) for condition in filters}
    for _ in range(3):
        for columns in random.sample([[], ["a"], ["b", "d"], ["c", "a", "e"], None, None], 6):
            twin.check(columns)
        assert lake.spark.sql(f"SELECT count(*) FROM {twin.sql_name}").collect()[0][0] == len(rows)
        for condition, found in first.items():
            again = by_key(twin.table.read(where=condition).toArrow(), twin.model.key)
            assert again == found == {key: row for key, row in rows.items() if key in found}, condition
        keys = f"{twin.model.key[0]} IS NOT NULL AND a IS NULL"
        assert len(twin.table.read(where=keys).collect()) == sum(row["a"] is None for row in rows.values())


@pytest.mark.slow
def test_the_second_read_merges_no_keys(lake: kl.Lake) -> None:
    twin = SHAPES["versions decide"].create(lake, fresh_name("selections"), buckets=1)
    columns = {"b": "text", "c": 0.5, "d": [1], "e": None}
    for version, keys in enumerate([range(2000), range(0, 2000, 10), range(5, 2000, 10)]):
        twin.upsert([{"id": key, "a": key + version, **columns} for key in keys], version=version)

    def opened(selected: str) -> tuple[int, int]:
        frame = lake.spark.sql(f"SELECT {selected} FROM {twin.sql_name}")
        rows = frame.toArrow().num_rows
        return counted(frame)["columnsOpened"], rows

    def is_counted_without_reading() -> bool:
        count = f"SELECT count(*) FROM {twin.sql_name}"
        is_answered = "LocalTableScan" in str(lake.spark.sql(f"EXPLAIN {count}").collect()[0][0])
        assert lake.spark.sql(count).collect()[0][0] == len(twin.expected())
        return is_answered

    every = "id, a, b, c, d, e"
    assert not is_counted_without_reading(), "nobody has merged the keys yet"
    assert is_counted_without_reading(), "the first count has"
    assert opened(every) == (3 + 3 * 6, 2000), "the keys of three files, then what wins of them"
    assert opened(every) == (3 * 6, 2000)
    assert opened("a") == (3, 2000), "no key is opened, though it is not known for a column alone"
    twin.delete([{"id": 7}], version=9)
    assert not is_counted_without_reading()
    assert is_counted_without_reading()
    twin.check()
    twin.check(["a"])
    twin.check(["a"])
    assert opened("a") == (3, 1999)


def test_explain_says_how_sections_are_read(lake: kl.Lake) -> None:
    twin = SHAPES["versions decide"].create(lake, fresh_name("strategies"), buckets=1)
    rows = [{"id": key, "a": key, "b": "text", "c": 0.5, "d": [1], "e": None} for key in range(100)]
    for version in range(2):
        twin.upsert(rows, version=version)
    every = f"SELECT id, a, b, c, d, e FROM {twin.sql_name}"

    def strategies(query: str) -> set[str]:
        words = ("pass through", "selection known", "keys first", "sieve first", "merge")
        return {name for name in planned(lake, query) if name.removesuffix(" with sieve") in words}

    assert strategies(every) == {"keys first"}
    assert strategies(f"SELECT a FROM {twin.sql_name}") == {"merge"}
    assert strategies(f"{every} WHERE a = 7") == {"sieve first"}
    twin.check()
    assert strategies(every) == {"selection known"}
    assert strategies(f"{every} WHERE a = 7") == {"selection known with sieve"}
    twin.table.compact()
    assert strategies(every) == {"pass through"}
    assert strategies(f"{every} WHERE a = 7") == {"pass through with sieve"}
    assert strategies(f"{every} WHERE id = 7") == {"pass through"}


def test_a_read_in_key_order_is_not_selected(lake: kl.Lake) -> None:
    twin = history(lake, SHAPES["versions decide"], 5, WHOLE)
    twin.check()
    ordered = f"SELECT l.id FROM {twin.sql_name} l JOIN {twin.sql_name} r ON l.id = r.id"
    assert len(lake.spark.sql(ordered).collect()) == len(twin.expected())


def test_few_rows_of_selected_files_are_sifted(lake: kl.Lake) -> None:
    """A filter on a value opens the filtered column first, and of the others only what passes."""
    twin = SHAPES["versions decide"].create(lake, fresh_name("selections"), buckets=1)
    wide = lake.spark.range(20_000).selectExpr(
        "id", "id % 500 AS a", "uuid() AS b", "0.5D AS c", "array(id) AS d", "1 AS e"
    )
    twin.table.upsert(wide, version=1)
    query = f"SELECT * FROM {twin.sql_name} WHERE a = 7"
    frame = lake.spark.sql(query)
    assert frame.toArrow().num_rows == 40
    assert counted(frame)["rowsIn"] == 20_000 + 40
    most = lake.spark.sql(f"SELECT * FROM {twin.sql_name} WHERE a > 7")
    assert most.toArrow().num_rows == 20_000 * 492 // 500
    assert counted(most)["rowsIn"] < 2 * 20_000, "most rows pass: the look at one column was given up"
