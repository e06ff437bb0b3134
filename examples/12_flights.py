"""A year of flights, told late: three streams fill two tables in any order, and both tables are right.

    make demo                                           the year, December of it live
    python examples/12_flights.py --live-days 7         a shorter December

    archive ────── upsert ──┐                             registry ────── update ──┐
    departures ─── update ──┼──> airline.flights          operations ──── update ──┼──> airline.planes
    arrivals ───── update ──┘                             retirements ─── delete ──┘

Every report carries the time at which the thing happened, and each column keeps the newest report that knew it. So it
does not matter that a landing is heard of before the take-off, that a report comes twice, or days later: nothing is
read or repaired when it is written. At the end both tables are compared with an answer that needed everything at once.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import keylake as kl
from flights import answer, feed, page, picture, planes
from flights.feed import Batch
from keylake import Float64, Int32, column, group, key, ordering

Told = list[tuple[Batch, kl.Commit]]


class Flight(kl.Table, name="airline.flights", buckets=4):
    """One flight on one day, as far as it has been reported."""

    carrier: str = key()
    flight: Int32 = key()
    origin: str = key()
    day: date = key(doc="The scheduled day, by the clocks of New York.")
    event_time: datetime = ordering(doc="When the reported thing happened; the newest report wins.")

    tail_number: str | None = column(reduce=kl.LatestNotNull(), doc="Told by both streams, where they know it.")
    status: str | None = column(doc="departed or cancelled, then landed or diverted: told by both streams.")
    delay: Int32 | None = column(doc="Minutes, as last heard: told by both streams.")

    departure = group("Told by the departures stream.")
    destination: str | None = column(group=departure)
    scheduled_at: datetime | None = column(group=departure)
    distance: Int32 | None = column(group=departure, doc="Miles.")
    departed_at: datetime | None = column(group=departure)
    departure_delay: Int32 | None = column(group=departure, doc="Minutes.")

    arrival = group("Told by the arrivals stream.")
    arrival_delay: Int32 | None = column(group=arrival, doc="Minutes.")
    air_time: Int32 | None = column(group=arrival, doc="Minutes.")


class Plane(kl.Table, name="airline.planes", buckets=2):
    """One plane in service, and what it has flown out of New York."""

    tail_number: str = key()
    event_time: datetime = ordering()

    registry = group("Told by the registry.")
    manufacturer: str | None = column(group=registry)
    model: str | None = column(group=registry)
    engine: str | None = column(group=registry)
    seats: Int32 | None = column(group=registry)
    built: Int32 | None = column(group=registry, doc="Year.")

    operations = group("Told by operations, as running totals.")
    flights: Int32 | None = column(group=operations)
    hours: Float64 | None = column(group=operations)
    last_airport: str | None = column(group=operations)


def main() -> None:
    """The story, chapter by chapter."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)

    page.chapter("The year, as it was told")
    told = feed.flights_feed(options.first_month, options.live_days, options.seed)
    fleet_told = planes.planes_feed(options.first_month, options.seed)
    page.say(
        f"{len(told.archive.rows):,} flights lie in the archive. From {told.archive.until:%-d %B} on, "
        f"{len(told.reports):,} reports come in {len(told.nights)} nightly batches, some of them twice, in no order.\n"
        f"Of {len(told.overtaken()):,} flights the landing is heard of a night or more before the take-off."
    )

    page.chapter("A lake and two tables")
    with kl.connect(warehouse=options.out / "lake") as lake:
        for name in ("airline.flights", "airline.planes"):
            lake.spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")  # an earlier run's
        flights, fleet = lake.create(Flight), lake.create(Plane)
        page.say(f"Spark {lake.spark.version} is up; {flights.name} and {fleet.name} are made.")

        page.chapter("The archive at once, then night by night")
        commits = _tell(flights, told)

        page.chapter("The fleet")
        _tell_fleet(fleet, fleet_told)

        page.chapter("What the tables say")
        _ask(lake, flights)

        page.chapter("Is it right?")
        merged = _checked(flights, answer.merged(told.batches, feed.FLIGHT, feed.KEY, known_once=["tail_number"]))
        _checked(fleet, answer.merged(fleet_told, planes.PLANE, planes.KEY, known_once=[]))

        page.chapter("A picture")
        day = _worst_day(merged, told.archive.until.date())
        glimpses = _glimpses(flights, day, commits)
        if picture.can_be_drawn():
            picture.draw(merged, day, glimpses, told.reports, options.out / "flights.png")
            page.say(f"{options.out / 'flights.png'} shows the year, and {day:%-d %B} as the table came to know it.")
        else:
            page.say("Install matplotlib to see one.")
    page.times()


