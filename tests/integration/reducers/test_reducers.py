"""Every reducer: whatever the order, the cuts into commits, the compactions and the buckets, the answer is one fold."""

from random import Random

import pytest

import keylake as kl
from integration.random_runs import of_every, seeds
from integration.reducers.reduced import CASES, check, check_explanations, history, table_of


@pytest.mark.slow
@of_every("name", {name: name for name in CASES}, today=3)
def test_compactions_change_no_answer(lake: kl.Lake, name: str) -> None:
    random = Random(name)
    twin = table_of(lake, CASES[name])
    for operation in history(CASES[name], random, 9):
        operation.apply(twin)
        if random.random() < 0.3:
            twin.table.compact(random.choice(["full", "settle"]))
            check(twin)
    check(twin)
    check_explanations(twin)
    twin.table.compact("full")
    check(twin)


@of_every("name", {name: name for name in CASES}, today=2)
def test_cuts_and_buckets_change_no_answer(lake: kl.Lake, name: str) -> None:
    """One commit a row in seven buckets gives what few commits in one bucket do, where no commit repeats a key."""
    random = Random(name)
    rows = [
        {"k": key, "v": CASES[name].draw(random), "r": number, "x": number} for number in range(4) for key in range(4)
    ]
    whole, cut = table_of(lake, CASES[name], buckets=1), table_of(lake, CASES[name], buckets=7)
    whole.upsert(rows, "x")
    for number in range(4):
        cut.upsert(rows[4 * number : 4 * number + 4], "x")
    check(whole)
    check(cut)
    assert whole.model.key == cut.model.key


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_random_reducers(lake: kl.Lake, seed: int) -> None:
    random = Random(seed)
    name = random.choice(list(CASES))
    twin = table_of(lake, CASES[name], buckets=random.choice([1, 3]))
    for operation in history(CASES[name], random, 8):
        operation.apply(twin)
        if random.random() < 0.25:
            twin.table.compact(random.choice(["full", "settle"]))
    check(twin)
    check_explanations(twin)
    twin.check(["r"])
    after, until = sorted(random.sample(range(1, len(twin.commits) + 1), 2))
    twin.table.undo(after=twin.commits[after - 1], until=twin.commits[until - 1])
    twin.model = twin.model.without(after, until)
    check(twin)
