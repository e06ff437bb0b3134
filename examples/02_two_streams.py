"""Two streams, one row: a flight is reported by the airport it leaves and by the airport it reaches.

Each stream writes the columns that it knows. Nothing is read or joined when it writes, and a read gives one whole row.
`explain_row` shows for each column which stream and commit wrote its value.
"""

from datetime import date, datetime

import pandas as pd

import keylake as kl
from flights.feed import finished_lines


class Flight(kl.Table, name="airline.reports", buckets=2):
    """One flight on one day; every report has the time at which the thing happened."""

    carrier: str = kl.key()
    flight: kl.Int32 = kl.key()
    origin: str = kl.key()
    day: date = kl.key()
    happened_at: datetime = kl.ordering()

    status: str | None = kl.column(doc="Written by both streams; the newest event counts.")
    destination: str | None = kl.column(doc="Written by departures.")
    departure_delay: kl.Int32 | None = kl.column(doc="Minutes, written by departures.")
    arrival_delay: kl.Int32 | None = kl.column(doc="Minutes, written by arrivals.")


KEY = ["carrier", "flight", "origin", "day"]
lines = finished_lines(first_month=12)
lines = lines[(lines["day"] == "2013-12-24") & lines["air_time"].notna()].assign(day=date(2013, 12, 24))
lines = lines.astype({"departure_delay": "int32", "arrival_delay": "int32"})
landed_at = lines["departed_at"] + pd.to_timedelta(lines["air_time"], unit="min")
departures = lines.assign(happened_at=lines["departed_at"], status="departed")
departures = departures[[*KEY, "happened_at", "status", "destination", "departure_delay"]]
arrivals = lines.assign(happened_at=landed_at, status="landed")[[*KEY, "happened_at", "status", "arrival_delay"]]

with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS airline.reports PURGE")  # an earlier run's
    flights = lake.create(Flight)
    one = {"carrier": "AA", "flight": 1, "origin": "JFK", "day": date(2013, 12, 24)}

    with lake.maintenance.paused():  # files that are merged no longer tell which stream wrote a value
        # The arrivals come first. Their row is whole as far as it is known.
        print(flights.update(arrivals, stream="arrivals"))
        print(flights.get(**one))

        # A departure is older than the landing: it fills its own columns, and does not set the status back.
        print(flights.update(departures, stream="departures"))
        print(flights.get(**one))

        why = flights.explain_row(**one)
        print({cell.column: cell.stream for cell in why.columns})
        print("lost:", [(lost.value, lost.stream, lost.lost_because) for lost in why["status"].lost])

    delays = flights.read().groupBy("status").avg("departure_delay", "arrival_delay")
    print(delays.toPandas().round(1).to_string(index=False))
