"""Windows without history: values by day in one column, and SQL functions that read the last days of one row."""

from datetime import date, timedelta
from random import Random

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.schema.evolving import Evolving

COLUMNS = "id BIGINT, clicks STRUCT<day: DATE, values: ARRAY<BIGINT>>, PRIMARY KEY (id)"
DAILY = "'versions' = 'commit', 'reduce.clicks' = 'Daily(days=90, of=Sum)'"
TODAY = date(2026, 11, 20)


@pytest.mark.slow
def test_the_last_days_of_events(lake: kl.Lake) -> None:
    """Beside an aggregation of the events themselves, before and after a compaction."""
    random = Random(5)
    table = Evolving(lake, COLUMNS, DAILY)
    events = [
        (random.randint(1, 20), TODAY - timedelta(days=random.randint(0, 120)), random.randint(1, 9))
        for _ in range(600)
    ]
    random.shuffle(events)
    raw = lake.spark.createDataFrame(events, "id BIGINT, day DATE, clicks BIGINT")
    raw.createOrReplaceTempView("window_events")
    for part in range(3):
        lake.spark.sql(
            f"INSERT INTO {table.sql} SELECT id, named_struct('day', day, 'values', array(clicks)) FROM window_events "
            f"WHERE (clicks + day(day)) % 3 = {part}"
        ).collect()
    asked = (
        f"SELECT id, window_sum(clicks, 7, DATE'{TODAY}') AS w7, window_sum(clicks, 30, '{TODAY}') AS w30 FROM {{t}}"
    )
    expected = lake.spark.sql(
        f"SELECT id, sum(clicks) FILTER (WHERE day > DATE'{TODAY}' - 7), "
        f"sum(clicks) FILTER (WHERE day > DATE'{TODAY}' - 30) FROM window_events GROUP BY id"
    ).collect()
    for _ in range(2):
        assert table.rows(asked) == sorted((tuple(row) for row in expected), key=repr)
        ((longest,),) = table.rows("SELECT max(size(clicks.values)) FROM {t}")
        assert isinstance(longest, int)
        assert longest <= 90
        table.table.compact("full")


VALUES = "named_struct('day', DATE'2026-11-20', 'values', array(5, NULL, 7, 1))"
ASKED = {
    f"window_sum({VALUES}, 3, DATE'2026-11-20')": 12,
    f"window_sum({VALUES}, 3, DATE'2026-11-22')": 5,
    f"window_sum({VALUES}, 2, DATE'2026-11-18')": 8,
    f"window_sum({VALUES}, 1, DATE'2026-11-19')": None,
    f"window_sum({VALUES}, 7, DATE'2026-11-30')": None,
    f"window_sum({VALUES}, 7, DATE'2026-11-01')": None,
    f"window_count({VALUES}, 7, DATE'2026-11-20')": 3,
    f"window_count({VALUES}, 7, DATE'2026-11-30')": 0,
    f"window_avg({VALUES}, 3, DATE'2026-11-20')": 6.0,
    f"window_min({VALUES}, 4, DATE'2026-11-20')": 1,
    f"window_max({VALUES}, 2000000000, DATE'2026-11-20')": 7,
    "window_sum(array(1.5D, 2.5D, 4D), 2)": 4.0,
    "window_max(array(1.5D, double('NaN')), 2) = double('NaN')": True,
    "window_sum(array(1.50, 2.25), 9)": 3.75,
    "window_sum(array(2147483647, 1), 2)": 2147483648,
    "window_sum(cast(NULL AS ARRAY<INT>), 2)": None,
    "window_count(cast(NULL AS ARRAY<INT>), 2)": 0,
    "window_sum(array(1, 2), cast(NULL AS INT))": None,
    "window_sum(named_struct('day', current_date(), 'values', array(3L, 4L)), 1)": 3,
}


def test_the_functions(lake: kl.Lake) -> None:
    row = lake.spark.sql("SELECT " + ", ".join(ASKED)).collect()[0]
    assert [float(value) if value is not None else None for value in row] == [
        None if expected is None else float(expected) for expected in ASKED.values()
    ]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("window_sum(array(1), 0)", "BAD_ROWS", ("0 days",)),
        ("window_sum(array('a'), 1)", "DEFINITION", ("array<string>", "array of numbers")),
        ("window_sum(5, 1)", "DEFINITION", ("int", "'values'")),
        ("window_sum(array(1))", "DEFINITION", ("2 or 3 arguments", "was given 1")),
        ("window_sum(array(1), 1, current_date())", "DEFINITION", ("array", "no days")),
        ("window_sum(array(9223372036854775807, 1L), 2)", "BAD_ROWS", ("does not fit a long",)),
    ],
)
def test_windows_that_are_refused(lake: kl.Lake, call: str, kind: str, words: tuple[str, ...]) -> None:
    with pytest.raises(Exception, match=rf"KEYLAKE_{kind}") as said:
        lake.spark.sql(f"SELECT {call}").collect()
    assert all(word in str(said.value) for word in words)


def test_contributions_without_a_day(lake: kl.Lake) -> None:
    table = Evolving(lake, COLUMNS, DAILY)
    with refused_in_sql(lake, table.name, "BAD_ROWS", "'clicks'", "id=1", "no day"):
        table.run("INSERT INTO {t} VALUES (1, named_struct('day', cast(NULL AS DATE), 'values', array(1L)))")
