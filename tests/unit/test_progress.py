"""Progress shows in a terminal, and nothing of it where the output is a pipe or a file."""

import os
import pty
import subprocess
import sys

WORK = """
import time
from types import SimpleNamespace
from keylake._display.progress import StageBar, waiting

with waiting("keylake: starting a server"):
    time.sleep(0.3)
bar = StageBar()
stage = SimpleNamespace(num_tasks=10, num_completed_tasks=3)
bar([stage], 0, "query", False)
time.sleep(1.1)
bar([stage], 0, "query", False)
time.sleep(0.2)
bar([stage], 0, "query", True)
print("done")
"""


def test_progress_shows_in_a_terminal_only() -> None:
    ours, theirs = pty.openpty()
    terminal = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    watched = subprocess.Popen([sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=theirs, env=terminal)
    os.close(theirs)
    shown = b""
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:  # its other end is closed
            break
        shown += more
    os.close(ours)
    assert watched.communicate()[0] == b"done\n"
    assert b"starting a server" in shown
    assert b"3 of 10 tasks" in shown
    piped = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, check=True)
    assert (piped.stdout, piped.stderr) == ("done\n", "")
