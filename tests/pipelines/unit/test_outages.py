"""How long a source that does not answer is waited for."""

import datetime
import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from keylake.errors import SourceFailed
from keylake_pipelines.runner import outages
from keylake_pipelines.runner.outages import Outage
from keylake_pipelines.runner.state import PipelineState
from keylake_pipelines.source.absence import SourceAway

NO_ANSWER = SourceAway("db does not answer.")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(outages.time, "monotonic", lambda: now[0])
    return now


def test_pauses_grow_to_half_a_minute_and_never_end(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage("shop", "The source is away", None, known=True)
    pauses = []
    for _ in range(8):
        assert outage.seconds_left == 0
        outage.failed(NO_ANSWER)
        pauses.append(outage.seconds_left)
        clock[0] += outage.seconds_left
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    assert outage.said is not None
    assert outage.said.startswith("The source is away since 20")
    assert outage.said.endswith(" UTC. db does not answer.")
    assert "It is asked again in 30 s." in caplog.text
    outage.over()
    assert (outage.lasts, outage.said, outage.seconds_left) == (False, None, 0)
    outage.failed(NO_ANSWER)
    assert outage.seconds_left == 1


def test_a_run_that_ends_and_a_first_run_wait_so_long(clock: list[float]) -> None:
    outage = Outage("shop", "The source is away", 60.0, known=True)
    outage.failed(NO_ANSWER)
    clock[0] = 59.0
    outage.failed(NO_ANSWER)
    clock[0] = 60.0
    with pytest.raises(SourceFailed, match="It was asked for 60 s, and a run that ends with its source waits 60 s"):
        outage.failed(NO_ANSWER)
    first = Outage("shop", "The source is away", None, known=False)
    first.failed(NO_ANSWER)
    clock[0] += 10
    with pytest.raises(SourceFailed, match="a first run waits 10 s"):
        first.failed(NO_ANSWER)
    # What has answered once is known.
    first.over()
    first.failed(NO_ANSWER)
    clock[0] += 10_000
    first.failed(NO_ANSWER)


def test_a_pipeline_whose_process_is_gone_does_not_run() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    now = datetime.datetime.now(datetime.UTC)
    gone = PipelineState("shop", "running", socket.gethostname(), process.pid, now, now, 2, 1, "0 rows", "It was away.")
    assert gone.observed().state == "lost"
    said = str(gone.observed().last_error)
    assert f"Process {process.pid} on {socket.gethostname()} has ended without a word" in said
    assert said.endswith("It had said: It was away.")
    for alive in (replace(gone, process=os.getpid()), replace(gone, host="elsewhere"), replace(gone, state="stopped")):
        assert alive.observed() == alive
    assert replace(gone, host="elsewhere", seen_at=now - datetime.timedelta(minutes=3)).observed().state == "lost"
