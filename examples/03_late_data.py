"""Late data: weather reports that arrive in any order, hours or days after they were made.

The newest report of a station counts, whenever it arrives, and each column for itself: a report may lack a column.
The state of each midnight is kept, and a report that comes days late corrects the states that it belongs to.
"""

from datetime import date, datetime

import pandas as pd

import keylake as kl
from flights.source import read_csv


class Station(kl.Table, name="airline.weather", buckets=2):
    """The newest weather of an airport."""

    airport: str = kl.key()
    measured_at: datetime = kl.ordering()
    temperature: kl.Float64 | None = kl.column(reduce=kl.LatestNotNull(), doc="Degrees Celsius.")
    gust: kl.Float64 | None = kl.column(reduce=kl.LatestNotNull(), doc="Metres per second; not in every report.")


raw = read_csv("weather")
reports = pd.DataFrame(
    {
        "airport": raw["origin"],
        "measured_at": pd.to_datetime(raw["time_hour"]),
        "temperature": ((raw["temp"] - 32) / 1.8).round(1),
        "gust": (raw["wind_gust"] * 0.44704).round(1),
    }
)


def made(day: int, since: int = 0, until: int = 24) -> pd.DataFrame:
    """The reports of some hours of a day of December, in UTC."""
    begin = pd.Timestamp(2013, 12, day, tz="UTC")
    hours = (reports["measured_at"] - begin) / pd.Timedelta(hours=1)
    return reports[(hours >= since) & (hours < until)]


with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS airline.weather PURGE")  # an earlier run's
    stations = lake.create(Station)

    # The evening is reported first. Earlier hours then change only what the later ones do not know: the gusts.
    for since, until in ((21, 24), (0, 12), (12, 21)):
        stations.upsert(made(24, since, until))
        row = stations.get(airport="JFK")
        print(f"{since:2} to {until} h: {row.temperature} °C at {row.measured_at:%H:%M}, gusts of {row.gust} m/s")
    stations.states.archive("2013-12-25")  # the state of this midnight; no file is copied

    # On Christmas Day nothing is heard from JFK.
    stations.upsert(made(25).query("airport != 'JFK'"))
    stations.states.archive("2013-12-26")
    stations.upsert(made(26))
    stations.states.archive("2013-12-27")
    midnights = [date(2013, 12, day) for day in (25, 26, 27)]
    print("before:", {f"{day}": stations.get(airport="JFK", as_of=day).temperature for day in midnights})

    # The lost day arrives. Its midnight is corrected; the next one has newer reports already.
    stations.upsert(made(25).query("airport == 'JFK'"), business_time="2013-12-26")
    print("after: ", {f"{day}": stations.get(airport="JFK", as_of=day).temperature for day in midnights})
