"""Times that can be compared: what is compared is run in turns, warm, in one process, and a ratio is taken per turn."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Times:
    """Seconds, or ratios of seconds, in the order of the rounds."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.rounds)

    @property
    def low(self) -> float:
        return min(self.rounds)

    @property
    def high(self) -> float:
        return max(self.rounds)

    def over(self, other: "Times") -> "Times":
        """The ratio, round by round: what disturbed one round disturbed both sides of it."""
        return Times(tuple(mine / theirs for mine, theirs in zip(self.rounds, other.rounds, strict=True)))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def seconds(task: Callable[[], object]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def race(tasks: Mapping[str, Callable[[], object]], *, warm_up: int, rounds: int) -> dict[str, Times]:
    """The times of each task; every round runs all of them, and begins with another one."""
    names = list(tasks)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warm_up + rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            taken[name].append(seconds(tasks[name]))
    return {name: Times(tuple(each[warm_up:])) for name, each in taken.items()}
