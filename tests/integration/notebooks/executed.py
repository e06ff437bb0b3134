"""Runs a notebook in a kernel of its own, and writes it with outputs that are the same in every run.

    make notebook        runs examples/notebook.ipynb and stores what it shows

It runs in the environment of `make notebooks`, not in that of the tests: `python executed.py FROM TO`. The kernel works
in a new folder, and finds the modules that lie beside the notebook. Ids and times of commits, and how long something
took, differ in every run: the stored outputs have other words in their places. Pictures stay as they are.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

SNAPSHOT = re.compile(r"(?<![\w.])(?!13\d{14}(?!\d))\d{14,19}(?![\w.])")  # versions of 2013 are no snapshots
TIME = re.compile(r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\d:\d\d")
PADDING = re.compile(
    r"^(?!\|).*", flags=re.MULTILINE
)  # of tables, which is as wide as their ids are long; not of frames
SECONDS = re.compile(r"(?<=<td>seconds</td><td>)[\d.,]+|(?<=\bseconds=)[\d.]+")


class Steady:
    """Text without what differs in every run; a snapshot has the same number wherever it is shown."""

    def __init__(self) -> None:
        self._snapshots: dict[str, str] = {}

    def text(self, said: str) -> str:
        said = SNAPSHOT.sub(lambda found: self._snapshots.setdefault(found[0], f"{1001 + len(self._snapshots)}"), said)
        said = SECONDS.sub("time", TIME.sub("time of run", said))
        return PADDING.sub(lambda line: re.sub(r"(?<=\S) {2,}", "  ", line[0]), said)

    def output(self, output: Any) -> Any:
        if output.output_type == "stream":
            output.text = self.text(output.text)
        elif output.output_type == "error":
            output.evalue, output.traceback = self.text(output.evalue), [self.text(line) for line in output.traceback]
        else:
            for kind, shown in output.data.items():
                if kind.startswith("text/"):
                    output.data[kind] = self.text(shown)
        return output


def is_seen(output: Any) -> bool:
    """A bar of progress is empty at its end."""
    return output.output_type != "display_data" or output.data.get("text/html") != ""


def execute(source: Path, target: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(source, as_version=4)
    os.environ["PYTHONPATH"] = str(source.resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    steady = Steady()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [steady.output(output) for output in cell.outputs if is_seen(output)]
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, target)


if __name__ == "__main__":
    execute(*map(Path, sys.argv[1:]))
