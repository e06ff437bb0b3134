"""Repair: states of past days that late rows still correct, a check before anybody sees a write, and the way back."""

import keylake as kl
from keylake import Float64, Int64, column, key


class Price(kl.Table, name="shop.prices", buckets=2, versions="explicit"):
    """What each product costs."""

    product_id: Int64 = key()
    price: Float64 | None = column()


def prices(first: int, last: int, price: float) -> list[dict[str, object]]:
    """One price for some products."""
    return [{"product_id": product, "price": price} for product in range(first, last + 1)]


def shown(table: kl.KeyedTable[Price], day: str | None = None) -> str:
    """How many products have which price, now or on a day."""
    rows = table.read(as_of=day).groupBy("price").count().orderBy("price").collect()
    return ", ".join(f"{row['count']} at {row['price']:g}" for row in rows)


with kl.connect() as lake:
    table = lake.create(Price)

    # Each day's state is kept under its date. No file is copied.
    table.upsert(prices(1, 100, 10), version=1)
    table.archive("2026-11-01")
    table.upsert(prices(51, 120, 12), version=20)
    table.archive("2026-11-02")

    # News of the first day, on the third: every state from then on is corrected, where it knows nothing newer.
    table.update(prices(41, 60, 11), version=5, business_time="2026-11-01")
    for day in ("2026-11-01", "2026-11-02"):
        print(f"{day}: {shown(table, day)}")

    # What has to be checked first goes to a branch, and is published if it passes.
    draft = table.branch("tmp_sale")
    draft.update(prices(1, 20, -8), version=30)
    try:
        draft.publish(require=[kl.value_range("price", at_least=0)])
    except kl.GateFailed as error:
        print(error)
    draft.update(prices(1, 20, 8), version=31)
    print(draft.publish(require=[kl.value_range("price", at_least=0)]).findings[0])

    # A mistake is seen only after others have written: it is taken back, and their writes stay.
    before = table.history()[0]
    mistake = table.update(prices(1, 120, 0), version=40)
    table.update(prices(120, 120, 15), version=41)
    table.undo_feed(after=before, until=mistake).groupBy("_op").count().show()  # for an online store, say
    print(table.undo(after=before, until=mistake))
    print(f"now: {shown(table)}")
    table.changes(after=before).show()
