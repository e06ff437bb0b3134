"""The controller of load: bounds, rest, reaction, silence; against a simulated pipeline and against anything at all."""

import logging
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import keylake as kl
from keylake_pipelines.pipeline.running import load_of
from keylake_pipelines.rate_control.controller import Controller, LoadLog
from keylake_pipelines.rate_control.rounds import Observed, Round, Setting
from keylake_pipelines.rate_control.shares import Shares
from keylake_pipelines.rate_control.targets import Bounds, LoadTargets
from keylake_pipelines.runner.rounds import Rounds, picture, recent_from_json, recent_to_json
from keylake_pipelines.runner.settings import Round as LoopRound
from keylake_pipelines.runner.settings import Setting as LoopSetting
from keylake_pipelines.runner.sizing import Sized
from keylake_pipelines.source.source import Lag
from model.pipeline_day import MIDNIGHT, Load, Replayed, replay

TARGETS = LoadTargets(executors=Bounds(1, 40))
ROW_SECONDS = 100e-6
SETTLED_ROUNDS = 20  # after so many rounds of a steady load, the catching up at its start included, nothing changes
BURST_ROUNDS = 2  # after so many rounds that end in a burst there are executors for it

COUNTS = some.integers(0, 10**9)
SECONDS = some.floats(0, 10**5)
ANYTHING = some.builds(
    Observed,
    seconds=SECONDS,
    rows=COUNTS,
    lag_rows=some.none() | COUNTS,
    lag_seconds=SECONDS,
    since_seconds=some.none() | some.floats(1e-3, 10**5),
    slowest_task_seconds=SECONDS,
    median_task_seconds=SECONDS,
    files=some.integers(0, 10**5),
    executors=some.integers(1, 500),
    parts=some.dictionaries(some.sampled_from("abcdef"), COUNTS),
)


def steady(rows_a_second: float, seconds: int, noise: float = 0.0, seed: int = 0) -> Load:
    rates = np.full(seconds, np.round(rows_a_second))
    return Load(rates, np.full(seconds, ROW_SECONDS), noise=noise, seed=seed)


def run(load: Load, targets: LoadTargets = TARGETS) -> Replayed:
    return replay(load, lambda: Controller(targets), targets.executors.least)


def second_of(each: Round) -> float:
    return (each.at - MIDNIGHT).total_seconds()


def before(found: Replayed, second: float) -> list[Round]:
    """The rounds whose rows came before the load ended."""
    return [each for each in found.rounds if second_of(each) < second]


def sizes(setting: Setting) -> tuple[int, float, int, int]:
    return setting.most_rows, setting.interval_seconds, setting.shuffle_partitions, setting.executors


# ---------------------------------------------------------------------------------------------------------- properties


@given(some.lists(ANYTHING, max_size=30))
def test_no_setting_is_outside_of_the_bounds(rounds: list[Observed]) -> None:
    targets = LoadTargets(executors=Bounds(2, 9), rows=Bounds(500, 70_000), partitions=Bounds(3, 30), cores=2)
    controller = Controller(targets)
    for observed in rounds:
        before = sizes(controller.setting)
        setting = controller.next(observed, at=MIDNIGHT)
        assert 500 <= setting.most_rows <= 70_000
        assert 2 <= setting.executors <= 9
        assert 3 <= setting.shuffle_partitions <= 30
        assert targets.shortest_seconds <= setting.interval_seconds <= targets.freshness_seconds
        assert all(1 < count <= setting.shuffle_partitions for count in setting.tasks.values())
        assert (setting.reason is not None) >= (sizes(setting) != before)


@settings(max_examples=40, deadline=None)
@given(some.floats(1, 100_000))
def test_a_steady_load_settles(rate: float) -> None:
    rounds = before(run(steady(rate, 3600)), 3600)
    assert len({sizes(each.setting) for each in rounds[SETTLED_ROUNDS:]}) == 1


@settings(max_examples=20, deadline=None)
@given(some.floats(1, 150_000), some.integers(0, 1000))
def test_noise_moves_executors_little(rate: float, seed: int) -> None:
    """Rounds that take 10% more or less: what was found stays, or is corrected once or twice in two hours."""
    rounds = before(run(steady(rate, 9000, noise=0.1, seed=seed)), 9000)
    rounds = [each for each in rounds if second_of(each) > 1800]
    counts = [each.setting.executors for each in rounds]
    assert sum(one != other for one, other in pairwise(counts)) <= 2


