"""pyiceberg opens every table of the session and sees its raw rows; `conftest` lets this run after all other tests."""

from collections.abc import Sequence
from urllib.parse import unquote

from pyspark.sql import functions

import keylake as kl
from integration.histories import operations, shapes
from integration.raw import catalog_of, tables_of
from integration.twin import fresh_name


def test_every_table_opens_with_all_its_raw_rows(lake: kl.Lake) -> None:
    for _, shape in shapes():  # so that there are some, also when this test runs alone
        twin = shape.create(lake, fresh_name("pyiceberg"))
        for operation in operations(shape, seed=41, count=2, rows=10):
            operation.apply(twin)
    tables = tables_of(catalog_of(lake))
    assert len(tables) >= len(lake.tables()) >= 5
    files = [list(table.scan().plan_files()) for table in tables]
    counted = rows_in(lake, [task.file.file_path for of_table in files for task in of_table])
    for table, of_table in zip(tables, files, strict=True):
        rows = table.scan().to_arrow()
        stored = sum(counted[task.file.file_path] for task in of_table)
        snapshot = table.current_snapshot()
        summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
        superseded = int(summary.get("total-position-deletes", "0"))  # by settling
        assert rows.column_names == [field.name for field in table.schema().fields]
        assert rows.num_rows == stored - superseded, table.name()


def rows_in(lake: kl.Lake, files: Sequence[str]) -> dict[str, int]:
    """How many rows Spark finds in these files, without any catalog."""
    counted = lake.spark.read.parquet(*files).groupBy(functions.col("_metadata.file_path")).count()
    return {unquote(path).removeprefix("file:"): rows for path, rows in counted.collect()}
