"""Flink, whose upsert sink writes Parquet files of changes into plain Iceberg tables; `make flink` fetches it."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deletes.flink.upsert_job import BUILT, LOGGED, OPENED

JOB = Path(__file__).with_name("FlinkUpserts.java")
HEAP = "3g"


@dataclass(frozen=True)
class Taken:
    """By a job: seconds, and seconds of the processors."""

    seconds: float
    processor: float


def flink_upserts(
    catalog: str, settings: Mapping[str, str], folder: Path, files_of_a_commit: int, jobs: Sequence[tuple[str, Path]]
) -> list[Taken]:
    """Upsert the files of folders into tables, one job after the other in a process that ends.

    The settings are those of the catalog in Spark; the folder is for what is compiled, and for a log.
    """
    if not BUILT.exists():
        raise SystemExit("Flink has an environment of its own: run `make flink`")
    classes = folder / "flink"
    jars = f"{BUILT}/jars/*"
    subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(classes), str(JOB)], check=True, capture_output=True)
    prefix = f"spark.sql.catalog.{catalog}"
    place = [catalog, settings[f"{prefix}.uri"], settings[f"{prefix}.warehouse"], str(files_of_a_commit)]
    words = [word for table, files in jobs for word in (table, str(files))]
    command = ["java", f"-Xmx{HEAP}", *OPENED, LOGGED, "-cp", f"{classes}:{jars}", "FlinkUpserts", *place, *words]
    log = folder / "flink.log"
    with log.open("w") as errors:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", check=False)
    lines = [line.split() for line in ran.stdout.splitlines()]
    if ran.returncode or len(lines) != len(jobs):
        raise RuntimeError(f"the job of Flink has failed:\n{log.read_text()[-4000:]}")
    return [Taken(float(seconds), float(processor)) for seconds, processor in lines]
