"""Long tables on a screen go through the pager, and nothing else does."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGER = "sed s/^/paged:/"
SHOWS = """
import sys
import typer
from keylake.cli import app, shown

def many(rows: int, as_json: shown.JsonOption = False) -> None:
    shown.show_all("numbers", [{"number": n} for n in range(rows)], as_json)

app.app.command()(many)
app.main()
"""


def on_a_screen(*words: str, pager: str = PAGER) -> list[str]:
    """The lines that a command prints on a terminal of 20 lines."""
    screen, inner = pty.openpty()
    environment = os.environ | {"PAGER": pager, "LINES": "20", "COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}
    environment |= {"PYTHONPATH": str(ROOT / "sdk")}
    ran = subprocess.Popen(
        [sys.executable, "-c", SHOWS, *words], stdin=inner, stdout=inner, stderr=inner, env=environment
    )
    os.close(inner)
    said = b""
    try:
        while part := os.read(screen, 65536):
            said += part
    except OSError:  # the last of the terminal's processes has ended
        pass
    os.close(screen)
    assert ran.wait() == 0, said
    return said.decode().splitlines()


@pytest.mark.parametrize(
    ("words", "pager", "is_paged"),
    [
        (["many", "30"], PAGER, True),
        (["many", "10"], PAGER, False),
        (["--no-pager", "many", "30"], PAGER, False),
        (["many", "30", "--no-pager"], PAGER, False),
        (["many", "30"], "", False),
        (["many", "30", "--json"], PAGER, False),
    ],
    ids=["long", "short", "turned off in front", "turned off behind", "an empty PAGER", "JSON"],
)
def test_a_table_on_a_screen(words: list[str], pager: str, is_paged: bool) -> None:
    lines = on_a_screen(*words, pager=pager)
    assert any("9" in line for line in lines)
    assert {line.startswith("paged:") for line in lines} == {is_paged}


def test_a_long_table_in_a_pipe() -> None:
    environment = os.environ | {"PAGER": PAGER, "PYTHONPATH": str(ROOT / "sdk")}
    command = [sys.executable, "-c", SHOWS, "many", "300"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == "numbers"
    assert "paged:" not in said
