"""`keylake run` and what looks after pipelines, over files that arrive."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name
from keylake_pipelines.runner import control

Run = Callable[..., Result]
PIPELINE = r"""
source:
  type: files
  path: {folder}
  key: id
sink:
  type: keylake
  lake: {lake}
  namespace: {namespace}
  table.properties.commit.manifest.min-count-to-merge: 7
route:
  - source-table: orders_\d+
    sink-table: {namespace}.orders
transform:
  - source-table: orders_\d+
    projection: \*, upper(city) AS city, __table_name__ AS came_from
    filter: amount > 5
pipeline:
  name: {namespace}
  flink-conf: {{}}
"""


@pytest.fixture
def run(lake: kl.Lake) -> Run:
    """A command on the server of the tests; its token is in the environment."""
    return lambda *words: invoked(lake, *words)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "orders_1/a.json": '{"id":1,"city":"oslo","amount":3}\n{"id":2,"city":"bergen","amount":30}\nno json\n',
        "orders_2/a.json": '{"id":3,"city":"oslo","amount":40}\n',
        "customers/a.json": '{"id":1,"email":"a@b.c"}\n',
    }
    for name, text in texts.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "in"


def written(folder: Path, lake: kl.Lake, namespace: str) -> str:
    assert lake._server is not None
    address = lake._server.url.partition(";token=")[0]
    text = PIPELINE.format(folder=folder, lake=address, namespace=namespace)
    path = folder.parent / "pipeline.yaml"
    path.write_text(text)
    return str(path)


def json_of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_a_pipeline_is_planned_run_and_looked_after(run: Run, lake: kl.Lake, folder: Path) -> None:
    name = fresh_name("files").partition(".")[0] + "_files"
    file = written(folder, lake, name)

    plans = json_of(run("run", file, "--dry-run", "--json"))
    assert [(plan["source"], plan["table"], plan["is_new"], plan["key"]) for plan in plans] == [
        ("customers", f"{name}.customers", True, ["id"]),
        ("orders_1", f"{name}.orders", True, ["id"]),
        ("orders_2", f"{name}.orders", True, ["id"]),
    ]
    assert plans[1]["columns"] == ["id long", "city string", "amount long", "came_from string"]
    assert not [table for table in lake.tables() if table.name.startswith(f"{name}.")]
    assert name not in {state.name for state in control.states(lake)}

    first = run("run", file, "--once", "--json")
    report = json_of(first)
    assert (report["name"], report["dead_letters"], report["set_aside"]) == (name, 1, [])
    assert "pipeline.flink-conf means nothing here, and is ignored." in first.stderr
    orders = lake.table(f"{name}.orders")
    assert sorted((row.id, row.city, row.came_from) for row in orders.read().collect()) == [
        (2, "BERGEN", "orders_1"),
        (3, "OSLO", "orders_2"),
    ]
    shown = lake.spark.sql(f"SHOW TBLPROPERTIES {lake.catalog}.{name}.orders").collect()
    properties = {row[0]: row[1] for row in shown}
    assert properties["commit.manifest.min-count-to-merge"] == "7"

    assert json_of(run("run", file, "--once", "--json"))["rows"] == 0
    states = json_of(run("status", name, "--json"))
    assert [(each["name"], each["state"]) for each in states] == [(name, "stopped")]
    assert "has run in this lake" in str(refused(run, "run", file, "--once", "--from", "earliest"))
    assert "No pipeline" in str(refused(run, "stop", name))
    assert "knows no pipeline 'nobody'" in str(refused(run, "status", "nobody"))


def test_what_is_wrong_in_a_file_has_its_place(run: Run, lake: kl.Lake, folder: Path) -> None:
    file = written(folder, lake, "never")
    Path(file).write_text(Path(file).read_text().replace("  key: id", "  kay: id"))
    assert "pipeline.yaml:5:3: source has no key 'kay'. Did you mean 'key'?" in str(refused(run, "run", file))
    assert json.loads(run("run", "--schema").stdout)["required"] == ["source"]
    assert run("run").exit_code == 2


def refused(run: Run, *words: str) -> kl.KeylakeError:
    with pytest.raises(kl.KeylakeError) as caught:
        run(*words)
    return caught.value
