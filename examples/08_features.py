"""Feature engineering: delays of each route over the last days, from two streams of events, and training samples.

A `Daily` column keeps one sum for each day and adds what is written, also late: no query scans the events again.
The state of each midnight is archived, so that `kl.join(..., as_of=...)` gives samples features without the future.
"""

from datetime import date

import pandas as pd
from typing_extensions import TypedDict

import keylake as kl
from flights.feed import finished_lines


class Days(TypedDict):
    """A value for each of some days: values[i] is that of `day - i`."""

    day: date
    values: list[kl.Int64]


class Route(kl.Table, name="features.routes", buckets=4):
    """What happened on a route, by day in UTC."""

    carrier: str = kl.key()
    origin: str = kl.key()
    departed: Days | None = kl.column(reduce=kl.Daily(days=28), doc="Flights, written by departures.")
    departed_late: Days | None = kl.column(reduce=kl.Daily(days=28), doc="Minutes, written by departures.")
    landed: Days | None = kl.column(reduce=kl.Daily(days=28), doc="Flights, written by arrivals.")
    landed_late: Days | None = kl.column(reduce=kl.Daily(days=28), doc="Minutes, written by arrivals.")


flights = finished_lines(first_month=11).dropna(subset=["departed_at", "air_time"])
landed_at = flights["departed_at"] + pd.to_timedelta(flights["air_time"], unit="min")
departures = flights.assign(happened_on=flights["departed_at"].dt.date, late=flights["departure_delay"])
arrivals = flights.assign(happened_on=landed_at.dt.date, late=flights["arrival_delay"])
nights = [day.date() for day in pd.date_range("2013-12-22", "2013-12-26")]

with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS features.routes PURGE")  # an earlier run's
    routes = lake.create(Route)
    for stream, events in {"departed": departures, "landed": arrivals}.items():
        lake.spark.createDataFrame(events[["carrier", "origin", "happened_on", "late"]]).createOrReplaceTempView(stream)

    def add(stream: str, since: date, until: date) -> kl.Commit:
        """Add the events of some days; a job that runs again adds nothing."""
        contributions = f"""
            SELECT carrier, origin, named_struct('day', happened_on, 'values', array(1L)) AS {stream},
                   named_struct('day', happened_on, 'values', array(bigint(late))) AS {stream}_late
            FROM {stream} WHERE happened_on >= '{since}' AND happened_on < '{until}'"""
        return routes.update(lake.spark.sql(contributions), idempotency_key=f"{stream} until {until}")

    for since, night in zip([date(2013, 11, 24), *nights], nights, strict=False):
        for stream in ("departed", "landed"):
            print(add(stream, since, night))
        routes.states.archive(night)
    print(add("landed", since, night))

    samples = flights[flights["day"].dt.date.isin(nights)][["carrier", "origin", "day", "arrival_delay"]]
    samples = samples.assign(day=samples["day"].dt.date)
    features = kl.join(samples, [routes], on=["carrier", "origin"], as_of="day").selectExpr(
        "arrival_delay",
        "window_sum(departed_late, 1, day - 1) / window_sum(departed, 1, day - 1) AS departure_delay_1_day",
        "window_sum(landed_late, 3, day - 1) / window_sum(landed, 3, day - 1) AS arrival_delay_3_days",
        "window_sum(landed_late, 28, day - 1) / window_sum(landed, 28, day - 1) AS arrival_delay_28_days",
    )
    training = features.toPandas()
    print(f"{len(training)} samples, {training.isna().any(axis=1).sum()} of them without a feature")
    print(training.corr()["arrival_delay"].round(2).to_string())
    parts = pd.qcut(training["arrival_delay_3_days"], 4, labels=["best", "good", "bad", "worst"])
    print(training.groupby(parts, observed=True)["arrival_delay"].mean().round(1).to_string())