def _tell(flights: kl.KeyedTable[Flight], told: feed.Feed) -> Told:
    """Writes the archive, then every night; shows the flight whose take-off came last, before and after it came."""
    if len(told.archive.rows):
        commit = flights.upsert(told.archive.rows, stream="archive")
        page.say(f"archive  {commit.rows:>8,} rows in 1 commit     {commit.seconds:.1f} s")
    latest = told.overtaken().iloc[0]
    one = {"carrier": latest.carrier, "flight": int(latest.flight), "origin": latest.origin, "day": latest.day.date()}
    commits: Told = []
    for week, batches in groupby(told.nights, key=lambda batch: f"week {batch.until:%V}"):
        since = len(commits)
        for batch in batches:
            awaited = batch.stream == "departures" and batch.until == latest.night
            before = flights.get(**one) if awaited else None
            commits.append((batch, flights.update(batch.rows, stream=batch.stream)))
            if before:
                page.say(f"\n[bold]{latest.carrier} {latest.flight} has long landed. Tonight its take-off is heard of:")
                report = next(row for row in batch.rows.to_pylist() if one.items() <= row.items())
                page.before_and_after(_row(before), report, _row(flights.get(**one)))
        written = [commit for _, commit in commits[since:]]
        rows, seconds = sum(commit.rows for commit in written), sum(commit.seconds for commit in written)
        count = page.counted(len(written), "commit")
        page.say(f"{week}  {rows:>8,} rows in {count:<12} {seconds / len(written):.2f} s each")
    return commits


def _tell_fleet(fleet: kl.KeyedTable[Plane], told: Sequence[Batch]) -> None:
    """Writes the three streams of the planes; shows a plane that is deleted, and stays so when older news comes."""
    for batch in told:
        write = fleet.delete if batch.deletes else fleet.update
        write(batch.rows, stream=batch.stream)
    retired = {row["tail_number"] for batch in told if batch.deletes for row in batch.rows.to_pylist()}
    back = retired.intersection(fleet.read(columns=["tail_number"]).toArrow()["tail_number"].to_pylist())
    page.say(f"{len(told)} commits. {len(retired):,} planes were retired; {len(back):,} of them are back in service.")
    if ghost := planes.last_ghost(told):
        page.say(
            f"{ghost.tail_number} was retired as of {ghost.retired_at:%-d %B}. Its totals of "
            f"{ghost.report_of:%-d %B}, told as late as {ghost.told_by:%-d %B %Y}, do not bring it back: "
            f"get(tail_number={ghost.tail_number!r}) gives {fleet.get(tail_number=ghost.tail_number)}."
        )


def _ask(lake: kl.Lake, flights: kl.KeyedTable[Flight]) -> None:
    grounded = flights.read(
        columns=["carrier", "flight", "origin", "destination", "scheduled_at", "tail_number"],
        where="day = '2013-12-31' AND status = 'cancelled'",
    )
    page.table(_rows(grounded.orderBy("scheduled_at").limit(5)), "Grounded on New Year's Eve")
    makers = lake.spark.sql(
        """
        SELECT manufacturer, count(*) AS flights, avg(f.departure_delay) AS mean_delay, avg(seats) AS mean_seats
        FROM airline.flights f JOIN airline.planes p USING (tail_number)
        WHERE status = 'landed' GROUP BY manufacturer ORDER BY flights DESC LIMIT 6
        """
    )
    page.table(_rows(makers), "Flights by who built the plane: two keyed tables in plain SQL")
    newest = [
        {"stream": commit.stream, "verb": commit.verb, "rows": commit.rows, "columns": ", ".join(commit.columns)}
        for commit in flights.history()[:4]
    ]
    page.table(newest, "The newest commits")


def _checked(table: kl.KeyedTable[Any], wanted: pa.Table) -> pa.Table:
    """The merged table, after every row and column of it was found equal to the answer wanted."""
    merged = answer.in_key_order(answer.in_utc(table.read().toArrow()), table.spec.key)
    if found := answer.difference(merged, wanted):
        sys.exit(f"{table.name} differs from the answer computed in plain Arrow: {found}.")
    page.say(f"{table.name}: {merged.num_rows:,} rows × {merged.num_columns} columns, all as computed in plain Arrow.")
    return merged


def _worst_day(merged: pa.Table, since: date) -> date:
    """The live day with the longest mean delay."""
    live = merged.filter(pc.greater_equal(merged["day"], since))
    by_day = live.group_by("day").aggregate([("departure_delay", "mean")])
    return by_day.sort_by([("departure_delay_mean", "descending")])["day"][0].as_py()


def _glimpses(
    flights: kl.KeyedTable[Flight], day: date, commits: Sequence[tuple[Batch, kl.Commit]]
) -> list[picture.Glimpse]:
    """What the table said about a day after each commit of the following nights: time travel."""
    glimpses = []
    for batch, commit in commits:
        if day < batch.until.date() <= day + timedelta(days=6):
            shown = flights.read(columns=["status", "delay"], where=f"day = '{day}'", at=commit).toPandas()
            label = f"{batch.stream[:3]}\n{batch.until:%-d}"
            by_status = shown["status"].value_counts().to_dict()
            if by_status:
                glimpses.append(picture.Glimpse(label, batch.stream, by_status, shown["delay"].mean()))
    return glimpses


def _rows(frame: DataFrame) -> list[dict[str, object]]:
    return frame.toArrow().to_pylist()


def _row(row: kl.Table | None) -> dict[str, object]:
    return row.model_dump() if row else {}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    wanted = parser.add_argument
    wanted("--first-month", type=int, choices=range(1, 13), default=1, metavar="1..12", help="leave out those before")
    wanted("--live-days", type=int, choices=range(1, 32), default=31, metavar="1..31", help="told night by night")
    wanted("--seed", type=int, default=2013, help="of lateness and order")
    wanted("--out", type=Path, default=Path(__file__).parent / "out", help="folder of the lake and the picture")
    return parser.parse_args()


if __name__ == "__main__":
    main()
