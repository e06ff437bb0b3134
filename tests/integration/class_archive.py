"""An archive of the classes that servers load: servers of tests start with it in two thirds of the processor time.

`make` leaves it in .build. A Java that finds other jars on its class path does without it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import keylake as kl

ARCHIVE = Path(__file__).parents[2] / ".build" / "classes.jsa"

# Most of the code that tests need runs a few times only. With Java's first compiler alone and a collector without
# threads of its own, a server takes about half of the processor time; the code cache is as large as for both compilers.
# Assertions are on: what code holds to be true always is tried by all that tests do.
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -ea:io.keylake..."

# What Java says of an archive that it cannot use would be read as the output of a program.
USES_IT = f"-XX:SharedArchiveFile={ARCHIVE} -Xlog:disable -Xlog:all=error:stderr"


class Kept(kl.Table, name="archive.kept", buckets=2):
    """A table on which the common verbs are tried, so that their classes are loaded."""

    id: int = kl.key()
    name: str | None = kl.column()


def main() -> None:
    """Start a server, use it, and have it write down what it has loaded."""
    os.environ["JAVA_TOOL_OPTIONS"] = OPTIONS
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.driver.extraJavaOptions": "-XX:+RecordDynamicDumpInfo"}
        with kl.connect(warehouse=folder, memory="1g", settings=settings) as lake:
            table = lake.create(Kept)
            table.upsert(pa.table({"id": range(5000), "name": [f"n{number}" for number in range(5000)]}))
            table.update([{"id": 7, "name": "seven"}])
            table.delete([{"id": 8}])
            table.read(where="id > 5").groupBy("name").count().collect()
            table.get(id=7)
            table.compact()
            process = lake.spark.sql("SELECT java_method('java.lang.ProcessHandle', 'current')").collect()[0][0]
            made = ARCHIVE.with_suffix(f".{os.getpid()}")
            made.parent.mkdir(exist_ok=True)
            home = os.environ.get("JAVA_HOME")
            jcmd = shutil.which("jcmd", path=f"{home}/bin" if home else None)
            if jcmd is None:
                sys.exit("There is no jcmd beside java: a JDK has it.")
            command = [jcmd, str(process), "VM.cds", "dynamic_dump", str(made)]
            told = subprocess.run(command, capture_output=True, text=True, check=False)
            if not made.exists():
                sys.exit(f"Java has made no archive of its classes: {told.stdout}{told.stderr}")
            made.replace(ARCHIVE)


if __name__ == "__main__":
    main()
