"""A source that is read ahead gives the same steps, and is told the same positions, in the order of the calls."""

import threading
import time
from collections.abc import Mapping

import pytest

from keylake_pipelines.runner.ahead import ReadAhead
from keylake_pipelines.source.absence import SourceAway
from keylake_pipelines.source.source import Lag, Step
from pipelines.scripted import Changed, Log, table


class Held(Log):
    """A log whose polls wait for a sign, and that notes its calls and their threads."""

    def __init__(self, rows: int) -> None:
        super().__init__([Changed("t", {"k": number}) for number in range(rows)])
        self.may_poll = threading.Event()
        self.may_poll.set()
        self.calls: list[str] = []
        self.threads: set[int] = set()
        self.away = False

    def poll(self, most_rows: int, seconds: float) -> tuple[Step, ...]:
        self.threads.add(threading.get_ident())
        self.may_poll.wait(10)
        self.calls.append("poll")
        if self.away:
            raise SourceAway("It does not answer.")
        return super().poll(most_rows, seconds)

    def written(self, positions: Mapping[str, int]) -> None:
        self.threads.add(threading.get_ident())
        self.calls.append(f"written {positions['log']}")
        super().written(positions)


def ends(steps: tuple[Step, ...]) -> list[int]:
    return [step.ends["log"] for step in steps]


def wait_for_polls(log: Held, count: int) -> None:
    limit = time.monotonic() + 10
    while log.calls.count("poll") < count and time.monotonic() < limit:
        time.sleep(0.01)
    assert log.calls.count("poll") == count


def test_steps_come_in_their_order_and_lags_belong_to_them() -> None:
    log = Held(5)
    ahead = ReadAhead(log)
    ahead.begin({"log": 1})
    given: list[tuple[list[int], Lag]] = []
    while steps := ahead.poll(2, 10):
        given.append((ends(steps), ahead.lag()))
    assert given == [([3], Lag(2, "rows")), ([5], Lag(0, "rows"))]
    ahead.close()
    assert len(log.threads) == 1
    assert threading.get_ident() not in log.threads


def test_the_next_poll_begins_before_it_is_asked_for() -> None:
    log = Held(4)
    ahead = ReadAhead(log)
    ahead.begin({})
    assert ends(ahead.poll(2, 10)) == [2]
    wait_for_polls(log, 2)
    ahead.close()


def test_a_poll_that_is_not_over_gives_a_step_without_rows() -> None:
    log = Held(6)
    ahead = ReadAhead(log)
    ahead.begin({})
    assert ends(ahead.poll(2, 10)) == [2]
    wait_for_polls(log, 2)
    log.may_poll.clear()
    assert ends(ahead.poll(2, 10)) == [4]
    assert ahead.poll(2, 0.1) == (Step(None, {}),)
    log.may_poll.set()
    assert ends(ahead.poll(2, 10)) == [6]
    ahead.close()


def test_what_was_read_ahead_is_dropped_by_a_new_begin() -> None:
    log = Held(6)
    ahead = ReadAhead(log)
    ahead.begin({})
    assert ends(ahead.poll(2, 10)) == [2]
    ahead.begin({"log": 1})
    assert ends(ahead.poll(2, 10)) == [3]
    ahead.close()


def test_the_source_is_told_before_its_next_poll_and_at_the_end() -> None:
    log = Held(2)
    ahead = ReadAhead(log)
    ahead.begin({})
    ahead.poll(2, 10)
    wait_for_polls(log, 2)
    ahead.written({"log": 1})
    ahead.written({"log": 2})
    assert ahead.poll(2, 10) == ()
    assert log.calls == ["poll", "poll", "written 2", "poll"]
    ahead.written({"log": 2})
    ahead.close()
    assert log.calls[-1] == "written 2"


def test_nothing_is_said_of_now_and_not_of_what_was_read_ahead() -> None:
    log = Held(2)
    ahead = ReadAhead(log)
    ahead.begin({})
    assert ends(ahead.poll(2, 10)) == [2]
    wait_for_polls(log, 2)
    log.events = [*log.events, Changed("t", {"k": 2})]  # as a table that is to be read once more
    assert ends(ahead.poll(2, 10)) == [3]
    ahead.close()


def test_an_error_of_a_poll_comes_when_its_steps_are_asked_for() -> None:
    log = Held(4)
    ahead = ReadAhead(log)
    ahead.begin({})
    log.away = True
    with pytest.raises(SourceAway, match="does not answer"):
        ahead.poll(2, 10)
    log.away = False
    ahead.begin({"log": 0})
    assert ends(ahead.poll(2, 10)) == [2]
    ahead.close()


def test_a_poll_that_began_before_says_nothing_of_what_was_asked() -> None:
    log = Held(4)
    ahead = ReadAhead(log)
    ahead.begin({})
    assert ends(ahead.poll(2, 10)) == [2]
    wait_for_polls(log, 2)
    ahead.reread(table("t"))
    assert ends(ahead.poll(2, 10)) == [4]
    assert ahead.owes("t")
    wait_for_polls(log, 3)
    ahead.poll(2, 10)
    assert not ahead.owes("t")
    ahead.close()