@settings(max_examples=40, deadline=None)
@given(some.floats(500, 6_000), some.floats(5, 20))
def test_a_burst_is_answered(rate: float, times: float) -> None:
    load = steady(rate, 5400)
    load.rates[1800:] *= times
    rounds = before(run(load), 5400)
    in_burst = [each for each in rounds if second_of(each) > 1801]
    needs = rate * times * ROW_SECONDS  # tasks that are busy all the time
    assert in_burst[BURST_ROUNDS].setting.executors >= min(needs, 40)
    assert in_burst[-1].observed.lag_seconds <= TARGETS.freshness_seconds


@settings(max_examples=20, deadline=None)
@given(some.floats(1, 100_000))
def test_a_row_is_fresh_enough(rate: float) -> None:
    found = run(steady(rate, 7200))
    settled = found.waits[3600:7000]  # the last round of all waits for nothing more
    assert settled.max() <= TARGETS.freshness_seconds


def test_a_silent_source_makes_no_commits() -> None:
    load = steady(20_000, 7200)
    load.rates[1800:5400] = 0
    found = run(load)
    silent = [each for each in found.rounds if 2000 < second_of(each) < 5400]
    assert not [second for second, _ in found.commits if 2000 < second < 5400]
    assert {each.observed.rows for each in silent} == {0}
    last = silent[-1].setting
    assert (last.executors, last.shuffle_partitions) == (1, 1)
    assert last.interval_seconds > 0.75 * TARGETS.freshness_seconds
    assert sum(each.setting.reason is not None for each in silent) < 10


def test_rounds_are_far_apart_while_few_rows_come() -> None:
    night, day = run(steady(50, 7200)), run(steady(100_000, 7200))
    assert night.rounds[-1].setting.interval_seconds > 1.5 * day.rounds[-1].setting.interval_seconds
    hasty = replay(steady(50, 7200), lambda: Controller(replace(TARGETS, freshness_seconds=10)), 1)
    assert night.files < hasty.files / 4


def test_a_slow_store_gets_executors_and_gives_them_back() -> None:
    load = steady(30_000, 10_800)
    load.row_seconds[3600:7200] *= 3
    found = run(load)
    at = {second_of(each): each.setting.executors for each in found.rounds}
    usual, slow = (
        max(count for second, count in at.items() if a < second < b) for a, b in ((1800, 3600), (5000, 7200))
    )
    assert slow >= 2 * usual
    assert found.rounds[-1].setting.executors <= usual + 1


def test_a_pipeline_that_was_stopped_catches_up() -> None:
    load = replace(steady(30_000, 7200), stops=((1800, 2700),))
    found = run(load)
    assert found.commits[-1][1] == pytest.approx(load.rates.sum())
    assert max(found.waits) > 900
    assert found.waits[4500:7000].max() <= TARGETS.freshness_seconds


# ----------------------------------------------------------------------------------------------------------- one by one


def test_a_reason_has_the_figures() -> None:
    controller = Controller(TARGETS)
    setting = controller.next(Observed(30, 200_000, lag_rows=3_000_000, since_seconds=30, files=8), at=MIDNIGHT)
    assert setting.executors > 1
    assert setting.reason is not None
    assert f"{setting.executors} executors instead of 1: 6,667 rows a second come, 3,000,000 wait" in setting.reason


def test_executors_are_driven_and_a_failure_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def drive(executors: int) -> None:
        asked.append(executors)
        if len(asked) < 3:
            raise TimeoutError("no answer")

    controller = Controller(TARGETS, drive=drive)
    busy = Observed(30, 200_000, lag_rows=3_000_000, since_seconds=30, files=8)
    with caplog.at_level(logging.INFO, "keylake"):
        first, second, third = (controller.next(busy, at=MIDNIGHT) for _ in range(3))
    assert "Executors stay as they are: TimeoutError: no answer." in (first.reason or "")
    assert "no answer" not in (second.reason or "")
    assert asked == [first.executors, second.executors, third.executors]
    controller.next(replace(busy, executors=third.executors), at=MIDNIGHT)
    assert first.reason in caplog.messages


