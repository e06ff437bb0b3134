"""What tasks have used, by the log of Spark's events."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JOB, TASK = "SparkListenerJobStart", "SparkListenerTaskEnd"


@dataclass(frozen=True)
class Used:
    """By all tasks of a query together, or by the one that used most."""

    shuffled: int  # bytes written for other tasks
    peak_memory: int  # bytes held at once for sorting, hashing and joining, of the task that held most
    peak_storage: int  # bytes held at once by the process in Spark's storage memory, as far as it was polled
    jobs: int
    tasks: int


@dataclass(frozen=True)
class TaskEvents:
    """The log of one server, in a folder of its own."""

    folder: Path

    def settings(self) -> dict[str, str]:
        """What the server has to be started with."""
        self.folder.mkdir(exist_ok=True)
        return {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{self.folder}",
        }

    def of(self, task: Callable[[], object]) -> Used:
        """What the tasks used that were run for something."""
        before = len(self._events(JOB)), len(self._events(TASK))
        task()
        jobs, ended = self._events(JOB)[before[0] :], self._events(TASK)[before[1] :]
        metrics = [event["Task Metrics"] for event in ended]
        return Used(
            sum(each["Shuffle Write Metrics"]["Shuffle Bytes Written"] for each in metrics),
            max((each["Peak Execution Memory"] for each in metrics), default=0),
            max((event["Task Executor Metrics"]["OnHeapStorageMemory"] for event in ended), default=0),
            len(jobs),
            len(ended),
        )

    def _events(self, kind: str) -> list[dict[str, Any]]:
        lines = [line for path in sorted(self.folder.iterdir()) for line in path.read_text().splitlines()]
        return [json.loads(line) for line in lines if line.startswith(f'{{"Event":"{kind}"')]
