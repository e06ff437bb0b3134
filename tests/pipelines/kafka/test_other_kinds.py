"""Values of another kind in a topic: a fraction or text in a column of whole numbers, and the way on."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name
from keylake_pipelines.files.source import FilesSource
from keylake_pipelines.runner.control import resnapshot, states
from keylake_pipelines.runner.loop import run
from keylake_pipelines.runner.settings import Behaviour, PipelineReport
from pipelines.broker import Broker, as_json
from pipelines.kafka.source import source_of
from pipelines.scripted import found, settings

pytestmark = pytest.mark.slow

Command = Callable[..., Result]


@pytest.fixture
def command(lake: kl.Lake) -> Command:
    """A command on the server of the tests."""
    return lambda *words: invoked(lake, *words, catches=True)


class Sent:
    """A topic of rows, a pipeline that reads it to its end, and the commands that its sentences name."""

    def __init__(self, lake: kl.Lake, broker: Broker, behaviour: Behaviour = "evolve") -> None:
        self.name = fresh_name("kinds").replace(".", "_")
        self.topic = broker.topic(1)
        self.table = f"{self.name}.{self.topic}"
        self._lake, self._broker, self._behaviour = lake, broker, behaviour

    def __call__(self, *rows: dict[str, Any]) -> PipelineReport:
        self._broker.send(self.topic, [(None, as_json(row)) for row in rows])
        source = source_of(self._lake, self._broker, self.topic)
        return run(source, self._lake, settings(self.name, self.name, behaviour=self._behaviour))

    @property
    def reason(self) -> str:
        [state] = [each for each in states(self._lake) if each.name == self.name]
        return state.set_aside[self.table]

    @property
    def values(self) -> dict[object, object]:
        return {key: row.get("n") for key, row in found(self._lake.table(self.table)).items()}


def test_kinds_that_are_mixed_from_the_beginning(lake: kl.Lake, broker: Broker) -> None:
    """What no other type holds is text: of numbers and booleans that of their JSON."""
    sent = Sent(lake, broker)
    report = sent({"id": 1, "n": 10**18}, {"id": 2, "n": "x"}, {"id": 3, "n": True}, {"id": 4, "n": None})
    assert report.set_aside == ()
    assert sent({"id": 5, "n": 1.5}).set_aside == ()
    assert sent.values == {1: "1000000000000000000", 2: "x", 3: "true", 4: None, 5: "1.5"}


@pytest.mark.parametrize("behaviour", ["evolve", "lenient"])
def test_a_fraction_in_whole_numbers(lake: kl.Lake, broker: Broker, command: Command, behaviour: Behaviour) -> None:
    """The command that the sentence names gives the column the wider type; no value and no version is lost."""
    sent = Sent(lake, broker, behaviour)
    assert sent({"id": 1, "n": 1}, {"id": 2, "n": 2, "m": "a"}, {"id": 3, "m": "b"}).set_aside == ()
    assert sent({"id": 1, "n": 1.5}, {"id": 4, "n": 4}).set_aside == (sent.table,)
    words = ["keylake", "retype", sent.table, "n", "double"]
    assert " ".join(words) in sent.reason
    assert command(*words[1:]).exit_code == 0
    assert sent.values == {1: 1.0, 2: 2.0, 3: None}
    assert command("resume", sent.name, sent.table).exit_code == 0
    assert sent({"id": 2, "n": 7}).set_aside == ()
    assert sent.values == {1: 1.5, 2: 7.0, 3: None, 4: 4.0}
    info = lake.table(sent.table).read(columns=["id", "n", "_merge_info"]).where("id = 3").collect()[0]["_merge_info"]
    assert info["columns"]["n"] is None, "it was absent, and is"


def test_numbers_that_a_double_does_not_hold(lake: kl.Lake, broker: Broker, command: Command) -> None:
    sent = Sent(lake, broker)
    sent({"id": 1, "n": 2**53 + 1, "o": 2}, {"id": 2, "n": 2, "o": -1})
    assert sent({"id": 3, "n": 1.5}).set_aside == (sent.table,)
    refused = command("retype", sent.table, "n", "double")
    assert isinstance(refused.exception, kl.BadRows)
    assert "Column 'n' has 9007199254740993 at id=1, which double would change. Use string" in str(refused.exception)
    assert sent.values == {1: 2**53 + 1, 2: 2}, "nothing was changed"
    assert "n__retyped" not in lake.table(sent.table).spec.column_names
    assert command("retype", sent.table, "n", "string").exit_code == 0
    assert command("resume", sent.name, sent.table).exit_code == 0
    assert sent({"id": 2, "n": 7}, {"id": 4, "n": "x"}, {"id": 5, "n": True}).set_aside == ()
    assert sent.values == {1: "9007199254740993", 2: "7", 3: "1.5", 4: "x", 5: "true"}
    assert command("retype", sent.table, "o", "decimal(38, 2)").exit_code == 0
    assert found(lake.table(sent.table))[1]["o"] == Decimal("2.00")


def test_text_in_whole_numbers(lake: kl.Lake, broker: Broker, command: Command) -> None:
    sent = Sent(lake, broker)
    sent({"id": 1, "n": 1}, {"id": 2, "n": 2})
    assert sent({"id": 3, "n": "x"}, {"id": 1, "n": 9}).set_aside == (sent.table,)
    assert f"keylake retype {sent.table} n string" in sent.reason
    assert command("retype", sent.table, "n", "string").exit_code == 0
    assert command("resume", sent.name, sent.table).exit_code == 0
    assert sent().set_aside == ()
    assert sent.values == {1: "9", 2: "2", 3: "x"}


def test_another_kind_in_a_key(lake: kl.Lake, broker: Broker) -> None:
    """The types of keys stay: a pipeline of another name reads the topic from its beginning, as the sentence says."""
    sent = Sent(lake, broker)
    sent({"id": 1, "n": 1})
    assert sent({"id": "x", "n": 2}).set_aside == (sent.table,)
    assert "a topic is read from its beginning by a pipeline of another name" in sent.reason
    another = f"{sent.name}_again"
    source = source_of(lake, broker, sent.topic)
    assert run(source, lake, settings(another, another, behaviour="evolve")).set_aside == ()
    assert found(lake.table(f"{another}.{sent.topic}")) == {"1": {"id": "1", "n": 1}, "x": {"id": "x", "n": 2}}


def test_kinds_in_files(lake: kl.Lake, command: Command, tmp_path: Path) -> None:
    """A file knows of its own kinds; those of a later one set the table aside, and the same command helps."""
    name = fresh_name("kinds").replace(".", "_")
    told = settings(name, name, behaviour="evolve", rereads=False)
    (tmp_path / "orders").mkdir()

    def sent(file: str, text: str) -> PipelineReport:
        (tmp_path / "orders" / f"{file}.json").write_text(text)
        return run(FilesSource(tmp_path, key=["id"]), lake, told)

    assert not sent("a", '{"id":1,"n":1,"t":1}\n{"id":2,"n":2,"t":"x"}\n{"id":3,"t":[1,{"a":true}]}\n').set_aside
    assert sent("b", '{"id":1,"n":1.5,"t":true}\n').set_aside
    resnapshot(lake, name, f"{name}.orders")
    assert sent("c", '{"id":4,"n":4}\n').set_aside, "files are not read twice"
    [state] = [each for each in states(lake) if each.name == name]
    assert "cannot hold 1.5" in state.set_aside[f"{name}.orders"], "the reason is still told"
    assert command("retype", f"{name}.orders", "n", "double").exit_code == 0
    assert command("resume", name, f"{name}.orders").exit_code == 0
    assert not sent("d", '{"id":5,"t":7}\n').set_aside
    assert found(lake.table(f"{name}.orders")) == {
        1: {"id": 1, "n": 1.5, "t": "true"}, 2: {"id": 2, "n": 2.0, "t": "x"}, 3: {"id": 3, "t": '[1,{"a":true}]'},
        4: {"id": 4, "n": 4.0}, 5: {"id": 5, "t": "7"},
    }  # fmt: skip


def test_what_cannot_be_retyped(lake: kl.Lake, broker: Broker, command: Command) -> None:
    """Nothing is left of what was begun."""
    sent = Sent(lake, broker)
    sent({"id": 1, "n": 1})
    lake.table(sent.table).alter(add={"many": list[int]})
    before = lake.table(sent.table).spec
    for column, type_, said in [
        ("id", "string", "is of the key"),
        ("many", "long", "Its values become text only"),
        ("n", "date", "'n' is long, whose values are none of date"),
        ("m", "string", "has no column 'm'"),
        ("n", "varchar", "'varchar' is no type of a column"),
        ("n", "long", "is long already"),
    ]:
        refused = command("retype", sent.table, column, type_)
        assert refused.exit_code == 1
        assert said in str(refused.exception)
    assert lake.table(sent.table).spec == before
