"""The controller: observed rounds go in, the setting of the next round comes out, and a log says why.

Observed ── Estimates (rates, cost of rows) ── decisions (each within bounds, with hysteresis) ── Setting
   ▲                                                                                                  │
   └──────────────────────────────────── the loop makes a round ◀──────────────────────────────────────┘
"""

from __future__ import annotations

import datetime
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from keylake.extension import ShownTable
from keylake_pipelines.rate_control.decisions import base_interval, decide, needed
from keylake_pipelines.rate_control.estimates import Estimates
from keylake_pipelines.rate_control.pictures import LoadPoint, load_figure
from keylake_pipelines.rate_control.reasons import reason, straggles
from keylake_pipelines.rate_control.rounds import Observed, Round, Setting
from keylake_pipelines.rate_control.shares import Shares
from keylake_pipelines.rate_control.targets import LoadTargets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOG = logging.getLogger("keylake")
_FIRST_ROWS = 100_000
_KEPT_ROUNDS = 20_000


class Controller:
    """Sizes the rounds of one pipeline.

    `drive`, if there is one, is called with the number of executors that are wanted, whenever that changes: whoever
    allocates executors does so there. What it raises is told in the reason, and it is called again a round later.
    With `tells=False` the log of the process has no reasons.

    Example::

        controller = Controller(LoadTargets(freshness_seconds=300, executors=Bounds(1, 20)), drive=cluster.resize)
        setting = controller.setting
        while True:
            setting = controller.next(make_a_round(setting))
    """

    def __init__(
        self, targets: LoadTargets, *, drive: Callable[[int], object] | None = None, tells: bool = True
    ) -> None:
        self.targets = targets
        self.setting = Setting(
            targets.rows.of(_FIRST_ROWS),
            min(max(targets.shortest_seconds, targets.longest_seconds / 8), targets.longest_seconds),
            targets.partitions.of(targets.executors.least * targets.cores),
            targets.executors.least,
        )
        self._known = Estimates()
        self._shares = Shares()
        self._needs: deque[float] = deque(maxlen=targets.calm_rounds)
        self._rounds: deque[Round] = deque(maxlen=_KEPT_ROUNDS)
        self._drive = drive
        self._tells = tells
        self._driven = self.setting.executors
        self._refusal: str | None = None

    def next(self, observed: Observed, *, at: datetime.datetime | None = None) -> Setting:
        """The setting of the next round after one more was observed, at its end unless `at` says when."""
        was, straggled = self.setting, self._known.straggler_seconds > 0
        self._known = known = self._known.after(observed, was, self.targets)
        self._shares = self._shares.after(observed.parts)
        self._needs.append(needed(base_interval(known, self.targets), known, self.targets))
        decided = decide(was, tuple(self._needs), known, self.targets)
        decided = replace(decided, tasks=self._shares.tasks(decided.shuffle_partitions, was.tasks))
        said = [reason(was, decided, self._needs[-1], known, self.targets)]
        if known.straggler_seconds and not straggled:
            said.append(straggles(known))
        said.append(self._driving(decided.executors))
        self.setting = setting = replace(decided, reason=" ".join(filter(None, said)) or None)
        if setting.reason and self._tells:
            _LOG.info("%s", setting.reason)
        at = at or datetime.datetime.now(datetime.timezone.utc)
        self._rounds.append(Round(at, observed, known.rate, setting))
        return setting

    def _driving(self, executors: int) -> str | None:
        """Have the executors there; returns the reason if they are not, where it is new."""
        if self._drive is None or executors == self._driven:
            return None
        before = self._refusal
        try:
            self._drive(executors)
        except Exception as error:  # noqa: BLE001 - whatever it is, the pipeline goes on with what it has
            self._refusal = f"Executors stay as they are: {type(error).__name__}: {error}."
            return self._refusal if self._refusal != before else None
        self._driven, self._refusal = executors, None
        return None

    @property
    def log(self) -> LoadLog:
        """The rounds so far, the newest 20,000."""
        return LoadLog(self._rounds)


class LoadLog(ShownTable):
    """Rounds of a pipeline, the oldest first: it shows those at which something was decided, and draws all."""

    _HEADER = ("at", "rows a batch", "interval s", "tasks", "executors", "reason")

    def __init__(self, rounds: Iterable[Round]) -> None:
        self._all = tuple(rounds)

    @property
    def decisions(self) -> tuple[Round, ...]:
        """The rounds after which something was changed."""
        return tuple(each for each in self._all if each.setting.reason)

    def plot(self, title: str = "load") -> Figure:
        """Draw lag, rates, batches and executors over time; needs matplotlib.

        Example::

            controller.log.plot().savefig("load.png")
        """
        return load_figure(title, [*map(_point, self._all)])

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Round]:
        return iter(self._all)

    def _title(self) -> str:
        return f"load: {len(self._all):,} rounds, {len(self.decisions):,} decisions"

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (
                f"{each.at:%Y-%m-%d %H:%M:%S}",
                f"{each.setting.most_rows:,}",
                f"{each.setting.interval_seconds:.3g}",
                each.setting.shuffle_partitions,
                each.setting.executors,
                each.setting.reason,
            )
            for each in self.decisions
        ]


def _point(each: Round) -> LoadPoint:
    observed = each.observed
    return LoadPoint(
        at=each.at,
        lag_seconds=observed.lag_seconds,
        came=each.rate,
        written=observed.rows / max(observed.seconds, 1e-3),
        rows=observed.rows,
        interval_seconds=each.setting.interval_seconds,
        executors=observed.executors,
        wanted_executors=each.setting.executors,
        decided=each.setting.reason is not None,
    )
