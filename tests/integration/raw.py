"""The rows as they lie on disk, seen without the plug-in: by Spark with stock Iceberg, and by pyiceberg."""

from collections.abc import Sequence

from pyarrow.parquet import read_metadata
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table
from pyspark.sql import DataFrame

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


def check_raw_rows(tables: Sequence[Table]) -> None:
    """pyiceberg opens these tables and sees the rows of their files, without those that settling has superseded."""
    for table in tables:
        scan = table.scan()
        planned = list(scan.plan_files())
        rows = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter).to_table(planned)
        stored = sum(read_metadata(task.file.file_path).num_rows for task in planned)
        snapshot = table.current_snapshot()
        summary = {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties
        superseded = int(summary.get("total-position-deletes", "0"))
        assert rows.column_names == [field.name for field in table.schema().fields], table.name()
        assert rows.num_rows == stored - superseded, (table.name(), rows.num_rows, stored, superseded)


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
