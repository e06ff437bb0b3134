"""Tables without a server in a service: threads and coroutines that share one, and answers that may be a little old."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from random import Random
from threading import Barrier

import pytest

import keylake as kl
import keylake.local
from integration.random_runs import FIRST
from keylake.local import parquet
from keylake.local.lake import LocalLake

DAY = timedelta(days=1)


class Stock(kl.Table, name="serving.stock", buckets=4, versions="commit"):
    """Goods in stores."""

    store: int = kl.key()
    item: int = kl.key()
    count: int | None = kl.column()
    name: str | None = kl.column()


@pytest.fixture
def memory() -> Iterator[LocalLake]:
    with keylake.local.open(":memory:") as lake:
        yield lake


def goods(number: int) -> list[Stock]:
    return [Stock(store=store, item=item, count=number, name=f"{item}") for store in range(8) for item in range(10)]


def test_an_answer_is_as_old_as_is_allowed(memory: LocalLake) -> None:
    table, other = memory.create(Stock), memory.table(Stock)
    other.upsert([Stock(store=1, item=1, count=1)])
    key = {"store": 1, "item": 1}
    assert table.get(key, max_age=DAY) == Stock(store=1, item=1, count=1)
    other.update([{**key, "count": 2}])
    assert table.get(key, max_age=DAY) == table.get_many([key], max_age=DAY)[0] == Stock(store=1, item=1, count=1)
    assert table.get(key, max_age=timedelta(0)) == Stock(store=1, item=1, count=2)
    other.update([{**key, "count": 3}])
    assert table.get(key, max_age=DAY) == Stock(store=1, item=1, count=2)
    assert table.get(key) == table.get(key, max_age=DAY) == Stock(store=1, item=1, count=3)
    table.update([{**key, "name": "own"}])
    assert table.get(key, max_age=DAY) == Stock(store=1, item=1, count=3, name="own")
    with pytest.raises(kl.DefinitionError, match=r"max_age is datetime\.timedelta"):
        table.get(key, max_age=-DAY)
    with pytest.raises(kl.DefinitionError, match="max_age"):
        table.get(key, max_age=5)  # type: ignore[arg-type]


@pytest.mark.slow
def test_threads_that_share_a_table_get_the_same_answers(memory: LocalLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "FILES_AT_MOST", 3)  # so that threads close what others are about to read
    table = memory.create(Stock)
    commits = [table.upsert(goods(number)) for number in range(4)]
    expected = [
        sorted(memory.table(Stock).read(at=commit).rows(), key=lambda row: (row.store, row.item)) for commit in commits
    ]
    assert expected == [goods(number) for number in range(4)]
    shared = keylake.local.open(table._plans.table.catalog.properties["warehouse"], memory_bytes=2000)
    begin = Barrier(6)

    def asked(seed: int) -> None:
        draw, mine = Random(FIRST + seed), shared.table(Stock) if seed % 2 else shared_table
        begin.wait()
        for _ in range(25):
            number = draw.randrange(4)
            wanted = draw.sample(expected[number], 7)
            keys = [{"store": row.store, "item": row.item} for row in wanted]
            assert mine.get_many(keys, at=commits[number], max_age=draw.choice([None, DAY])) == wanted
            rows = mine.read(columns=["count"], where="item = 3", at=commits[number]).to_arrow()
            assert rows.column("count").to_pylist() == [number] * 8

    with shared:
        shared_table = shared.table(Stock)
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(asked, range(6)))


def test_verbs_are_awaited_together(memory: LocalLake) -> None:
    table = memory.create(Stock)

    async def served() -> list[Stock | None]:
        first = await table.aupsert(goods(1))
        await table.aupdate([{"store": 1, "item": 2, "count": 9}])
        await table.adelete([{"store": 1, "item": 3}])
        assert len((await table.achanges(after=first)).rows()) == 2
        assert len(await table.aread(columns=["count"], where="store = 1")) == 9
        assert await table.aget_many([{"store": 1, "item": 3}]) == [None]
        assert [row.count for row in await table.afind(store=1, item=2)] == [9]
        return list(await asyncio.gather(*(table.aget(store=1, item=item, max_age=DAY) for item in range(4))))

    found = asyncio.run(served())
    assert [row and row.count for row in found] == [1, 1, 9, None]
    with pytest.raises(kl.SchemaMismatch):
        asyncio.run(table.aget(shop=1))
    assert "await profiles.aget(" in (keylake.local.LocalTable.aget.__doc__ or "")


def test_a_damaged_file_is_read_again_once_it_is_mended(memory: LocalLake) -> None:
    table = memory.create(Stock)
    table.upsert(goods(1))
    place = Path(memory._catalog.properties["warehouse"])
    files = {path: path.read_bytes() for path in place.rglob("*.parquet")}
    table.get(store=1, item=1)
    for path, content in files.items():
        path.write_bytes(content[:4] + bytes(len(content) // 2 - 4) + content[len(content) // 2 :])
    with pytest.raises(kl.StoreFailed):
        table.read()
    for path, content in files.items():
        path.write_bytes(content)
    assert len(table.read()) == 80
