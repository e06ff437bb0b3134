"""Every code block of the documents runs, page by page, and prints what the page says."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl
from integration.documents.blocks import FENCE, LANGUAGES, RUN, Block, Reader, blocks, commands, statements
from integration.documents.preparations import modules_of, prepared

ROOT = Path(__file__).parents[3]
DOCUMENTS = ROOT / "sdk" / "docs"
PAGES = {page.name: blocks(page) for page in sorted(DOCUMENTS.glob("*.md"))}
LEFT = {"guide.md", "operations.md"}
RUNNING = [name for name, found in PAGES.items() if name not in LEFT and any(block.language in RUN for block in found)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    """The lake of somebody who reads: in ./lake, and what `kl.connect()` and `keylake` open."""
    folder = tmp_path_factory.mktemp("reader")
    for name, text in modules_of(PAGES).items():
        (folder / f"{name}.py").write_text(text)
    settings = {
        "spark.keylake.maintenance.enabled": "false",
        "spark.keylake.reducers": "features.Range",
        "spark.sql.shuffle.partitions": "2",
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.syspath_prepend(folder)
        patched.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        with kl.connect(warehouse="lake", memory="1500m", settings=settings) as lake:
            url = lake._server.url  # type: ignore[union-attr]
            patched.setenv("SPARK_REMOTE", url)
            address, _, token = url.partition("/;token=")
            patched.setenv("KEYLAKE_LAKE", address)
            patched.setenv("KEYLAKE_TOKEN", token)
            yield lake


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_page_run(lake: kl.Lake, page: str) -> None:
    reader = Reader(lake, page)
    for block in PAGES[page]:
        if block.language in RUN:
            prepared(reader, block)
            reader.run(block)


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
