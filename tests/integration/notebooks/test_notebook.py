"""The notebook shows what is stored in it; and what only a kernel can do: progress, completion, errors."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
SIZE = re.compile(r"\b\d[\d.]* (?:B|KiB|MiB)\b")  # another version of a library may write a little more
MOST_BYTES = 400_000


def executed(source: Path, target: Path) -> list[dict[str, Any]]:
    """The cells of a notebook after it has run in a kernel of its own."""
    command = [ROOT / ".build/notebooks/bin/python", Path(__file__).with_name("executed.py"), source, target]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return cells(target)


def cells(notebook: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]


def said(cell: dict[str, Any]) -> Iterator[str]:
    """The texts of a cell's outputs; of pictures only that there is one."""
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            yield "\n".join(output["traceback"])
        elif output["output_type"] == "stream":
            yield "".join(output["text"])
        else:
            shown = output["data"].items()
            yield from ("".join(text) if kind.startswith("text/") else kind for kind, text in shown)


def test_the_stored_notebook_is_small_and_names_no_machine() -> None:
    text = NOTEBOOK.read_text()
    assert len(text) < MOST_BYTES
    assert all(cell["outputs"] or cell["id"] == "end" for cell in cells(NOTEBOOK))
    assert not re.search(
        r"/tmp/|/home/|20(?:2[5-9]|[3-9]\d)-\d\d-\d\d", "".join(map("".join, map(said, cells(NOTEBOOK))))
    )


@pytest.mark.slow
def test_the_notebook_shows_what_is_stored_in_it(tmp_path: Path) -> None:
    now, stored = executed(NOTEBOOK, tmp_path / "now.ipynb"), cells(NOTEBOOK)
    for cell, kept in zip(now, stored, strict=True):
        shown, wanted = ([SIZE.sub("size", text) for text in said(each)] for each in (cell, kept))
        assert shown == wanted, f"cell {kept['id']}: if this is meant, run `make notebook`"


CELLS = (
    """
import keylake as kl, pyarrow as pa
from keylake._display.progress import NotebookBars, waiting
bars = NotebookBars()
bars.show('one', 3, 10, 2.0)
""",
    """
bars.show('two', 1, 2, 1.0)
with waiting('starting'):
    pass
bars.finish('two')
""",
    """
shown = []
get_ipython().display_pub.register_hook(lambda message: shown.append(message['content']['data']) or message)
lake = kl.connect(settings={'spark.connect.progress.reportInterval': '200ms'})
schema = pa.schema([pa.field('id', pa.int64(), nullable=False), ('clicks', pa.int64())])
table = lake.create(kl.TableSpec.from_arrow(schema, name='a.b', key=['id'], versions='explicit'))
""",
    """
shown.clear()
lake.spark.sql("SELECT id, java_method('java.lang.Thread', 'sleep', 2500L) FROM range(0, 1, 1, 1)").collect()
any('of 1 tasks' in data.get('text/html', '') for data in shown), shown[-1].get('text/html')
""",
    """
ask = get_ipython().complete
ask('lake["', 'lake["')[1], ask('table["', 'table["')[1]
""",
    "table.update([{'id': 1, 'clickz': 1}], version=1)",
    "table.update([{'id': 1, 'clicks': 1}], version=1)\ntable.read()",
    "lake.close()\nlake",
)


@pytest.mark.slow
def test_what_a_kernel_shows(tmp_path: Path) -> None:
    made = [
        {"cell_type": "code", "id": f"c{number}", "metadata": {"tags": ["raises-exception"]}, "source": source.strip()}
        | {"outputs": [], "execution_count": None}
        for number, source in enumerate(CELLS)
    ]
    notebook = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "made.ipynb").write_text(json.dumps(notebook))
    one, two, _, bar, names, error, frame, closed = (
        [*said(cell)] for cell in executed(tmp_path / "made.ipynb", tmp_path / "ran.ipynb")
    )
    assert '<progress value="3" max="10"></progress> spark: 3 of 10 tasks, 2 s' in one[0]
    assert two == [], "at the end nothing is left of a bar"
    assert bar == ["(True, '')"]
    assert ast.literal_eval(names[0]) == (['lake["a.b'], ['table["clicks'])
    assert error[0].splitlines() == [
        "SchemaMismatch: a.b has no column 'clickz'. Did you mean 'clicks'?",
        "  cell, line 1: table.update([{'id': 1, 'clickz': 1}], version=1)",
    ]
    assert "<td>1</td>" in frame[0]
    assert "Lake(&#x27;lake&#x27; at " in closed[0]
    assert "Connect again" in closed[0]
