"""Back-fill training samples: each flight gets the weather and the plane as they were known when it was due to leave.

`kl.join(..., as_of=...)` takes for each sample the archived state of its time, never a value from later.
`kl.explain_join` tells what is moved: the samples, once for each column that tables are joined on, and no table.
"""

from datetime import datetime

import pandas as pd

import keylake as kl
from flights.feed import finished_lines
from flights.source import read_csv


class Weather(kl.Table, name="samples.weather", buckets=4):
    """The newest weather of an airport."""

    origin: str = kl.key()
    measured_at: datetime = kl.ordering()
    visibility: kl.Float64 | None = kl.column(doc="Miles.")
    wind: kl.Float64 | None = kl.column(doc="Miles per hour.")


class Plane(kl.Table, name="samples.planes", buckets=4, versions="explicit"):
    """A plane, by the number on its tail."""

    tail_number: str = kl.key()
    seats: kl.Int32 | None = kl.column()


raw = read_csv("weather")
reports = raw.assign(measured_at=pd.to_datetime(raw["time_hour"]), visibility=raw["visib"], wind=raw["wind_speed"])
reports = reports[["origin", "measured_at", "visibility", "wind"]]
planes = read_csv("planes").rename(columns={"tailnum": "tail_number"})[["tail_number", "seats"]]
flights = finished_lines(first_month=12).dropna(subset=["tail_number", "departure_delay"])
flights = flights[flights["day"].between("2013-12-14", "2013-12-15")]  # it snowed
samples = flights[["tail_number", "origin", "scheduled_at", "departure_delay"]]

with kl.connect() as lake:
    for name in ("samples.weather", "samples.planes"):
        lake.spark.sql(f"DROP TABLE IF EXISTS {name} PURGE")  # an earlier run's
    weather, fleet = lake.create(Weather), lake.create(Plane)
    fleet.upsert(planes, version=1)
    fleet.states.archive("2013-12-14")
    for moment in pd.date_range("2013-12-14", "2013-12-16", freq="4h", tz="UTC"):
        known = reports["measured_at"].between(moment - pd.Timedelta(hours=4), moment, inclusive="left")
        weather.upsert(reports[known])
        weather.states.archive(moment.to_pydatetime())

    filled = kl.join(
        samples,
        [weather["measured_at", "visibility", "wind"], fleet["seats"]],
        on=["origin", "tail_number"],
        as_of="scheduled_at",
    )
    print(kl.explain_join(filled))
    filled = filled.toPandas()
    from_later = (filled["measured_at"] >= filled["scheduled_at"]).sum()
    print(f"{len(filled)} samples of {len(samples)}, {from_later} with weather from later")
    print(filled.sort_values("scheduled_at").iloc[[0, 600, 1200]].to_string(index=False))
    sight = pd.cut(filled["visibility"], [0, 1, 3, 10], labels=["below 1", "1 to 3", "above 3"]).rename(
        "miles of sight"
    )
    print("delay by miles of sight:")
    delays = filled.groupby(sight, observed=True)["departure_delay"].agg(["count", "mean"])
    print(delays.round(1).to_string(index_names=False))
