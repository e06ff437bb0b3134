"""Undo a bad hour: a release of a stream wrote seconds instead of minutes, and everybody went on writing.

`undo` takes the commits of that hour back, as if they had never been made. Later commits keep their effect.
`undo_plan` tells first what would be done, and `changes` over the undo lists the rows that an online store has to set.
"""

from datetime import datetime

import keylake as kl
from flights.feed import finished_lines


class Delay(kl.Table, name="airline.delays", buckets=2):
    """The delay of each plane, as last reported."""

    tail_number: str = kl.key()
    reported_at: datetime = kl.ordering()
    delay: kl.Int32 | None = kl.column(doc="Minutes, written by the gates.")
    airport: str | None = kl.column(doc="Written by the gates.")
    stand: str | None = kl.column(doc="Written by the ground crews.")


lines = finished_lines(first_month=12)
lines = lines[(lines["day"] == "2013-12-24") & lines["departed_at"].notna()]
lines = lines.rename(columns={"departed_at": "reported_at", "departure_delay": "delay", "origin": "airport"})
reports = lines[["tail_number", "reported_at", "delay", "airport"]].astype({"delay": "int32"})
at_the_gate = reports.assign(stand=reports["airport"] + " 12")[["tail_number", "reported_at", "stand"]]

with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS airline.delays PURGE")  # an earlier run's
    delays = lake.create(Delay)
    hours = reports["reported_at"].dt.floor("h")
    for hour, rows in reports.groupby(hours):
        bad = hour.hour in (15, 16)
        delays.update(rows.assign(delay=rows["delay"] * 60) if bad else rows, stream="gates 2.0" if bad else "gates")
    delays.update(at_the_gate, stream="crews")

    def worst() -> str:
        """The longest delays in the table, in minutes."""
        rows = delays.read().orderBy("delay", ascending=False).limit(3)
        return ", ".join(f"{row['tail_number']} {row['delay']}" for row in rows.collect())

    # Delays of two days are not to be believed. The history says which commits they came with.
    print("worst delays:", worst())
    commits = [commit for commit in delays.history() if commit.stream == "gates 2.0"]  # newest first
    bad_hours = {"after": commits[-1].parent_id, "until": commits[0]}
    print(f"{len(commits)} commits of the release, {sum(commit.rows for commit in commits)} rows")

    print(delays.commits.undo_plan(**bad_hours))
    before = delays.history()[0]
    undone = delays.undo(**bad_hours)
    print("worst delays:", worst())
    changed = delays.changes(after=before, until=undone.snapshot_id)
    print(f"an online store has to set {changed.count()} rows; the writes of the crews are kept:")
    shown = changed.selectExpr("tail_number", "_before.delay AS delay_before", "_after.delay", "_after.stand")
    print(shown.orderBy("delay_before", ascending=False).limit(3).toPandas().to_string(index=False))

    # The hours are written again as they should have been. Where newer reports are known, these stay.
    delays.update(reports[hours.dt.hour.isin([15, 16])], stream="gates 2.1")
    print("worst delays:", worst())
