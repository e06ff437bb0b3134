"""A job of Flink that writes to a table of a lake: `make flink` builds it, and each job is a process of its own."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from pyiceberg.conversions import to_json
from pyiceberg.schema import Schema
from pyiceberg.types import PrimitiveType

import keylake as kl
from integration.raw import catalog_of
from model.model import Row

BUILT = Path(__file__).parents[3] / ".build" / "flink"
# As Flink's own scripts start it.
OPENED = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.nio", "java.util")]
LOGGED = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
JAVA = ["java", "-Xmx768m", *OPENED, LOGGED, "-cp", f"{BUILT}/classes:{BUILT}/jars/*", "UpsertJob"]

Kind = Literal["+I", "+U", "-D"]
Change: TypeAlias = tuple[Kind, Row]


class UpsertJob:
    """A running job. It does nothing until it is given a commit, so that tests do what they want in between."""

    def __init__(self, process: subprocess.Popen[str], log: Path, schema: Schema) -> None:
        self._process = process
        self._log = log
        self._schema = schema

    def commit(self, changes: Sequence[Change]) -> int:
        """Upsert these rows, or delete them by their keys, in one commit; gives its snapshot once the table has it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.writelines(f"{kind} {self._json(row)}\n" for kind, row in changes)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the job of Flink has ended: {self._log.read_text()[-4000:]}"
        return int(answer)

    def _json(self, row: Row) -> str:
        """Iceberg's single-value form of a row: values by field id."""
        values: dict[int, object] = {}
        for name, value in row.items():
            column = self._schema.find_field(name)
            assert isinstance(column.field_type, PrimitiveType)
            values[column.field_id] = None if value is None else to_json(column.field_type, value)
        return json.dumps(values)


@contextmanager
def upsert_job(lake: kl.Lake, table: str, folder: Path) -> Iterator[UpsertJob]:
    """A job that upserts into a plain Iceberg table by the table's identifier fields."""
    assert BUILT.exists(), "Flink has an environment of its own: run `make flink`"
    prefix = f"spark.sql.catalog.{lake.catalog}"
    place = [lake.catalog, lake.spark.conf.get(f"{prefix}.uri"), lake.spark.conf.get(f"{prefix}.warehouse"), table]
    with closing(catalog_of(lake)) as catalog:
        schema = catalog.load_table(table).schema()
    log = folder / f"flink-{table}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*JAVA, *place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8"
        )
    try:
        yield UpsertJob(process, log, schema)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, log.read_text()[-4000:]
