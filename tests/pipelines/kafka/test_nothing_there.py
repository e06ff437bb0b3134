"""What of a pipeline is about no topic, no file and no table: told at the start and by `status`, and no error later."""

from pathlib import Path

import pytest

import keylake as kl
from integration.twin import fresh_name
from keylake_pipelines.pipeline.running import planned
from keylake_pipelines.runner.control import states
from pipelines.broker import Broker, as_json
from pipelines.defined import defined
from pipelines.scripted import found

pytestmark = pytest.mark.slow

RULES = (
    "route:\n  - source-table: nobody\n    sink-table: {name}.nobody\n  - source-table: \\.*orders\n"
    "    sink-table: {name}.orders\ntransform:\n  - source-table: clicks\n    projection: id\n"
)


def told(lake: kl.Lake, name: str) -> str | None:
    [state] = [each for each in states(lake) if each.name == name]
    return state.last_error


def with_rules(tmp_path: Path, name: str, source: str) -> kl.Pipeline:
    file = tmp_path / "pipeline.yaml"
    defined(tmp_path, name, source)
    file.write_text(file.read_text() + RULES.format(name=name))
    return kl.Pipeline.load(file)


def test_topics(lake: kl.Lake, broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """All is told at once; the topics that are there are read, and the others when they come."""
    name = fresh_name("nothing").replace(".", "_")
    there, later = broker.topic(1, f"{name}.orders"), f"{name}.later"
    broker.send(there, [(None, as_json({"id": 1}))])
    source = (
        f"  type: kafka\n  bootstrap.servers: {broker.servers}\n  topics: {there}, {later}, {name}.never\n"
        f"  format: json\n  key:\n    {there}: id\n    {later}: id\n    {name}.never: id\n"
    )
    definition = with_rules(tmp_path, name, source)
    for begin in (lambda: planned(definition, lake), lambda: kl.run_pipeline(definition, lake, once=True)):
        caplog.clear()
        begin()
        for said in (
            f"has no topic '{later}', no topic '{name}.never', or does not show it to this user",
            "route.source-table 'nobody'", "transform.source-table 'clicks'", f"source.key '{name}.never'",
        ):  # fmt: skip
            assert said in caplog.text, f"{said} is not told"
    assert "route.source-table 'nobody'" in (told(lake, name) or "")
    assert f"no topic '{name}.never'" in (told(lake, name) or "")
    broker.topic(1, later)
    broker.send(later, [(None, as_json({"id": 2}))])
    kl.run_pipeline(definition, lake, once=True)
    assert found(lake.table(f"{name}.{later.split('.')[1]}")) == {2: {"id": 2}}
    assert later not in (told(lake, name) or "")
    assert found(lake.table(f"{name}.orders")) == {1: {"id": 1}}


def test_a_pattern_of_topics(lake: kl.Lake, broker: Broker, tmp_path: Path) -> None:
    name = fresh_name("nothing").replace(".", "_")
    source = (
        f"  type: kafka\n  bootstrap.servers: {broker.servers}\n  topic-pattern: {name}_.*\n  format: json\n  key: id\n"
    )
    definition = defined(tmp_path, name, source)
    assert kl.run_pipeline(definition, lake, once=True).rows == 0
    assert f"has no topic of the pattern '{name}_.*'" in (told(lake, name) or "")
    topic = broker.topic(1, f"{name}_a")
    broker.send(topic, [(None, as_json({"id": 1}))])
    assert kl.run_pipeline(definition, lake, once=True).rows == 1
    assert told(lake, name) is None


def test_files(lake: kl.Lake, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = fresh_name("nothing").replace(".", "_")
    folder = tmp_path / "in"
    folder.mkdir()
    definition = with_rules(tmp_path, name, f"  type: files\n  path: {folder}\n  key: id\n")
    kl.run_pipeline(definition, lake, once=True)
    assert f"The folder '{folder}' has no files yet. Write files into {folder}/TABLE/" in (told(lake, name) or "")
    (folder / "orders").mkdir()
    for file in ("orders/1.json", "orders/2.txt", "3.json"):
        (folder / file).write_text('{"id": 1}\n')
    caplog.clear()
    kl.run_pipeline(definition, lake, once=True)
    said = told(lake, name) or ""
    assert "Files that are of no table are not read: 3.json, orders/2.txt. Write files into" in said
    assert "No table of the source is meant by route.source-table 'nobody', transform.source-table 'clicks'." in said
    assert said in caplog.text
