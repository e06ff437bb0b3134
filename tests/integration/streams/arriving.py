"""Files that arrive for a stream, and the rows that come of them."""

import json
from pathlib import Path

import keylake as kl


def arrive(folder: Path, name: str, *rows: dict[str, object]) -> None:
    """A file of rows that comes to a folder at once."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / f"{name}.json")


def found(table: kl.KeyedTable) -> list[tuple[object, ...]]:
    return [tuple(row) for row in table.read().orderBy("id").collect()]
