"""The page of limits has the numbers of the code."""

import re
from pathlib import Path

import pytest

import keylake as kl
from keylake import errors
from keylake._definition.definition import MOST_BUCKETS
from keylake._joins.point_in_time import MOST_STATES
from keylake._json.batch import MOST_FIELDS
from keylake._log.frames import LONGEST_ENTRY
from keylake._log.segments import SEGMENT_BYTES
from keylake._rows import intention
from keylake._server.embedded import START_LIMIT_SECONDS
from keylake._server.server import _MOST_MEMORY_MIB
from keylake._table import log
from keylake._table.reads import _KEYS_OF_A_QUERY
from keylake.conditions import MOST_DIGITS
from keylake.local import fresh
from keylake.local.lake import DEFAULT_MEMORY_BYTES
from keylake.local.plans import MOST_CHANGED_ROWS
from keylake.local.writing import batch, commits

ROOT = Path(__file__).parents[2]
JAVA = ROOT / "server_plugins"
ROW = re.compile(r"^\| (?!limit \||-)([^|]+) \| ([\d,]+) \|", flags=re.MULTILINE)


def of_java(path: str, name: str) -> int:
    """A constant of a class, such as 4096 or 16 << 20."""
    (file,) = JAVA.glob(f"*/src/main/java/io/keylake/{path}.java")
    (value,) = re.findall(rf"\b{name} = ([^;]+);", file.read_text())
    number, _, shift = value.strip('"').replace("_", "").partition(" << ")
    return int(number) << int(shift or 0)


RETENTION = kl.RetentionPolicy()
LIMITS = {
    "buckets of a table": MOST_BUCKETS,
    "digits of a decimal": MOST_DIGITS,
    "indices of values": of_java("tables/indexes/ValueIndexes", "MOST"),
    "bytes of one part of a table's name": of_java("spark/catalog/TableNames", "MOST_BYTES"),
    "new columns of one `update_json`": kl.JsonMapping().most_new_columns,
    "different fields of the payloads": MOST_FIELDS,
    "sources in the `offsets`": intention._MOST_SOURCES,
    "characters of the name of a source": intention._LONGEST_NAME,
    "rows that the driver writes": of_java("spark/write/DriverWrite", "MOST_ROWS_BY_DEFAULT"),
    "retries of a statement": of_java("tables/isolation/Retries", "DEFAULT"),
    "days for which an idempotency key": RETENTION.idempotency_days,
    "keys of one query": _KEYS_OF_A_QUERY,
    "files in which the driver looks up": of_java("spark/read/scan/Lookup", "MOST_FILES"),
    "runs of a section": of_java("merge/Decisions", "MAX_RUNS"),
    "archived states": MOST_STATES,
    "days for which a snapshot": RETENTION.days,
    "snapshots of a branch": RETENTION.max_snapshots,
    "rows of one write of `keylake.local`": batch.MOST_ROWS,
    "written rows of the range": MOST_CHANGED_ROWS,
    "MiB of decoded columns": DEFAULT_MEMORY_BYTES >> 20,
    "attempts of a commit": commits.MOST_ATTEMPTS,
    "rows of a log": fresh.MOST_ROWS,
    "rows of one commit of a move": log.MOST_ROWS,
    "MiB of entries of one commit": log.MOST_BYTES >> 20,
    "MiB of one entry": LONGEST_ENTRY >> 20,
    "MiB of entries that are not in files": fresh.MOST_BYTES >> 20,
    "MiB of a segment of a log": SEGMENT_BYTES >> 20,
    "seconds in which an embedded server": START_LIMIT_SECONDS,
    "MiB of memory of an embedded server": _MOST_MEMORY_MIB,
    "seconds of one call of `wait_for_commits`": of_java(
        "spark/procedures/HistoryProcedures", "MOST_SECONDS_OF_A_WAIT"
    ),
    "MiB of a request": of_java("spark/rest/http/Request", "MOST_BYTES") >> 20,
    "requests that wait": of_java("spark/rest/CatalogServer", "MOST_WAITING"),
    "entries of the log": of_java("spark/maintenance/Maintenance", "KEPT_ENTRIES"),
    "characters of an error": errors._MOST_CHARACTERS,
    "changes in one message": of_java("pipelines/messages/MessageReader", "MOST_CHANGES"),
    "tables of one batch": of_java("pipelines/multitable/TablesWrite", "MOST_TABLES_HERE"),
}
STATED = {name: int(number.replace(",", "")) for name, number in ROW.findall((ROOT / "sdk/docs/limits.md").read_text())}


@pytest.mark.parametrize("stated", STATED)
def test_a_limit_is_that_of_the_code(stated: str) -> None:
    (meant,) = [number for name, number in LIMITS.items() if stated.startswith(name)]
    assert STATED[stated] == meant


def test_each_limit_has_a_line() -> None:
    assert len(STATED) == len(LIMITS)
