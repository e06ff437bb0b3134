"""A first table: the airports of the United States, one row per code.

It shows how a table is defined and created, the verbs upsert, update, delete, read and get, and the same rows in SQL.
Run it twice: the second run changes nothing, because each write says what it is.
"""

import keylake as kl
from flights.source import read_csv


class Airport(kl.Table, name="airline.airports", buckets=2):
    """An airport by its FAA code."""

    code: str = kl.key()
    name: str | None = kl.column()
    altitude: kl.Int64 | None = kl.column(doc="Feet.")
    time_zone: str | None = kl.column()


rows = read_csv("airports").rename(columns={"faa": "code", "alt": "altitude", "tzone": "time_zone"})
rows = rows[["code", "name", "altitude", "time_zone"]]

with kl.connect() as lake:  # starts a Spark Connect server for the folder ./lake
    airports = lake.create(Airport, if_exists="match")
    print(airports.upsert(rows, idempotency_key="airports of 2013"))  # pandas, Arrow, Spark, or a list

    # An update writes only the columns that it has: the rest of the row stays as it was.
    airports.update([{"code": "JFK", "name": "John F. Kennedy Intl"}], idempotency_key="a longer name")
    airports.delete([{"code": "BLD"}], idempotency_key="closed airports")
    print(airports.get(code="JFK"))
    print(airports.get(code="BLD"))

    # read() gives a Spark frame, and SQL gives the same rows.
    high = airports.read(columns=["name", "altitude"], where="altitude > 8000").orderBy("altitude", ascending=False)
    print(high.limit(3).toPandas().to_string(index=False))
    by_zone = "SELECT time_zone, count(*) AS airports FROM airline.airports GROUP BY time_zone ORDER BY 2 DESC LIMIT 3"
    lake.spark.sql(by_zone).show()
