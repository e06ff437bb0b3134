"""What a section of a page takes for granted: tables and frames that its reader has."""

from collections.abc import Mapping, Sequence

from integration.documents.blocks import Block, Reader

# By page and heading: Python that runs before the first block there.
BEFORE: dict[tuple[str, str], str] = {}


def modules_of(pages: Mapping[str, Sequence[Block]]) -> dict[str, str]:
    """Modules that a page defines, and that Spark's Python workers import."""
    return {}


def prepared(reader: Reader, block: Block) -> None:
    """Run what the section of a block takes for granted, once."""
    source = BEFORE.get((block.page, block.heading))
    if source is not None and reader.names.setdefault("_prepared", set()).isdisjoint({block.heading}):
        reader.names["_prepared"].add(block.heading)
        exec(source, reader.names | {"lake": reader.lake})
