"""Every code block of the documents runs, page by page, and prints what the page says."""

import re
from pathlib import Path

import pytest

import keylake as kl
from integration.documents.blocks import FENCE, LANGUAGES, RUN, Block, Reader, blocks, commands, statements
from integration.documents.preparations import emptied, prepared

ROOT = Path(__file__).parents[3]
DOCUMENTS = ROOT / "sdk" / "docs"
PAGES = {page.name: blocks(page) for page in sorted(DOCUMENTS.glob("*.md"))}
RUNNING = [name for name, found in PAGES.items() if any(block.language in RUN for block in found)]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_page_run(lake: kl.Lake, page: str) -> None:
    emptied(lake)
    reader = Reader(lake)
    try:
        for block in PAGES[page]:
            if block.language in RUN:
                prepared(reader, block)
                reader.run(block)
                lake.maintenance.wait()  # who types has pauses, in which maintenance works
    finally:
        for query in lake.spark.streams.active:
            query.stop()


@pytest.mark.parametrize("page", PAGES)
def test_a_block_says_its_language(page: str) -> None:
    assert not [block for block in PAGES[page] if block.language not in LANGUAGES]
    assert not re.search(r"\n\n    [^- ]", FENCE.sub("", (DOCUMENTS / page).read_text())), "code stands between ```"


def test_statements_end_with_semicolons() -> None:
    assert statements("SELECT 1;\n-- said\nSELECT ';' AS a; -- why\n") == ["SELECT 1", "SELECT ';' AS a"]
    assert list(commands("$ make demo\n$ keylake tables --json\nshop\n")) == [["keylake", "tables", "--json"]]


def test_a_make_target_of_a_page_is_one() -> None:
    targets = {line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if ":" in line}
    named: list[Block] = [block for found in PAGES.values() for block in found if block.language == "console"]
    said = [line.split()[2] for block in named for line in block.text.splitlines() if line.startswith("$ make ")]
    assert not [target for target in said if target not in targets]
