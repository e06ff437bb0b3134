"""One job in the words of six libraries: `python tests/benchmarks/conventions [NAME...]`, in an environment of each.

Each program beside this file has the same parts, under comments: definition, write, partial update, read, history and
errors. They must find the same: `Oslo 4`, and no clicks at the first commit. What is counted are lines of code as the
formatter of this project breaks them; imports count as part of the definition.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("definition", "write", "partial update", "read", "history", "errors")
# What pip installs for each; keylake itself is run with the Python that runs this.
PACKAGES: dict[str, tuple[str, ...]] = {
    "keylake": (),
    "pyiceberg": ("pyiceberg[sql-sqlite,pyarrow]",),
    "deltalake": ("deltalake", "pyarrow"),
    "delta_spark": ("delta-spark==4.4.0", "pyspark==4.1.3"),
    "pypaimon": ("pypaimon",),
    "lancedb": ("lancedb",),
}
# delta-spark fetches its jars when a session begins; of its usual places this one is enough.
ONLY_CENTRAL = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
FOUND = re.compile(r"^Oslo 4\n\d+ 0\n", flags=re.MULTILINE)


def parts(name: str) -> dict[str, str]:
    """The parts of a program by their names."""
    pieces = re.split(r"^# ([a-z ]+)\n", (HERE / f"with_{name}.py").read_text(), flags=re.MULTILINE)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    assert tuple(found) == PARTS, name
    return found


def lines(name: str) -> dict[str, int]:
    """How many lines of code each part has."""
    return {part: len([line for line in text.splitlines() if line.strip()]) for part, text in parts(name).items()}


def ran(name: str, folder: Path) -> str:
    """What a program prints, and the versions of what it needs."""
    python, versions = Path(sys.executable), ""
    if PACKAGES[name]:
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
        wanted = {re.split(r"[\[=]", package)[0] for package in PACKAGES[name]}
        frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
        versions = ", ".join(line for line in frozen.split() if line.partition("==")[0].replace("_", "-") in wanted)
    (folder / "ivy.xml").write_text(ONLY_CENTRAL)
    options = {"PYSPARK_SUBMIT_ARGS": f"--conf spark.jars.ivySettings={folder / 'ivy.xml'} pyspark-shell"}
    done = subprocess.run(
        ["env", *(f"{key}={value}" for key, value in options.items()), python, HERE / f"with_{name}.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    said = done.stdout[done.stdout.find("Oslo") :]
    assert done.returncode == 0, done.stderr[-2000:]
    assert FOUND.match(said), said
    return f"{versions}\n{said}"


def main() -> None:
    for name in sys.argv[1:] or PACKAGES:
        counted = lines(name)
        print(f"{name}: {', '.join(f'{part} {counted[part]}' for part in PARTS)}, in all {sum(counted.values())}")
        with tempfile.TemporaryDirectory(prefix="keylake-bench-") as folder:
            print(ran(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
