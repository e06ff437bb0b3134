"""The rows as they lie on disk, seen without the plug-in: by Spark with stock Iceberg, and by pyiceberg."""

from collections.abc import Sequence
from urllib.parse import unquote

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyspark.sql import DataFrame, functions

import keylake as kl
from integration.twin import Twin, comparable


def catalog_of(lake: kl.Lake) -> SqlCatalog:
    """The catalog of a lake on this machine, opened by pyiceberg."""
    warehouse = lake.spark.conf.get(f"spark.sql.catalog.{lake.catalog}.warehouse")
    uri = f"sqlite:///{warehouse}/catalog.db"
    return SqlCatalog(lake.catalog, uri=uri, warehouse=warehouse, init_catalog_tables="false")


def tables_of(catalog: SqlCatalog) -> list[Table]:
    """All tables of a catalog."""
    spaces = catalog.list_namespaces()
    return [catalog.load_table(name) for space in spaces for name in catalog.list_tables(space)]


def in_spark(lake: kl.Lake, table: Table, part: str = "") -> DataFrame:
    """The table, or one of its metadata tables, read from its metadata file: no catalog, and so no plug-in."""
    location = table.metadata_location.removeprefix("file:")
    return lake.spark.read.format("iceberg").load(f"{location}#{part}" if part else location)


def in_pyiceberg(table: Table) -> list[str]:
    """All raw rows, in a form and an order in which they can be compared."""
    return sorted(repr(comparable(row)) for row in table.scan().to_arrow().to_pylist())


def check_raw_rows(lake: kl.Lake, tables: Sequence[Table]) -> None:
    """pyiceberg opens these tables and sees the rows of their files, without those that settling has superseded."""
    files = [list(table.scan().plan_files()) for table in tables]
    counted = _rows_in(lake, [task.file.file_path for of_table in files for task in of_table])
    for table, of_table in zip(tables, files, strict=True):
        rows = table.scan().to_arrow()
        stored = sum(counted[task.file.file_path] for task in of_table)
        snapshot = table.current_snapshot()
        summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
        superseded = int(summary.get("total-position-deletes", "0"))
        assert rows.column_names == [field.name for field in table.schema().fields], table.name()
        assert rows.num_rows == stored - superseded, (table.name(), rows.num_rows, stored, superseded)


def _rows_in(lake: kl.Lake, files: Sequence[str]) -> dict[str, int]:
    """How many rows Spark finds in these files, without any catalog."""
    if not files:
        return {}
    # Without a schema Spark takes that of one file, and it has no type for a uuid.
    counted = lake.spark.read.schema("any INT").parquet(*files).groupBy(functions.col("_metadata.file_path")).count()
    return {unquote(path).removeprefix("file:"): rows for path, rows in counted.collect()}


def second_opinion(twin: Twin, table: Table) -> DataFrame:
    """The merge law in plain SQL over the raw rows.

    An `at` is what decides: the version, then the commit, whose number Iceberg keeps for every file. A row holds what
    is left of its own commit, so its values are never older than a tombstone beside them: hence `>=`.
    """
    key = ", ".join(f"`{name}`" for name in twin.model.key)
    ordering = "NULL"
    if twin.model.ordering is not None:
        ordering = f"unix_micros(`{twin.model.ordering}`)"
    in_spark(twin.lake, table).selectExpr("*", "_file").createOrReplaceTempView("raw_rows")
    in_spark(twin.lake, table, "entries").createOrReplaceTempView("raw_entries")

    def at(lag: str) -> str:
        # Where versions are commits, the commit alone decides.
        version = "0" if twin.model.versions == "commit" else f"version - _merge_info.{lag}"
        return f"struct({version} AS version, commit)"

    def survives(lag: str) -> str:
        return f"_merge_info.{lag} IS NOT NULL AND (tombstone IS NULL OR {at(lag)} >= tombstone)"

    groups = {column: group for group, columns in twin.model.groups.items() for column in columns}
    leaves = {name: f"columns.`{groups.get(name, name)}`" for name in twin.model.columns}
    columns = ", ".join(
        f"max_by(`{name}`, {at(leaf)}) FILTER (WHERE {survives(leaf)}) AS `{name}`" for name, leaf in leaves.items()
    )
    return twin.lake.spark.sql(
        f"""
        WITH files AS (
          SELECT data_file.file_path AS _file, sequence_number AS commit FROM raw_entries WHERE status < 2
        ), placed AS (
          SELECT *, coalesce(_merge_info.version, {ordering}) AS version FROM raw_rows JOIN files USING (_file)
        ), deleted AS (
          SELECT {key}, max({at("deleted")}) AS tombstone
          FROM placed WHERE _merge_info.deleted IS NOT NULL GROUP BY {key}
        )
        SELECT {key}, {columns} FROM placed LEFT JOIN deleted USING ({key})
        GROUP BY {key} HAVING count_if({survives("written")}) > 0
        """
    )
