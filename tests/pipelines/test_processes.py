"""`keylake run` as a process of its own, over files that arrive: what ends it, and what is there then."""

import datetime
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

import keylake as kl
from integration.random_runs import FIRST
from integration.streams.arriving import arrive
from integration.twin import fresh_name
from keylake.cli.app import app
from keylake_pipelines.runner.control import states
from keylake_pipelines.runner.state import PipelineState
from pipelines.waiting import LIMIT_SECONDS, wait_for

pytestmark = pytest.mark.slow

NEVER = datetime.datetime.fromtimestamp(0, datetime.UTC)
KEY = ("pipeline", "target", "partition", "offset", "number")
TEXT = """
source:
  type: files
  path: {folder}
  key: id
sink:
  type: keylake
  namespace: {name}
transform:
  - source-table: orders
    projection: {projection}
pipeline:
  name: {name}
  load.freshness: 2 s
"""


class Commands:
    """Commands on the server of the tests, each in a process of its own."""

    def __init__(self, lake: kl.Lake, folder: Path, ending: ExitStack) -> None:
        assert lake._server is not None
        address, _, token = lake._server.url.partition(";token=")
        named = {"KEYLAKE_LAKE": address, "KEYLAKE_TOKEN": token, "KEYLAKE_CATALOG": lake.catalog}
        self._environment = os.environ | named
        self._ending = ending
        self.lake = lake
        self.name = fresh_name("processes").replace(".", "_")
        self.incoming = folder / "in"
        self.file = folder / "pipeline.yaml"
        (self.incoming / "orders").mkdir(parents=True)
        self.define("'*'")

    def define(self, projection: str) -> None:
        self.file.write_text(TEXT.format(folder=self.incoming, name=self.name, projection=projection))

    def begin(self) -> subprocess.Popen[str]:
        """The pipeline, once it runs."""
        words = [sys.executable, "-m", "keylake", "run", str(self.file), "--json"]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self._environment
        )
        self._ending.enter_context(process)
        self._ending.callback(process.kill)
        wait_for(lambda: process.poll() is not None or self.state().process == process.pid, "it begins")
        return process

    def ended(self, process: subprocess.Popen[str]) -> str:
        """What a process tells that ends well: its report, and its log."""
        said, told = process.communicate(timeout=LIMIT_SECONDS)
        assert process.returncode == 0, told
        assert json.loads(said)["name"] == self.name
        return told

    def refused(self) -> str:
        """What a second process of the pipeline says."""
        command = [sys.executable, "-m", "keylake", "run", str(self.file)]
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment, timeout=LIMIT_SECONDS)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    def ask(self, *words: str) -> str:
        """What a command of somebody else prints, in this process."""
        done = CliRunner().invoke(app, list(words), env=self._environment, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    def state(self) -> PipelineState:
        nobody = PipelineState(self.name, "", "", 0, NEVER, NEVER, 0, 0, "")
        return next((state for state in states(self.lake) if state.name == self.name), nobody)

    def orders(self, where: str = "true") -> int:
        try:
            return self.lake.table(f"{self.name}.orders").read(where=where).count()
        except kl.TableNotFound:
            return 0

    def arrive(self, name: str, first: int, count: int) -> None:
        arrive(self.incoming / "orders", name, *({"id": first + n, "total": n, "city": "oslo"} for n in range(count)))


@pytest.fixture
def commands(lake: kl.Lake, tmp_path: Path) -> Iterator[Commands]:
    with ExitStack() as ending:
        yield Commands(lake, tmp_path, ending)


def test_whatever_ends_a_pipeline_its_batch_is_written_and_the_next_process_goes_on(commands: Commands) -> None:
    """A file arrives just before each end, so that most ends fall into a batch."""
    draw = random.Random(FIRST)
    rows = 0
    for how in ("SIGTERM", "SIGINT", "stop"):
        process = commands.begin()
        for number in range(3):
            commands.arrive(f"{how}{number}", rows, 200)
            rows += 200
            time.sleep(draw.uniform(0, 0.7))
        if how == "stop":
            commands.ask("stop", commands.name)
        else:
            process.send_signal(signal.Signals[how])
        told = commands.ended(process)
        assert ("it ends after the batch under way" in told) == (how != "stop")
        state = commands.state()
        assert (state.state, state.last_error) == ("stopped", None)
        written = commands.orders()
        assert state.rows == written, "each row was written once, and none waits"
        assert position(commands) == commands.lake.table(f"{commands.name}.orders").offsets()["files"]
    kl.run_pipeline(kl.Pipeline.load(commands.file), commands.lake, once=True)
    assert (commands.orders(), commands.state().rows) == (rows, rows)


def position(commands: Commands) -> int:
    where = f"pipeline = '{commands.name}' AND kind = 'partition' AND name = 'files'"
    return int(commands.lake.table("keylake.pipelines").read(where=where).collect()[0]["position"])


def test_a_pipeline_that_runs_is_asked_for_this_and_that(commands: Commands) -> None:
    commands.arrive("1", 0, 10)
    process = commands.begin()
    wait_for(lambda: commands.orders() == 10, "the rows are written")
    # A second process is refused at once, and says how to go on.
    said = commands.refused()
    assert f"keylake: Pipeline '{commands.name}' runs already, as process {process.pid} on" in said
    assert f"Stop it with `keylake stop {commands.name}`; without a sign of life its place is free after 120 s." in said
    assert "Traceback" not in said
    assert commands.state().process == process.pid
    # It reads its file anew, and goes on where it was.
    commands.define("'*, upper(city) AS city'")
    commands.ask("restart", commands.name)
    wait_for(lambda: commands.state().wanted is None and commands.state().state == "running", "it begins anew")
    commands.arrive("2", 10, 10)
    wait_for(lambda: commands.orders() == 20, "it goes on")
    assert (commands.orders("city = 'oslo'"), commands.orders("city = 'OSLO'")) == (10, 10)
    # A table that was set aside goes on while the pipeline runs.
    (commands.incoming / "orders" / "3.json").write_text('{"id": 20, "total": "much"}\n')
    wait_for(lambda: bool(commands.state().set_aside), "the table is set aside")
    commands.arrive("4", 21, 5)
    wait_for(lambda: dead_letters(commands) == 6, "its rows are kept")
    letters = commands.lake.table("keylake.dead_letters")
    letters.delete(letters.read(columns=KEY, where=f"pipeline = '{commands.name}' AND row LIKE '%much%'").toArrow())
    commands.ask("resume", commands.name, f"{commands.name}.orders")
    wait_for(lambda: commands.orders() == 25, "what was kept is written")
    wait_for(lambda: not commands.state().set_aside, "the table goes on")
    assert process.poll() is None
    commands.ask("stop", commands.name)
    commands.ended(process)
    assert commands.state().rows == 25
    # What the rounds did is there for everybody.
    table, *picture = commands.ask("status", commands.name).split("the last ")
    assert (commands.name in table, "stopped" in table) == (True, True)
    assert re.search(
        r"(?s)^\d+ rounds with rows, .*\nlag, files .* now 0, .*\nrows of a batch .*, most 10\n", picture[0]
    )
    [shown] = json.loads(commands.ask("status", commands.name, "--json"))
    assert sum(each["rows"] for each in shown["recent"]) == 25


def test_a_file_with_a_mistake_is_told_to_whoever_asks(commands: Commands) -> None:
    """The command itself fails, `status` says it until the pipeline begins anew, and meanwhile it goes on."""
    process = commands.begin()
    good = commands.file.read_text()
    for text, said in [
        (good.replace("  key: id", "  kay: id"), "source has no key 'kay'. Did you mean 'key'?"),
        (good.replace(f"  name: {commands.name}", "  name: another"), "is of pipeline 'another' now"),
    ]:
        commands.file.write_text(text)
        with pytest.raises(kl.DefinitionError, match=re.escape(said)) as caught:
            commands.ask("restart", commands.name)
        assert str(caught.value).startswith(f"{commands.name} goes on as it was: ")
        assert f"{commands.name} did not begin anew when it was asked last: " in commands.ask("status", commands.name)
        assert said in str(commands.state().refusal)
    commands.arrive("1", 0, 10)
    wait_for(lambda: commands.orders() == 10, "it goes on")
    commands.file.write_text(good)
    assert "has read its file anew" in commands.ask("restart", commands.name)
    assert (commands.state().refusal, commands.state().process) == (None, process.pid)
    commands.ask("stop", commands.name)
    assert "goes on as it was: " in commands.ended(process)


def dead_letters(commands: Commands) -> int:
    try:
        return commands.lake.table("keylake.dead_letters").read(where=f"pipeline = '{commands.name}'").count()
    except kl.TableNotFound:
        return 0
