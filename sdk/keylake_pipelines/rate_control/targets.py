"""The targets of a controller, and the bounds that it keeps."""

from __future__ import annotations

from dataclasses import dataclass, fields

from keylake.errors import DefinitionError, check_count, check_type


@dataclass(frozen=True)
class Bounds:
    """The least and the most of a count.

    >>> Bounds(1, 8).of(12)
    8
    """

    least: int
    most: int

    def of(self, count: float) -> int:
        """The count inside of the bounds that is nearest."""
        return round(min(max(count, self.least), self.most))


@dataclass(frozen=True)
class LoadTargets:
    """The targets of a pipeline: freshness of rows, utilization of executors, sizes of files, and bounds.

    >>> LoadTargets(freshness_seconds=300, executors=Bounds(1, 20)).longest_seconds
    166.66666666666666
    """

    freshness_seconds: float = 60  # how long after it came a row is to be committed
    utilization: float = 0.8  # the share of an interval that a round may take
    catch_up_seconds: float = 180  # in which rows that wait too long are to be written
    file_rows: int = 50_000  # of a file that is worth its opening: fuller batches are not waited for
    task_seconds: float = 10  # of a task of a shuffle
    cores: int = 1  # tasks that an executor runs at once
    calm_rounds: int = 4  # so many rounds have to need fewer executors before some are given back
    shortest_seconds: float = 1  # of an interval
    rows: Bounds = Bounds(1_000, 5_000_000)  # of a batch
    partitions: Bounds = Bounds(1, 400)  # of a shuffle
    executors: Bounds = Bounds(1, 1)

    def __post_init__(self) -> None:
        for name in ("freshness_seconds", "utilization", "catch_up_seconds", "task_seconds", "shortest_seconds"):
            value = getattr(self, name)
            check_type(name, value, int | float, "a number above 0")
            if not 0 < value < float("inf"):
                raise DefinitionError(f"{name} is {value!r}. Use a number above 0.")
        if self.utilization >= 1:
            raise DefinitionError(
                f"utilization is {self.utilization!r}. Use a share below 1: a pipeline that is full cannot catch up."
            )
        for name in ("file_rows", "cores", "calm_rounds"):
            check_count(name, getattr(self, name), 1)
        for each in fields(self):
            if isinstance(bounds := getattr(self, each.name), Bounds):
                check_count(f"{each.name}.least", bounds.least, 1)
                check_count(f"{each.name}.most", bounds.most, bounds.least)
        if self.shortest_seconds > self.longest_seconds:
            raise DefinitionError(
                f"shortest_seconds is {self.shortest_seconds:g}, and rows are to be committed within "
                f"{self.freshness_seconds:g} seconds, so intervals have at most {self.longest_seconds:.3g}. Use a "
                "shorter one, or a larger freshness_seconds."
            )

    @property
    def longest_seconds(self) -> float:
        """The longest interval: a row that waits for all of it, and then for its round, is fresh enough."""
        return self.freshness_seconds / (1 + self.utilization)
