"""What an install weighs and how long it takes to the first merged read: an empty HOME, no cache, the two wheels.

    keylake            reads without Spark
    keylake[client]    and Spark's Python client, for servers elsewhere
    keylake[server]    and Spark itself with our jars; the README's example runs on it

Packages come from the index that pip is set to, so that seconds are also those of the network.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from benchmarks.figures import Figure, Findings, Target, figure
from benchmarks.machine import processor
from benchmarks.stopwatch import seconds

ROOT = Path(__file__).parents[2]
EXTRAS = {"keylake alone": "", "with the extra client": "[client]", "with the extra server": "[server]"}
COMMANDS = ("python3 -m venv .venv", ".venv/bin/pip install 'keylake[server]'", ".venv/bin/python example.py")

WEIGHTS = """
import json, os
from importlib.metadata import distributions

def weight(files):
    return sum(os.path.getsize(path) for path in map(str, files) if os.path.isfile(path))

print(json.dumps({each.name: weight(each.locate_file(name) for name in each.files or ()) for each in distributions()}))
"""


def run(scale: float, console: Console) -> Findings:
    """Build the wheels, and install them in three empty environments."""
    words = f"pip {version('pip')}, Python {sys.version.split()[0]}; {processor()}, keylake {version('keylake')}"
    console.print(words, highlight=False)
    with tempfile.TemporaryDirectory(prefix="keylake-bench-") as name:
        wheels = Path(name, "wheels")
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*build, "--wheel-dir", wheels, ROOT, ROOT / "server_plugins"], check=True)
        return Findings(
            words, [each for number, kind in enumerate(EXTRAS) for each in _of(kind, wheels, Path(name, str(number)))]
        )


def _of(kind: str, wheels: Path, place: Path) -> list[Figure]:
    home = place / "home"
    home.mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    kept = kept | {"HOME": str(home), "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    (client,) = wheels.glob("keylake-*.whl")
    python = place / ".venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--find-links", wheels, f"{client}{EXTRAS[kind]}"]

    def installed() -> None:
        subprocess.run([sys.executable, "-m", "venv", place / ".venv"], env=kept, check=True)
        subprocess.run(pip, env=kept, check=True)

    took = seconds(installed)
    told = subprocess.run([python, "-c", WEIGHTS], env=kept, check=True, capture_output=True, text=True)
    weights = {name: size / 1e6 for name, size in json.loads(told.stdout).items() if name != "pip"}
    light = sum(weights.values()) - weights["pyarrow"]
    target = Target(60) if EXTRAS[kind] == "[client]" else None
    figures = [
        figure(
            f"{kind}: MB besides pyarrow", light, target, f"pyarrow {weights['pyarrow']:.0f} MB; {_shares(weights)}"
        ),
        figure(f"{kind}: seconds to install", took, None, "the environment and the packages, nothing cached"),
    ]
    if EXTRAS[kind] == "[server]":
        figures.append(_first_read(python, place, kept))
    return figures


def _shares(weights: dict[str, float]) -> str:
    """The heaviest packages, and the sum of the others."""
    ranked = sorted(((size, name) for name, size in weights.items() if name != "pyarrow"), reverse=True)
    heavy = [f"{name} {size:.0f}" for size, name in ranked[:8]]
    return f"{', '.join(heavy)}, {len(ranked) - 8} others {sum(size for size, _ in ranked[8:]):.0f}"


def _first_read(python: Path, place: Path, environment: dict[str, str]) -> Figure:
    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (place / "example.py").write_text(example)
    lines = len([line for line in example.splitlines() if line.strip()])

    def read() -> None:
        told = subprocess.run(
            [python, "example.py"], cwd=place, env=environment, check=True, capture_output=True, text=True
        )
        assert "clicks=4" in told.stdout, told.stdout

    how = f"the README's example, {lines} lines, on a server that it starts; {len(COMMANDS)} commands in all"
    return figure("first merged read, seconds", seconds(read), None, how)
