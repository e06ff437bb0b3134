"""The command `register`: a keyed table of a plain Iceberg table, or of Parquet files."""

from __future__ import annotations

from typing import Annotated, cast

import typer

import keylake as kl
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, opened, opened_or_made
from keylake.cli.shown import JsonOption, show


def register(
    table: Annotated[str | None, typer.Argument(help="A plain Iceberg table, as in streams.orders.")] = None,
    into: Annotated[
        str | None, typer.Option(help="The keyed table that is made; the plain one itself becomes keyed unless said.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="A folder of Parquet files, in place of a table.")] = None,
    key: Annotated[str | None, typer.Option(help="The key columns, as in user_id,day.")] = None,
    ordering: Annotated[str | None, typer.Option(help="The column whose newest value wins.")] = None,
    versions: Annotated[str | None, typer.Option(help="commit or explicit, where there is no ordering column.")] = None,
    version: Annotated[str | None, typer.Option(help="The column with the version of a row.")] = None,
    buckets: Annotated[int | None, typer.Option(help="The number of buckets.")] = None,
    bucket_by: Annotated[str | None, typer.Option(help="Key columns that say the bucket; all unless said.")] = None,
    partition_by: Annotated[str | None, typer.Option(help="Key columns of Iceberg partitions.")] = None,
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    as_json: JsonOption = False,
) -> None:
    """Make a keyed table of a plain one, or of Parquet files.

    All rows are written; the new table is there once all of them are. The plain table stays as it is with --into.
    """
    with (opened if path is None else opened_or_made)(lake, catalog) as found:
        made = found.register(
            table,
            path=path,
            into=into,
            key=_names(key),
            ordering=ordering,
            versions=cast("kl.Versions | None", versions),
            version=version,
            buckets=buckets,
            bucket_by=_names(bucket_by),
            partition_by=_names(partition_by),
        )
    show(made, as_json)


def _names(typed: str | None) -> list[str]:
    return [] if typed is None else typed.split(",")