def test_a_run_that_ends_has_no_notices(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="keylake")
    pipeline = kl.Pipeline(source=kl.Files(path="in", key=("id",)))
    rows = [LoopRound(n, 200_000, 200_000, 1, 20.0, 0.1, Lag(10**6, "rows")) for n in range(1, 4)]
    for once in (True, False):
        load = load_of(pipeline, once=once)
        for each in rows:
            load.next(each)
        assert bool(caplog.messages) == (not once)


def test_a_round_of_few_rows_says_nothing_of_what_a_row_costs() -> None:
    controller = Controller(LoadTargets(freshness_seconds=10))
    one = Observed(3, 1, since_seconds=5, files=1)
    settings = [controller.next(one, at=MIDNIGHT) for _ in range(5)]
    assert {each.most_rows for each in settings} == {100_000}
    assert (
        settings[0].reason == "Interval 6.2 s instead of 1: 0.2 rows a second fill no files in the 10 s they may wait."
    )
    many = controller.next(Observed(7, 100_000, since_seconds=7, files=2), at=MIDNIGHT)
    assert "At most 64,000 rows a batch instead of 100,000: 3 s a round and 40 s a million rows" in (many.reason or "")


def test_one_long_task_is_no_reason_for_executors() -> None:
    controller = Controller(TARGETS)
    even = Observed(10, 100_000, lag_rows=0, since_seconds=33, slowest_task_seconds=8, median_task_seconds=8, files=8)
    for _ in range(5):
        calm = controller.next(even, at=MIDNIGHT)
    skewed = controller.next(replace(even, seconds=30, slowest_task_seconds=28, median_task_seconds=8), at=MIDNIGHT)
    assert skewed.executors == calm.executors
    assert "One task took 20 s longer than the median one" in (skewed.reason or "")


def test_large_parts_get_several_tasks_and_keep_them() -> None:
    shares, were = Shares(), dict[str, int]()
    history: list[dict[str, int]] = []
    for share in (50, 52, 48, 51, 90, 90, 90):
        shares = shares.after({"orders": share, "users": 100 - share, "empty": 0})
        were = shares.tasks(10, were)
        history.append(were)
    assert history[:4] == [{"orders": 5, "users": 5}] * 4
    assert history[-1]["orders"] > 7
    assert shares.tasks(1, were) == {}


@given(some.lists(some.dictionaries(some.sampled_from("abcdef"), COUNTS), max_size=10))
def test_shares_are_shares(batches: list[dict[str, int]]) -> None:
    shares = Shares()
    for batch in batches:
        shares = shares.after(batch)
    assert sum(shares.of.values()) == pytest.approx(1, abs=0.01) if any(map(any, map(dict.values, batches))) else True


REFUSED: dict[str, dict[str, Any]] = {
    "freshness_seconds is 0": {"freshness_seconds": 0},
    "catch_up_seconds is '1 minute'": {"catch_up_seconds": "1 minute"},
    "utilization is 1": {"utilization": 1},
    "calm_rounds is 0": {"calm_rounds": 0},
    "executors.most is 2": {"executors": Bounds(3, 2)},
    "rows.least is 0": {"rows": Bounds(0, 2)},
    "shortest_seconds is 50": {"shortest_seconds": 50},
}


@pytest.mark.parametrize(("words", "given"), REFUSED.items(), ids=REFUSED)
def test_refused_targets(words: str, given: dict[str, Any]) -> None:
    with pytest.raises(kl.DefinitionError, match=words):
        LoadTargets(**given)


def test_the_log_shows_decisions_and_draws_rounds() -> None:
    setting = Setting(1000, 5.0, 1, 1)
    decided = replace(setting, executors=2, reason="2 executors instead of 1: <b>.")
    log = LoadLog([Round(MIDNIGHT, Observed(3, 1000, 0), 200.0, each) for each in (setting, decided, setting)])
    assert str(log).splitlines()[0] == "load: 3 rounds, 1 decisions"
    assert "2 executors instead of 1" in str(log)
    assert "&lt;b&gt;" in log._repr_html_()
    picture = log.plot("orders $1$")
    assert [axes.get_title() for axes in picture.axes[:4]] == [
        "seconds that the oldest row waits; marks: something was changed",
        "rows a second",
        "rows of a batch, and seconds of its interval",
        "executors",
    ]
    assert "<svg" in picture.svg()  # type: ignore[attr-defined]


