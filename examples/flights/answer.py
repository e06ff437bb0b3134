"""The same answer without keylake: every report in one log, sorted by event time, read column by column in plain Arrow.

    1  number all reports of all streams by (event time, order of commit)
    2  a key's reports up to its last deletion are void
    3  a key exists if a report of it is left
    4  a column's value is the last one among the reports left whose stream carries the column;
       for the columns in `known_once`, the last one that is not null

This is the law of keylake's tables written down the slow way: it needs the whole log at once, and sorts all of it.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from flights.feed import INSTANT, Batch


def merged(log: Sequence[Batch], schema: pa.Schema, key: Sequence[str], known_once: Sequence[str]) -> pa.Table:
    """The table that the batches of `log`, committed in this order, must have become: sorted by key."""
    reports = _without_void(_numbered(log, schema), key)
    carriers = {
        name: {batch.stream for batch in log if not batch.deletes and name in batch.rows.column_names}
        for name in schema.names
    }
    answer = reports.select(list(key)).group_by(list(key)).aggregate([])
    for name in schema.names:
        if name not in key:
            told = reports.filter(pc.is_in(reports["stream"], pa.array(carriers[name], pa.string())))
            if name in known_once:
                told = told.filter(told[name].is_valid())
            answer = answer.join(_last(told, key, name), list(key), join_type="left outer")
    return in_key_order(answer.select(schema.names).cast(schema), key)


def in_key_order(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """The table in one piece, sorted by key, so that equal tables are equal."""
    return table.sort_by([(name, "ascending") for name in key]).combine_chunks()


def in_utc(table: pa.Table) -> pa.Table:
    """The same instants, in one time zone: Spark gives them in its session's."""
    fields = [field.with_type(INSTANT) if pa.types.is_timestamp(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


def difference(table: pa.Table, answer: pa.Table) -> str | None:
    """None if the tables are equal in every row and column; otherwise a sentence about where they first differ."""
    columns, wanted = (", ".join(f"{each.name} {each.type}" for each in one.schema) for one in (table, answer))
    if columns != wanted:
        return f"its columns are {columns} instead of {wanted}"
    if table.num_rows != answer.num_rows:
        return f"it has {table.num_rows:,} rows instead of {answer.num_rows:,}"
    for name in answer.column_names:
        mine, theirs = table[name].combine_chunks(), answer[name].combine_chunks()
        if not mine.equals(theirs):
            row = next(i for i in range(len(mine)) if mine[i] != theirs[i])
            return f"column {name} of {answer.slice(row, 1).to_pylist()[0]} is {mine[row].as_py()!r}"
    return None


def _numbered(log: Sequence[Batch], schema: pa.Schema) -> pa.Table:
    pieces = [
        batch.rows.append_column("stream", pa.repeat(batch.stream, len(batch.rows)))
        .append_column("commit", pa.repeat(commit, len(batch.rows)))
        .append_column("deletes", pa.repeat(batch.deletes, len(batch.rows)))
        for commit, batch in enumerate(log)
    ]
    reports = pa.concat_tables([schema.empty_table(), *pieces], promote_options="default")
    in_order = reports.sort_by([("event_time", "ascending"), ("commit", "ascending")])
    return in_order.append_column("number", pa.array(range(len(in_order))))


def _without_void(reports: pa.Table, key: Sequence[str]) -> pa.Table:
    deletions = reports.filter(reports["deletes"]).group_by(list(key)).aggregate([("number", "max")])
    joined = reports.join(deletions, list(key), join_type="left outer")
    left = joined.filter(pc.greater(joined["number"], pc.fill_null(joined["number_max"], -1)))
    return left.sort_by("number")


def _last(reports: pa.Table, key: Sequence[str], name: str) -> pa.Table:
    nulls_count = pc.ScalarAggregateOptions(skip_nulls=False)
    last = reports.group_by(list(key), use_threads=False).aggregate([(name, "last", nulls_count)])
    return last.rename_columns([*key, name])
