"""Rows that are taken out of quarantine where others write, conditions differ, and branches are changed."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import keylake as kl
from integration.quarantine.held_table import NOON, POSITIVE, clicks, failed, rows, table_of
from integration.refusals import refused


@pytest.mark.slow
@pytest.mark.parametrize("holds", [False, True], ids=["writes to main", "held writes"])
def test_some_rows_are_released_while_others_write(lake: kl.Lake, holds: bool) -> None:
    """Each row that was held is in main or in the quarantine, whatever comes between the plan and the commit."""
    table = table_of(lake, buckets=1)
    for number in range(6):
        condition = kl.condition(f"clicks >= 0 AND {number} = {number}")
        row = {"id": 1000 + number, "at": NOON, "clicks": -1, "city": "x"}
        table.upsert([row], require=[condition], on_failure="quarantine")
    is_done = threading.Event()
    written: list[int] = []

    def write() -> None:
        for number in range(1, 200):  # each release writes anew what is held, so it takes longer with every write
            if is_done.is_set():
                return
            row = {"id": number, "at": NOON, "clicks": -1 if holds else 1, "city": "x"}
            words: dict[str, Any] = {"require": [POSITIVE], "on_failure": "quarantine"} if holds else {}
            table.upsert([row], **words)
            written.append(number)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        released = [table.quarantine.release(where=f"id = {1000 + number}").rows for number in range(5)]
        is_done.set()
        writer.result()
    assert released == [1] * 5
    main, held = set(clicks(table.read())), set(clicks(table.quarantine.rows()))
    assert main == {1000 + number for number in range(5)} | (set() if holds else set(written))
    assert held == {1005} | (set(written) if holds else set())
    assert table.quarantine.release().rows == len(held)
    assert set(clicks(table.read())) == main | held
    assert table.check().damage == ()


def test_the_quarantine_after_compactions_and_undos_of_its_branch(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(-1, -2, -3), require=[POSITIVE], on_failure="quarantine")
    draft = table.branch("quarantine")
    for minute in range(1, 5):
        mend = draft.update([{"id": 1, "at": NOON + timedelta(minutes=minute), "clicks": -9}])
    draft.undo(mend)
    draft.compact("full")
    assert table.quarantine().rows == 3
    assert table.quarantine.release(where="id = 0").rows_left == 2
    assert clicks(table.quarantine.rows()) == {1: -9, 2: -3}
    with refused(lake, table.name, kl.Unsupported, "held back"):
        draft.branches.cherry_pick("quarantine")
    table.branch("tmp_draft").upsert(rows(7, minute=9))
    with refused(lake, table.name, kl.Unsupported, "held back"):
        draft.branches.cherry_pick("tmp_draft")
    lake.spark.sql(f"TRUNCATE TABLE {lake.catalog}.{table.name}.branch_quarantine").collect()
    assert not table.quarantine()
    with refused(lake, table.name, kl.NothingToDo, "has no rows in quarantine"):
        table.quarantine.release()
    table.upsert(rows(-7, minute=9), require=[POSITIVE], on_failure="quarantine")
    assert clicks(table.quarantine.rows()) == {0: -7}


def test_a_mend_reaches_rows_that_other_conditions_held_back(lake: kl.Lake) -> None:
    table = table_of(lake)
    table.upsert(rows(-3), require=[POSITIVE], on_failure="quarantine")
    table.upsert([{**rows(-1)[0], "id": 10}], require=[kl.condition("clicks > -1")], on_failure="quarantine")
    table.branch("quarantine").update([{"id": 0, "at": NOON, "clicks": 3}])
    assert failed(table) == {0: None, 10: "clicks >= 0"}
    assert table.quarantine.release(where="clicks >= 0").rows == 1
    assert [tuple(row) for row in table.read(["id", "clicks", "city"]).collect()] == [(0, 3, "Oslo")]


def test_rows_without_the_columns_of_a_condition_did_not_fail_it(lake: kl.Lake, warehouse: Path) -> None:
    table = table_of(lake)
    bonn = kl.condition("city <> 'Bonn'")
    table.update([{"id": 1, "at": NOON, "city": "Bonn"}], require=[bonn], on_failure="quarantine")
    table.update([{"id": 2, "at": NOON, "clicks": -2}], require=[POSITIVE], on_failure="quarantine")
    assert failed(table) == {1: "city <> 'Bonn'", 2: "clicks >= 0"}
    done = table.quarantine.discard(failed="clicks >= 0")
    assert (done.rows, done.rows_left) == (1, 1)
    assert failed(table) == {1: "city <> 'Bonn'"}
    table.layout.clean(kl.RetentionPolicy(days=0))
    stored = list(warehouse.joinpath(*table.name.split(".")).rglob("*.parquet"))
    assert len(stored) == 1, "nothing is left of the discarded row"


def test_conditions_as_people_write_them(lake: kl.Lake) -> None:
    table = table_of(lake)
    commented = kl.condition("clicks >= 0 -- no negatives")
    guarded = [kl.condition("clicks <> 0"), kl.condition("100 / clicks > 1")]
    table.upsert(rows(-1, 0, 500), require=[commented, *guarded], on_failure="quarantine")
    assert failed(table) == {0: "clicks >= 0 -- no negatives", 1: "clicks <> 0", 2: "100 / clicks > 1"}
    assert table.quarantine.discard(where="id = 0 -- mine", failed=commented).rows == 1
    table.alter(rename={"clicks": "klicks"})
    assert failed(table) == {1: None, 2: None}, "the table has no such column any more"
    assert table.quarantine.release().rows == 2


def test_conditions_that_look_at_more_than_a_row(lake: kl.Lake) -> None:
    table = table_of(lake)
    for text, words in (
        ("row_number() OVER (ORDER BY id) = 1", "more than one row"),
        ("id IN (SELECT 1)", "more than one row"),
        ("rand() < 0.5", "not the same each time"),
        ("clicks >= 0 AS x", "has a name"),
    ):
        with refused(lake, table.name, kl.DefinitionError, words):
            table.upsert(rows(1), require=[kl.condition(text)], on_failure="quarantine")
    with refused(lake, table.name, kl.SchemaMismatch, "_bucket"):
        table.upsert(rows(1), require=[kl.condition("_bucket = 77")])
    with refused(lake, table.name, kl.DefinitionError, "the bound is no number"):
        table.upsert(rows(1), require=[kl.value_range("clicks", at_least=float("nan"))])
    with pytest.raises(Exception, match=r"`held`\.`nope` cannot be found"):
        lake.spark.sql(f"INSERT INTO {lake.catalog}.held.nope WITH ('require' = 'a > 1') SELECT 1").collect()
