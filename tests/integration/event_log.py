"""The event log of a server: which jobs Spark has run."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EventLog:
    """A folder with the log of one server."""

    folder: Path

    def settings(self) -> dict[str, str]:
        """What a server is started with that writes its log there, and runs no maintenance of its own."""
        self.folder.mkdir()
        return {
            "spark.keylake.maintenance.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{self.folder}",
        }

    def jobs(self) -> list[list[int]]:
        """The tasks of the stages of each job so far."""
        lines = [line for path in self.folder.iterdir() for line in path.read_text().splitlines()]
        events = [json.loads(line) for line in lines if line.startswith('{"Event":"SparkListenerJobStart"')]
        return [[stage["Number of Tasks"] for stage in event["Stage Infos"]] for event in events]
