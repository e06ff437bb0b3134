"""MERGE INTO as people write it: a row is replaced, or its carried columns are, unless what is there is newer."""

from benchmarks.workload import KEY, TIME, Batch


def merge_into(table: str, batch: Batch) -> str:
    """The statement that takes the view `batch`."""
    columns = (TIME, *(column for column in batch.columns if column != TIME))
    changed = ", ".join(f"t.{column} = s.{column}" for column in columns)
    return (
        f"MERGE INTO {table} t USING batch s ON t.{KEY} = s.{KEY} "
        f"WHEN MATCHED AND s.{TIME} >= t.{TIME} THEN UPDATE SET {changed} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join((KEY, *columns))}) "
        f"VALUES ({', '.join(f's.{column}' for column in (KEY, *columns))})"
    )
