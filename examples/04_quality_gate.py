"""A quality gate: a nightly load is checked on a branch before anybody reads it.

The load goes to a branch. `publish(require=...)` checks the rows that the branch has changed and brings them to main,
or raises GateFailed and changes nothing. Readers of main see either all of the load or nothing of it.
"""

import pandas as pd

import keylake as kl
from flights.feed import finished_lines
from flights.source import read_csv


class Plane(kl.Table, name="airline.fleet", buckets=2, versions="explicit"):
    """A plane, by the number on its tail."""

    tail_number: str = kl.key()
    model: str | None = kl.column()
    seats: kl.Int32 | None = kl.column()
    airline: str | None = kl.column(doc="Who flew it last.")


def airline_of_each_plane(first_month: int) -> pd.DataFrame:
    """Who flew each plane last, in the months from `first_month` on."""
    flights = finished_lines(first_month).dropna(subset="tail_number").drop_duplicates("tail_number", keep="last")
    return flights.rename(columns={"carrier": "airline"})[["tail_number", "airline"]]


registry = read_csv("planes").rename(columns={"tailnum": "tail_number"})[["tail_number", "model", "seats"]]
load = registry.merge(airline_of_each_plane(first_month=12), how="left")

with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS airline.fleet PURGE")  # an earlier run's
    fleet = lake.create(Plane)
    airlines = lake.spark.createDataFrame(read_csv("airlines"))
    gate = [
        kl.value_range("seats", at_least=1, at_most=450),
        kl.null_rate("model", below=0.01),
        kl.null_rate("airline", below=0.2),
        kl.references("airline", airlines, to="carrier"),
        kl.row_count_change(at_least=0),
    ]

    # In this load 22% of the planes have no airline. Readers of main do not see it.
    tonight = fleet.branch("tmp_tonight")
    tonight.upsert(load, version=1)
    try:
        tonight.publish(require=gate)
    except kl.GateFailed as error:
        print(error)
    print(f"main has {fleet.read().count()} planes, the branch has {tonight.read().count()}")

    # Only the flights of December were looked at. A second write to the branch adds the airlines of the whole year.
    year = airline_of_each_plane(first_month=1)
    tonight.update(year[year["tail_number"].isin(registry["tail_number"])], version=2)
    published = tonight.publish(require=gate)
    print(published, *published.findings, sep="\n")
    print(f"main has {fleet.read().count()} planes")
