"""The code blocks of a page, and how they run: one after the other, as a reader would type them.

```python     runs in the names that earlier blocks of the page have left
```sql        runs in the lake, statement by statement; rows of the last one are printed as `show()` prints them
```console    lines after `$ keylake` run as commands of the process
```text       after one of these: what it prints; anywhere else: a drawing or an excerpt
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keylake as kl
from keylake.cli.app import main

LANGUAGES = ("python", "sql", "console", "text", "json", "yaml", "properties")
RUN = ("python", "sql", "console")
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block, with the heading above it and what the page says that it prints."""

    page: str
    heading: str
    line: int
    language: str
    text: str
    prints: str | None = None

    @property
    def is_a_file(self) -> bool:
        """The block begins with the name of a module."""
        return re.match(r"# \w+\.py\n", self.text) is not None


def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of a page in order; a text right after one that runs is what it prints."""
    text = page.read_text()
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", text[: match.start()]), flags=re.MULTILINE)
        line = text.count("\n", 0, match.start()) + 2
        between = text[end : match.start()].strip()
        end = match.end()
        if match[1] == "text" and found and not between and found[-1].language in RUN:
            last = found.pop()
            found.append(Block(last.page, last.heading, last.line, last.language, last.text, match[2]))
        else:
            found.append(Block(page.name, headings[-1] if headings else "", line, match[1], match[2]))
    return tuple(found)


def statements(text: str) -> list[str]:
    """The statements of a block, which end with a semicolon at the end of a line."""
    without_comments = re.sub(r"^\s*--.*$", "", text, flags=re.MULTILINE)
    return [each.strip() for each in re.split(r";[ ]*(?:--.*)?$", without_comments, flags=re.MULTILINE) if each.strip()]


class Reader:
    """Somebody who types the blocks of a page into one Python process."""

    def __init__(self, lake: kl.Lake) -> None:
        self.lake = lake
        self.prepared: set[str] = set()
        self.names: dict[str, Any] = {"__name__": "__main__"}  # so functions go to Spark's workers as they are

    def run(self, block: Block) -> None:
        """Run one block, and compare what it prints with what the page says."""
        where = f"{block.page}, line {block.line}"
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self._run(block)
        except Exception as error:
            raise AssertionError(f"{where}: {error}\n{block.text}") from error
        if block.prints is not None:
            assert tidied(printed.getvalue()) == tidied(block.prints), where

    def _run(self, block: Block) -> None:
        if block.is_a_file:
            return  # later blocks import it
        if block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec", dont_inherit=True), self.names)
        elif block.language == "sql":
            frame = None
            for statement in statements(block.text):
                here = statement.replace("'/data/", f"'{Path.cwd()}/data/")  # a folder that this user may write
                frame = self.lake.spark.sql(here)
            if frame is not None and frame.columns and block.prints is not None:
                frame.show(truncate=False)
        elif block.language == "console":
            for command in commands(block.text):
                _typed(command)


def commands(text: str) -> Iterator[list[str]]:
    """The commands of keylake among the lines of a console."""
    for line in re.findall(r"^\$ (.+)$", text, flags=re.MULTILINE):
        words = shlex.split(line, comments=True)
        if words[0] == "keylake":
            yield words


def _typed(words: list[str]) -> None:
    before = sys.argv
    sys.argv = words
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise AssertionError(f"{shlex.join(words)} ended with {ended.code}") from None
    finally:
        sys.argv = before


def tidied(text: str) -> str:
    """Printed text without spaces at the ends of lines, and without empty lines at its ends."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).strip()