def test_rounds_of_the_loop_are_sized() -> None:
    sized = Sized(Controller(TARGETS))
    first = sized.next(None)
    rows_wait = Lag(9_000_000, "rows", MIDNIGHT, MIDNIGHT - timedelta(seconds=50))
    later = [sized.next(LoopRound(number, 100_000, 100_000, 1, 9.0, 1.0, rows_wait)) for number in range(1, 4)]
    assert first.rows == 100_000
    assert later[-1].rows > 200_000
    assert all(0 < setting.seconds <= 5 for setting in (first, *later))
    assert sized.controller.log.decisions[0].observed == Observed(
        8.0, 100_000, 9_000_000, 50.0, pytest.approx(0.1, abs=10), files=1, executors=1
    )
    assert sized.next(None) == later[-1], "a poll without a write is no round"
    assert len(sized.controller.log) == 3
    other = sized.next(LoopRound(4, 0, 0, 0, 5.0, 5.0, Lag(3, "files")))
    assert other.rows >= 1_000


def test_polls_wait_for_the_time_of_a_write_or_a_full_batch() -> None:
    rounds = Rounds("shop")
    setting = LoopSetting(rows=100, seconds=5.0, interval=3600.0)
    assert rounds.is_time(setting, 1), "what comes after silence is written at once"
    rounds.polled(rows=1, written=1, tables=1, seconds=2.0, polling=0.5)
    rounds.end(Lag(7, "rows"), 0)
    assert rounds.take_last() == LoopRound(1, 1, 1, 1, 2.0, 0.5, Lag(7, "rows"))
    assert not rounds.is_time(setting, 99)
    assert rounds.is_time(setting, 100)
    assert rounds.is_time(LoopSetting(rows=100), 1), "without an interval each poll is written"
    assert rounds.patience(setting, 0, ends=False) == 5.0
    assert rounds.patience(LoopSetting(100, 5.0, 4.0), 1, ends=False) <= 4.0 - 1.5
    assert rounds.patience(LoopSetting(100, 5.0, 0.0), 1, ends=False) == 5.0, "rows of a quiet table wait"
    assert rounds.patience(setting, 0, ends=True) == 0.5
    for _ in range(2):
        rounds.polled(rows=40, written=0, tables=0, seconds=1.0, polling=0.5)
    assert rounds.take_last() is None
    rounds.polled(rows=30, written=110, tables=2, seconds=4.0, polling=0.5)
    rounds.end(Lag(None, "bytes"), 0)
    assert rounds.take_last() == LoopRound(2, 110, 110, 2, 6.0, 1.5, Lag(None, "bytes"))
    rounds.end(Lag(None, "bytes"), 0)
    assert rounds.take_last() == LoopRound(2, 0, 0, 0, 0.0, 0.0, Lag(None, "bytes")), "silence is told to the load"
    assert [(each.rows, each.seconds, each.behind) for each in rounds.recent] == [(1, 2.0, 7), (110, 6.0, None)]


def test_rounds_are_kept_and_drawn() -> None:
    rounds = Rounds("shop")
    for number in range(100):
        rounds.polled(rows=number, written=number, tables=1, seconds=2.0, polling=1.0)
        rounds.end(Lag(99 - number, "rows"), 0)
    kept = recent_from_json(recent_to_json(rounds.recent))
    assert kept == tuple(rounds.recent)
    assert [each.rows for each in kept] == list(range(40, 100))
    assert len(recent_to_json(kept)) < 3000
    title, lag, rate, rows, seconds = picture(kept[-4:], "rows")
    assert title.startswith("the last 4 rounds with rows, 20")
    assert lag == "lag, rows           █▆▃▁  now 0, most 3"
    assert rate == "rows a second       ████  now 50, most 50"
    assert rows == "rows of a batch     ████  now 99, most 99"
    assert seconds == "seconds of a batch  ████  now 1, most 1"
    assert picture((), "rows") == ()
