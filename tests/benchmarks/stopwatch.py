"""Times that can be compared: what is compared is run in turns, warm, in one process, and a ratio is taken per turn."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
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


@dataclass(frozen=True)
class Pace:
    """How long a race takes: at least so many rounds, and more of them, up to a number, while there is time."""

    least: int
    most: int
    limit_seconds: float

    def goes_on(self, rounds: int, passed_seconds: float) -> bool:
        return rounds < self.least or (rounds < self.most and passed_seconds < self.limit_seconds)


# After so many rounds of the warm-up, an alternative that takes this much longer than the best of them leaves the race.
HOPELESS_AFTER, HOPELESS = 2, 2.0


def race(
    tasks: Mapping[str, Callable[[int], object]],
    *,
    warm_up: Pace,
    rounds: Pace,
    alternatives: Collection[str] = (),
) -> dict[str, Times]:
    """The times of each task; every round runs all of them, tells each its number, and begins with another one.

    Of the alternatives only the best will count: one that cannot be the best leaves early, and has no times.
    """
    names = list(tasks)
    taken: dict[str, list[float]] = {name: [] for name in names}
    number = 0
    for pace in (warm_up, rounds):
        for times in taken.values():
            times.clear()
        begun, done = time.perf_counter(), 0
        while pace.goes_on(done, time.perf_counter() - begun):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                taken[name].append(seconds(partial(tasks[name], number)))
            number, done = number + 1, done + 1
            if number == HOPELESS_AFTER and (racing := [name for name in names if name in alternatives]):
                limit = HOPELESS * min(taken[name][-1] for name in racing)
                names = [name for name in names if name not in racing or taken[name][-1] <= limit]
    return {name: Times(tuple(taken[name])) for name in names}
