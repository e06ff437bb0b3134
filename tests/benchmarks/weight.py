"""What versions cost on disk."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

VERSIONS = "_merge_info."


def size(files: Iterable[Path]) -> int:
    """Bytes of the files."""
    return sum(path.stat().st_size for path in files)


def size_of_versions(files: Iterable[Path]) -> int:
    """Bytes of the column chunks that hold versions."""
    return sum(map(_size_of_versions, files))


def _size_of_versions(path: Path) -> int:
    footer = pq.ParquetFile(path).metadata
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.startswith(VERSIONS))
